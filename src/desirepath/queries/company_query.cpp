// The question: which courses, and concentrations, unexpectedly go together.
#include <algorithm>
#include <iterator>

#include <nlohmann/json.hpp>

#include "desirepath/core/text.h"
#include "desirepath/disclosure/disclosure.h"
#include "desirepath/queries/company.h"
#include "desirepath/queries/known.h"
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

class CompanyAnswer : public Answer {
 public:
  nlohmann::ordered_json to_json() const override {
    return {{"students", students},
            {"findings", company.found.findings},
            {"by_chance", rounded_chance(company.found.by_chance)},
            {"courses", table().to_json()},
            {"concentrations", rows(company.concentrations.names, company.concentration_pairs).to_json()}};
  }
  Table table() const override { return rows(company.courses.names, company.course_pairs); }
  void print(std::ostream& out) const override {
    if (!company.concentration_pairs.empty()) {
      out << "concentrations, of students with half of the courses of each, and two at least\n";
      rows(company.concentrations.names, company.concentration_pairs, printed_pairs).print_text(out);
      out << '\n';
    }
    out << "courses of different subjects\n";
    rows(titled, company.course_pairs, printed_pairs).print_text(out);
    out << chance_words(company.found, "pair", "pairs") << '\n';
  }
  std::vector<std::string> notes() const override {
    return {concat("over ", with_separators(students),
                   " students; expected: of those with something of both subjects, were each as popular as among all "
                   "of its subject, and chosen apart; ranked by the lower end of the lift's interval; pairs of ",
                   disclosure.few(), " students are left out"),
            "q: against enrollments shuffled so that only the students' loads and the courses' popularity remain"};
  }

  FoundCompany company;
  std::vector<std::string> titled;  // the courses, for people
  std::int64_t students = 0;
  Disclosure disclosure;

 private:
  static Table rows(const std::vector<std::string>& names, const std::vector<Company>& pairs,
                    std::size_t most = std::size_t(-1)) {
    Table table({{"one"}, {"other"}, {"students"}, {"expected", 1}, {"lift", 2}, {"at_least", 2}, {"q", 4}});
    for (std::size_t i = 0; i < std::min(most, pairs.size()); ++i) {
      table.add_row({names[static_cast<std::size_t>(pairs[i].a)], names[static_cast<std::size_t>(pairs[i].b)],
                     pairs[i].students, pairs[i].expected, pairs[i].lift(), pairs[i].certain_lift(),
                     rounded_chance(pairs[i].q)});
    }
    return table;
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
                                 RandomStream(input.seed).child("company"), input.compute);
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
