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
  disclosed.students = students.row(step).head(states.state_count() - (states.has_left_state() ? 1 : 0)).sum();
  const Vector enrollments = expected_enrollments(model, students, executor);
  for (GridCourse& entry : disclosed.courses)
    entry.enrollments = enrollments[entry.course];
  const auto all = disclosed.courses.size();
  std::erase_if(disclosed.courses, [&](const GridCourse& entry) { return !disclosure.rests(entry.enrollments); });
  disclosed.withheld = static_cast<std::int64_t>(all - disclosed.courses.size());
  std::ranges::stable_sort(disclosed.courses, {}, [&](const GridCourse& entry) {
    const Course& course = schema.course(entry.course);
    return std::tuple(course.subject, course.concentration.empty(), course.concentration);
  });
  return disclosed;
}

namespace {

/// Courses by concentration, each with the state of its takers.
class GridAnswer : public Answer {
 public:
  GridAnswer(const QueryInput& input, const std::string& period, const StateNameSettings& given,
             const Disclosure& disclosure)
      : schema_(input.model().schema()),
        disclosure_(disclosure),
        disclosed_(
            disclosed_grid(input.stored, period, given_names(input.model(), given), disclosure, input.executor)) {}

  nlohmann::ordered_json to_json() const override {
    return {{"period", disclosed_.period}, {"min_cell", disclosure_.least()}, {"grid", table().to_json()}};
  }
  Table table() const override {
    Table rows(
        {{"subject"}, {"concentration"}, {"course"}, {"label"}, {"state"}, {"name"}, {"confidence", 3}, {"takers"}});
    for (const GridCourse& entry : disclosed_.courses) {
      const Course& course = schema_.course(entry.course);
      rows.add_row({course.subject, course.concentration, course.name, course.label, std::int64_t{entry.state},
                    disclosed_.names[static_cast<std::size_t>(entry.state)], entry.confidence,
                    std::int64_t{std::llround(entry.enrollments)}});
    }
    return rows;
  }
  void print(std::ostream& out) const override {
    Table rows({{"concentration"}, {"course"}, {"state"}, {"confidence", 2}, {"takers"}});
    for (const GridCourse& entry : disclosed_.courses) {
      const Course& course = schema_.course(entry.course);
      rows.add_row({course.concentration.empty() ? course.subject : course.concentration, full_name(course),
                    std::int64_t{entry.state}, entry.confidence, std::int64_t{std::llround(entry.enrollments)}});
    }
    rows.print_text(out);
    out << '\n';
    for (std::size_t k = 0; k < disclosed_.names.size(); ++k) {
      const bool is_used =
          std::ranges::any_of(disclosed_.courses, [&](const GridCourse& e) { return e.state == static_cast<Id>(k); });
      if (is_used) out << "state " << k << ": " << disclosed_.names[k] << '\n';
    }
  }
  std::vector<std::string> notes() const override {
    std::vector<std::string> lines = {concat(
        "the state of period ", disclosed_.period,
        " whose students take the course most, and how sure a taker is one of them, were all states as large; takers: "
        "expected enrollments")};
    if (disclosed_.withheld > 0)
      lines.push_back(concat(counted(disclosed_.withheld, "course", "courses"), " resting on ", disclosure_.few(),
                             " students left out"));
    return lines;
  }

 private:
  const Schema& schema_;
  Disclosure disclosure_;
  DisclosedGrid disclosed_;
};

}  // namespace

std::unique_ptr<Answer> answer_grid(const QueryInput& input, const std::string& period, const StateNameSettings& names,
                                    const Disclosure& disclosure) {
  return std::make_unique<GridAnswer>(input, period, names, disclosure);
}

}  // namespace desirepath::inline queries
