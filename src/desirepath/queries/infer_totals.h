// Expected takers of each course over all students asked about, with intervals that say what they allow for.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "desirepath/core/answer.h"
#include "desirepath/disclosure/disclosure.h"
#include "desirepath/models/year_spread.h"
#include "desirepath/transcripts/schema.h"

namespace desirepath::inline queries {

class TotalAnswer : public Answer {
 public:
  struct Row {
    Id bit;
    double expected, low, high;
  };
  /// Whether the students come back in a period that is asked about.
  struct Returning {
    Id period;
    std::optional<Id> from;          // the last period before it of which something is known
    std::optional<int> percent;      // of earlier students enrolled in `from`
    std::optional<double> enrolled;  // expected by a model that knows of leaving
  };
  TotalAnswer(const Schema& its_schema, std::int64_t its_students) : schema(its_schema), students(its_students) {}

  nlohmann::ordered_json to_json() const override;
  Table table() const override;
  void print(std::ostream& out) const override;
  std::vector<std::string> notes() const override;

  const Schema& schema;
  std::int64_t students;
  std::vector<Row> rows;
  std::vector<Returning> returning;
  bool knows_leaving = false;  // the model does: its probabilities are of students who may have left
  std::int64_t withheld = 0, refits = 0;
  std::int64_t trained = 0;         // students of the training, 0: the model does not say
  std::optional<YearSpread> years;  // of the training
  std::int64_t coming = 0;          // students of a year after the training's
  Disclosure disclosure;

 private:
  std::string returning_words(const Returning& its) const;
  const Returning* returning_in(Id period) const;
  Table table_of(const std::function<std::string(const Course&)>& name) const;
};

}  // namespace desirepath::inline queries
