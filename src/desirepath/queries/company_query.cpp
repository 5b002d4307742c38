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

/// A pair as it may be shown.
struct ListedPair {
  Named one, other;
  std::optional<std::int64_t> students;
  std::optional<double> expected, lift, at_least;
  double q = 1;
};

/// With the takers of both, the students of a pair tell how many take the one without the other, and neither.
Table list_pairs(const std::vector<Company>& pairs, const std::vector<Named>& names,
                 const std::vector<std::optional<double>>& takers, std::int64_t students,
                 const Disclosure& disclosure) {
  std::vector<ListedPair> listed;
  for (const Company& pair : pairs) {
    const auto a = static_cast<std::size_t>(pair.a), b = static_cast<std::size_t>(pair.b);
    ListedPair& here = listed.emplace_back(ListedPair{names[a], names[b], {}, {}, {}, {}, rounded_chance(pair.q)});
    if (!takers[a] || !takers[b]) continue;
    here.expected = rounded_to_error(pair.expected, std::sqrt(pair.expected));
    const auto both = static_cast<double>(pair.students);
    const bool is_disclosed = disclosure.rests(both) && disclosure.allows(*takers[a] - both) &&
                              disclosure.allows(*takers[b] - both) &&
                              disclosure.allows(static_cast<double>(students) - *takers[a] - *takers[b] + both);
    if (!is_disclosed) continue;
    const double error = pair.lift() / std::sqrt(both);
    here.students = pair.students;
    here.lift = rounded_to_error(pair.lift(), error);
    here.at_least = rounded_to_error(pair.certain_lift(), error);
  }
  return {std::move(listed),
          {{"one", &ListedPair::one},
           {"other", &ListedPair::other},
           {"students", &ListedPair::students, {.unit = "students"}},
           {"expected", &ListedPair::expected, {.unit = "students", .decimals = 1}},
           {"lift", &ListedPair::lift, {.decimals = 2}},
           {"at_least", &ListedPair::at_least, {.decimals = 2}},
           {"q", &ListedPair::q, {.decimals = 4}}}};
}

Answer answer_company(const QueryInput& input) {
  const auto settings = input.read<CompanySettings>();
  const Cohort& cohort = *input.cohort;
  const Disclosure& disclosure = settings.disclosure;
  const std::int64_t students = cohort.student_count();
  disclosure.require(students);
  std::vector<Named> courses, concentrations;
  std::ranges::transform(cohort.schema().courses(), std::back_inserter(courses), named);
  const FoundCompany company =
      find_company(cohort, disclosure, settings.chance.q, input.stream.child("company"), input.executor);
  for (const std::string& name : company.concentrations.names)
    concentrations.push_back({name, name});
  const Table of_courses =
      list_pairs(company.course_pairs, courses, disclosed_takers(company.courses, disclose_cohort(cohort, disclosure)),
                 students, disclosure);
  const Table of_concentrations =
      list_pairs(company.concentration_pairs, concentrations, takers_of(company.concentrations), students, disclosure);
  Answer answer;
  answer.set("students", students);
  set_findings(answer, company.found);
  answer.add("courses", of_courses);
  answer.add("concentrations", of_concentrations);
  if (of_concentrations.row_count() > 0) {
    answer.say("concentrations, of students with half of the courses of each, and two at least");
    answer.show(of_concentrations.first(printed_pairs));
    answer.say("");
  }
  answer.say("courses of different subjects");
  answer.show(of_courses.first(printed_pairs));
  answer.say(chance_words(company.found, "pair", "pairs"));
  answer.note("over ", with_separators(students),
              " students; expected: of those with something of both subjects, were each as popular as among all "
              "of its subject, and chosen apart; ranked by the lower end of the lift's interval; pairs of ",
              disclosure.few(),
              " students are left out, and numbers that would tell of so few who take one without the other, or "
              "neither");
  answer.note("q: against enrollments shuffled so that only the students' loads and the courses' popularity remain");
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
