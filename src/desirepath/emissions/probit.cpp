#include "desirepath/emissions/probit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include <Eigen/Cholesky>

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"
#include "desirepath/emissions/probit_gaussian.h"

namespace desirepath::inline emissions {

namespace {

/// Wider than the prior, weighted back: rows out in the tail find nodes too.
constexpr double node_spread = 1.25;
constexpr std::size_t scored_rows_per_task = 1024;
constexpr double largest_parameter = 1e8;  // of intercepts, slopes and nodes: their products stay numbers

std::vector<NodeTable> tables_of(const RowMatrix& intercepts, const RowMatrix& slopes, const NodeSet& nodes) {
  const Index bits = intercepts.rows(), states = intercepts.cols(), count = nodes.log_weights.size();
  const bool fits = bits > 0 && states > 0 && slopes.rows() == bits * states && slopes.cols() == nodes.points.cols() &&
                    nodes.points.rows() == count && count > 0 && count % nodes_a_block == 0;
  if (!fits) throw ArchiveError("probit: intercepts, slopes and nodes do not fit each other");
  const auto is_moderate = [](const RowMatrix& values) { return (values.array().abs() <= largest_parameter).all(); };
  const bool finite = is_moderate(intercepts) && is_moderate(slopes) && is_moderate(nodes.points) &&
                      nodes.log_weights.allFinite() && std::abs(nodes.log_weights.array().exp().sum() - 1) < 1e-9;
  if (!finite) throw ArchiveError("probit: a parameter is beyond all bounds, or the nodes' weights do not sum to one");
  std::vector<NodeTable> tables;
  for (Index k = 0; k < states; ++k)
    tables.emplace_back(intercepts.col(k), slopes.middleRows(k * bits, bits), nodes);
  return tables;
}

RowMatrix intercepts_of(const std::vector<NodeTable>& states) {
  RowMatrix all(states.front().bit_count(), states.size());
  for (std::size_t k = 0; k < states.size(); ++k)
    all.col(static_cast<Index>(k)) = states[k].intercepts();
  return all;
}
RowMatrix slopes_of(const std::vector<NodeTable>& states) {
  const Index bits = states.front().bit_count();
  RowMatrix all(bits * static_cast<Index>(states.size()), states.front().slopes().cols());
  for (std::size_t k = 0; k < states.size(); ++k)
    all.middleRows(static_cast<Index>(k) * bits, bits) = states[k].slopes();
  return all;
}

}  // namespace

NodeSet factor_nodes(Index factors, Index nodes) {
  NodeSet set = prior_nodes(factors, nodes, RandomStream(1).child("probit nodes"), node_spread);
  // The first two moments made exact, so that Lambda Lambda' + I is the covariance on the nodes too.
  const Vector weights = set.log_weights.array().exp();
  const Eigen::RowVectorXd mean = weights.transpose() * set.points;
  set.points.rowwise() -= mean;
  const Matrix covariance = set.points.transpose() * weights.asDiagonal() * set.points;
  const Eigen::LLT<Matrix> factor(covariance);
  set.points = factor.matrixL().solve(set.points.transpose()).transpose().eval();
  return set;
}

std::span<const LikelihoodKind> ProbitParameters::likelihood_kinds() const {
  static constexpr std::array kinds = {LikelihoodKind::mass};
  return kinds;
}

std::int64_t ProbitParameters::parameter_count() const {
  const Index factors = factor_count();
  return state_count() * (bit_count() * (1 + factors) - factors * (factors - 1) / 2);
}

void ProbitParameters::save(ArchiveWriter& archive, const std::string& prefix) const {
  archive.add(prefix + ".intercepts", intercepts_);
  archive.add(prefix + ".slopes", slopes_);
}

ProbitEmission::ProbitEmission(const RowMatrix& intercepts, const RowMatrix& slopes, const NodeSet& nodes)
    : ProbitParameters(intercepts, slopes), states_(tables_of(intercepts, slopes, nodes)) {}

ProbitEmission::ProbitEmission(std::vector<NodeTable> states)
    : ProbitParameters(intercepts_of(states), slopes_of(states)), states_(std::move(states)) {}

std::unique_ptr<Emission> ProbitEmission::load(const ArchiveReader& archive, const std::string& prefix) {
  const auto matrix = [&](const std::string& name) { return archive.read_matrix(prefix + name); };
  if (!archive.has(prefix + ".nodes"))
    return std::make_unique<ProbitGaussianEmission>(matrix(".intercepts"), matrix(".slopes"));
  const RowMatrix nodes = matrix(".nodes");
  return std::make_unique<ProbitEmission>(matrix(".intercepts"), matrix(".slopes"),
                                          NodeSet{nodes, archive.read_vector(prefix + ".node_log_weights")});
}

RowScores ProbitEmission::score(const StepRows& rows, LikelihoodKind, Precision, const Executor& executor) const {
  // Rows of a pattern share their base: tasks hold rows of one pattern, in order.
  std::vector<std::int64_t> order(static_cast<std::size_t>(rows.row_count()));
  std::iota(order.begin(), order.end(), 0);
  if (!rows.all_known()) std::ranges::stable_sort(order, {}, [&](std::int64_t row) { return rows.pattern_of(row); });
  std::vector<std::span<const std::int64_t>> tasks;
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first + 1;
    while (last < order.size() && last - first < scored_rows_per_task &&
           rows.pattern_of(order[last]) == rows.pattern_of(order[first]))
      ++last;
    tasks.emplace_back(order.data() + first, last - first);
    first = last;
  }
  RowScores scores;
  scores.log_likelihood.resize(rows.row_count(), state_count());
  executor.for_each(static_cast<std::int64_t>(tasks.size()), [&](std::int64_t number) {
    const auto task = tasks[static_cast<std::size_t>(number)];
    const UnknownBits& unknown = rows.unknown(rows.pattern_of(task.front()));
    std::vector<double> totals(task.size());
    for (Id k = 0; k < state_count(); ++k) {
      const NodeTable& table = states_[static_cast<std::size_t>(k)];
      const NodeBase base = table.base(unknown);
      table.totals(base, rows, task, totals);
      for (std::size_t i = 0; i < task.size(); ++i)
        scores.log_likelihood(task[i], k) = table.log_probability(base, rows.taken(task[i]), totals[i]);
    }
  });
  return scores;
}

