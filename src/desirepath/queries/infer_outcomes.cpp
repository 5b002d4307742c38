#include "desirepath/queries/infer_outcomes.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include <nlohmann/json.hpp>

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/disclosure/disclosed_table.h"
#include "desirepath/models/year_spread.h"
#include "desirepath/queries/enrollment_chances.h"
#include "desirepath/queries/evidence_settings.h"
#include "desirepath/queries/student_groups.h"

namespace desirepath::inline queries {

namespace {

constexpr std::int64_t outcome_students_listed = 5;

/// One question with parts that exclude each other: the values of a trait, or the periods after which a student is no
/// longer enrolled.
struct OutcomeParts {
  std::string name;
  bool is_enrollment = false;
  std::vector<std::string> labels;  // of the answers: values, or periods
  Estimates chances;                // students by answers
  Vector anyone;                    // of each answer, before anything is known

  std::size_t answers() const { return labels.size(); }
  /// Students by parts. Of enrollment these are: not enrolled in the first period asked about, enrolled in it and not
  /// in the second ..., enrolled in the last.
  RowMatrix parts() const {
    if (!is_enrollment) return chances.value;
    const Index periods = chances.value.cols();
    RowMatrix parts = RowMatrix::Zero(chances.value.rows(), periods + 1);
    for (Index j = 0; j <= periods; ++j) {
      Vector before = j == 0 ? Vector(Vector::Ones(parts.rows())) : Vector(chances.value.col(j - 1));
      if (j < periods) before -= chances.value.col(j);
      parts.col(j) = before.cwiseMax(0.0);
    }
    return parts;
  }
  /// Which answers may be told where these parts may not.
  std::vector<std::uint8_t> told(const Hidden& hidden) const {
    std::vector<std::uint8_t> told(answers(), 1);
    if (!is_enrollment) {
      std::ranges::transform(hidden, told.begin(), [](std::uint8_t is_hidden) { return is_hidden == 0 ? 1 : 0; });
      return told;
    }
    const auto first = std::ranges::find(hidden, 1) - hidden.begin();
    const auto last = std::ssize(hidden) - 1 - (std::find(hidden.rbegin(), hidden.rend(), 1) - hidden.rbegin());
    // Enrolled in a period is the sum of the parts behind it: between hidden parts it would tell some of them.
    for (std::ptrdiff_t a = 0; a < std::ssize(told); ++a)
      told[static_cast<std::size_t>(a)] = a + 1 <= first || a + 1 > last ? 1 : 0;
    return told;
  }
};

OutcomeParts trait_parts(const QueryInput& input, const EvidenceBatch& evidence, Id trait, const OutcomeTask& task) {
  const Model& model = input.model();
  const Trait& asked = model.schema().traits()[static_cast<std::size_t>(trait)];
  std::vector<Id> bits;
  for (Id v = 0; v < asked.value_count(); ++v)
    bits.push_back(model.schema().trait_bit(trait, v));
  return {asked.name, false, asked.values, model.marginals(evidence, bits, input.executor, task.conditioning),
          model.marginals(nothing_known(model.schema(), 1), bits, input.executor).value.row(0)};
}

OutcomeParts enrollment_parts(const QueryInput& input, const EvidenceBatch& evidence, const OutcomeTask& task) {
  const Model& model = input.model();
  OutcomeParts parts{enrolled_outcome, true, {}, {}, {}};
  for (const Id t : task.enrolled_in)
    parts.labels.push_back(model.schema().period(t));
  parts.chances.value = enrollment_chances(model, evidence, task.enrolled_in, input.executor);
  parts.anyone = enrollment_chances(model, nothing_known(model.schema(), 1), task.enrolled_in, input.executor).row(0);
  return parts;
}

struct StudentOutcome {
  std::int64_t student;
  std::size_t question, answer;
};

struct StudentOutcomes {
  EvidenceBatch students;
  std::vector<OutcomeParts> questions;
  bool is_sampled = false;

