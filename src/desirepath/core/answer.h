// What a question gives back, for every front end: fields for machines, a table for programs, words for people.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "desirepath/core/table.h"

namespace desirepath::inline core {

class Answer {
 public:
  virtual ~Answer() = default;
  /// The fields of one JSON object.
  virtual nlohmann::ordered_json to_json() const = 0;
  /// The table behind the answer.
  virtual Table table() const = 0;
  virtual void print_csv(std::ostream& out) const { table().print_csv(out); }
  /// For people.
  virtual void print(std::ostream& out) const { table().print_text(out); }
  /// What a reader should know before trusting it: told beside the answer, each a line.
  virtual std::vector<std::string> notes() const { return {}; }
  virtual std::vector<std::string> warnings() const { return {}; }
};

}  // namespace desirepath::inline core
