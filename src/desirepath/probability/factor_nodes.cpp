#include "desirepath/probability/factor_nodes.h"

#include "desirepath/probability/log_weights.h"
#include "desirepath/probability/quasi_random.h"

namespace desirepath::inline probability {

NodeSet prior_nodes(Index factor_count, std::int64_t node_count, const RandomStream& stream, double spread) {
  const QuasiRandomPoints points(factor_count, node_count, stream);
  NodeSet nodes{Matrix(node_count, factor_count), Vector(node_count)};
  for (Index k = 0; k < factor_count; ++k)
    points.normal(k, 0, {nodes.points.col(k).data(), static_cast<std::size_t>(node_count)});
  LogWeightSum sum;
  for (Index s = 0; s < node_count; ++s) {
    nodes.log_weights[s] = 0.5 * (1 - spread * spread) * nodes.points.row(s).squaredNorm();
    sum.add(nodes.log_weights[s]);
  }
  nodes.log_weights.array() -= sum.log_sum();
  nodes.points *= spread;
  return nodes;
}

}  // namespace desirepath::inline probability
