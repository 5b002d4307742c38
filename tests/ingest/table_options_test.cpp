#include "desirepath/ingest/table_options.h"

#include <fstream>

#include "support/support.h"

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"

namespace desirepath::table_options_test {
namespace {

/// A value other than the default, made from the declaration alone: a setting declared later is tested as it stands.
SettingValue another_value(const Setting& info) {
  switch (info.kind) {
    case SettingKind::flag:
      return true;
    case SettingKind::whole:
      return std::int64_t{7};
    case SettingKind::real:
      return 0.5;
    case SettingKind::choice:
      return info.choices.back();
    case SettingKind::list:
      return std::vector<std::string>{"A", "B"};
    case SettingKind::pairs:
      return std::map<std::string, std::string>{{"student", "EMPLID"}};
    default:
      return std::string(info.takes == "NUMBER" ? "7" : ";");
  }
}

std::string as_toml(const SettingValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return concat("'", *text, "'");
  if (std::holds_alternative<std::vector<std::string>>(value)) return "['A', 'B']";
  if (std::holds_alternative<std::map<std::string, std::string>>(value)) return "{student = 'EMPLID'}";
  return setting_text(value);
}

TEST(TableOptions, EverySettingIsReadRecordedAndTakenFromAMappingFile) {
  const std::vector<Setting> settings = list_settings(declaration_of<TableOptions>());
  EXPECT_GE(settings.size(), 26U);
  for (const Setting& info : settings) {
    const SettingValue value = another_value(info);
    EXPECT_NE(value, info.standard) << info.name;
    SettingValues expected = record_of(TableOptions());
    expected[info.name] = value;
    const SettingValues recorded = record_of(settings_from<TableOptions>({{info.name, value}}));
    EXPECT_EQ(recorded, expected) << info.name;
    EXPECT_EQ(record_of(settings_from<TableOptions>(recorded)), expected) << info.name;
    EXPECT_EQ(record_of(parse_mapping(concat(info.name, " = ", as_toml(value), "\n"), "m.toml")), expected)
        << info.name;
    EXPECT_FALSE(info.what.empty()) << info.name;
    EXPECT_FALSE(info.group.empty()) << info.name;
  }
}

TEST(TableOptions, MappingFile) {
  const TableOptions options = parse_mapping(
      "periods = 'years-since-entry'\nmin-takers = 3\nsummer = 'drop'\ndelimiter = 'tab'\nterms = 'terms.csv'\n"
      "[map]\nstudent = 'EMPLID'\n",
      "folder/m.toml");
  EXPECT_EQ(options.periods, PeriodRule::years_since_entry);
  EXPECT_EQ(options.min_takers, 3);
  EXPECT_EQ(options.summer, RowRule::drop);
  EXPECT_EQ(options.delimiter->character, '\t');
  EXPECT_EQ(options.terms_file, "folder/terms.csv");  // from where the mapping lies
  EXPECT_EQ(options.map.at("student"), "EMPLID");
  EXPECT_EQ(options.keep_periods, std::nullopt);
}

TEST(TableOptions, FaultsOfAMappingFileHaveTheirPlace) {
  const auto refusal = [](const std::string& text) {
    return test::message_of<InputError>([&] { parse_mapping(text, "m.toml"); });
  };
  EXPECT_TRUE(test::says(refusal("min-taker = 3\n"), {"m.toml:1:13", "'min-taker'", "'min-takers'"}));
  EXPECT_TRUE(test::says(refusal("summer = 'maybe'\n"), {"m.toml:1:10", "'summer'", "keep", "drop"}));
  EXPECT_TRUE(test::says(refusal("\nmin-takers = -1\n"), {"m.toml:2:14", "'min-takers'"}));
  EXPECT_TRUE(test::says(refusal("max-bad = 2\n"), {"m.toml:1:11", "'max-bad'", "0", "1"}));
  EXPECT_TRUE(test::says(refusal("table = 2020-01-01\n"), {"m.toml:1:9", "'table'"}));
  EXPECT_TRUE(test::says(refusal("failing-grades = [1]\n"), {"m.toml:1:18", "'failing-grades'"}));
  EXPECT_TRUE(test::says(refusal("passed-only = 1\n"), {"m.toml:1:15", "'passed-only'", "true", "false"}));
  EXPECT_TRUE(test::says(refusal("delimiter = ''\n"), {"m.toml:1:13", "'delimiter'", "'tab'"}));
  EXPECT_TRUE(test::says(refusal("= 3"), {"m.toml:1:1", "TOML"}));
}

TEST(TableOptions, CombinationsThatMakeNoSenseAreRefused) {
  TableOptions options;
  options.part_time = PartTimeRule::drop_periods;
  EXPECT_TRUE(test::says(test::message_of<OptionError>([&] { options.validate(); }),
                         {"--part-time", "--full-time-courses", "--full-time-units"}));
  options.full_time_units = 3;
  EXPECT_NO_THROW(options.validate());
}

}  // namespace
}  // namespace desirepath::table_options_test
