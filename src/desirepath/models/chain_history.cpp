#include "desirepath/models/chain_history.h"

#include <algorithm>

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/emissions/capabilities.h"
#include "desirepath/emissions/course_marks.h"

namespace desirepath::inline models {

namespace {

/// Known whole, not at all, or gone; else the evidence is refused.
void require_whole_periods(const EvidenceBatch& evidence, std::int64_t student) {
  bool gap = false;
  for (Id t = 0; t < evidence.period_count(); ++t) {
    const Presence here = evidence.presence(student, t);
    const bool in_part = here == Presence::unknown
                             ? !evidence.is_unknown(student, t)
                             : here == Presence::present && !evidence.exceptions(student, t).empty();
    if (in_part || (gap && here == Presence::present)) {
      throw InputError(concat("a chain with ", setting_name("carry-over"),
                              " must know what was taken before: all of a student's periods up to the last that is "
                              "known, each whole. Here some are not; models of one step take any (hct, or nb with ",
                              setting_name("carry-over"), ")"));
    }
    gap = gap || here == Presence::unknown;
  }
}

const CarriesOver& carried_states(const Emission& emission) {
  return *offered<CarriesOver>(emission);
}

}  // namespace

EvidenceBatch with_history(const EvidenceBatch& evidence) {
  const Id periods = evidence.period_count(), courses = evidence.course_count();
  const CourseMarks marks{courses};
  BinaryMatrixBuilder taken(periods * marks.count()), exceptions(periods * marks.count());
  std::vector<Presence> presence;
  presence.reserve(static_cast<std::size_t>(evidence.student_count() * periods));
  std::vector<Id> had, first, again, now;
  for (std::int64_t student = 0; student < evidence.student_count(); ++student) {
    require_whole_periods(evidence, student);
    had.clear();
    for (Id t = 0; t < periods; ++t) {
      presence.push_back(evidence.presence(student, t));
      if (presence.back() == Presence::present) {
        now.clear();
        for (const Id bit : evidence.taken(student, t))
          now.push_back(bit - t * courses);
        first.clear();
        again.clear();
        std::ranges::set_difference(now, had, std::back_inserter(first));
        std::ranges::set_intersection(now, had, std::back_inserter(again));
        const Id offset = t * marks.count();
        for (const Id course : first)
          taken.add(offset + marks.first(course));
        for (const Id course : had)
          taken.add(offset + marks.had(course));
        for (const Id course : again)
          taken.add(offset + marks.again(course));
        const auto middle = static_cast<std::ptrdiff_t>(had.size());
        had.insert(had.end(), first.begin(), first.end());
        std::inplace_merge(had.begin(), had.begin() + middle, had.end());
      }
      taken.finish_row();
      exceptions.finish_row();
    }
  }
  return {
      periods, marks.count(), evidence.students(), presence, std::move(taken).build(), std::move(exceptions).build()};
}

HistoryAhead::HistoryAhead(const ChainParameters& parameters, const StepLayout& layout, Id courses)
    : parameters_(parameters), layout_(layout), courses_(courses), emitting_(parameters.emitting_states()) {}

const RowMatrix& HistoryAhead::first(Id step) const {
  const auto pool = static_cast<std::size_t>(layout_.pool_of[static_cast<std::size_t>(step)]);
  return carried_states(*parameters_.emissions[pool]).first();
}

const RowMatrix& HistoryAhead::again(Id step) const {
  const auto pool = static_cast<std::size_t>(layout_.pool_of[static_cast<std::size_t>(step)]);
  return carried_states(*parameters_.emissions[pool]).again();
}

RowMatrix HistoryAhead::carried(const RowMatrix& not_had, Id step, const Matrix& transition) const {
  RowMatrix left = not_had;
  // Who is gone takes nothing.
  left.leftCols(emitting_).array() *= 1 - first(step).array();
  return left * transition;
}

RowMatrix HistoryAhead::course_shares(const EvidenceBatch& evidence, std::int64_t student,
                                      const ChainPosterior& posterior) const {
  const Id steps = layout_.step_count();
  const Index states = parameters_.prior.state_count();
  RowMatrix shares = RowMatrix::Zero(steps, courses_);
  Eigen::VectorXd never = Eigen::VectorXd::Ones(courses_);  // 0: had while it was known
  RowMatrix not_had;                                        // courses by states, once the known periods are past
  for (Id step = 0; step < steps; ++step) {
    const Presence here = evidence.presence(student, step);
    if (here == Presence::present) {
      for (const Id bit : evidence.taken(student, step))
        shares(step, bit - step * courses_) = 1;
      never = never.cwiseProduct(Eigen::VectorXd::Ones(courses_) - shares.row(step).transpose());
      continue;
    }
    const Eigen::RowVectorXd weights = posterior.states().row(step);
    if (not_had.size() == 0) {
      not_had = never * weights;
    } else {
      // The transition as it is with what is known of the student: pairs of neighbouring states over the first.
      Matrix pairs = Matrix::Zero(states, states);
      posterior.add_pairs(step - 1, 1, pairs);
      const Eigen::RowVectorXd before = posterior.states().row(step - 1);
      for (Index from = 0; from < states; ++from) {
        if (before[from] > 0)
          pairs.row(from) /= before[from];
        else
          pairs.row(from).setZero();
      }
      not_had = carried(not_had, step - 1, pairs);
    }
    const auto there = not_had.leftCols(emitting_).array();
    const RowMatrix had = (weights.head(emitting_).replicate(courses_, 1) - not_had.leftCols(emitting_)).cwiseMax(0);
    shares.row(step) =
        (there * first(step).array() + had.array() * again(step).array()).rowwise().sum().min(1).transpose();
  }
  return shares;
}

RowMatrix HistoryAhead::state_profile(Id step) const {
  Eigen::RowVectorXd weights = parameters_.prior.initial.transpose();
  RowMatrix not_had = weights.replicate(courses_, 1);
  for (Id t = 0; t < step; ++t) {
    const Matrix& transition = parameters_.prior.transitions[static_cast<std::size_t>(t)];
    not_had = carried(not_had, t, transition);
    weights = weights * transition;
  }
  RowMatrix profile(courses_, emitting_);
  for (Index k = 0; k < emitting_; ++k) {
    // A state nobody comes to is told as if its students had taken nothing yet.
    const Eigen::ArrayXd fresh =
        weights[k] > 0 ? (not_had.col(k).array() / weights[k]).min(1).eval() : Eigen::ArrayXd::Ones(courses_).eval();
    profile.col(k) = fresh * first(step).col(k).array() + (1 - fresh) * again(step).col(k).array();
  }
  return profile;
}

std::vector<std::vector<Id>> HistoryAhead::draw(const EvidenceBatch& evidence, std::int64_t student,
                                                const std::vector<Id>& path, const RandomStream& stream) const {
  std::vector<std::vector<Id>> result(layout_.steps.size());
  std::vector<char> had(static_cast<std::size_t>(courses_), 0);
  for (Id step = 0; step < layout_.step_count(); ++step) {
    const auto at = static_cast<std::size_t>(step);
    if (evidence.presence(student, step) == Presence::present) {
      for (const Id bit : evidence.taken(student, step))
        result[at].push_back(bit - step * courses_);
    } else if (path[at] < emitting_) {
      RandomStream draws = stream.child(static_cast<std::uint64_t>(step));
      for (Id course = 0; course < courses_; ++course) {
        const RowMatrix& shares = had[static_cast<std::size_t>(course)] != 0 ? again(step) : first(step);
        if (draws.bernoulli(shares(course, path[at]))) result[at].push_back(course);
      }
    }
    for (const Id course : result[at])
      had[static_cast<std::size_t>(course)] = 1;
  }
  return result;
}

}  // namespace desirepath::inline models
