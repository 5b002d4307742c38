#include "desirepath/queries/company.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "desirepath/core/text.h"
#include "desirepath/disclosure/disclosure.h"
#include "desirepath/queries/known.h"
#include "desirepath/queries/query.h"

namespace desirepath::inline queries {

double Company::certain_lift() const {
  return lift() * std::exp(-1.96 / std::sqrt(static_cast<double>(students)));
}

CompanyThings CompanyThings::courses(const Cohort& cohort) {
  CompanyThings things;
  for (const Course& course : cohort.schema().courses()) {
    things.names.push_back(course.name);
    things.owners.push_back(course.subject.empty() ? course.name : course.subject);
  }
  for (std::int64_t s = 0; s < cohort.student_count(); ++s) {
    std::set<std::int64_t> own;
    for (const Id bit : cohort.bits(s))
      own.insert(cohort.schema().course_of(bit));
    things.of_student.emplace_back(own.begin(), own.end());
  }
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
  for (const auto& taken : courses.of_student) {
    std::map<std::int64_t, int> counts;
    for (const std::int64_t c : taken) {
      if (of_course[static_cast<std::size_t>(c)] >= 0) ++counts[of_course[static_cast<std::size_t>(c)]];
    }
    things.of_student.emplace_back();
    for (const auto& [thing, count] : counts) {
      if (count >= least_courses && 2 * count >= size[static_cast<std::size_t>(thing)])
        things.of_student.back().push_back(thing);
    }
  }
  return things;
}

std::vector<Company> find_company(const CompanyThings& things, const Disclosure& disclosure) {
  const std::size_t count = things.names.size();
  std::map<std::string, std::size_t> owner_number;
  std::vector<std::size_t> owner;
  for (const std::string& name : things.owners)
    owner.push_back(owner_number.emplace(name, owner_number.size()).first->second);
  const std::size_t owners = owner_number.size();
  // [thing][owner]: students with the thing and something of the owner; [owner][owner] likewise.
  std::vector<std::int64_t> with_owner(count * owners, 0), of_owners(owners * owners, 0), both(count * count, 0);
  for (const auto& own : things.of_student) {
    std::set<std::size_t> mine;
    for (const std::int64_t thing : own)
      mine.insert(owner[static_cast<std::size_t>(thing)]);
    for (const std::size_t one : mine) {
      for (const std::size_t other : mine)
        ++of_owners[one * owners + other];
    }
    for (std::size_t i = 0; i < own.size(); ++i) {
      for (const std::size_t other : mine)
        ++with_owner[static_cast<std::size_t>(own[i]) * owners + other];
      for (std::size_t j = i + 1; j < own.size(); ++j)
        ++both[static_cast<std::size_t>(own[i]) * count + static_cast<std::size_t>(own[j])];
    }
  }
  std::vector<Company> pairs;
  for (std::size_t a = 0; a < count; ++a) {
    for (std::size_t b = a + 1; b < count; ++b) {
      if (owner[a] == owner[b] || !disclosure.rests(static_cast<double>(both[a * count + b]))) continue;
      const auto students = [&](std::size_t one, std::size_t other) {
        return static_cast<double>(of_owners[one * owners + other]);
      };
      // The share of the owner's students who have the thing.
      const auto share = [&](std::size_t thing) {
        return static_cast<double>(with_owner[thing * owners + owner[thing]]) / students(owner[thing], owner[thing]);
      };
      const Company pair{static_cast<std::int64_t>(a), static_cast<std::int64_t>(b), both[a * count + b],
                         students(owner[a], owner[b]) * share(a) * share(b)};
      if (pair.certain_lift() > 1) pairs.push_back(pair);
    }
  }
  std::ranges::stable_sort(pairs, std::ranges::greater(), &Company::certain_lift);
  return pairs;
}

namespace {

constexpr std::size_t printed_pairs = 12;

struct CompanySettings {
  Disclosure disclosure;
  void declare(SettingVisitor& visit) { disclosure.declare(visit); }
};

class CompanyAnswer : public Answer {
 public:
  nlohmann::ordered_json to_json() const override {
    return {{"students", students},
            {"courses", table().to_json()},
            {"concentrations", rows(concentrations.names, concentration_pairs).to_json()}};
  }
  Table table() const override { return rows(courses.names, course_pairs); }
  void print(std::ostream& out) const override {
    if (!concentration_pairs.empty()) {
      out << "concentrations, of students with half of the courses of each, and two at least\n";
      rows(concentrations.names, concentration_pairs, printed_pairs).print_text(out);
      out << '\n';
    }
    out << "courses of different subjects\n";
    rows(titled, course_pairs, printed_pairs).print_text(out);
  }
  std::vector<std::string> notes() const override {
    return {concat("over ", with_separators(students),
                   " students; expected: of those with something of both subjects, were each as popular as among all "
                   "of its subject, and chosen apart; ranked by the lower end of the lift's interval; pairs of ",
                   disclosure.few(), " students are left out")};
  }

  CompanyThings courses, concentrations;
  std::vector<std::string> titled;  // the courses, for people
  std::vector<Company> course_pairs, concentration_pairs;
  std::int64_t students = 0;
  Disclosure disclosure;

 private:
  static Table rows(const std::vector<std::string>& names, const std::vector<Company>& pairs,
                    std::size_t most = std::size_t(-1)) {
    Table table({{"one"}, {"other"}, {"students"}, {"expected", 1}, {"lift", 2}, {"at_least", 2}});
    for (std::size_t i = 0; i < std::min(most, pairs.size()); ++i) {
      table.add_row({names[static_cast<std::size_t>(pairs[i].a)], names[static_cast<std::size_t>(pairs[i].b)],
                     pairs[i].students, pairs[i].expected, pairs[i].lift(), pairs[i].certain_lift()});
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
  answer->courses = CompanyThings::courses(cohort);
  std::ranges::transform(cohort.schema().courses(), std::back_inserter(answer->titled), full_name);
  answer->concentrations = CompanyThings::concentrations(cohort.schema(), answer->courses);
  answer->course_pairs = find_company(answer->courses, answer->disclosure);
  answer->concentration_pairs = find_company(answer->concentrations, answer->disclosure);
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
