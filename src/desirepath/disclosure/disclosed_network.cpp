#include "desirepath/disclosure/disclosed_network.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>

namespace desirepath::inline disclosure {

namespace {

constexpr double nothing = 1e-9;

/// Two sets of flows with the same totals differ by circles: along a circle, flows taken forwards grow and flows taken
/// backwards shrink. How far one flow can move is how much can be sent around the circles through it.
class Circles {
 public:
  Circles(std::size_t nodes, const std::vector<StudentFlow>& flows) : flows_(flows), at_(nodes) {
    for (std::size_t f = 0; f < flows.size(); ++f) {
      at_[flows[f].from].push_back({f, flows[f].to, true});
      at_[flows[f].to].push_back({f, flows[f].from, false});
    }
  }

  struct Step {
    std::size_t flow = 0, to = 0;
    bool grows = true;
  };

  /// The cheapest way from node to node, not over the flow itself; cost of a step below 0: closed. Empty: none.
  template <class Cost>
  std::vector<Step> path(std::size_t from, std::size_t to, std::size_t but, const Cost& cost) const {
    std::vector<double> best(at_.size(), std::numeric_limits<double>::infinity());
    std::vector<std::pair<std::size_t, Step>> before(at_.size());
    using Entry = std::pair<double, std::size_t>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
    best[from] = 0;
    open.emplace(0, from);
    while (!open.empty()) {
      const auto [so_far, node] = open.top();
      open.pop();
      if (so_far > best[node]) continue;
      if (node == to) break;
      for (const Step& step : at_[node]) {
        if (step.flow == but || (!step.grows && flows_[step.flow].students <= nothing)) continue;
        const double price = cost(step);
        if (price < 0 || so_far + price >= best[step.to]) continue;
        best[step.to] = so_far + price;
        before[step.to] = {node, step};
        open.emplace(best[step.to], step.to);
      }
    }
    std::vector<Step> found;
    if (best[to] == std::numeric_limits<double>::infinity()) return found;
    for (std::size_t node = to; node != from; node = before[node].first)
      found.push_back(before[node].second);
    return found;
  }

  /// Moves as much as the path allows, `most` at most.
  double move_along(const std::vector<Step>& path, double most) {
    for (const Step& step : path) {
      if (!step.grows) most = std::min(most, flows_[step.flow].students);
    }
    for (const Step& step : path)
      flows_[step.flow].students += step.grows ? most : -most;
    return most;
  }

 private:
  std::vector<StudentFlow> flows_;
  std::vector<std::vector<Step>> at_;
};

/// The ends of the way that closes the circle when the flow grows (or shrinks).
std::pair<std::size_t, std::size_t> way_back(const StudentFlow& flow, bool up) {
  return up ? std::pair(flow.to, flow.from) : std::pair(flow.from, flow.to);
}

double room(std::size_t nodes, const std::vector<StudentFlow>& flows, const Hidden& hidden, std::size_t flow,
            double enough, bool up) {
  Circles circles(nodes, flows);
  const auto [from, to] = way_back(flows[flow], up);
  double found = 0;
  while (found < enough - nothing) {
    const auto path = circles.path(from, to, flow, [&](const Circles::Step& step) {
      return hidden[step.flow] != 0 || flows[step.flow].is_never_disclosed ? 1.0 : -1.0;
    });
    if (path.empty()) break;
    found += circles.move_along(path, enough - found);
  }
  return found;
}

/// Hides flows that let the flow move further; false where there are none.
bool hide_more(std::size_t nodes, const std::vector<StudentFlow>& flows, Hidden& hidden, std::size_t flow,
               double needed, bool up) {
  Circles circles(nodes, flows);
  const auto [from, to] = way_back(flows[flow], up);
  double found = 0;
  bool changed = false;
  while (found < needed - nothing) {
    // Flows of few students cost little, flows that cannot give enough cost more; of nobody it is told that nobody is
    // there.
    const auto path = circles.path(from, to, flow, [&](const Circles::Step& step) {
      const StudentFlow& other = flows[step.flow];
      if (hidden[step.flow] != 0 || other.is_never_disclosed) return 1e-3;
      if (other.is_known) return -1.0;
      return 1 + (other.students > 0 ? other.students : needed) +
             (!step.grows && other.students < needed ? 10 * needed : 0);
    });
    if (path.empty()) break;
    for (const Circles::Step& step : path) {
      if (flows[step.flow].is_never_disclosed) continue;
      changed = changed || hidden[step.flow] == 0;
      hidden[step.flow] = 1;
    }
    found += circles.move_along(path, needed - found);
  }
  return changed;
}

}  // namespace

double room_above(std::size_t nodes, const std::vector<StudentFlow>& flows, const Hidden& hidden, std::size_t flow,
                  double enough) {
  return room(nodes, flows, hidden, flow, enough, true);
}

double room_below(std::size_t nodes, const std::vector<StudentFlow>& flows, const Hidden& hidden, std::size_t flow,
                  double enough) {
  return room(nodes, flows, hidden, flow, std::min(enough, flows[flow].students), false);
}

std::optional<Hidden> hide_in_network(std::size_t nodes, const std::vector<StudentFlow>& flows,
                                      const Disclosure& disclosure) {
  Hidden hidden, small;
  for (const StudentFlow& flow : flows) {
    const bool needs_room = flow.room > 0 || !disclosure.allows(flow.students);
    small.push_back(flow.is_never_disclosed || flow.is_known || !needs_room ? 0 : 1);
    hidden.push_back(small.back() != 0 || flow.is_withheld ? 1 : 0);
  }
  // What is hidden for one flow only helps the others.
  for (std::size_t f = 0; f < flows.size(); ++f) {
    if (small[f] == 0) continue;
    for (const bool up : {true, false}) {
      const double students = flows[f].students;
      const double needed = up ? std::max(static_cast<double>(disclosure.least()) - students, flows[f].room)
                               : std::min(students, flows[f].room > 0 ? flows[f].room : students);
      while (room(nodes, flows, hidden, f, needed, up) < needed - nothing) {
        if (!hide_more(nodes, flows, hidden, f, needed, up)) return std::nullopt;
      }
    }
  }
  return hidden;
}

}  // namespace desirepath::inline disclosure
