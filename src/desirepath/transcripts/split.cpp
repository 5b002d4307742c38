#include "desirepath/transcripts/split.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "desirepath/core/error.h"
#include "desirepath/core/file_set.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"

namespace desirepath::inline transcripts {

void SplitOptions::declare(SettingVisitor& visit) {
  const std::string what = concat("share of students; with ", setting_name("by"), ", how many of its last values");
  visit(Setting("validation", what).at_least(0), shares.validation);
  visit(Setting("hold-out", what).at_least(0), shares.hold_out);
  visit(Setting("by",
                "student attribute, or entry (the academic year of a student's first period), whose last values are "
                "set aside, in place of shares")
            .taking("ATTRIBUTE"),
        by);
}

Split split_by_share(const Cohort& cohort, const SplitShares& shares, const RandomStream& stream) {
  const bool valid = shares.validation >= 0 && shares.hold_out >= 0 && shares.validation + shares.hold_out < 1;
  if (!valid) throw OptionError("shares of validation and hold-out must be at least 0 and together under 1");
  const std::int64_t count = cohort.student_count();
  std::vector<std::pair<std::uint64_t, std::int64_t>> draws;
  draws.reserve(static_cast<std::size_t>(count));
  for (std::int64_t s = 0; s < count; ++s) {
    draws.emplace_back(stream.child(cohort.students()[static_cast<std::size_t>(s)]).bits(), s);
  }
  std::ranges::sort(draws);
  const auto hold_out = static_cast<std::int64_t>(std::llround(shares.hold_out * static_cast<double>(count)));
  const auto validation = static_cast<std::int64_t>(std::llround(shares.validation * static_cast<double>(count)));
  Split split;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t student = draws[static_cast<std::size_t>(i)].second;
    (i < hold_out ? split.hold_out : i < hold_out + validation ? split.validation : split.training).push_back(student);
  }
  std::ranges::sort(split.training);
  std::ranges::sort(split.validation);
  std::ranges::sort(split.hold_out);
  return split;
}

namespace {

Attribute attribute_or_entry(const Cohort& cohort, std::string_view name) {
  const bool is_attribute = std::ranges::find(cohort.attributes(), name, &Attribute::name) != cohort.attributes().end();
  if (is_attribute || name != "entry" || !cohort.has_calendar()) return cohort.attribute(name);
  std::map<std::int32_t, Id> years;
  for (std::int64_t s = 0; s < cohort.student_count(); ++s)
    years.emplace(cohort.entry_year(s), 0);
  years.erase(-1);
  Attribute entry{"entry", {}, {}};
  for (auto& [year, code] : years) {
    code = static_cast<Id>(entry.values.size());
    entry.values.push_back(std::to_string(year));
  }
  for (std::int64_t s = 0; s < cohort.student_count(); ++s) {
    const auto year = years.find(cohort.entry_year(s));
    entry.codes.push_back(year == years.end() ? -1 : year->second);
  }
  return entry;
}

}  // namespace

Split split_by_attribute(const Cohort& cohort, std::string_view name, std::size_t validation_values,
                         std::size_t hold_out_values) {
  const Attribute attribute = attribute_or_entry(cohort, name);
  // Values nobody has (any more) do not count.
  const std::set<Id> used(attribute.codes.begin(), attribute.codes.end());
  std::vector<std::size_t> order;
  for (std::size_t value = 0; value < attribute.values.size(); ++value) {
    if (used.contains(static_cast<Id>(value))) order.push_back(value);
  }
  const std::size_t count = order.size();
  if (validation_values + hold_out_values >= count) {
    throw OptionError(concat("attribute '", name, "' has ",
                             counted(static_cast<std::int64_t>(count), "value", "values"), ", too few to set ",
                             validation_values + hold_out_values, " aside"));
  }
  // Values as numbers where all of them are (years), else as text.
  const auto is_number = [](const std::string& text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  };
  const bool numeric = std::ranges::all_of(attribute.values, is_number);
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    const std::string &x = attribute.values[a], &y = attribute.values[b];
    return numeric && x.size() != y.size() ? x.size() < y.size() : x < y;
  });
  std::vector<int> place(attribute.values.size(), 0);
  for (std::size_t i = 0; i < count; ++i) {
    place[order[i]] = i >= count - hold_out_values ? 2 : i >= count - hold_out_values - validation_values ? 1 : 0;
  }
  Split split;
  for (std::int64_t s = 0; s < cohort.student_count(); ++s) {
    const Id code = attribute.codes[static_cast<std::size_t>(s)];
    const int target = code < 0 ? 0 : place[static_cast<std::size_t>(code)];
    (target == 2 ? split.hold_out : target == 1 ? split.validation : split.training).push_back(s);
  }
  return split;
}

Split split_students(const Cohort& cohort, const SplitOptions& options, const RandomStream& stream) {
  if (options.by.empty()) return split_by_share(cohort, options.shares, stream);
  const auto values = [](double given) -> std::size_t {
    if (given < 1) return 1;
    if (given == std::floor(given)) return static_cast<std::size_t>(given);
    throw OptionError(concat("with ", setting_name("by"), ", ", setting_name("validation"), " and ",
                             setting_name("hold-out"), " are numbers of values"));
  };
  return split_by_attribute(cohort, options.by, values(options.shares.validation), values(options.shares.hold_out));
}

namespace {

constexpr std::array<const char*, 3> part_names = {"training", "validation", "hold-out"};

std::filesystem::path file_of(const std::filesystem::path& folder, const char* part) {
  return folder / concat(part, ".cohort");
}

}  // namespace

void check_split_targets(const std::filesystem::path& folder, Overwrite overwrite) {
  if (!std::filesystem::exists(folder)) return;
  for (const char* part : part_names)
    check_target(file_of(folder, part), overwrite);
}

Answer write_split(const Cohort& cohort, const Split& split, const std::filesystem::path& folder, Overwrite overwrite,
                   const std::atomic<bool>* interrupt) {
  check_split_targets(folder, overwrite);
  Answer written;
  FileSet files(folder, overwrite);
  auto part = part_names.begin();
  for (const auto* students : {&split.training, &split.validation, &split.hold_out}) {
    if (interrupt != nullptr && interrupt->load()) throw Interrupted("interrupted; nothing is written");
    const std::filesystem::path file = file_of(folder, *part);
    cohort.select(*students).to_archive().write(files.add(file.filename().string(), FileAccess::owner));
    written.set(students == &split.hold_out ? "hold_out" : *part,
                {{"file", file.string()}, {"students", students->size()}});
    written.say("wrote ", file.string(), ": ", counted(std::ssize(*students), "student", "students"));
    ++part;
  }
  files.commit(interrupt);
  return written;
}

}  // namespace desirepath::inline transcripts
