#include "desirepath/queries/expected_timings.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "desirepath/models/first_enrollments.h"
#include "desirepath/queries/student_groups.h"
#include "desirepath/transcripts/evidence.h"

namespace desirepath::inline queries {

double JudgedCourse::expected() const {
  double mean = 0;
  for (std::size_t t = 0; t < chance.size(); ++t)
    mean += chance[t] * static_cast<double>(t);
  return mean;
}

double JudgedCourse::variance() const {
  const double mean = expected();
  double sum = 0;
  for (std::size_t t = 0; t < chance.size(); ++t)
    sum += chance[t] * (static_cast<double>(t) - mean) * (static_cast<double>(t) - mean);
  return sum;
}

bool JudgedCourse::taken_in(Id period) const {
  return period == first || std::ranges::find(again, period) != again.end();
}

namespace {

/// A student with the courses of a part unknown wherever the student was enrolled; `course`, where it is one, is not
/// taken in `not_taken`.
void add_without_courses(const EvidenceBatch& record, std::int64_t student, const Schema& schema,
                         const std::vector<Id>& part, Id course, std::span<const Id> not_taken, EvidenceBuilder& rows) {
  rows.begin_student(record, student);
  for (Id t = 0; t < schema.period_count(); ++t) {
    PeriodEvidence period = PeriodEvidence::of(record, student, t);
    if (period.presence == Presence::present) {
      for (const Id c : part)
        period.set(schema.bit(t, c), std::nullopt);
      if (std::ranges::find(not_taken, t) != not_taken.end()) period.set(schema.bit(t, course), false);
    }
    rows.add(period);
  }
}

EvidenceBatch without_courses(const EvidenceBatch& record, std::span<const JudgedStudent> students,
                              const Schema& schema, const std::vector<Id>& part) {
  EvidenceBuilder rows(record);
  for (const JudgedStudent& student : students)
    add_without_courses(record, student.student, schema, part, 0, {}, rows);
  return std::move(rows).build();
}

std::vector<Id> enrolled_periods(const Cohort& cohort, std::int64_t student) {
  std::vector<Id> periods;
  for (Id t = 0; t < cohort.schema().period_count(); ++t) {
    if (cohort.enrolled(student, t)) periods.push_back(t);
  }
  return periods;
}

std::vector<Id> periods_taken(const Cohort& cohort, std::int64_t student, Id course) {
  std::vector<Id> periods;
  for (const Id t : enrolled_periods(cohort, student)) {
    if (std::ranges::binary_search(cohort.bits(student, t), cohort.schema().bit(t, course))) periods.push_back(t);
  }
  return periods;
}

std::vector<JudgedStudent> choose_students(const Cohort& cohort, std::int64_t most, const RandomStream& stream) {
  std::vector<std::int64_t> able;
  for (std::int64_t s = 0; s < cohort.student_count(); ++s) {
    if (enrolled_periods(cohort, s).size() > 1) able.push_back(s);
  }
  std::vector<JudgedStudent> students;
  for (const std::int64_t s : draw_students(std::move(able), most, stream))
    students.push_back({s, {}, {}});
  return students;
}

/// From the probabilities of enrollments (students by courses of the part and periods) to those of first enrollments,
/// where a student took the course: in each enrolled period given that it was not taken in the earlier ones.
void keep_first_enrollments(const Model& model, const Cohort& cohort, const EvidenceBatch& record,
                            std::span<const JudgedStudent> students, const std::vector<Id>& part,
                            const Executor& executor, RowMatrix& found) {
  const Schema& schema = model.schema();
  const Id periods = schema.period_count();
  std::vector<std::vector<Id>> enrolled;
  for (const JudgedStudent& student : students)
    enrolled.push_back(enrolled_periods(cohort, student.student));
  for (std::size_t i = 0; i < part.size(); ++i) {
    std::vector<std::size_t> takers;
    for (std::size_t s = 0; s < students.size(); ++s) {
      if (!periods_taken(cohort, students[s].student, part[i]).empty()) takers.push_back(s);
    }
    const auto column = [&](Id t) { return static_cast<Index>(i) * periods + t; };
    std::vector<double> not_yet(students.size(), 1);  // p(not taken in the periods before)
    for (std::size_t place = 1; !takers.empty(); ++place) {
      std::erase_if(takers, [&](std::size_t s) { return enrolled[s].size() <= place; });
      if (takers.empty()) break;
      EvidenceBuilder rows(record);
      for (const std::size_t s : takers) {
        add_without_courses(record, students[s].student, schema, part, part[i], std::span(enrolled[s]).first(place),
                            rows);
      }
      std::vector<Id> asked;
      for (Id t = 0; t < periods; ++t)
        asked.push_back(schema.bit(t, part[i]));
      const RowMatrix given = model.marginals(std::move(rows).build(), asked, executor).value;
      for (std::size_t row = 0; row < takers.size(); ++row) {
        const std::size_t s = takers[row];
        const auto at = static_cast<Index>(s);
        const double before = found(at, column(enrolled[s][place - 1]));
        not_yet[s] = std::max(0.0, not_yet[s] - before);
        const Id now = enrolled[s][place];
        found(at, column(now)) = not_yet[s] * given(static_cast<Index>(row), now);
      }
    }
  }
}

/// chances: a row of the probabilities of first enrollments in the part's courses, period by period.
void judge(const Cohort& cohort, const std::vector<Id>& part, const RowMatrix& chances, Index row,
           JudgedStudent& student) {
  const Id periods = cohort.schema().period_count();
  const std::vector<Id> enrolled = enrolled_periods(cohort, student.student);
  for (std::size_t i = 0; i < part.size(); ++i) {
    const std::vector<Id> taken = periods_taken(cohort, student.student, part[i]);
    if (taken.empty()) continue;
    JudgedCourse judged{part[i],
                        taken.front(),
                        std::vector<double>(static_cast<std::size_t>(periods), 0),
                        {taken.begin() + 1, taken.end()}};
    double sum = 0;
    for (const Id t : enrolled) {
      judged.chance[static_cast<std::size_t>(t)] = chances(row, static_cast<Index>(i) * periods + t);
      sum += judged.chance[static_cast<std::size_t>(t)];
    }
    if (sum <= 0) continue;
    for (double& p : judged.chance)
      p /= sum;
    student.courses.push_back(std::move(judged));
  }
}

void keep_probabilities_of(const Cohort& cohort, const std::vector<Id>& part, const RowMatrix& found, Index row,
                           JudgedStudent& student) {
  const Schema& schema = cohort.schema();
  for (std::size_t i = 0; i < part.size(); ++i) {
    for (const Id t : enrolled_periods(cohort, student.student)) {
      student.probability[static_cast<std::size_t>(schema.bit(t, part[i]))] =
          static_cast<float>(found(row, static_cast<Index>(i) * schema.period_count() + t));
    }
  }
}

}  // namespace

std::vector<JudgedStudent> judge_timings(const Model& model, const Cohort& cohort, std::int64_t most,
                                         bool keep_probabilities, RandomStream stream, const Executor& executor,
                                         const ProgressSink& progress, std::span<const TraitCondition> given) {
  constexpr std::size_t parts = 5, block = 1024;
  const Schema& schema = model.schema();
  std::vector<JudgedStudent> students = choose_students(cohort, most, stream.child("students"));
  if (keep_probabilities) {
    for (JudgedStudent& student : students)
      student.probability.assign(static_cast<std::size_t>(schema.bit_count()), 0);
  }
  std::vector<Id> order(static_cast<std::size_t>(schema.course_count()));
  std::iota(order.begin(), order.end(), 0);
  shuffle(order, stream);
  const EvidenceBatch record = given_conditions(schema, without_traits(EvidenceBatch::of(cohort)), given);
  for (std::size_t p = 0; p < parts; ++p) {
    std::vector<Id> part, asked;
    for (std::size_t i = p; i < order.size(); i += parts)
      part.push_back(order[i]);
    if (part.empty()) continue;
    std::ranges::sort(part);
    for (const Id c : part) {
      for (Id t = 0; t < schema.period_count(); ++t)
        asked.push_back(schema.bit(t, c));
    }
    for (std::size_t begin = 0; begin < students.size(); begin += block) {
      if (progress) {
        progress(
            {"timings",
             (static_cast<double>(p) + static_cast<double>(begin) / static_cast<double>(students.size())) / parts});
      }
      const std::span some = std::span(students).subspan(begin, std::min(block, students.size() - begin));
      const EvidenceBatch known = without_courses(record, some, schema, part);
      std::optional<RowMatrix> chances = first_enrollments(model, known, part, executor);
      if (!chances || keep_probabilities) {
        RowMatrix found = model.marginals(known, asked, executor).value;
        for (std::size_t i = 0; i < some.size() && keep_probabilities; ++i)
          keep_probabilities_of(cohort, part, found, static_cast<Index>(i), some[i]);
        if (!chances) {
          keep_first_enrollments(model, cohort, record, some, part, executor, found);
          chances = std::move(found);
        }
      }
      for (std::size_t i = 0; i < some.size(); ++i)
        judge(cohort, part, *chances, static_cast<Index>(i), some[i]);
    }
  }
  for (JudgedStudent& student : students)
    std::ranges::sort(student.courses, {}, &JudgedCourse::course);
  return students;
}

std::vector<JudgedStudent> one_period_students(const Cohort& cohort, std::int64_t judged, RandomStream stream) {
  std::vector<std::int64_t> single;
  std::int64_t others = 0;
  for (std::int64_t s = 0; s < cohort.student_count(); ++s) {
    const std::size_t periods = enrolled_periods(cohort, s).size();
    if (periods == 1) single.push_back(s);
    if (periods > 1) ++others;
  }
  const double share = others > 0 ? static_cast<double>(judged) / static_cast<double>(others) : 1;
  const auto most = static_cast<std::int64_t>(std::llround(share * static_cast<double>(single.size())));
  std::vector<JudgedStudent> students;
  for (const std::int64_t s : draw_students(std::move(single), most, stream)) {
    JudgedStudent student{s, {}, {}};
    const Id period = enrolled_periods(cohort, s).front();
    std::vector<double> chance(static_cast<std::size_t>(cohort.schema().period_count()), 0);
    chance[static_cast<std::size_t>(period)] = 1;
    for (const Id bit : cohort.bits(s, period))
      student.courses.push_back({cohort.schema().course_of(bit), period, chance});
    students.push_back(std::move(student));
  }
  return students;
}

}  // namespace desirepath::inline queries
