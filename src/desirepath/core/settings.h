// A setting, declared once: name, help, bounds, default and the field it lives in. Command line, mapping files, records
// in model files, digests of checkpoints and other front ends are all made from the same declaration.
//
// A struct of settings has a member `void declare(SettingVisitor& visit)` with one line a setting:
//   visit(Setting("ridge", "added to the diagonal of every covariance").at_least(0), ridge);
#pragma once

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "desirepath/core/types.h"

namespace desirepath::inline core {

/// Nothing (not given), or what a setting takes.
using SettingValue = std::variant<std::monostate, bool, std::int64_t, double, std::string, std::vector<std::string>,
                                  std::map<std::string, std::string>>;
/// By name: what was given on a command line, in a file, in a record.
using SettingValues = std::map<std::string, SettingValue, std::less<>>;

enum class SettingKind { flag, whole, real, text, choice, file, list, pairs };

struct Setting {
  Setting(std::string its_name, std::string its_what) : name(std::move(its_name)), what(std::move(its_what)) {}
  Setting& at_least(double bound) { return least = bound, *this; }
  Setting& at_most(double bound) { return most = bound, *this; }
  Setting& above(double bound) { return least = bound, above_least = true, *this; }
  Setting& taking(std::string placeholder) { return takes = std::move(placeholder), *this; }
  Setting& in(std::string heading) { return group = std::move(heading), *this; }
  Setting& undivided() { return has_commas = true, *this; }

  std::string name;  // "covariance-prior"
  std::string what;  // for people; says the default where that is not one value
  double least = -infinity;
  double most = infinity;
  bool above_least = false;  // least itself is too little
  std::string takes;         // in place of NUMBER, TEXT ...: "COLUMN", "CONDITION"
  std::string group;         // heading in --help
  bool has_commas = false;   // a list whose items are given one by one, since commas are part of them
  // Filled in from the field.
  SettingKind kind = SettingKind::text;
  std::vector<std::string> choices;
  SettingValue standard;
};

/// One field of a struct of settings.
struct SettingField {
  std::function<SettingValue()> get;
  std::function<void(const SettingValue&)> set;  // throws OptionError; nothing in, nothing changes
};

/// Throw OptionError that names the setting and says what it must be.
namespace setting_codec {
bool to_flag(const Setting& info, const SettingValue& value);
std::int64_t to_whole(const Setting& info, const SettingValue& value);
double to_real(const Setting& info, const SettingValue& value);
std::string to_text(const Setting& info, const SettingValue& value);
std::size_t to_choice(const Setting& info, const SettingValue& value);
std::vector<std::string> to_list(const Setting& info, const SettingValue& value);
std::map<std::string, std::string> to_pairs(const Setting& info, const SettingValue& value);
}  // namespace setting_codec

/// An enum names its values, in order: `std::span<const std::string_view> value_names(Enum)` beside it.
template <class T>
concept NamedEnum = std::is_enum_v<T> && requires(T value) {
  { value_names(value) } -> std::convertible_to<std::span<const std::string_view>>;
};
template <NamedEnum T>
std::string_view name_of_value(T value) {
  return value_names(value)[static_cast<std::size_t>(value)];
}

/// A value that people write as one word ("factor:8"): `std::string to_text(const T&)` and
/// `void from_text(std::string_view, T&)`, which throws OptionError without the setting's name.
template <class T>
concept WordValue = requires(T value, std::string_view text) {
  { to_text(value) } -> std::convertible_to<std::string>;
  from_text(text, value);
};

class SettingVisitor {
 public:
  virtual ~SettingVisitor() = default;

  template <class T>
  void operator()(Setting info, T& field) {
    complete<T>(info);
    info.standard = encode(field);
    SettingField access{[&field] { return encode(field); },
                        [&field, info](const SettingValue& value) { decode(info, value, field); }};
    visit(info, access);
  }

 protected:
  virtual void visit(const Setting& info, const SettingField& field) = 0;

 private:
  template <class T>
  struct Unwrapped {
    using type = T;
  };
  template <class T>
  struct Unwrapped<std::optional<T>> {
    using type = T;
  };

