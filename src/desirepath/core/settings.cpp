#include "desirepath/core/settings.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "desirepath/core/error.h"
#include "desirepath/core/nearest_name.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"

namespace desirepath::inline core {

namespace {

[[noreturn]] void refuse(const Setting& info, const std::string& must) {
  throw OptionError(concat(setting_name(info.name), " must ", must));
}

void check_bounds(const Setting& info, double value) {
  const bool low = info.above_least ? !(value > info.least) : !(value >= info.least), high = !(value <= info.most);
  if (!low && !high) return;
  const auto number = [](double bound) {
    const bool whole = std::isfinite(bound) && bound == std::rint(bound);
    return whole ? with_separators(std::llround(bound)) : shortest(bound);
  };
  const std::string least = number(info.least), most = number(info.most);
  if (std::isfinite(info.most))
    refuse(info, std::isfinite(info.least) ? concat("lie in ", least, " .. ", most) : concat("be at most ", most));
  if (info.above_least) refuse(info, concat("be above ", least));
  refuse(info, info.least == 0 ? "not be negative" : concat("be at least ", least));
}

/// Visits with one function.
class Visitor : public SettingVisitor {
 public:
  explicit Visitor(std::function<void(const Setting&, const SettingField&)> body) : body_(std::move(body)) {}

 protected:
  void visit(const Setting& info, const SettingField& field) override { body_(info, field); }