namespace {

class ProbitGiven : public GivenPattern {
 public:
  ProbitGiven(const std::vector<NodeTable>& states, const UnknownBits& unknown) : states_(states), unknown_(unknown) {
    for (const NodeTable& table : states)
      bases_.push_back(table.base(unknown));
  }

  void marginals(std::span<const Id> taken, std::span<const Id> asked, Eigen::Ref<RowMatrix> out) const override {
    const auto nodes = static_cast<std::size_t>(states_.front().node_count());
    std::vector<double> weights(nodes), chances(nodes);
    for (std::size_t k = 0; k < states_.size(); ++k) {
      states_[k].weigh(bases_[k], taken, weights);
      for (std::size_t i = 0; i < asked.size(); ++i) {
        double& answer = out(static_cast<Index>(k), static_cast<Index>(i));
        if (!unknown_.contains(asked[i])) {
          answer = std::ranges::binary_search(taken, asked[i]) ? 1 : 0;
          continue;
        }
        states_[k].probabilities(asked[i], chances);
        answer = std::min(1.0, std::inner_product(weights.begin(), weights.end(), chances.begin(), 0.0));
      }
    }
  }

  void complete(std::span<const Id> taken, Id state, RandomStream& stream, std::vector<Id>& result) const override {
    const NodeTable& table = states_[static_cast<std::size_t>(state)];
    std::vector<double> weights(static_cast<std::size_t>(table.node_count()));
    table.weigh(bases_[static_cast<std::size_t>(state)], taken, weights);
    const auto node = static_cast<Index>(stream.categorical(weights));
    result.assign(taken.begin(), taken.end());
    for (const Id bit : unknown_.bits) {
      if (stream.bernoulli(table.probability(bit, node))) result.push_back(bit);
    }
    std::ranges::sort(result);
  }

 private:
  const std::vector<NodeTable>& states_;
  const UnknownBits& unknown_;
  std::vector<NodeBase> bases_;
};

}  // namespace

std::unique_ptr<GivenPattern> ProbitEmission::given(const UnknownBits& unknown) const {
  return std::make_unique<ProbitGiven>(states_, unknown);
}

RowMatrix ProbitEmission::bit_probabilities() const {
  RowMatrix result(bit_count(), state_count());
  const Vector weights = nodes().log_weights.array().exp();
  Vector chances(weights.size());
  for (Id k = 0; k < state_count(); ++k) {
    for (Id bit = 0; bit < bit_count(); ++bit) {
      states_[static_cast<std::size_t>(k)].probabilities(bit,
                                                         {chances.data(), static_cast<std::size_t>(chances.size())});
      result(bit, k) = std::min(1.0, weights.dot(chances));
    }
  }
  return result;
}

std::unique_ptr<Emission> ProbitEmission::reordered(std::span<const Id> order) const {
  std::vector<NodeTable> states;
  for (const Id state : order)
    states.push_back(states_[static_cast<std::size_t>(state)]);
  return std::make_unique<ProbitEmission>(std::move(states));
}

void ProbitEmission::save(ArchiveWriter& archive, const std::string& prefix) const {
  ProbitParameters::save(archive, prefix);
  archive.add(prefix + ".nodes", RowMatrix(nodes().points));
  archive.add(prefix + ".node_log_weights", nodes().log_weights);
}

EmissionFamily probit_family() {
  return {std::string(ProbitEmission::family_name), "courses as a thresholded Gaussian of few factors, learned as such",
          declaration_of<ProbitOptions>(),
          [](const SettingValues& values, const StepShape&) {
            return std::make_unique<ProbitLearner>(settings_from<ProbitOptions>(values));
          },
          ProbitEmission::load};
}

}  // namespace desirepath::inline emissions
