// Peers for tests: threads of one process, or processes joined by pipes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "desirepath/compute/statistics.h"

namespace desirepath::test {

/// What each peer computes; texts may hold any bytes.
using PeerTask = std::function<std::string(const Peers& peers)>;

/// Runs the task for each of so many peers, each on a thread of its own, and returns what they computed.
std::vector<std::string> run_as_threads(int count, const PeerTask& task);
/// The same, each in a process of its own that sends its numbers through pipes.
std::vector<std::string> run_as_processes(int count, const PeerTask& task);

}  // namespace desirepath::test
