#include "desirepath/ingest/student_selection.h"

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <utility>

#include <nlohmann/json.hpp>

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/ingest/sql_table.h"

namespace desirepath::inline ingest {

namespace {

constexpr std::array fact_names = {"student", "entry", "periods", "first_period", "last_period", "enrollments"};

/// What the cohort itself tells of a student; empty = not known.
std::array<std::string, fact_names.size()> facts_of(const Cohort& cohort, std::int64_t student) {
  const Schema& schema = cohort.schema();
  std::vector<Id> present;
  for (Id period = 0; period < schema.period_count(); ++period) {
    if (cohort.enrolled(student, period)) present.push_back(period);
  }
  const std::int32_t entry = cohort.entry_year(student);
  return {cohort.students()[static_cast<std::size_t>(student)],
          entry < 0 ? "" : std::to_string(entry),
          std::to_string(present.size()),
          present.empty() ? "" : schema.period(present.front()),
          present.empty() ? "" : schema.period(present.back()),
          std::to_string(cohort.bits(student).size())};
}

/// A row a student; all in one batch, so that a column is numbers only where it is for every student.
class StudentRows : public RowSource {
 public:
  explicit StudentRows(const Cohort& cohort) : cohort_(cohort) {
    for (const Attribute& attribute : cohort.attributes())
      columns_.push_back(attribute.name);
    for (std::size_t f = 0; f < fact_names.size(); ++f) {
      if (std::ranges::find(columns_, fact_names[f]) != columns_.end()) continue;
      columns_.emplace_back(fact_names[f]);
      shown_.push_back(f);
    }
  }
  const std::vector<std::string>& columns() const override { return columns_; }
  std::string description() const override { return "students of a cohort"; }
  double fraction() const override { return done_ ? 1 : 0; }

  bool next(RowBatch& batch) override {
    batch.clear();
    batch.column_count = columns_.size();
    if (std::exchange(done_, true)) return false;
    for (std::int64_t student = 0; student < cohort_.student_count(); ++student) {
      for (const Attribute& attribute : cohort_.attributes()) {
        const Id code = attribute.codes[static_cast<std::size_t>(student)];
        batch.cells.push_back(code < 0 ? std::string_view() : attribute.values[static_cast<std::size_t>(code)]);
      }
      const auto facts = facts_of(cohort_, student);
      for (const std::size_t f : shown_)
        batch.cells.push_back(texts_.emplace_back(facts[f]));
      batch.records.push_back(student);
    }
    return batch.row_count() > 0;
  }

 private:
  const Cohort& cohort_;
  std::vector<std::string> columns_;
  std::vector<std::size_t> shown_;  // facts that no attribute has the name of
  std::deque<std::string> texts_;   // a deque keeps views valid
  bool done_ = false;
};

/// What is left, as the filters of preparation are told.
nlohmann::ordered_json stage_of(const Cohort& cohort) {
  std::int64_t rows = 0;  // enrollments, and presence alone
  std::vector<bool> taken(static_cast<std::size_t>(cohort.schema().course_count()), false);
  for (std::int64_t student = 0; student < cohort.student_count(); ++student) {
    for (Id period = 0; period < cohort.schema().period_count(); ++period) {
      const auto bits = cohort.bits(student, period);
      rows += bits.empty() && cohort.enrolled(student, period) ? 1 : std::ssize(bits);
      for (const Id bit : bits)
        taken[static_cast<std::size_t>(cohort.schema().course_of(bit))] = true;
    }
  }
  return {{"after", concat("students not selected by ", setting_name("where"))},
          {"rows", rows},
          {"students", cohort.student_count()},
          {"courses", std::ranges::count(taken, true)}};
}

}  // namespace

Cohort select_students(const Cohort& cohort, const std::string& condition) {
  const auto rows = SqlTable::of_rows(std::make_unique<StudentRows>(cohort))
                        .select({{concat("(", condition, "\n) IS TRUE"), setting_name("where"), /*by_user=*/true}});
  std::vector<std::int64_t> chosen;
  RowBatch batch;
  while (rows->next(batch)) {
    for (std::size_t r = 0; r < batch.row_count(); ++r) {
      if (batch.cell(r, 0) == "true") chosen.push_back(batch.records[r]);
    }
  }
  if (chosen.empty()) {
    throw InputError(concat(setting_name("where"), " selects none of the ",
                            counted(cohort.student_count(), "student", "students"),
                            "; 'desirepath inspect' names the attributes"));
  }
  std::ranges::sort(chosen);
  const Cohort selected = cohort.select(chosen);
  CohortParts parts = selected.parts();
  auto provenance = nlohmann::ordered_json::parse(parts.provenance, nullptr, /*allow_exceptions=*/false);
  if (provenance.is_object()) {
    provenance["selected"].push_back(
        {{"where", condition}, {"students_before", cohort.student_count()}, {"students", chosen.size()}});
    if (provenance.contains("stages")) provenance["stages"].push_back(stage_of(selected));
    parts.provenance = render_settings(provenance.dump(), "--");  // a file holds no marks
  }
  return Cohort(std::move(parts));
}

}  // namespace desirepath::inline ingest
