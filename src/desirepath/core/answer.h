// What a question gives back, as values: it outlives the model and the students it was asked of. Front ends render it:
// as one JSON object for machines, tables for programs, words for people.
#pragma once

#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "desirepath/core/table.h"
#include "desirepath/core/text.h"

namespace desirepath::inline core {

class Answer {
 public:
  /// Fields of the JSON object; they stand in the order in which they come.
  void set(std::string name, const nlohmann::ordered_json& value);
  void set(const nlohmann::ordered_json& fields);
  void set_null(std::string name);
  template <class Value>
  void set(std::string name, const std::optional<Value>& value) {
    value ? set(std::move(name), *value) : set_null(std::move(name));
  }
  /// A table of one row whose cells are fields.
  void add_row(const std::string& name, const Table& table);
  void set(std::string name, Table table) { fields_.push_back({std::move(name), nullptr, std::move(table)}); }
  /// For CSV, which has the first one unless another is chosen.
  void add_table(std::string name, Table table) { tables_.emplace_back(std::move(name), std::move(table)); }
  /// Both: a field and a table of this name.
  void add(const std::string& name, const Table& table) {
    set(name, table);
    add_table(name, table);
  }
  void choose(std::string_view table);

  /// For people, lines and tables one below the other; by default they read the chosen table.
  template <class... Parts>
  void say(const Parts&... parts) {
    words_.emplace_back(concat(parts...), std::nullopt);
  }
  void show(Table table, std::string indent = "") { words_.emplace_back(std::move(indent), std::move(table)); }
  /// What a reader should know before trusting it: told beside the answer, each a line.
  template <class... Parts>
  void note(const Parts&... parts) {
    notes_.push_back(concat(parts...));
  }
  template <class... Parts>
  void warn(const Parts&... parts) {
    warnings_.push_back(concat(parts...));
  }

  const std::vector<std::pair<std::string, Table>>& tables() const { return tables_; }
  /// Throws Error where there is none.
  const Table& chosen_table() const;
  const std::vector<std::string>& notes() const { return notes_; }
  const std::vector<std::string>& warnings() const { return warnings_; }

  nlohmann::ordered_json to_json() const;
  /// The text of that object, indented, behind a field that says its schema; piece by piece, so that no table is held
  /// as a whole.
  void write_json(const std::string& schema, const std::function<void(const std::string&)>& write) const;
  void print(std::ostream& out) const;

 private:
  struct Field {
    std::string name;
    Nested value;  // null: the table
    Table table = {};
  };
  std::vector<Field> fields_;
  std::vector<std::pair<std::string, Table>> tables_;
  std::size_t chosen_ = 0;
  std::vector<std::pair<std::string, std::optional<Table>>> words_;  // a line, or the indent of a table
  std::vector<std::string> notes_, warnings_;
};

}  // namespace desirepath::inline core