 private:
  std::function<void(const Setting&, const SettingField&)> body_;
};

}  // namespace

namespace setting_codec {

bool to_flag(const Setting& info, const SettingValue& value) {
  if (const bool* flag = std::get_if<bool>(&value)) return *flag;
  refuse(info, "be true or false");
}

std::int64_t to_whole(const Setting& info, const SettingValue& value) {
  const std::int64_t* number = std::get_if<std::int64_t>(&value);
  if (number == nullptr) refuse(info, "be a whole number");
  check_bounds(info, static_cast<double>(*number));
  constexpr std::int64_t widest = std::numeric_limits<std::int32_t>::max();
  if (*number > widest || *number < -widest) refuse(info, "be a smaller number");
  return *number;
}

double to_real(const Setting& info, const SettingValue& value) {
  const double* real = std::get_if<double>(&value);
  const std::int64_t* whole = std::get_if<std::int64_t>(&value);
  if (real == nullptr && whole == nullptr) refuse(info, "be a number");
  const double number = real != nullptr ? *real : static_cast<double>(*whole);
  if (!std::isfinite(number)) refuse(info, "be a number");
  check_bounds(info, number);
  constexpr double widest = 1e9;  // beyond it sums with what is learned would lose that
  if (std::abs(number) > widest)
    refuse(info,
           concat("lie in ", with_separators(-std::llround(widest)), " .. ", with_separators(std::llround(widest))));
  return number;
}

std::string to_text(const Setting& info, const SettingValue& value) {
  if (const std::string* text = std::get_if<std::string>(&value)) return *text;
  refuse(info, info.kind == SettingKind::file ? "be a file name in quotes" : "be a text in quotes");
}

std::size_t to_choice(const Setting& info, const SettingValue& value) {
  const std::string* text = std::get_if<std::string>(&value);
  const auto found = text == nullptr ? info.choices.end() : std::ranges::find(info.choices, *text);
  if (found != info.choices.end()) return static_cast<std::size_t>(found - info.choices.begin());
  refuse(info,
         concat("be one of ", join(info.choices, ", "), text == nullptr ? "" : did_you_mean(*text, info.choices)));
}

std::vector<std::string> to_list(const Setting& info, const SettingValue& value) {
  if (const auto* list = std::get_if<std::vector<std::string>>(&value)) return *list;
  refuse(info, "be a list of texts in quotes");
}

std::map<std::string, std::string> to_pairs(const Setting& info, const SettingValue& value) {
  if (const auto* pairs = std::get_if<std::map<std::string, std::string>>(&value)) return *pairs;
  refuse(info, "be a table of texts in quotes: column = \"expression\"");
}

}  // namespace setting_codec

std::vector<Setting> list_settings(const SettingDeclaration& declare) {
  std::vector<Setting> found;
  Visitor visitor([&](const Setting& info, const SettingField&) { found.push_back(info); });
  declare(visitor);
  return found;
}

void read_settings(const SettingDeclaration& declare, const SettingValues& values) {
  Visitor visitor([&](const Setting& info, const SettingField& field) {
    const auto given = values.find(info.name);
    if (given != values.end() && !std::holds_alternative<std::monostate>(given->second)) field.set(given->second);
  });
  declare(visitor);
}

SettingValues record_settings(const SettingDeclaration& declare) {
  SettingValues values;
  Visitor visitor([&](const Setting& info, const SettingField& field) { values[info.name] = field.get(); });
  declare(visitor);
  return values;
}

void require_known(const SettingValues& values, std::span<const Setting> known, const std::string& whose) {
  std::vector<std::string> names;
  for (const Setting& info : known)
    names.push_back(info.name);
  for (const auto& [name, value] : values) {
    if (std::ranges::find(names, name) != names.end()) continue;
    throw OptionError(concat(setting_name(name), ": ", whose, " has no such setting", did_you_mean(name, names)));
  }
}

SettingValue parse_setting(const Setting& info, std::string_view text) {
  switch (info.kind) {
    case SettingKind::flag:
      if (text != "true" && text != "false") refuse(info, "be true or false");
      return text == "true";
    case SettingKind::whole:
      if (const auto number = number_in<std::int64_t>(text)) return *number;
      refuse(info, "be a whole number");
    case SettingKind::real:
      if (const auto number = number_in<double>(text)) return *number;
      refuse(info, "be a number");
    case SettingKind::list: {
      std::vector<std::string> parts;
      for (const std::string& part : split(text, ','))
        parts.emplace_back(trimmed(part));
      return parts;
    }
    case SettingKind::pairs: {
      const std::size_t at = text.find('=');
      if (at == std::string_view::npos || at == 0)
        throw OptionError(concat(setting_name(info.name), " ", text, ": write it as COLUMN=EXPRESSION"));
      return std::map<std::string, std::string>{
          {std::string(trimmed(text.substr(0, at))), std::string(trimmed(text.substr(at + 1)))}};
    }
    case SettingKind::choice:
      setting_codec::to_choice(info, std::string(text));
      return std::string(text);
    default:
      return std::string(text);
  }
}

std::string setting_text(const SettingValue& value) {
  struct {
    std::string operator()(std::monostate) const { return ""; }
    std::string operator()(bool flag) const { return flag ? "true" : "false"; }
    std::string operator()(std::int64_t whole) const { return std::to_string(whole); }
    std::string operator()(double real) const { return shortest(real); }
    std::string operator()(const std::string& text) const { return text; }
    std::string operator()(const std::vector<std::string>& list) const { return join(list, ","); }
    std::string operator()(const std::map<std::string, std::string>& pairs) const {
      std::vector<std::string> parts;
      for (const auto& [key, text] : pairs)
        parts.push_back(concat(key, "=", text));
      return join(parts, ", ");
    }
  } as_text;
  return std::visit(as_text, value);
}

nlohmann::ordered_json setting_json(const SettingValue& value) {
  return std::visit(
      [](const auto& held) {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::monostate>)
          return nlohmann::ordered_json();
        else
          return nlohmann::ordered_json(held);
      },
      value);
}

SettingValue setting_from_json(const nlohmann::ordered_json& json) {
  const auto texts_only = [&] {
    return std::ranges::all_of(json, [](const nlohmann::ordered_json& element) { return element.is_string(); });
  };
  if (json.is_null()) return {};
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number_float()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  if (json.is_array() && texts_only()) return json.get<std::vector<std::string>>();
  if (json.is_object() && texts_only()) return json.get<std::map<std::string, std::string>>();
  throw OptionError("a setting that is neither number, text, list nor table of texts");
}

}  // namespace desirepath::inline core
