#include "desirepath/queries/company.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "desirepath/core/text.h"
#include "desirepath/queries/enrollment_shuffle.h"

namespace desirepath::inline queries {

double Company::certain_lift() const {
  return lift() * std::exp(-1.96 / std::sqrt(static_cast<double>(students)));
}

double Company::surprise() const {
  const auto n = static_cast<double>(students);
  return std::sqrt(n) + std::sqrt(n + 1) - std::sqrt(4 * expected + 1);
}

CompanyThings CompanyThings::courses(const Schema& schema, std::vector<std::vector<std::int64_t>> of_student) {
  CompanyThings things;
  for (const Course& course : schema.courses()) {
    things.names.push_back(course.name);
    things.owners.push_back(course.subject.empty() ? course.name : course.subject);
  }
  things.of_student = std::move(of_student);
  return things;
}

CompanyThings CompanyThings::concentrations(const Schema& schema, const CompanyThings& courses) {
  constexpr int least_courses = 2;
  std::vector<int> size;
  CompanyThings things;
  std::map<std::pair<std::string, std::string>, std::int64_t> number;
  std::vector<std::int64_t> of_course;
  for (const Course& course : schema.courses()) {
    of_course.push_back(-1);
    if (course.concentration.empty()) continue;
    const auto [found, added] =
        number.emplace(std::pair(course.subject, course.concentration), std::ssize(things.names));
    if (added) {
      size.push_back(0);
      things.names.push_back(course.subject.empty() ? course.concentration
                                                    : concat(course.subject, ": ", course.concentration));
      things.owners.push_back(course.subject.empty() ? course.concentration : course.subject);
    }
    of_course.back() = found->second;
    ++size[static_cast<std::size_t>(found->second)];
  }
  std::vector<int> counts(size.size(), 0);
  for (const auto& taken : courses.of_student) {
    std::ranges::fill(counts, 0);
    for (const std::int64_t c : taken) {
      if (of_course[static_cast<std::size_t>(c)] >= 0)
        ++counts[static_cast<std::size_t>(of_course[static_cast<std::size_t>(c)])];
    }
    things.of_student.emplace_back();
    for (std::size_t thing = 0; thing < counts.size(); ++thing) {
      if (counts[thing] >= least_courses && 2 * counts[thing] >= size[thing])
        things.of_student.back().push_back(static_cast<std::int64_t>(thing));
    }
  }
  return things;
}

std::vector<Company> count_company(const CompanyThings& things) {
  const std::size_t count = things.names.size();
  std::map<std::string, std::size_t> owner_number;
  std::vector<std::size_t> owner, owned;
  for (const std::string& name : things.owners) {
    owner.push_back(owner_number.emplace(name, owner_number.size()).first->second);
    owned.resize(owner_number.size(), 0);
    ++owned[owner.back()];
  }
  // What a thing's popularity is measured in: its owner's students, or all of them.
  const std::size_t everybody = owner_number.size(), bases = everybody + 1;
  std::vector<std::size_t> base;
  for (const std::size_t its : owner)
    base.push_back(owned[its] > 1 ? its : everybody);
  std::vector<std::int64_t> takers(count, 0), of_bases(bases * bases, 0);
  std::vector<std::int32_t> both(count * count, 0);
  std::vector<std::size_t> mine;
  for (const auto& own : things.of_student) {
    mine.assign(1, everybody);
    for (std::size_t i = 0; i < own.size(); ++i) {
      const auto thing = static_cast<std::size_t>(own[i]);
      mine.push_back(base[thing]);
      ++takers[thing];
      for (std::size_t j = i + 1; j < own.size(); ++j)
        ++both[thing * count + static_cast<std::size_t>(own[j])];
    }
    std::ranges::sort(mine);
    mine.erase(std::unique(mine.begin(), mine.end()), mine.end());
    for (const std::size_t one : mine) {
      for (const std::size_t other : mine)
        ++of_bases[one * bases + other];
    }
  }
  const auto students = [&](std::size_t one, std::size_t other) {
    return static_cast<double>(of_bases[one * bases + other]);
  };
  std::vector<Company> pairs;
  for (std::size_t a = 0; a < count; ++a) {
    for (std::size_t b = a + 1; b < count; ++b) {
      if (owner[a] == owner[b]) continue;
      double expected = students(base[a], base[b]);
      for (const std::size_t thing : {a, b}) {
        expected *= takers[thing] > 0 ? static_cast<double>(takers[thing]) / students(base[thing], base[thing]) : 0;
      }
      pairs.push_back({static_cast<Id>(a), static_cast<Id>(b), both[a * count + b], expected});
    }
  }
  return pairs;
}

namespace {

constexpr std::int64_t company_null_sets = 99, calibration_sums = 4, calibrations_per_sum = 5;

/// Pairs of courses, then pairs of concentrations: in the same order for every data set.
struct CountedCompany {
  CompanyThings courses, concentrations;
  std::vector<Company> pairs;
  std::size_t course_pairs = 0;

