#include "desirepath/models/committee_trial.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include <nlohmann/json.hpp>

#include "desirepath/core/error.h"
#include "desirepath/core/json_number.h"
#include "desirepath/core/text.h"
#include "desirepath/emissions/capabilities.h"
#include "desirepath/models/checkpoint.h"
#include "desirepath/probability/normal.h"

namespace desirepath::inline models {

namespace {

/// Link prior and timing prior over the usual ones, those that helped most often first.
constexpr std::array<std::pair<double, double>, 4> prior_factors = {{{0.2, 0.3}, {1, 0.1}, {0.06, 0.1}, {4, 3}}};
constexpr std::array<Id, 3> states_tried = {16, 8, 32};
/// Fewer say nothing of where a tree will end.
constexpr int fewest_iterations = 5;
/// What every part costs beside its iterations.
constexpr int passes_beside = 2;
/// A pass takes so much for each hidden value beside what it takes for each pair of them, as learners estimate it.
constexpr double beside_states = 30;
/// Past the usual limit: iterations at a time, how many at most, and what they must gain, in nats per judge.
constexpr int more_iterations = 100, most_with_more = 1000;
constexpr double worthwhile_gain = 0.01;

/// Standard errors that the best of so many gains must have: one in twenty times one of them has as many by chance.
double errors_to_clear(std::size_t tried) {
  return normal_quantile(1 - 0.05 / static_cast<double>(tried));
}

/// To two digits, as people write priors.
double rounded_prior(double prior) {
  std::array<char, 32> digits;
  const auto written = std::to_chars(digits.begin(), digits.end(), prior, std::chars_format::scientific, 1);
  double rounded = prior;
  std::from_chars(digits.begin(), written.ptr, rounded);
  return rounded;
}

}  // namespace

CommitteeTrial::CommitteeTrial(TrialTask task) : task_(std::move(task)) {
  plan();
}

void CommitteeTrial::take(const TrialStep& step, TrialPart part, ChainParameters best) {
  if (step.tree < 0) {
    starts_.push_back({step.values.tree_states, std::move(best)});
  } else {
    Tree& tree = trees_[static_cast<std::size_t>(step.tree)];
    tree.parts.push_back(std::move(part));
    tree.best = std::move(best);
  }
  plan();
}

void CommitteeTrial::plan() {
  next_.clear();
  chosen_ = 0;
  work_ = 0;
  for (Tree& tree : trees_) {
    tree.followed = tree.counted = 0;
    tree.run = tree.best_iteration = 0;
    tree.has_ended = tree.may_go_on = false;
  }
  follow();
  for (Tree& tree : trees_) {
    if (!tree.may_go_on || next_.empty()) tree.best.reset();
  }
  if (next_.empty()) starts_.clear();
}

bool CommitteeTrial::follow() {
  const std::size_t usual = number_of(task_.usual);
  trees_[usual].may_go_on = true;
  if (!train(usual, task_.most_iterations)) return false;
  committee_work_ = task_.trees *
                    work_of(task_.usual, task_.members_judged ? trees_[usual].run : trees_[usual].best_iteration) /
                    (task_.members_judged ? 1 : task_.share);
  if (!try_others(other_priors()) || !try_others(other_states())) return false;
  return find_iterations();
}

bool CommitteeTrial::train(std::size_t number, int iterations) {
  Tree& tree = trees_[number];
  if (tree.has_ended || tree.run >= iterations) return true;
  if (tree.followed < tree.parts.size()) {
    const TrialPart& part = tree.parts[tree.followed++];
    work_ += work_of(tree.values, part.iterations + passes_beside);
    tree.run = tree.best_iteration + part.iterations;
    tree.best_iteration += part.best_iteration;
    tree.has_ended = part.has_ended;
    tree.counted = tree.followed;
    return true;
  }
  const ChainParameters* from = tree.best ? &*tree.best : nullptr;
  if (from == nullptr) {
    const auto start = std::ranges::find(starts_, tree.values.tree_states, &Start::states);
    const bool is_next = std::ranges::any_of(next_, [&](const TrialStep& step) {
      return step.tree < 0 && step.values.tree_states == tree.values.tree_states;
    });
    if (start == starts_.end()) {
      if (!is_next) next_.push_back({-1, tree.values, 0, nullptr});
      return false;
    }
    from = &start->parameters;
  }
  next_.push_back({static_cast<int>(number), tree.values, iterations - tree.best_iteration, from});
  return false;
}

bool CommitteeTrial::try_others(const std::vector<TrialValues>& others) {
  // As many as can be paid for, each with enough iterations to say something.
  std::size_t count = others.size();
  int iterations = 0;
  for (; count > 0; --count) {
    iterations = first_round(std::span(others).first(count));
    if (iterations >= fewest_iterations) break;
  }
  std::vector<std::size_t> left;
  for (std::size_t i = 0; i < count; ++i)
    left.push_back(number_of(others[i]));
  const std::size_t incumbent = chosen_;
  const auto mean_of = [&](std::size_t number) { return mean(trees_[number].scores()); };
  for (int round = 0; !left.empty(); ++round) {
    bool is_trained = true;
    for (const std::size_t number : left) {
      trees_[number].may_go_on = true;
      is_trained = train(number, iterations) && is_trained;
    }
    if (!is_trained) return false;
    for (const std::size_t number : left)
      trees_[number].may_go_on = false;
    // What is behind after as many iterations as the best so far needed stays behind.
    std::erase_if(left, [&](std::size_t number) {
      return trees_[number].run >= trees_[incumbent].best_iteration && mean_of(number) < mean_of(incumbent);
    });
    if (left.size() <= 1) break;
    std::ranges::stable_sort(left, std::greater(), mean_of);
    left.resize((left.size() + 1) / 2);
    iterations = std::min(2 * iterations, task_.most_iterations);
    if (left.size() == 1) break;
  }
  if (left.empty()) return true;
  Tree& best = trees_[left.front()];
  best.may_go_on = true;
  const int paid = static_cast<int>(
      std::min<double>(task_.most_iterations, (committee_work_ - work_) / work_of(best.values, 1) - passes_beside));
  if (!train(left.front(), std::min(task_.most_iterations, best.best_iteration + std::max(0, paid)))) return false;
  const TrialGain over = gain(best.scores(), trees_[incumbent].scores());
  if (over.mean > errors_to_clear(count) * over.error) {
    trees_[incumbent].may_go_on = false;
    chosen_ = left.front();
  } else {
    best.may_go_on = false;
  }
  return true;
}

bool CommitteeTrial::find_iterations() {
  const std::size_t number = chosen_;
  Tree& tree = trees_[number];
  limit_ = task_.most_iterations;
  if (!train(number, limit_)) return false;  // what it was tried with may have been less
  while (task_.may_go_on && !tree.has_ended && tree.run >= limit_ && limit_ < most_with_more) {
    const Vector before = tree.scores();
    const std::pair accepted{tree.counted, tree.best_iteration};
    if (!train(number, limit_ + more_iterations)) return false;
    const TrialGain more = gain(tree.scores(), before);
    if (more.mean < worthwhile_gain || more.mean < more.error) {
      std::tie(tree.counted, tree.best_iteration) = accepted;
      break;
    }
    limit_ += more_iterations;
  }
  iterations_ = tree.best_iteration;
  return true;
}

std::size_t CommitteeTrial::number_of(const TrialValues& values) {
  const auto found = std::ranges::find(trees_, values, &Tree::values);
  const std::size_t number = static_cast<std::size_t>(found - trees_.begin());
  if (found == trees_.end()) {
    Tree tree;
    tree.values = values;
    trees_.push_back(std::move(tree));
  }
  return number;
}

int CommitteeTrial::first_round(std::span<const TrialValues> others) const {
  std::vector<double> costs;
  for (const TrialValues& values : others)
    costs.push_back(work_of(values, 1));
  std::ranges::sort(costs, std::greater());
  // At worst the dearest go on. A round takes as many iterations as all rounds before it.
  double an_iteration = 0, beside = 0;
  double so_far = 0;
  for (std::size_t left = costs.size(); so_far == 0 || left > 1; left = (left + 1) / 2) {
    const double all = std::accumulate(costs.begin(), costs.begin() + static_cast<std::ptrdiff_t>(left), 0.0);
    const double more = std::max(1.0, so_far);
    an_iteration += all * more;
    beside += all * passes_beside;
    so_far += more;
  }
  const Tree& best = trees_[chosen_];
  const double to_the_end = costs.front() * (best.run + passes_beside);
  const double paid = (committee_work_ - work_ - to_the_end - beside) / an_iteration;
  const int enough = std::max(fewest_iterations, best.best_iteration / 2);
  return paid < 0 ? 0 : static_cast<int>(std::min<double>(enough, paid));
}

double CommitteeTrial::work_of(const TrialValues& values, int iterations) const {
  return task_.share * iterations * values.tree_states * (values.tree_states + beside_states);
}

double CommitteeTrial::mean(const Vector& scores) const {
  double sum = 0, weight = 0;
  for (Index j = 0; j < scores.size(); ++j) {
    sum += task_.judges[static_cast<std::size_t>(j)] * scores[j];
    weight += task_.judges[static_cast<std::size_t>(j)];
  }
  return sum / weight;
}

TrialGain CommitteeTrial::gain(const Vector& scores, const Vector& over) const {
  const Vector difference = scores - over;
  TrialGain result{mean(difference), 0};
  double squares = 0, weight = 0, squared_weights = 0;
  for (Index j = 0; j < difference.size(); ++j) {
    const double own = task_.judges[static_cast<std::size_t>(j)];
    squares += own * own * (difference[j] - result.mean) * (difference[j] - result.mean);
    weight += own;
    squared_weights += own * own;
  }
  const double judges = weight * weight / squared_weights;  // as many of equal weight
  result.error = judges > 1 ? std::sqrt(squares * judges / (judges - 1)) / weight : infinity;
  return result;
}

std::vector<TrialValues> CommitteeTrial::other_priors() const {
  std::vector<TrialValues> others;
  for (const auto& [link, timing] : prior_factors) {
    TrialValues values = task_.usual;
    if (task_.varies_link && link != 1) values.link_prior = rounded_prior(link * values.link_prior);
    if (task_.varies_timing && timing != 1) values.timing_prior = rounded_prior(timing * values.timing_prior);
    if (values != task_.usual && std::ranges::find(others, values) == others.end()) others.push_back(values);
  }
  return others;
}

std::vector<TrialValues> CommitteeTrial::other_states() const {
  std::vector<TrialValues> others;
  for (const Id states : states_tried) {
    TrialValues values = trees_[chosen_].values;
    if (!task_.varies_states || states == values.tree_states) continue;
    values.tree_states = states;
    others.push_back(values);
  }
  return others;
}

std::optional<TrialReport> CommitteeTrial::report() const {
  if (trees_.size() < 2) return std::nullopt;
  TrialReport report;
  report.students = std::ssize(task_.judges);
  for (const Tree& tree : trees_)
    report.trees.push_back(
        {tree.values, tree.best_iteration, mean(tree.scores()), gain(tree.scores(), trees_.front().scores())});
  report.trees.front().gain = {0, 0};
  report.chosen = chosen_;
  report.iterations = task_.members_judged ? limit_ : iterations_;
  if (limit_ > task_.most_iterations) report.limit = limit_;
  return report;
}

nlohmann::json CommitteeTrial::save(ArchiveWriter& archive) const {
  nlohmann::json header = {{"starts", nlohmann::json::array()}, {"trees", nlohmann::json::array()}};
  for (const Start& start : starts_) {
    start.parameters.save(archive, concat("trial.start.", header["starts"].size(), "."));
    header["starts"].push_back(start.states);
  }
  for (const Tree& tree : trees_) {
    if (tree.parts.empty()) continue;  // the plan comes to it again
    const std::string name = concat("trial.tree.", header["trees"].size());
    nlohmann::json parts = nlohmann::json::array();
    RowMatrix scores(std::ssize(tree.parts), std::ssize(task_.judges));
    for (const TrialPart& part : tree.parts) {
      scores.row(std::ssize(parts)) = part.scores.transpose();
      parts.push_back(
          {{"iterations", part.iterations}, {"best_iteration", part.best_iteration}, {"has_ended", part.has_ended}});
    }
    archive.add(name + ".values", std::vector<double>{tree.values.link_prior, tree.values.timing_prior,
                                                      static_cast<double>(tree.values.tree_states)});
    archive.add(name + ".scores", std::move(scores));
    if (tree.best) tree.best->save(archive, name + ".best.");
    header["trees"].push_back({{"parts", std::move(parts)}, {"best", tree.best.has_value()}});
  }
  return header;
}

void CommitteeTrial::load(const ArchiveReader& archive, const nlohmann::json& header, const StepLayout& layout,
                          const Schema& schema, const EmissionFamily& family) {
  constexpr int most = 1 << 26;
  const auto parameters = [&](const std::string& prefix, Id states) {
    ChainParameters loaded = ChainParameters::load(archive, prefix, layout, schema, family);
    const auto* forms = offered<FormsCommittees>(*loaded.emissions.front());
    if (loaded.emitting_states() != 1 || loaded.has_left_state || forms == nullptr || forms->hidden_values() != states)
      archive.refuse("damaged: a tree of the trial");
    return loaded;
  };
  const nlohmann::json &starts = header.at("starts"), &trees = header.at("trees");
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::optional<std::int64_t> states = whole_number_in(starts[i]);
    if (!states || *states < 1 || *states > most) archive.refuse("damaged: a start of the trial");
    const Id count = static_cast<Id>(*states);
    starts_.push_back({count, parameters(concat("trial.start.", i, "."), count)});
  }
  std::vector<Tree> loaded;
  for (std::size_t t = 0; t < trees.size(); ++t) {
    const std::string name = concat("trial.tree.", t);
    const std::vector<double> values = load_trace(archive, name + ".values", 3);
    Tree tree;
    if (!(values[2] >= 1 && values[2] < most)) archive.refuse("damaged: a tree of the trial");
    tree.values = {values[0], values[1], static_cast<Id>(values[2])};
    const nlohmann::json& parts = trees[t].at("parts");
    const RowMatrix scores = archive.read_matrix(name + ".scores");
    if (scores.rows() < 1 || scores.rows() != std::ssize(parts) || scores.cols() != std::ssize(task_.judges) ||
        !scores.allFinite())
      archive.refuse("damaged: the scores of the trial");
    for (std::size_t i = 0; i < parts.size(); ++i) {
      TrialPart part;
      part.iterations = whole_number(archive, parts[i], "iterations", 0, most);
      part.best_iteration = whole_number(archive, parts[i], "best_iteration", 0, part.iterations);
      part.has_ended = parts[i].at("has_ended").get<bool>();
      part.scores = scores.row(static_cast<Index>(i)).transpose();
      tree.parts.push_back(std::move(part));
    }
    if (trees[t].at("best").get<bool>()) tree.best = parameters(name + ".best.", tree.values.tree_states);
    loaded.push_back(std::move(tree));
  }
  trees_ = std::move(loaded);
  plan();
  // What is loaded must be what this trial would have come to.
  const bool is_followed = !trees_.empty() && std::ranges::all_of(trees_, [](const Tree& tree) {
    return tree.followed == tree.parts.size();
  });
  if (!is_followed || trees_.front().values != task_.usual)
    throw OptionError(concat(archive.name(), ": the checkpoint belongs to a fit with other options"));
}

}  // namespace desirepath::inline models
