// The question: which courses come late, for whom, by which detours, and which pairs are never in one period.
#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>

#include <nlohmann/json.hpp>

#include "desirepath/core/error.h"
#include "desirepath/core/rounded.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/disclosure/disclosure.h"
#include "desirepath/queries/delays.h"
#include "desirepath/queries/evidence_settings.h"
#include "desirepath/queries/student_groups.h"

namespace desirepath::inline queries {

namespace {

constexpr std::size_t listed_rows = 15, printed_apart = 8;

struct DelaySettings {
  std::string by, goal;
  std::int64_t students = 1000;
  double most_by_chance = 0.05;
  ChanceSettings chance;
  Disclosure disclosure;

  void declare(SettingVisitor& visit) {
    visit(
        Setting("by", "student attribute, or entry (the academic year of the first period): for whom").taking("COLUMN"),
        by);
    visit(Setting("goal", "also detours: what those who took this course took before it, more than expected")
              .taking("COURSE"),
          goal);
    visit(Setting("students", "students looked at, drawn where there are more").at_least(10).taking("N"), students);
    visit(Setting("most-by-chance", "pairs kept apart are listed up to this many expected by chance among all pairs")
              .above(0),
          most_by_chance);
    chance.declare(visit);
    disclosure.declare(visit);
  }
};

class DelaysAnswer : public Answer {
 public:
  explicit DelaysAnswer(const Schema& its_schema) : schema(its_schema) {}

  nlohmann::ordered_json to_json() const override {
    nlohmann::ordered_json json;
    json["model"] = model;
    json["students"] = students ? nlohmann::ordered_json(*students) : nlohmann::ordered_json();
    if (!by.empty()) json["by"] = by;
    json["findings"] = found.findings;
    json["by_chance"] = rounded_chance(found.by_chance);
    json["delays"] = table().to_json();
    json["apart"] = apart_table().to_json();
    if (!goal.empty()) {
      json["goal"] = goal;
      json["detours"] = detour_table().to_json();
    }
    return json;
  }
  Table table() const override {
    Table rows({{"course"},
                {"group"},
                {"effect", 2},
                {"low", 2},
                {"high", 2},
                {"mean", 2},
                {"students"},
                {"others"},
                {"q", 4}});
    for (const GroupDelay& delay : delays) {
      const double error = delay.error();
      const auto rounded = [&](double value) { return rounded_to_error(value, error); };
      rows.add_row({name(delay.course), by.empty() ? Cell() : Cell(delay.group), rounded(delay.effect()),
                    rounded(delay.effect() - 1.96 * error), rounded(delay.effect() + 1.96 * error),
                    rounded(delay.own.mean), takers(delay),
                    !by.empty() && delay.students_disclosed ? Cell(delay.others.students) : Cell(),
                    rounded_chance(delay.q)});
    }
    return rows;
  }
  void print(std::ostream& out) const override {
    out << (by.empty() ? "periods later than the model expects of the very student (below 0: earlier)\n"
                       : concat("periods later than the other students, by ", by,
                                ", each against what is expected of "
                                "them\n"));
    Table rows({{"course"}, {by.empty() ? "" : by}, {"later", 2}, {"+-", 2}, {"students"}});
    for (std::size_t i = 0; i < std::min(listed_rows, delays.size()); ++i) {
      const GroupDelay& delay = delays[i];
      rows.add_row(
          {full_name(schema.course(delay.course)), delay.group, delay.effect(), 1.96 * delay.error(), takers(delay)});
    }
    rows.print_text(out);
    out << chance_words(found, by.empty() ? "course" : "difference", by.empty() ? "courses" : "differences") << '\n';
    if (!apart.empty()) {
      out << "\nhardly ever in one period, though often taken by the same students: a conflict of schedules?\n";
      apart_table(printed_apart, full_name).print_text(out);
    }
    if (!goal.empty()) {
      out << "\non the way to " << full_name(schema.course(schema.require_course(goal))) << ", more than expected\n";
      if (detours.empty())
        out << "  nothing\n";
      else
        detour_table(listed_rows, full_name).print_text(out);
    }
  }
  std::vector<std::string> notes() const override {
    return {concat("over ", students ? counted(*students, "student", "students") : "students",
                   " enrolled in two periods or more; each fifth of the courses is judged by the other four fifths of "
                   "the student's record; pairs are counted over students of one period too"),
            concat("what rests on ", disclosure.few(), " students is left out, and what would tell of it")};
  }

  const Schema& schema;
  std::string model, by, goal;
  std::optional<std::int64_t> students;  // judged; nothing: withheld
  Disclosure disclosure;
  std::vector<GroupDelay> delays;
  FindingCount found;
  std::vector<ApartPair> apart;
  std::vector<Detour> detours;