  template <class Field>
  static void complete(Setting& info) {
    using T = typename Unwrapped<Field>::type;
    if constexpr (std::same_as<T, bool>) {
      info.kind = SettingKind::flag;
    } else if constexpr (std::integral<T>) {
      info.kind = SettingKind::whole;
    } else if constexpr (std::floating_point<T>) {
      info.kind = SettingKind::real;
    } else if constexpr (NamedEnum<T>) {
      info.kind = SettingKind::choice;
      const auto names = value_names(T{});
      info.choices.assign(names.begin(), names.end());
    } else if constexpr (std::same_as<T, std::filesystem::path>) {
      info.kind = SettingKind::file;
    } else if constexpr (std::same_as<T, std::vector<std::string>>) {
      info.kind = SettingKind::list;
    } else if constexpr (std::same_as<T, std::map<std::string, std::string>>) {
      info.kind = SettingKind::pairs;
    }
  }

  template <class T>
  static SettingValue encode(const std::optional<T>& field) {
    return field ? encode(*field) : SettingValue();
  }
  template <class T>
  static SettingValue encode(const T& field) {
    if constexpr (std::same_as<T, bool>) {  // NOLINT(bugprone-branch-clone): one of them, by type
      return field;
    } else if constexpr (std::integral<T>) {
      return static_cast<std::int64_t>(field);
    } else if constexpr (std::floating_point<T>) {
      return static_cast<double>(field);
    } else if constexpr (NamedEnum<T>) {
      return std::string(name_of_value(field));
    } else if constexpr (std::same_as<T, std::filesystem::path>) {
      return field.string();
    } else if constexpr (WordValue<T>) {
      return std::string(to_text(field));
    } else {
      return field;
    }
  }

  template <class T>
  static void decode(const Setting& info, const SettingValue& value, std::optional<T>& field) {
    T inner{};
    decode(info, value, inner);
    field = std::move(inner);
  }
  template <class T>
  static void decode(const Setting& info, const SettingValue& value, T& field) {
    if constexpr (std::same_as<T, bool>) {
      field = setting_codec::to_flag(info, value);
    } else if constexpr (std::integral<T>) {
      field = static_cast<T>(setting_codec::to_whole(info, value));
    } else if constexpr (std::floating_point<T>) {
      field = setting_codec::to_real(info, value);
    } else if constexpr (NamedEnum<T>) {
      field = static_cast<T>(setting_codec::to_choice(info, value));
    } else if constexpr (std::same_as<T, std::vector<std::string>>) {
      field = setting_codec::to_list(info, value);
    } else if constexpr (std::same_as<T, std::map<std::string, std::string>>) {
      field = setting_codec::to_pairs(info, value);
    } else if constexpr (WordValue<T>) {
      from_text(setting_codec::to_text(info, value), field);
    } else {
      field = setting_codec::to_text(info, value);
    }
  }
};

/// A part of the program that declares settings into a visitor.
using SettingDeclaration = std::function<void(SettingVisitor&)>;

/// The declarations of a struct, with its defaults.
std::vector<Setting> list_settings(const SettingDeclaration& declare);
/// Sets the fields that `values` names; other names are left alone (see require_known).
void read_settings(const SettingDeclaration& declare, const SettingValues& values);
/// All fields, by name.
SettingValues record_settings(const SettingDeclaration& declare);
/// Throws OptionError that names a setting nobody declares, and the nearest that somebody does.
void require_known(const SettingValues& values, std::span<const Setting> known, const std::string& whose);

template <class Settings>
Settings settings_from(const SettingValues& values) {
  Settings settings;
  read_settings([&](SettingVisitor& visit) { settings.declare(visit); }, values);
  return settings;
}
template <class Settings>
SettingValues record_of(Settings settings) {
  return record_settings([&](SettingVisitor& visit) { settings.declare(visit); });
}
/// Throws OptionError where code has filled a field beyond the bounds of its setting.
template <class Settings>
void check_settings(const Settings& settings) {
  settings_from<Settings>(record_of(settings));
}
template <class Settings>
SettingDeclaration declaration_of() {
  return [](SettingVisitor& visit) {
    Settings settings;
    settings.declare(visit);
  };
}

/// A value as people write it on a command line, by the kind of the setting. Throws OptionError.
SettingValue parse_setting(const Setting& info, std::string_view text);
/// As people read it; empty where there is none.
std::string setting_text(const SettingValue& value);
nlohmann::ordered_json setting_json(const SettingValue& value);
/// Throws OptionError where JSON has something no setting takes.
SettingValue setting_from_json(const nlohmann::ordered_json& json);

}  // namespace desirepath::inline core
