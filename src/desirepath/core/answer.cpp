#include "desirepath/core/answer.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "desirepath/core/error.h"

namespace desirepath::inline core {

namespace {

/// As part of a larger text. A name of a file may hold bytes that are no UTF-8.
std::string dumped(const nlohmann::ordered_json& value, std::string_view indent) {
  std::string text;
  for (const char c : value.dump(2, ' ', false, nlohmann::json::error_handler_t::replace)) {
    text += c;
    if (c == '\n') text += indent;
  }
  return text;
}

}  // namespace

void Answer::set(std::string name, const nlohmann::ordered_json& value) {
  fields_.push_back({std::move(name), std::make_shared<const nlohmann::ordered_json>(value)});
}

void Answer::set_null(std::string name) {
  set(std::move(name), nlohmann::ordered_json());
}

void Answer::set(const nlohmann::ordered_json& fields) {
  for (const auto& [name, value] : fields.items())
    set(name, value);
}

void Answer::add_row(const std::string& name, const Table& table) {
  table.stream_json([&](const nlohmann::ordered_json& row) { set(row); });
  add_table(name, table);
}

void Answer::choose(std::string_view table) {
  const auto found = std::ranges::find(tables_, table, [](const auto& one) { return std::string_view(one.first); });
  if (found == tables_.end()) throw OptionError(concat("no table '", table, "'"));
  chosen_ = static_cast<std::size_t>(found - tables_.begin());
}

const Table& Answer::chosen_table() const {
  if (tables_.empty()) throw Error("an answer without a table");
  return tables_[chosen_].second;
}

nlohmann::ordered_json Answer::to_json() const {
  auto json = nlohmann::ordered_json::object();
  for (const Field& field : fields_)
    json[field.name] = field.value ? *field.value : field.table.to_json();
  return json;
}

void Answer::write_json(const std::string& schema, const std::function<void(const std::string&)>& write) const {
  write(concat("{\n  \"schema\": ", dumped(schema, "")));
  for (const Field& field : fields_) {
    write(concat(",\n  ", dumped(field.name, ""), ": "));
    if (field.value || field.table.row_count() == 0) {
      write(field.value ? dumped(*field.value, "  ") : "[]");
      continue;
    }
    const char* before = "[";
    field.table.stream_json([&](const nlohmann::ordered_json& row) {
      write(concat(std::exchange(before, ","), "\n    ", dumped(row, "    ")));
    });
    write("\n  ]");
  }
  write("\n}\n");
}

void Answer::print(std::ostream& out) const {
  for (const auto& [text, table] : words_) {
    if (table)
      table->print_text(out, text);
    else
      out << text << '\n';
  }
  if (words_.empty()) chosen_table().print_text(out);
}

}  // namespace desirepath::inline core
