// The question: which courses come late, for whom, by which detours, and which pairs are never in one period.
#include <cmath>

#include <nlohmann/json.hpp>

#include "desirepath/core/error.h"
#include "desirepath/core/rounded.h"
#include "desirepath/core/text.h"
#include "desirepath/disclosure/disclosure.h"
#include "desirepath/queries/delays.h"
#include "desirepath/queries/evidence_settings.h"

namespace desirepath::inline queries {

namespace {

constexpr std::size_t listed_rows = 15, printed_apart = 8;

Answer answer_delays(const QueryInput& input) {
  const auto settings = input.read<DelaySettings>();
  if (input.model().schema().period_count() < 2)
    throw OptionError("delays: the model has one period, so nothing can be late");
  const Delays lost = ask_delays(input, settings);
  settings.disclosure.require(lost.judged);
  const bool is_by = !lost.by.empty();
  const Table delays = lost.delay_table(), apart = lost.apart_table(), detours = lost.detour_table();

  Answer answer;
  answer.set("model", lost.model);
  answer.set("students", lost.students);
  if (is_by) answer.set("by", lost.by);
  if (!lost.given.empty()) answer.set("given", lost.given);
  set_findings(answer, lost.found);
  answer.add("delays", delays);
  answer.add("apart", apart);
  if (lost.goal) answer.set("goal", lost.goal->name);
  if (lost.goal) answer.add("detours", detours);

  answer.say(
      is_by ? concat("periods later than the other students, by ", lost.by, ", each against what is expected of them")
            : "periods later than the model expects of the very student (below 0: earlier)");
  answer.show(delays.first(listed_rows));
  answer.say(chance_words(lost.found, is_by ? "difference" : "course", is_by ? "differences" : "courses"));
  if (apart.row_count() > 0) {
    answer.say("\nhardly ever in one period, though often taken by the same students: a conflict of schedules?");
    answer.show(apart.first(printed_apart));
  }
  if (lost.goal) {
    answer.say("\non the way to ", lost.goal->title, ", more than expected");
    if (detours.row_count() > 0)
      answer.show(detours.first(listed_rows));
    else
      answer.say("  nothing");
  }
  answer.note("over ", lost.students ? counted(*lost.students, "student", "students") : "students",
              lost.given.empty() ? "" : concat(" with ", lost.given),
              " enrolled in two periods or more; each fifth of the courses is judged by the other four fifths of "
              "the student's record; pairs are counted over students of one period too");
  answer.note("what rests on ", lost.disclosure.few(), " students is left out, and what would tell of it");
  return answer;
}

}  // namespace

void DelaySettings::declare(SettingVisitor& visit) {
  visit(Setting("by", "student attribute, or entry (the academic year of the first period): for whom").taking("COLUMN"),
        by);
  visit(Setting("goal", "also detours: what those who took this course took before it, more than expected")
            .taking("COURSE"),
        goal);
  visit(condition_setting(), given);
  visit(Setting("students", "students looked at, drawn where there are more").at_least(10).taking("N"), students);
  visit(Setting("most-by-chance", "pairs kept apart are listed up to this many expected by chance among all pairs")
            .above(0),
        most_by_chance);
  chance.declare(visit);
  disclosure.declare(visit);
}

Table Delays::delay_table() const {
  using Row = GroupDelay;
  // In more digits than their error bears they would tell of single students.
  const auto rounded = [](double (Row::*value)() const) {
    return [=](const Row& row) { return rounded_to_error((row.*value)(), row.error()); };
  };
  const Look for_programs{.unit = "periods", .shown = Shown::to_programs},
      for_people{.unit = "periods", .decimals = 2, .shown = Shown::to_people},
      if_picked{.unit = "periods", .decimals = 2, .shown = Shown::if_picked};
  return {delays,
          {{"course", &Row::name},
           {"group",
            [](const Row& row) { return value_if(!row.group.empty(), row.group); },
            {.title = by.empty() ? "group" : by, .shown = Shown::to_programs}},
           {"whom", &Row::group, {.title = by, .shown = Shown::to_people}},
           {"later", &Row::effect, for_people},
           {"+-", [](const Row& row) { return 1.96 * row.error(); }, for_people},
           {"exact_low", &Row::low, if_picked},
           {"exact_high", &Row::high, if_picked},
           {"effect", rounded(&Row::effect), for_programs},
           {"low", rounded(&Row::low), for_programs},
           {"high", rounded(&Row::high), for_programs},
           {"mean", [](const Row& row) { return rounded_to_error(row.own.mean, row.error()); }, for_programs},
           {"students", &Row::disclosed_students, {.unit = "students"}},
           {"others", &Row::disclosed_others, {.unit = "students", .shown = Shown::to_programs}},
           {"q", [](const Row& row) { return rounded_chance(row.q); }, {.decimals = 4, .shown = Shown::to_programs}}}};
}

/// A small number of students is not told, nor is a chance that would tell it.
Table Delays::apart_table() const {
  using Row = ApartPair;
  const auto is_told = [least = disclosure](const Row& row) { return least.allows(static_cast<double>(row.together)); };
  const auto in_words = [=, under = concat("under ", disclosure.least())](const Row& row) {
    return is_told(row) ? std::to_string(row.together) : under;
  };
  const auto together = [=](const Row& row) { return is_told(row) ? cell_of(row.together) : cell_of(in_words(row)); };
  const auto chance = [least = disclosure](const Row& row) { return row.chance(most_together(row, least)); };
  return {apart,
          {{"course", &Row::name},
           {"other", &Row::other},
           {"took_both", &Row::both, {.unit = "students"}},
           {"expected_together", &Row::expected, {.unit = "students", .decimals = 1}},
           {"together", together, {.unit = "students", .type = ColumnType::whole}},
           {"together_in_words", in_words, {.shown = Shown::if_picked}},
           {"chance", chance, {.type = ColumnType::share}}}};
}

Table Delays::detour_table() const {
  using Row = Detour;
  const auto rounded = [](const Row& row, double value) { return rounded_to_error(value, std::sqrt(row.variance)); };
  const Look enrollments{.unit = "enrollments", .decimals = 1};
  return {detours,
          {{"course", &Row::name},
           {"took_it_before", [](const Row& row) { return value_if(row.students_disclosed, row.taken); }, enrollments},
           {"expected", [=](const Row& row) { return rounded(row, row.expected); }, enrollments},
           {"surplus", [=](const Row& row) { return value_if(row.students_disclosed, rounded(row, row.surplus())); },
            enrollments}}};
}

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
