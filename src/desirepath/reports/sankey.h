// How students flow between states, a column a period: ribbons as wide as their students or as their probability, a
// path of interest in full colour with what follows it.
#pragma once

#include "desirepath/queries/pathways.h"
#include "desirepath/reports/figure.h"

namespace desirepath::inline reports {

enum class RibbonWidth { flow, probability };

struct SankeyOptions {
  RibbonWidth width = RibbonWidth::flow;
  /// Nodes of the flows, one a step and without a gap: they and what follows the last one are strong, the rest is pale.
  std::vector<std::size_t> highlight = {};
};

/// The whole diagram, states named beside their nodes.
Figure state_sankey(const StateFlows& flows, const Schema& schema, const SankeyOptions& options = {});

/// Of the paths through states alone whose flows can all be told: the most frequent one, and the most frequent one that
/// ends elsewhere; fewer where there are no such.
std::vector<StatePath> contrasting_paths(const StateFlows& flows);

/// The same diagram twice, side by side: each with one of the two contrasting paths highlighted, one key for both.
Figure sankey_contrast(const StateFlows& flows, const Schema& schema, RibbonWidth width = RibbonWidth::flow);

}  // namespace desirepath::inline reports
