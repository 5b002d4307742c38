#include "desirepath/queries/state_grid.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include <nlohmann/json.hpp>

#include "desirepath/core/text.h"
#include "desirepath/disclosure/disclosure.h"
#include "desirepath/queries/disclosed_states.h"
#include "desirepath/queries/evidence_settings.h"

namespace desirepath::inline queries {

std::vector<GridCourse> state_grid(const Model& model, Id step, const std::vector<std::uint8_t>& among,
                                   const Executor& executor) {
  const HiddenStates& states = require_states(model, "states");
  const Schema& schema = model.schema();
  const Id periods = schema.period_count(), courses = schema.course_count(), count = states.state_count();
  const Vector share = usual_shares(model, executor);
  // One student a bit, of whom that enrollment alone is known.
  std::vector<Id> bits;
  EvidenceBuilder rows(periods, courses);
  for (Id bit = 0; bit < schema.bit_count(); ++bit) {
    if (!(share[bit] > 0)) continue;
    bits.push_back(bit);
    rows.begin_student(std::to_string(bit));
    for (Id t = 0; t < periods; ++t) {
      PeriodEvidence period;
      if (t == schema.period_of(bit)) period.set(bit, true);
      rows.add(period);
    }
  }
  const RowMatrix posterior = states.posterior(std::move(rows).build(), executor);
  RowMatrix sum = RowMatrix::Zero(courses, count);
  Vector takings = Vector::Zero(courses);
  for (std::size_t i = 0; i < bits.size(); ++i) {
    const Id course = schema.course_of(bits[i]);
    sum.row(course) += share[bits[i]] * posterior.row(static_cast<Index>(i)).segment(Index{step} * count, count);
    takings[course] += share[bits[i]];
  }
  const Vector state_share = states.share(step);
  std::vector<GridCourse> grid;
  for (Id c = 0; c < courses; ++c) {
    if (!(takings[c] > 0)) continue;
    // As often as the students of a state take it, however many they are.
    GridCourse entry{c, 0, 0, takings[c], Vector::Zero(count), 0};
    for (Id k = 0; k < count; ++k)
      entry.probability[k] =
          among[static_cast<std::size_t>(k)] != 0 && state_share[k] > 0 ? sum(c, k) / state_share[k] : 0;
    if (!(entry.probability.sum() > 0)) continue;
    entry.probability /= entry.probability.sum();
    Index best = 0;
    entry.confidence = entry.probability.maxCoeff(&best);
    entry.state = static_cast<Id>(best);
    grid.push_back(std::move(entry));
  }
  return grid;
}

namespace {

/// What the state of a taker says of the course, in nats, over all enrollments: how well the grid tells courses apart.
double information(const std::vector<GridCourse>& grid) {
  double all = 0, sum = 0;
  Vector usual;
  for (const GridCourse& entry : grid) {
    if (usual.size() == 0) usual = Vector::Zero(entry.probability.size());
    usual += entry.takings * entry.probability;
    all += entry.takings;
  }
  for (const GridCourse& entry : grid) {
    for (Index k = 0; k < usual.size(); ++k) {
      const double p = entry.probability[k];
      if (p > 0) sum += entry.takings * p * std::log(p * all / usual[k]);
    }
  }
  return all > 0 ? sum / all : 0;
}

/// Of each course: what the model expects in each period of a student who is enrolled, of as many as were.
Vector expected_enrollments(const Model& model, const RowMatrix& students, const Executor& executor) {
  const HiddenStates& states = *model.hidden_states();
  const Index kinds = states.state_count() - (states.has_left_state() ? 1 : 0);
  const Vector share = usual_shares(model, executor);
  Vector sum = Vector::Zero(model.schema().course_count());
  for (Id step = 0; step < states.step_count(); ++step) {
    const double there = states.share(step).head(kinds).sum(), enrolled = students.row(step).head(kinds).sum();
    const PeriodRange periods = states.step_periods(step);
    for (Id t = periods.first; t < periods.last && there > 0; ++t) {
      for (Id c = 0; c < model.schema().course_count(); ++c)
        sum[c] += share[model.schema().bit(t, c)] / there * enrolled;
    }
  }
  return sum;
}

}  // namespace

DisclosedGrid disclosed_grid(const StoredModel& stored, const std::string& period, const StateNames& names,
                             const Disclosure& disclosure, const Executor& executor) {
  const Model& model = *stored.model;
  const Schema& schema = model.schema();
  const HiddenStates& states = *model.hidden_states();
  const RowMatrix students = students_behind_states(stored);
  const auto grid_of = [&](Id step) {
    std::vector<std::uint8_t> large;
    for (const double count : students.row(step))
      large.push_back(disclosure.rests(count) ? 1 : 0);
    return state_grid(model, step, large, executor);
  };
  DisclosedGrid disclosed;
  Id step = 0;
  if (!period.empty() && states.step_count() > 1) {
    step = schema.require_period(period);
    disclosed.courses = grid_of(step);
  } else {
    double most = -1;
    for (Id other = 0; other < states.step_count(); ++other) {
      std::vector<GridCourse> grid = grid_of(other);
      const double says = information(grid);
      if (says <= most) continue;
      most = says;
      step = other;
      disclosed.courses = std::move(grid);
    }
  }
  disclosed.period = period_of(states, schema, step);
  for (StateProfile& profile : profile_states(model, tried_for_a_name)) {
    if (profile.step != step) continue;
    const double here = students(step, profile.state);
    const auto given = names.find({step, profile.state});
    disclosed.names.push_back(given != names.end() ? given->second
                                                   : state_name(std::move(profile), schema, here, disclosure));
  }
  std::vector<Id> numbers(disclosed.names.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  tell_apart(disclosed.names, numbers);
  disclosed.students =
      std::llround(students.row(step).head(states.state_count() - (states.has_left_state() ? 1 : 0)).sum());
  const Vector enrollments = expected_enrollments(model, students, executor);
  for (GridCourse& entry : disclosed.courses) {
    entry.enrollments = enrollments[entry.course];
    entry.listed = schema.course(entry.course);
    entry.group = entry.listed.concentration.empty() ? entry.listed.subject : entry.listed.concentration;
    entry.state_name = disclosed.names[static_cast<std::size_t>(entry.state)];
  }
  disclosed.withheld = static_cast<std::int64_t>(
      std::erase_if(disclosed.courses, [&](const GridCourse& entry) { return !disclosure.rests(entry.enrollments); }));
  std::ranges::stable_sort(disclosed.courses, {}, [](const GridCourse& entry) {
    const Course& course = entry.listed;
    return std::tuple(course.subject, course.concentration.empty(), course.concentration);
  });
  return disclosed;
}

Table DisclosedGrid::table() const {
  using Row = GridCourse;
  const auto of_course = [](std::string Course::*text) { return [=](const Row& row) { return row.listed.*text; }; };
  const Look programs{.shown = Shown::to_programs};
  return {courses,
          {{"subject", of_course(&Course::subject), programs},
           {"concentration", of_course(&Course::concentration), programs},
           {"group", &Row::group, {.title = "concentration", .shown = Shown::to_people}},
           {"course", [](const Row& row) { return named(row.listed); }},
           {"label", of_course(&Course::label), programs},
           {"state", &Row::state},
           {"name", &Row::state_name, programs},
           {"confidence", &Row::confidence, share(2)},
           {"takers", [](const Row& row) { return std::llround(row.enrollments); }, {.unit = "enrollments"}}}};
}

Answer answer_grid(const QueryInput& input, const std::string& period, const StateNameSettings& names,
                   const Disclosure& disclosure) {
  const DisclosedGrid disclosed =
      disclosed_grid(input.stored, period, given_names(input.model(), names), disclosure, input.executor);
  const Table grid = disclosed.table();
  Answer answer;
  answer.set({{"period", disclosed.period}, {"min_cell", disclosure.least()}});
  answer.add("grid", grid);
  answer.show(grid);
  answer.say("");
  for (std::size_t k = 0; k < disclosed.names.size(); ++k) {
    if (std::ranges::find(disclosed.courses, static_cast<Id>(k), &GridCourse::state) != disclosed.courses.end())
      answer.say("state ", k, ": ", disclosed.names[k]);
  }
  answer.note("the state of period ", disclosed.period,
              " whose students take the course most, and how sure a taker is one of them, were all states as "
              "large; takers: expected enrollments");
  if (disclosed.withheld > 0)
    answer.note(counted(disclosed.withheld, "course", "courses"), " resting on ", disclosure.few(),
                " students left out");
  return answer;
}

}  // namespace desirepath::inline queries