  CountedCompany(const Schema& schema, const EnrollmentTable& table)
      : courses(CompanyThings::courses(schema, table.of_students())),
        concentrations(CompanyThings::concentrations(schema, courses)),
        pairs(count_company(courses)),
        course_pairs(pairs.size()) {
    const std::vector<Company> more = count_company(concentrations);
    pairs.insert(pairs.end(), more.begin(), more.end());
  }
};

/// Students of every pair in shuffled enrollments over those expected there.
std::vector<double> shuffled_lifts(const Schema& schema, const EnrollmentTable& hub, std::size_t pairs,
                                   RandomStream stream, const Executor& executor) {
  struct Sum {
    double students = 0, expected = 0;
  };
  std::vector<std::vector<Sum>> sums(calibration_sums, std::vector<Sum>(pairs));
  executor.for_each(calibration_sums, [&](std::int64_t part) {
    for (std::int64_t i = 0; i < calibrations_per_sum; ++i) {
      const CountedCompany counted(
          schema, hub.shuffled(stream.child(static_cast<std::uint64_t>(part * calibrations_per_sum + i))));
      for (std::size_t p = 0; p < pairs; ++p) {
        sums[static_cast<std::size_t>(part)][p].students += static_cast<double>(counted.pairs[p].students);
        sums[static_cast<std::size_t>(part)][p].expected += counted.pairs[p].expected;
      }
    }
  });
  constexpr double prior = 5;  // students of a lift of 1: rare pairs say little
  std::vector<double> lifts;
  for (std::size_t p = 0; p < pairs; ++p) {
    Sum all{prior, prior};
    for (const std::vector<Sum>& part : sums) {
      all.students += part[p].students;
      all.expected += part[p].expected;
    }
    lifts.push_back(all.students / all.expected);
  }
  return lifts;
}

/// Those above what is expected, as far as they may be told; by what is expected, not by what came, it is decided which
/// are looked at.
bool is_company(const Company& pair, const Disclosure& disclosure) {
  constexpr double least_expected = 2;
  return pair.expected >= least_expected && static_cast<double>(pair.students) > pair.expected &&
         disclosure.rests(static_cast<double>(pair.students));
}

void keep_listed(std::vector<Company>& pairs, double most_q) {
  std::erase_if(pairs, [&](const Company& pair) { return pair.q > most_q; });
  std::ranges::stable_sort(pairs, std::ranges::greater(), &Company::certain_lift);
}

}  // namespace

FoundCompany find_company(const Cohort& cohort, const Disclosure& disclosure, double most_q, RandomStream stream,
                          const Executor& executor) {
  const EnrollmentTable real(cohort);
  const Schema& schema = cohort.schema();
  CountedCompany counted(schema, real);
  // From one table in the middle to all others, the real one among them: as likely forth as back, so that with nothing
  // there the real one is one of many alike, however slowly tables mix (Besag and Clifford 1989).
  const EnrollmentTable hub = real.shuffled(stream.child("hub"));
  const std::vector<double> lifts = shuffled_lifts(schema, hub, counted.pairs.size(), stream.child("lifts"), executor);
  const auto scores_of = [&](CountedCompany& data, std::vector<std::size_t>* numbers) {
    std::vector<double> scores;
    for (std::size_t p = 0; p < data.pairs.size(); ++p) {
      data.pairs[p].expected *= lifts[p];
      if (!is_company(data.pairs[p], disclosure)) continue;
      scores.push_back(data.pairs[p].surprise());
      if (numbers != nullptr) numbers->push_back(p);
    }
    return scores;
  };
  std::vector<std::size_t> numbers;
  NullCounts counts(scores_of(counted, &numbers));
  executor.for_each(company_null_sets, [&](std::int64_t set) {
    CountedCompany null(schema, hub.shuffled(stream.child("null").child(static_cast<std::uint64_t>(set))));
    counts.add(scores_of(null, nullptr));
  });
  const ChanceOfFindings chance = counts.chance();
  FoundCompany found{std::move(counted.courses), std::move(counted.concentrations), {}, {}, chance.cut(most_q)};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    Company pair = counted.pairs[numbers[i]];
    pair.q = chance.q[i];
    (numbers[i] < counted.course_pairs ? found.course_pairs : found.concentration_pairs).push_back(pair);
  }
  keep_listed(found.course_pairs, most_q);
  keep_listed(found.concentration_pairs, most_q);
  return found;
}

}  // namespace desirepath::inline queries
