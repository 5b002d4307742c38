#include "desirepath/probability/markov_chain.h"

#include <cmath>

#include "desirepath/core/error.h"
#include "desirepath/probability/log_space.h"

namespace desirepath::inline probability {

namespace {

// Under this a rescaled step has lost too many digits to underflow and logarithms take over.
constexpr double smallest_scale = 1e-200;

double safe_log(double value) {
  return value > 0 ? std::log(value) : -infinity;
}

std::span<double> row_span(RowMatrix& matrix, Index row) {
  return {matrix.data() + row * matrix.cols(), static_cast<std::size_t>(matrix.cols())};
}

}  // namespace

ChainPosterior::ChainPosterior(const ChainPrior& prior) : prior_(prior) {
  for (RowMatrix* matrix : {&emission_, &forward_, &backward_, &gamma_}) {
    matrix->setZero(prior.step_count(), prior.state_count());
  }
}

double ChainPosterior::run(const RowMatrix& log_emissions) {
  in_logs_ = false;
  const double log_probability = run_scaled(log_emissions);
  if (std::isfinite(log_probability)) return log_probability;
  in_logs_ = true;
  return run_in_logs(log_emissions);
}

double ChainPosterior::run_scaled(const RowMatrix& log_emissions) {
  const Index steps = prior_.step_count(), states = prior_.state_count();
  double log_probability = 0;
  for (Index t = 0; t < steps; ++t) {
    const double largest = log_emissions.row(t).maxCoeff();
    if (largest == -infinity) return -infinity;
    for (Index k = 0; k < states; ++k)
      emission_(t, k) = std::exp(log_emissions(t, k) - largest);
    if (t == 0) {
      forward_.row(0) = prior_.initial.transpose().cwiseProduct(emission_.row(0));
    } else {
      forward_.row(t).noalias() = forward_.row(t - 1) * prior_.transitions[static_cast<std::size_t>(t - 1)];
      forward_.row(t).array() *= emission_.row(t).array();
    }
    const double scale = forward_.row(t).sum();
    if (!(scale > smallest_scale)) return -infinity;
    forward_.row(t) /= scale;
    log_probability += largest + std::log(scale);
  }
  if (steps == 1) {
    gamma_.row(0) = forward_.row(0);
    return log_probability;
  }
  backward_.row(steps - 1).setOnes();
  gamma_.row(steps - 1) = forward_.row(steps - 1);
  for (Index t = steps - 1; t-- > 0;) {
    // Emission and backward of the next step together, rescaled: only ratios count.
    emission_.row(t + 1).array() *= backward_.row(t + 1).array();
    const double scale = emission_.row(t + 1).maxCoeff();
    if (!(scale > smallest_scale)) return -infinity;
    emission_.row(t + 1) /= scale;
    backward_.row(t).transpose().noalias() =
        prior_.transitions[static_cast<std::size_t>(t)] * emission_.row(t + 1).transpose();
    gamma_.row(t) = forward_.row(t).cwiseProduct(backward_.row(t));
    const double total = gamma_.row(t).sum();
    if (!(total > smallest_scale)) return -infinity;
    gamma_.row(t) /= total;
  }
  return log_probability;
}

double ChainPosterior::run_in_logs(const RowMatrix& log_emissions) {
  const Index steps = prior_.step_count(), states = prior_.state_count();
  std::vector<double> terms(static_cast<std::size_t>(states));
  emission_ = log_emissions;
  for (Index k = 0; k < states; ++k)
    forward_(0, k) = safe_log(prior_.initial[k]) + log_emissions(0, k);
  for (Index t = 1; t < steps; ++t) {
    const Matrix& transition = prior_.transitions[static_cast<std::size_t>(t - 1)];
    for (Index k = 0; k < states; ++k) {
      for (Index from = 0; from < states; ++from) {
        terms[static_cast<std::size_t>(from)] = forward_(t - 1, from) + safe_log(transition(from, k));
      }
      forward_(t, k) = log_sum_exp(terms) + log_emissions(t, k);
    }
  }
  backward_.row(steps - 1).setZero();
  for (Index t = steps - 1; t-- > 0;) {
    const Matrix& transition = prior_.transitions[static_cast<std::size_t>(t)];
    for (Index k = 0; k < states; ++k) {
      for (Index to = 0; to < states; ++to) {
        terms[static_cast<std::size_t>(to)] =
            safe_log(transition(k, to)) + log_emissions(t + 1, to) + backward_(t + 1, to);
      }
      backward_(t, k) = log_sum_exp(terms);
    }
  }
  const double log_probability = log_sum_exp(row_span(forward_, steps - 1));
  for (Index t = 0; t < steps; ++t) {
    gamma_.row(t) = forward_.row(t) + backward_.row(t);
    normalise_logs(row_span(gamma_, t));
  }
  return log_probability;
}

void ChainPosterior::add_pairs(Index step, double weight, Eigen::Ref<Matrix> sums) const {
  const Index states = prior_.state_count();
  const Matrix& transition = prior_.transitions[static_cast<std::size_t>(step)];
  if (!in_logs_) {
    // emission_ of the next step already holds emission times backward.
    double total = 0;
    for (Index to = 0; to < states; ++to) {
      const double next = emission_(step + 1, to);
      if (next == 0) continue;
      for (Index from = 0; from < states; ++from)
        total += forward_(step, from) * transition(from, to) * next;
    }
    if (!(total > 0)) return;
    const double factor = weight / total;
    for (Index to = 0; to < states; ++to) {
      const double next = emission_(step + 1, to) * factor;
      if (next == 0) continue;
      for (Index from = 0; from < states; ++from)
        sums(from, to) += forward_(step, from) * transition(from, to) * next;
    }
    return;
  }
  RowMatrix logs(states, states);
  for (Index from = 0; from < states; ++from) {
    for (Index to = 0; to < states; ++to) {
      logs(from, to) =
          forward_(step, from) + safe_log(transition(from, to)) + emission_(step + 1, to) + backward_(step + 1, to);
    }
  }
  normalise_logs({logs.data(), static_cast<std::size_t>(logs.size())});
  sums += weight * logs;
}

ChainPath most_likely_path(const ChainPrior& prior, const RowMatrix& log_emissions) {
  const Index steps = prior.step_count(), states = prior.state_count();
  RowMatrix best(steps, states);
  Eigen::Matrix<Id, Eigen::Dynamic, Eigen::Dynamic> from(steps, states);
  for (Index k = 0; k < states; ++k)
    best(0, k) = safe_log(prior.initial[k]) + log_emissions(0, k);
  for (Index t = 1; t < steps; ++t) {
    const Matrix& transition = prior.transitions[static_cast<std::size_t>(t - 1)];
    for (Index k = 0; k < states; ++k) {
      best(t, k) = -infinity;
      from(t, k) = 0;
      for (Index before = 0; before < states; ++before) {
        const double score = best(t - 1, before) + safe_log(transition(before, k));
        if (score > best(t, k)) {
          best(t, k) = score;
          from(t, k) = static_cast<Id>(before);
        }
      }
      best(t, k) += log_emissions(t, k);
    }
  }
  ChainPath path;
  path.states.resize(static_cast<std::size_t>(steps));
  Index last = 0;
  path.log_probability = best.row(steps - 1).maxCoeff(&last);
  for (Index t = steps - 1; t >= 0; --t) {
    path.states[static_cast<std::size_t>(t)] = static_cast<Id>(last);
    if (t > 0) last = from(t, last);
  }
  return path;
}

std::vector<Id> sample_path(const ChainPrior& prior, const RowMatrix& log_emissions, RandomStream& stream) {
  // Backwards: log_future(t, k) = log p(evidence after t | state k at t); then forwards, a state at a time.
  const Index steps = prior.step_count(), states = prior.state_count();
  RowMatrix future(steps, states);
  future.row(steps - 1).setZero();
  std::vector<double> terms(static_cast<std::size_t>(states));
  for (Index t = steps - 1; t-- > 0;) {
    for (Index k = 0; k < states; ++k) {
      for (Index to = 0; to < states; ++to) {
        terms[static_cast<std::size_t>(to)] = safe_log(prior.transitions[static_cast<std::size_t>(t)](k, to)) +
                                              log_emissions(t + 1, to) + future(t + 1, to);
      }
      future(t, k) = log_sum_exp(terms);
    }
  }
  std::vector<Id> path;
  for (Index t = 0; t < steps; ++t) {
    for (Index k = 0; k < states; ++k) {
      const double before =
          t == 0 ? prior.initial[k] : prior.transitions[static_cast<std::size_t>(t - 1)](path.back(), k);
      terms[static_cast<std::size_t>(k)] = safe_log(before) + log_emissions(t, k) + future(t, k);
    }
    if (normalise_logs(terms) == -infinity) throw NumericalError("the evidence is impossible under the model");
    path.push_back(static_cast<Id>(stream.categorical(terms)));
  }
  return path;
}

}  // namespace desirepath::inline probability
