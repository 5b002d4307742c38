// The question: which courses, and concentrations, unexpectedly go together.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

#include <nlohmann/json.hpp>

#include "desirepath/core/rounded.h"
#include "desirepath/core/text.h"
#include "desirepath/disclosure/disclosure.h"
#include "desirepath/queries/company.h"
#include "desirepath/queries/disclosed_cohort.h"
#include "desirepath/queries/evidence_settings.h"
#include "desirepath/queries/query.h"

namespace desirepath::inline queries {

namespace {

constexpr std::size_t printed_pairs = 12;

struct CompanySettings {
  ChanceSettings chance;
  Disclosure disclosure;
  void declare(SettingVisitor& visit) {
    chance.declare(visit);
    disclosure.declare(visit);
  }
};

/// What may be said of a pair.
struct PairDisclosure {
  bool expected = false, students = false;  // the second only with the first
};

/// How many take each thing, where that may be told: of courses as `describe` tells it.
std::vector<std::optional<double>> takers_of(const CompanyThings& things) {
  std::vector<std::optional<double>> takers(things.names.size(), 0);
  for (const auto& own : things.of_student) {
    for (const std::int64_t thing : own)
      *takers[static_cast<std::size_t>(thing)] += 1;
  }
  return takers;
}
std::vector<std::optional<double>> disclosed_takers(const CompanyThings& courses, const DisclosedCohort& disclosed) {
  std::vector<std::optional<double>> takers(courses.names.size());
  for (const DisclosedCohort::CourseCount& course : disclosed.courses) {
    if (course.students) takers[static_cast<std::size_t>(course.course)] = static_cast<double>(*course.students);
  }
  return takers;
}

/// With the takers of both, the students of a pair tell how many take the one without the other, and neither.
std::vector<PairDisclosure> disclose_pairs(const std::vector<Company>& pairs,
                                           const std::vector<std::optional<double>>& takers, std::int64_t students,
                                           const Disclosure& disclosure) {
  std::vector<PairDisclosure> result;
  for (const Company& pair : pairs) {
    const auto one = takers[static_cast<std::size_t>(pair.a)], other = takers[static_cast<std::size_t>(pair.b)];
    const auto both = static_cast<double>(pair.students);
    PairDisclosure& here = result.emplace_back();
    here.expected = one && other;
    here.students = here.expected && disclosure.rests(both) && disclosure.allows(*one - both) &&
                    disclosure.allows(*other - both) &&
                    disclosure.allows(static_cast<double>(students) - *one - *other + both);
  }
  return result;
}

class CompanyAnswer : public Answer {
 public:
  nlohmann::ordered_json to_json() const override {
    return {{"students", students},
            {"findings", company.found.findings},
            {"by_chance", rounded_chance(company.found.by_chance)},
            {"courses", table().to_json()},
            {"concentrations",
             rows(company.concentrations.names, company.concentration_pairs, disclosed_concentrations).to_json()}};
  }
  Table table() const override { return rows(company.courses.names, company.course_pairs, disclosed_courses); }
  void print(std::ostream& out) const override {
    if (!company.concentration_pairs.empty()) {
      out << "concentrations, of students with half of the courses of each, and two at least\n";
      rows(company.concentrations.names, company.concentration_pairs, disclosed_concentrations, printed_pairs)
          .print_text(out);
      out << '\n';
    }
    out << "courses of different subjects\n";
    rows(titled, company.course_pairs, disclosed_courses, printed_pairs).print_text(out);
    out << chance_words(company.found, "pair", "pairs") << '\n';
  }
  std::vector<std::string> notes() const override {
    return {concat("over ", with_separators(students),
                   " students; expected: of those with something of both subjects, were each as popular as among all "
                   "of its subject, and chosen apart; ranked by the lower end of the lift's interval; pairs of ",
                   disclosure.few(),
                   " students are left out, and numbers that would tell of so few who take one without "
                   "the other, or neither"),
            "q: against enrollments shuffled so that only the students' loads and the courses' popularity remain"};
  }

  FoundCompany company;
  std::vector<PairDisclosure> disclosed_courses, disclosed_concentrations;
  std::vector<std::string> titled;  // the courses, for people
  std::int64_t students = 0;
  Disclosure disclosure;

 private:
  static Table rows(const std::vector<std::string>& names, const std::vector<Company>& pairs,
                    const std::vector<PairDisclosure>& disclosed, std::size_t most = std::size_t(-1)) {
    Table table({{"one"}, {"other"}, {"students"}, {"expected", 1}, {"lift", 2}, {"at_least", 2}, {"q", 4}});
    for (std::size_t i = 0; i < std::min(most, pairs.size()); ++i) {
      table.add_row({names[static_cast<std::size_t>(pairs[i].a)], names[static_cast<std::size_t>(pairs[i].b)],
                     disclosed[i].students ? Cell(pairs[i].students) : Cell(),
                     number(disclosed[i].expected, pairs[i].expected, std::sqrt(pairs[i].expected)),
                     number(disclosed[i].students, pairs[i].lift(), lift_error(pairs[i])),
                     number(disclosed[i].students, pairs[i].certain_lift(), lift_error(pairs[i])),
                     rounded_chance(pairs[i].q)});
    }
    return table;
  }
  static double lift_error(const Company& pair) { return pair.lift() / std::sqrt(static_cast<double>(pair.students)); }
  static Cell number(bool is_disclosed, double value, double error) {
    return is_disclosed ? Cell(rounded_to_error(value, error)) : Cell();
  }
};

std::unique_ptr<Answer> answer_company(const QueryInput& input) {
  const auto settings = input.read<CompanySettings>();
  const Cohort& cohort = *input.cohort;
  settings.disclosure.require(cohort.student_count());
  auto answer = std::make_unique<CompanyAnswer>();
  answer->students = cohort.student_count();
  answer->disclosure = settings.disclosure;
  std::ranges::transform(cohort.schema().courses(), std::back_inserter(answer->titled), full_name);
  answer->company = find_company(cohort, settings.disclosure, settings.chance.q,
                                 RandomStream(input.seed).child("company"), input.executor);
  const std::int64_t students = cohort.student_count();
  answer->disclosed_courses =
      disclose_pairs(answer->company.course_pairs,
                     disclosed_takers(answer->company.courses, disclose_cohort(cohort, settings.disclosure)), students,
                     settings.disclosure);
  answer->disclosed_concentrations = disclose_pairs(
      answer->company.concentration_pairs, takers_of(answer->company.concentrations), students, settings.disclosure);
  return answer;
}

}  // namespace

Query company_query() {
  return {
      "company",
      "courses of different subjects taken by the same students more than popularity says",
      {"desirepath company answers.desirepath all.cohort", "desirepath company answers.desirepath all.cohort --csv"},
      CohortUse::required,
      "the students to look at: a cohort file or a raw table",
      declaration_of<CompanySettings>(),
      answer_company};
}

}  // namespace desirepath::inline queries
