// Answers own what they show: every question of the catalog, rendered while its model and students are there and again
// when they are gone.
#include <memory>
#include <set>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/example_cohorts.h"
#include "support/fits.h"

#include "desirepath/core/error.h"
#include "desirepath/queries/query.h"

namespace desirepath::answers_test {
namespace {

/// Half of the students like the first courses, half the last; who took c1 takes c4 later.
Cohort students_of(const std::string& prefix) {
  std::vector<Course> courses = test::small_schema(6, 3).courses();
  for (Course& course : courses) {
    course.name = prefix + course.name;
    course.label = "Introduction to " + course.name;
    course.subject = course.name.back() < '4' ? prefix + "first" : prefix + "second";
  }
  test::CohortMaker maker(Schema(std::move(courses), {prefix + "1", prefix + "2", prefix + "3"}));
  RandomStream stream(7);
  Attribute home{"home", {prefix + "near", prefix + "far"}, {}};
  for (int s = 0; s < 240; ++s) {
    maker.add_student(prefix + std::to_string(s));
    home.codes.push_back(s % 3 == 0 ? 1 : 0);
    bool had_first = false;
    for (Id t = 0; t < 3; ++t) {
      for (Id c = 0; c < 6; ++c) {
        const double liking = (c < 3) == (s % 2 == 0) ? 0.5 : 0.15;
        const double chance = c == 3 ? (t > 0 && had_first ? 0.8 : 0.05) : liking;
        if (!(stream.uniform() < chance)) continue;
        maker.take(t, c);
        had_first = had_first || (c == 0 && t == 0);
      }
    }
  }
  return test::changed(maker.build(), [&](CohortParts& parts) { parts.attributes = {home}; });
}

struct Asked {
  explicit Asked(const std::string& prefix) : students(students_of(prefix)) {}