  const OutcomeParts& question(const StudentOutcome& row) const { return questions[row.question]; }
};

Table student_outcomes(std::vector<StudentOutcome> rows, const std::shared_ptr<const StudentOutcomes>& of) {
  using Row = StudentOutcome;
  const auto entry = [](const RowMatrix& values, const Row& row) {
    return values(row.student, static_cast<Index>(row.answer));
  };
  const auto label = [of](const Row& row) { return of->question(row).labels[row.answer]; };
  return {std::move(rows),
          {{"student", [of](const Row& row) { return of->students.students()[static_cast<std::size_t>(row.student)]; }},
           {"outcome", [of](const Row& row) { return of->question(row).name; }},
           {"period", [=](const Row& row) { return value_if(of->question(row).is_enrollment, label(row)); }},
           {"value", [=](const Row& row) { return of->question(row).is_enrollment ? std::string("yes") : label(row); }},
           {"probability", [=](const Row& row) { return entry(of->question(row).chances.value, row); }, share(3)},
           {"anyone", [of](const Row& row) { return of->question(row).anyone[static_cast<Index>(row.answer)]; },
            share(3, {.shown = Shown::if_picked})},
           {"what",
            [=](const Row& row) {
              return of->question(row).is_enrollment ? concat("enrolled in period ", label(row))
                                                     : concat(of->question(row).name, " = ", label(row));
            },
            {.title = "", .shown = Shown::if_picked}},
           {"standard_error",
            [=](const Row& row) {
              const Estimates& chances = of->question(row).chances;
              return value_if(of->is_sampled && !chances.is_exact(),
                              chances.is_exact() ? 0.0 : entry(chances.standard_error, row));
            },
            {.is_there = of->is_sampled}}}};
}

/// Each student's, all of them in the table, the first ones in words.
void add_each_student(Answer& answer, const EvidenceBatch& evidence, std::vector<OutcomeParts> questions,
                      bool for_people) {
  const std::int64_t wanted =
      for_people ? std::min(evidence.student_count(), outcome_students_listed) : evidence.student_count();
  std::vector<StudentOutcome> rows;
  for (std::int64_t s = 0; s < wanted; ++s) {
    for (std::size_t q = 0; q < questions.size(); ++q) {
      for (std::size_t a = 0; a < questions[q].answers(); ++a)
        rows.push_back({s, q, a});
    }
  }
  const bool is_sampled =
      std::ranges::any_of(questions, [](const OutcomeParts& question) { return !question.chances.is_exact(); });
  const auto of = std::make_shared<const StudentOutcomes>(StudentOutcomes{evidence, std::move(questions), is_sampled});
  for (std::int64_t s = 0; s < wanted && for_people; ++s) {
    std::vector<StudentOutcome> own;
    std::ranges::copy_if(rows, std::back_inserter(own), [&](const StudentOutcome& row) { return row.student == s; });
    answer.say(s > 0 ? "\n" : "", evidence.students()[static_cast<std::size_t>(s)]);
    answer.show(student_outcomes(std::move(own), of).pick({"what", "probability", "anyone"}), "  ");
  }
  if (for_people && evidence.student_count() > wanted)
    answer.say("and ", counted(evidence.student_count() - wanted, "student", "students"),
               " more: ", setting_name("csv"), " lists all");
  answer.add("outcomes", student_outcomes(std::move(rows), of));
}

struct ExpectedOutcome {
  std::string group, outcome;
  std::optional<std::string> period;
  std::string value;
  double expected, low, high, of;
};

RowMatrix sums_by_group(const RowMatrix& of_students, const StudentGroups& groups) {
  RowMatrix sums = RowMatrix::Zero(std::ssize(groups.names), of_students.cols());
  for (Index s = 0; s < of_students.rows(); ++s)
    sums.row(groups.of_student[static_cast<std::size_t>(s)]) += of_students.row(s);
  return sums;
}

/// Which parts of which groups may not be told. Of groups beside each other the totals are told too; nothing where the
/// groups must be merged first.
std::optional<HiddenTable> hide_parts(const RowMatrix& expected, const Disclosure& disclosure) {
  CountTable table;
  for (Index g = 0; g < expected.rows(); ++g)
    table.emplace_back(expected.row(g).begin(), expected.row(g).end());
  if (table.size() == 1) return HiddenTable{disclosure.hide(table.front())};
  return hide_in_table(table, disclosure);
}

/// Groups that are coarse enough for every question, and what is hidden of each question.
std::pair<StudentGroups, std::vector<HiddenTable>> outcome_groups(StudentGroups groups,
                                                                  const std::vector<OutcomeParts>& questions,
                                                                  const Disclosure& disclosure) {
  for (;; groups = merge_smallest(groups)) {
    std::vector<HiddenTable> hidden;
    for (const OutcomeParts& question : questions) {
      const auto found = hide_parts(sums_by_group(question.parts(), groups), disclosure);
      if (found) hidden.push_back(*found);
    }
    if (hidden.size() == questions.size()) return {std::move(groups), std::move(hidden)};
  }
}

void add_all_students(Answer& answer, const QueryInput& input, const EvidenceBatch& evidence,
                      const std::vector<OutcomeParts>& questions, const OutcomeTask& task) {
  const std::int64_t students = evidence.student_count();
  task.disclosure.require(students);
  StudentGroups all{{"all"}, std::vector<Id>(static_cast<std::size_t>(students), 0)};
  if (!task.by.empty()) all = disclosed_groups(groups_of(*input.cohort, task.by), task.disclosure);
  const auto [groups, hidden] = outcome_groups(std::move(all), questions, task.disclosure);
  const std::int64_t trained = input.stored.training.students.value_or(0);
  std::vector<ExpectedOutcome> rows;
  std::int64_t withheld = 0;
  for (std::size_t q = 0; q < questions.size(); ++q) {
    const OutcomeParts& question = questions[q];
    const RowMatrix& chances = question.chances.value;
    const RowMatrix expected = sums_by_group(chances, groups);
    RowMatrix spread = (chances.array() * (1 - chances.array())).matrix();
    if (!question.chances.is_exact()) spread += question.chances.standard_error.cwiseAbs2();
    const RowMatrix variance = sums_by_group(spread, groups);
    const RowMatrix sizes = sums_by_group(RowMatrix::Ones(students, 1), groups);
    for (Index g = 0; g < expected.rows(); ++g) {
      const std::vector<std::uint8_t> told = question.told(hidden[q][static_cast<std::size_t>(g)]);
      for (std::size_t a = 0; a < question.answers(); ++a) {
        if (told[a] == 0) {
          ++withheld;
          continue;
        }
        const auto column = static_cast<Index>(a);
        constexpr double half_a_student = 0.5;  // a normal interval for whole numbers
        const double size = sizes(g, 0), number = expected(g, column);
        const double reach =
            1.96 * std::sqrt(variance_with_training(variance(g, column), size, static_cast<double>(trained))) +
            half_a_student;
        rows.push_back({groups.names[static_cast<std::size_t>(g)], question.name,
                        value_if(question.is_enrollment, question.labels[a]),
                        question.is_enrollment ? "yes" : question.labels[a], number, std::max(0.0, number - reach),
                        std::min(size, number + reach), size});
      }
    }
  }
  using Row = ExpectedOutcome;
  const Look in_students{.unit = "students", .decimals = 1};
  const bool has_periods = std::ranges::any_of(questions, &OutcomeParts::is_enrollment);
  const bool is_by = !task.by.empty();
  const Table table(std::move(rows), {{"group", &Row::group, {.title = task.by, .is_there = is_by}},
                                      {"outcome", &Row::outcome},
                                      {"period", &Row::period, {.is_there = has_periods}},
                                      {"value", &Row::value},
                                      {"expected", &Row::expected, in_students},
                                      {"low", &Row::low, in_students},
                                      {"high", &Row::high, in_students},
                                      {"of", &Row::of, {.unit = "students", .decimals = 0}}});
  if (is_by) answer.set("by", task.by);
  answer.add("outcomes", table);
  answer.set("withheld_outcomes", withheld);
  answer.show(table);
  answer.note("low .. high holds the number 19 times of 20. It allows for what becomes of each student by chance",
              trained > 0 ? ", and for the model having been learned from finitely many students"
                          : ", and takes the model as it is",
              "; it does not allow for the change from year to year");
  if (withheld > 0)
    answer.note(counted(withheld, "number", "numbers"), " of ", task.disclosure.few(),
                " students, or from which such a number would follow, are left out");
}

}  // namespace

Answer infer_outcomes(const QueryInput& input, const EvidenceBatch& evidence, const OutcomeTask& task) {
  std::vector<OutcomeParts> questions;
  if (!task.enrolled_in.empty()) questions.push_back(enrollment_parts(input, evidence, task));
  for (const Id trait : task.traits)
    questions.push_back(trait_parts(input, evidence, trait, task));
  Answer answer;
  answer.set({{"model", input.model().name()}, {"students", evidence.student_count()}});
  if (task.total)
    add_all_students(answer, input, evidence, questions, task);
  else
    add_each_student(answer, evidence, std::move(questions), input.for_people);
  return answer;
}

}  // namespace desirepath::inline queries
