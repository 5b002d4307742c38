// Students who flow through a network, of whom some flows are told: which may be.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "desirepath/disclosure/disclosure.h"

namespace desirepath::inline disclosure {

struct StudentFlow {
  std::size_t from = 0, to = 0;  // nodes
  double students = 0;
  bool is_never_disclosed = false;  // so that it can be anything
  bool is_withheld = false;         // not told in any case, and to be kept hidden where it is small
  bool is_known = false;            // told in any case, or elsewhere: it cannot be hidden for another
  double room = 0;                  // what else is told must leave it so far to move, up and down, whatever its size
};

/// Whoever comes into a node goes out of it; what goes into the network and out of it is known. The flows that may not
/// be told: the small ones, and as many others as keep, for each small one, both nobody and enough possible. Nothing
/// where no choice of flows can.
std::optional<Hidden> hide_in_network(std::size_t nodes, const std::vector<StudentFlow>& flows,
                                      const Disclosure& disclosure);

/// By how much a hidden flow could be larger, or smaller, with all that is told the same; `enough` ends the search.
double room_above(std::size_t nodes, const std::vector<StudentFlow>& flows, const Hidden& hidden, std::size_t flow,
                  double enough);
double room_below(std::size_t nodes, const std::vector<StudentFlow>& flows, const Hidden& hidden, std::size_t flow,
                  double enough);

}  // namespace desirepath::inline disclosure