  Cohort students;
  StoredModel states = test::fitted(
      students,
      FitOptions("cmm+bernoulli").set("states", std::int64_t{2}).set("iterations", std::int64_t{8}).set("restarts", 1));
  StoredModel trees = test::fitted(
      students,
      FitOptions("hct").set("trees", std::int64_t{1}).set("tree-states", std::int64_t{3}).set("iterations", 4));
};

struct Question {
  std::string query;
  SettingValues settings = {};
  bool of_trees = false, has_students = true, students_wanted = false, for_people = true;
};

using Texts = std::vector<std::string>;

std::vector<Question> questions() {
  const auto one = [](const char* text) { return Texts{text}; };
  return {
      {"infer", {{"known-periods", one("old 1")}}},
      {"infer", {{"known-periods", one("old 1")}}, true, true, true, false},
      {"infer", {{"known-periods", one("old 1")}, {"total", true}, {"refits", std::int64_t{2}}}},
      {"infer", {{"paper-task", true}}, false, true, false, false},
      {"infer", {{"took", one("old c1@old 1")}, {"explain", std::int64_t{2}}}, true, false},
      {"sample", {{"count", std::int64_t{3}}}, true, false},
      {"sample", {{"known-periods", one("old 1")}, {"count", std::int64_t{1}}}},
      {"score"},
      {"score", {}, false, true, true, false},
      {"score", {{"by", "home"}, {"explain", std::int64_t{2}}}, true},
      {"score", {{"leave-one-out", "on"}}},
      {"prerequisites", {{"students", std::int64_t{30}}}, true},
      {"prerequisites", {{"students", std::int64_t{30}}, {"course", one("old c4")}}, true},
      {"prerequisites", {{"students", std::int64_t{30}}, {"drawn", std::int64_t{200}}}, true, false},
      {"plan", {{"goal", one("old c4")}, {"took", one("old c1@old 1")}, {"known-periods", one("old 1")}}, true, false},
      {"delays", {{"by", "home"}, {"q", 1.0}}, true},
      {"delays", {{"goal", "old c4"}, {"q", 1.0}}, true},
      {"company", {{"q", 1.0}}, true},
      {"pathways", {{"by", "home"}, {"via", one("old c1@old 1")}, {"q", 1.0}}},
      {"pathways", {}, false, false},
      {"states", {{"by", "home"}}},
      {"states", {{"refits", std::int64_t{2}}}},
      {"states", {{"grid", true}}, false, false},
      {"states", {}, false, false}};
}

/// Settings, threads and streams are gone when this returns.
Answer ask(const Question& question, const Asked& asked) {
  const SettingValues settings = question.settings;
  const Executor executor(2);
  for (const Query& query : query_catalog()) {
    if (query.name == question.query)
      return query.ask({question.of_trees ? asked.trees : asked.states,
                        question.has_students ? &asked.students : nullptr, nullptr, settings, question.students_wanted,
                        question.for_people, RandomStream(1), executor});
  }
  throw OptionError("no such query");
}

/// All there is to see of it.
std::string rendered(const Answer& answer) {
  std::ostringstream out;
  answer.write_json("test/1", [&](const std::string& text) { out << text; });
  for (const auto& [name, table] : answer.tables()) {
    out << name << '\n';
    table.print_csv(out);
    table.print_text(out);
  }
  answer.print(out);
  for (const std::vector<std::string>& lines : {answer.notes(), answer.warnings()}) {
    for (const std::string& line : lines)
      out << line << '\n';
  }
  return out.str();
}

TEST(Answers, AreTheSameWhenModelAndStudentsAreGone) {
  const std::vector<Question> asked_for = questions();
  std::vector<std::string> before;
  std::vector<Answer> seen, unseen;  // rendered while there was a model, and never before it was gone
  {
    const auto asked = std::make_unique<const Asked>("old ");
    for (const Question& question : asked_for) {
      seen.push_back(ask(question, *asked));
      unseen.push_back(ask(question, *asked));
      before.push_back(rendered(seen.back()));
    }
  }
  // What was theirs now belongs to others.
  const Asked others("new ");
  std::set<std::string> names;
  for (std::size_t i = 0; i < asked_for.size(); ++i) {
    EXPECT_EQ(rendered(seen[i]), before[i]) << asked_for[i].query << " " << i;
    EXPECT_EQ(rendered(unseen[i]), before[i]) << asked_for[i].query << " " << i;
    EXPECT_NE(before[i].find("old "), std::string::npos) << asked_for[i].query << " " << i;
    names.insert(asked_for[i].query);
  }
  for (const Query& query : query_catalog())
    EXPECT_TRUE(names.contains(query.name)) << query.name;
}

/// A table's columns are declared once for all renderings: none has two of one name, and a field of the JSON object is
/// made of those of its table.
TEST(Answers, TablesHaveTheColumnsOfTheirFields) {
  const Asked asked("old ");
  for (const Question& question : questions()) {
    const Answer answer = ask(question, asked);
    const nlohmann::ordered_json json = answer.to_json();
    for (const auto& [name, table] : answer.tables()) {
      for (const Rendering rendering : {Rendering::json, Rendering::csv, Rendering::text}) {
        std::set<std::string> names;
        const Table seen = table.shown(rendering);
        for (const Column& column : seen.columns()) {
          EXPECT_TRUE(names.insert(column.name).second) << question.query << ' ' << name << ' ' << column.name;
          EXPECT_TRUE(column.look.type.has_value()) << question.query << ' ' << name << ' ' << column.name;
        }
      }
      if (!json.contains(name) || !json[name].is_array()) continue;
      std::set<std::string> declared;
      for (const Column& column : table.columns())
        declared.insert(column.name);
      for (const auto& row : json[name]) {
        for (const auto& field : row.items())
          EXPECT_TRUE(declared.contains(field.key())) << question.query << ' ' << name << ' ' << field.key();
      }
    }
  }
}

}  // namespace
}  // namespace desirepath::answers_test
