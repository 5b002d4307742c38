#include "desirepath/ingest/table_options.h"

#include <algorithm>
#include <functional>
#include <utility>

#include <toml++/toml.h>

#include "desirepath/core/atomic_file.h"
#include "desirepath/core/error.h"
#include "desirepath/core/nearest_name.h"
#include "desirepath/core/text.h"

namespace desirepath::inline ingest {

namespace {

template <class Enum>
std::optional<Enum> by_name(const std::string& name) {
  const auto& names = rule_names<Enum>();
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

}  // namespace

template <>
const std::vector<std::string>& rule_names<PeriodRule>() {
  static const std::vector<std::string> names = {"auto", "as-given", "years-since-entry", "terms-since-entry"};
  return names;
}
template <>
const std::vector<std::string>& rule_names<SummerRule>() {
  static const std::vector<std::string> names = {"keep", "drop"};
  return names;
}
template <>
const std::vector<std::string>& rule_names<LaterRule>() {
  static const std::vector<std::string> names = {"drop", "last"};
  return names;
}
template <>
const std::vector<std::string>& rule_names<PartTimeRule>() {
  static const std::vector<std::string> names = {"keep", "drop-periods", "drop-students"};
  return names;
}
template <>
const std::vector<std::string>& rule_names<AbsentRule>() {
  static const std::vector<std::string> names = {"unknown", "left"};
  return names;
}
template <>
const std::vector<std::string>& rule_names<RepeatRule>() {
  static const std::vector<std::string> names = {"keep", "first", "last"};
  return names;
}
template <>
const std::vector<std::string>& rule_names<WithdrawnRule>() {
  static const std::vector<std::string> names = {"keep", "drop"};
  return names;
}
template <>
std::optional<PeriodRule> parse_rule(const std::string& name) {
  return by_name<PeriodRule>(name);
}
template <>
std::optional<SummerRule> parse_rule(const std::string& name) {
  return by_name<SummerRule>(name);
}
template <>
std::optional<LaterRule> parse_rule(const std::string& name) {
  return by_name<LaterRule>(name);
}
template <>
std::optional<PartTimeRule> parse_rule(const std::string& name) {
  return by_name<PartTimeRule>(name);
}
template <>
std::optional<AbsentRule> parse_rule(const std::string& name) {
  return by_name<AbsentRule>(name);
}
template <>
std::optional<RepeatRule> parse_rule(const std::string& name) {
  return by_name<RepeatRule>(name);
}
template <>
std::optional<WithdrawnRule> parse_rule(const std::string& name) {
  return by_name<WithdrawnRule>(name);
}

void TableOptions::validate() const {
  if (min_takers < 0) throw OptionError("--min-takers must not be negative");
  if (min_periods < 1) throw OptionError("--min-periods must be at least 1");
  if (keep_periods && *keep_periods < 1) throw OptionError("--keep-periods must be at least 1");
  if (!(max_bad >= 0 && max_bad <= 1)) throw OptionError("--max-bad must be a share from 0 to 1");
  if (full_time_courses < 0 || !(full_time_units >= 0))
    throw OptionError("--full-time-courses and --full-time-units must not be negative");
  const bool bounded = full_time_courses > 0 || full_time_units > 0;
  if (part_time != PartTimeRule::keep && !bounded) {
    throw OptionError(
        "--part-time needs --full-time-courses or --full-time-units, the bound under which a period is part-time");
  }
}

void merge_mapping_text(const std::string& text, const std::string& file, TableOptions& options) {
  toml::table table;
  try {
    table = toml::parse(text, file);
  } catch (const toml::parse_error& error) {
    // toml++ describes the fault without quoting the file.
    throw InputError({file, error.source().begin.line, error.source().begin.column},
                     concat("not valid TOML: ", error.description()));
  }
  TableOptions read;
  struct Setter {
    std::string takes;  // for messages
    std::function<bool(const toml::node&)> set;
  };
  const auto text_into = [](std::string& target) -> Setter {
    return {"a text in quotes", [&target](const toml::node& node) {
              if (!node.is_string()) return false;
              target = node.as_string()->get();
              return true;
            }};
  };
  const auto path_into = [&](std::filesystem::path& target) -> Setter {
    return {"a file name in quotes", [&target, &file](const toml::node& node) {
              if (!node.is_string()) return false;
              // Paths in the file are meant from where the file lies.
              target = std::filesystem::path(file).parent_path() / node.as_string()->get();
              return true;
            }};
  };
  const auto texts_into = [](std::vector<std::string>& target) -> Setter {
    return {"a list of texts in quotes", [&target](const toml::node& node) {
              if (!node.is_array()) return false;
              target.clear();
              for (const auto& element : *node.as_array()) {
                if (!element.is_string()) return false;
                target.push_back(element.as_string()->get());
              }
              return true;
            }};
  };
  const auto whole_into = [](int& target) -> Setter {
    return {"a whole number", [&target](const toml::node& node) {
              const auto value = node.value<int>();
              if (!node.is_integer() || !value) return false;
              target = *value;
              return true;
            }};
  };
  const auto real_into = [](double& target) -> Setter {
    return {"a number", [&target](const toml::node& node) {
              const auto value = node.value<double>();
              if (!value) return false;
              target = *value;
              return true;
            }};
  };
  const auto rule_into = [](auto& target) -> Setter {
    using Rule = std::remove_reference_t<decltype(target)>;
    return {"one of " + join(rule_names<Rule>(), ", "), [&target](const toml::node& node) {
              const auto rule = node.is_string() ? parse_rule<Rule>(node.as_string()->get()) : std::nullopt;
              if (rule) target = *rule;
              return rule.has_value();
            }};
  };
  std::string delimiter;
  int keep_periods = 0;
  const std::map<std::string, Setter> setters = {
      {"encoding", text_into(read.encoding)},
      {"delimiter", text_into(delimiter)},
      {"table", text_into(read.table)},
      {"format", text_into(read.format)},
      {"where", text_into(read.where)},
      {"periods", rule_into(read.periods)},
      {"terms", path_into(read.terms_file)},
      {"summer-terms", texts_into(read.summer_codes)},
      {"keep-periods", whole_into(keep_periods)},
      {"later", rule_into(read.later)},
      {"absent", rule_into(read.absent)},
      {"summer", rule_into(read.summer)},
      {"withdrawn", rule_into(read.withdrawn)},
      {"passed-only",
       {"true or false",
        [&read](const toml::node& node) {
          if (!node.is_boolean()) return false;
          read.passed_only = node.as_boolean()->get();
          return true;
        }}},
      {"failing-grades", texts_into(read.failing_grades)},
      {"withdrawn-grades", texts_into(read.withdrawn_grades)},
      {"repeats", rule_into(read.repeats)},
      {"aliases", path_into(read.aliases_file)},
      {"part-time", rule_into(read.part_time)},
      {"full-time-courses", whole_into(read.full_time_courses)},
      {"full-time-units", real_into(read.full_time_units)},
      {"min-periods", whole_into(read.min_periods)},
      {"courses", path_into(read.courses_file)},
      {"min-takers", whole_into(read.min_takers)},
      {"max-bad", real_into(read.max_bad)},
      {"map",
       {"a table of texts in quotes: column = \"expression\"",
        [&read](const toml::node& node) {
          if (!node.is_table()) return false;
          for (const auto& [key, value] : *node.as_table()) {
            if (!value.is_string()) return false;
            read.map[std::string(key.str())] = value.as_string()->get();
          }
          return true;
        }}},
  };
  std::vector<std::string> known;
  for (const auto& [name, setter] : setters)
    known.push_back(name);
  read = options;  // keys the file lacks stay as they are
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    const SourcePosition position{file, node.source().begin.line, node.source().begin.column};
    const auto setter = setters.find(name);
    if (setter == setters.end())
      throw InputError(position, concat("no setting '", name, "'", did_you_mean(name, known)));
    if (!setter->second.set(node)) throw InputError(position, concat("'", name, "' must be ", setter->second.takes));
  }
  if (!delimiter.empty()) {
    const auto& node = *table.get("delimiter");
    if (delimiter == "tab") delimiter = "\t";
    if (delimiter.size() != 1) {
      throw InputError({file, node.source().begin.line, node.source().begin.column},
                       "'delimiter' must be one character or 'tab'");
    }
    read.delimiter = delimiter[0];
  }
  if (keep_periods != 0) read.keep_periods = keep_periods;
  options = std::move(read);
}

void merge_mapping_file(const std::filesystem::path& path, TableOptions& options) {
  merge_mapping_text(read_text_file(path), path.string(), options);
}

}  // namespace desirepath::inline ingest