 private:
  static Cell takers(const GroupDelay& delay) { return delay.students_disclosed ? Cell(delay.own.students) : Cell(); }
  using Naming = std::function<std::string(const Course&)>;
  static std::string short_name(const Course& course) { return course.name; }
  const std::string& name(Id course) const { return schema.course(course).name; }
  /// A small number of students is not told, nor is a chance that would tell it.
  Table apart_table(std::size_t most = std::size_t(-1), const Naming& naming = short_name) const {
    Table rows({{"course"}, {"other"}, {"took_both"}, {"expected_together", 1}, {"together"}, {"chance"}});
    for (std::size_t i = 0; i < std::min(most, apart.size()); ++i) {
      const ApartPair& pair = apart[i];
      const bool disclosed = disclosure.allows(static_cast<double>(pair.together));
      rows.add_row({naming(schema.course(pair.a)), naming(schema.course(pair.b)), pair.both, pair.expected,
                    disclosed ? Cell(pair.together) : Cell(concat("under ", disclosure.least())),
                    pair.chance(most_together(pair, disclosure))});
    }
    return rows;
  }
  Table detour_table(std::size_t most = std::size_t(-1), const Naming& naming = short_name) const {
    Table rows({{"course"}, {"took_it_before"}, {"expected", 1}, {"surplus", 1}});
    for (std::size_t i = 0; i < std::min(most, detours.size()); ++i) {
      const Detour& detour = detours[i];
      const bool disclosed = detour.students_disclosed;
      rows.add_row({naming(schema.course(detour.course)), disclosed ? Cell(detour.taken) : Cell(),
                    rounded_to_error(detour.expected, std::sqrt(detour.variance)),
                    disclosed ? Cell(rounded_to_error(detour.surplus(), std::sqrt(detour.variance))) : Cell()});
    }
    return rows;
  }
};

std::unique_ptr<Answer> answer_delays(const QueryInput& input) {
  const auto settings = input.read<DelaySettings>();
  const Model& model = input.model();
  const Schema& schema = model.schema();
  const Cohort& cohort = *input.cohort;
  if (schema.period_count() < 2) throw OptionError("delays: the model has one period, so nothing can be late");
  auto answer = std::make_unique<DelaysAnswer>(schema);
  const StudentGroups groups =
      settings.by.empty() ? StudentGroups() : disclosed_groups(groups_of(cohort, settings.by), settings.disclosure);
  const std::optional<Id> goal =
      settings.goal.empty() ? std::nullopt : std::optional<Id>(schema.require_course(settings.goal));
  std::vector<JudgedStudent> judged =
      judge_timings(model, cohort, settings.students, goal.has_value(), RandomStream(input.seed).child("delays"),
                    input.executor, input.progress);
  settings.disclosure.require(std::ssize(judged));
  const Disclosure& disclosure = settings.disclosure;
  answer->model = model.name();
  answer->by = settings.by;
  answer->students = disclosed_judged(std::ssize(judged), cohort, disclosure);
  answer->disclosure = disclosure;
  answer->delays = find_delays(judged, groups.of_student, groups.names, schema.course_count(), disclosure);
  if (!settings.by.empty()) {
    const LabelNull null{label_strata(cohort, settings.by), RandomStream(input.seed).child("labels"), input.executor};
    answer->found = keep_certain_delays(answer->delays, judged, groups, schema.course_count(), null, settings.chance.q);
  } else {
    answer->found = keep_certain_delays(answer->delays, settings.chance.q);
  }
  disclose_students(answer->delays, judged, cohort, groups, disclosure);
  if (goal) {
    answer->goal = schema.course(*goal).name;
    const auto takers = std::ranges::count_if(judged, [&](const JudgedStudent& student) {
      return std::ranges::find(student.courses, *goal, &JudgedCourse::course) != student.courses.end();
    });
    settings.disclosure.require(takers);
    answer->detours = find_detours(judged, cohort, *goal, disclosure);
  }
  std::vector<JudgedStudent> single =
      one_period_students(cohort, std::ssize(judged), RandomStream(input.seed).child("delays").child("one period"));
  std::ranges::move(single, std::back_inserter(judged));
  answer->apart = surely_apart(judged, schema.course_count(), settings.most_by_chance, disclosure);
  return answer;
}

}  // namespace

Query delays_query() {
  return {"delays",
          "courses taken later, earlier or by other routes than the model expects",
          {"desirepath delays answers.desirepath all.cohort --by residence",
           "desirepath delays answers.desirepath all.cohort --goal \"CS 301\""},
          CohortUse::required,
          "the students to look at: a cohort file or a raw table",
          declaration_of<DelaySettings>(),
          answer_delays};
}

}  // namespace desirepath::inline queries
