#include "desirepath/queries/expected_timings.h"

#include <algorithm>
#include <numeric>

#include "desirepath/queries/student_groups.h"
#include "desirepath/transcripts/evidence.h"

namespace desirepath::inline queries {

double JudgedCourse::expected() const {
  double mean = 0;
  for (std::size_t t = 0; t < chance.size(); ++t)
    mean += chance[t] * static_cast<double>(t);
  return mean;
}

namespace {

/// The students with the courses of a part unknown wherever they were there.
EvidenceBatch without_courses(const EvidenceBatch& record, std::span<const JudgedStudent> students,
                              const Schema& schema, const std::vector<Id>& part) {
  EvidenceBuilder rows(record);
  for (const JudgedStudent& student : students) {
    rows.begin_student({});
    for (Id t = 0; t < schema.period_count(); ++t) {
      PeriodEvidence period = PeriodEvidence::of(record, student.student, t);
      if (period.presence == Presence::present) {
        for (const Id c : part)
          period.set(schema.bit(t, c), std::nullopt);
      }
      rows.add(period);
    }
  }
  return std::move(rows).build();
}

std::vector<JudgedStudent> choose_students(const Cohort& cohort, std::int64_t most, const RandomStream& stream) {
  std::vector<std::int64_t> able;
  for (std::int64_t s = 0; s < cohort.student_count(); ++s) {
    int there = 0;
    for (Id t = 0; t < cohort.schema().period_count(); ++t)
      there += cohort.enrolled(s, t) ? 1 : 0;
    if (there > 1) able.push_back(s);
  }
  std::vector<JudgedStudent> students;
  for (const std::int64_t s : draw_students(std::move(able), most, stream))
    students.push_back({s, {}, {}});
  return students;
}

/// found: a row of the probabilities of the part's courses, period by period.
void judge(const Cohort& cohort, const std::vector<Id>& part, const RowMatrix& found, Index row,
           JudgedStudent& student) {
  const Schema& schema = cohort.schema();
  const Id periods = schema.period_count();
  for (std::size_t i = 0; i < part.size(); ++i) {
    JudgedCourse judged{part[i], periods, std::vector<double>(static_cast<std::size_t>(periods), 0)};
    double sum = 0;
    for (Id t = periods - 1; t >= 0; --t) {
      if (!cohort.enrolled(student.student, t)) continue;
      const double p = found(row, static_cast<Index>(i) * periods + t);
      judged.chance[static_cast<std::size_t>(t)] = p;
      sum += p;
      if (!student.probability.empty())
        student.probability[static_cast<std::size_t>(schema.bit(t, part[i]))] = static_cast<float>(p);
      if (std::ranges::binary_search(cohort.bits(student.student, t), schema.bit(t, part[i]))) judged.first = t;
    }
    if (judged.first == periods || sum <= 0) continue;
    for (double& p : judged.chance)
      p /= sum;
    student.courses.push_back(std::move(judged));
  }
}

}  // namespace

std::vector<JudgedStudent> judge_timings(const Model& model, const Cohort& cohort, std::int64_t most,
                                         bool keep_probabilities, RandomStream stream, const Compute& compute,
                                         const ProgressSink& progress) {
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
  const EvidenceBatch record = EvidenceBatch::of(cohort);
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
      const RowMatrix found = model.marginals(without_courses(record, some, schema, part), asked, compute).value;
      for (std::size_t i = 0; i < some.size(); ++i)
        judge(cohort, part, found, static_cast<Index>(i), some[i]);
    }
  }
  for (JudgedStudent& student : students)
    std::ranges::sort(student.courses, {}, &JudgedCourse::course);
  return students;
}

}  // namespace desirepath::inline queries
