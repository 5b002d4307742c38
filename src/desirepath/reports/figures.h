// The figures there are: functions from answers to pictures. Each is in a file of its name, or of what it is about.
#pragma once

#include "desirepath/evaluation/model_evaluation.h"
#include "desirepath/evaluation/model_selection.h"
#include "desirepath/queries/delays.h"
#include "desirepath/queries/disclosed_cohort.h"
#include "desirepath/queries/inference_accuracy.h"
#include "desirepath/queries/pathways.h"
#include "desirepath/queries/prerequisites.h"
#include "desirepath/queries/state_grid.h"
#include "desirepath/queries/typicality.h"
#include "desirepath/reports/figure.h"

namespace desirepath::inline reports {

/// The paper's figure 1: enrollments per school per year as stacked areas, and courses per student with the Gaussian of
/// the same mean and standard deviation.
Figure enrollment_areas(const DisclosedCohort& disclosed);
Figure course_histogram(const DisclosedCohort& disclosed);

/// The paper's grid: courses by concentration, in the colour of the state whose students take them most, as strong as
/// the model is sure.
Figure state_grid_figure(const DisclosedGrid& grid);

struct SankeyOptions {
  FlowWidth width = FlowWidth::flow;
  /// Nodes of the flows, one a step and without a gap: they and what follows the last one are strong, the rest is pale.
  std::vector<std::size_t> highlight = {};
};
/// How students flow between states, a column a period: ribbons as wide as their students or as their probability, a
/// path of interest in full colour with what follows it.
Figure state_sankey(const StateFlows& flows, const SankeyOptions& options = {});
/// Of the paths through states alone whose flows can all be told: the most frequent one, and the most frequent one that
/// ends elsewhere; fewer where there are no such.
std::vector<StatePath> contrasting_paths(const StateFlows& flows);
/// The same diagram twice, side by side: each with one of the two contrasting paths highlighted, one key for both.
Figure sankey_contrast(const StateFlows& flows, FlowWidth width = FlowWidth::flow);

/// The paper's pies: average coursework by subject of the most and the least typical students, and the same as bars.
Figure coursework_pies(const GroupPortrait& typical, const GroupPortrait& untypical);
/// How typical all are; wide bins are drawn at their mean height.
Figure typicality_histogram(const ScoreHistogram& scores);

/// Courses that open others, as a graph. The `most` best pairs are drawn; all are in the table.
Figure prerequisite_graph(Prerequisites found, std::size_t most = 40);

/// Courses that groups take later than others, with 95 % intervals. The `most` surest are drawn, the latest first; all
/// are in the table.
Figure delay_chart(const Delays& lost, std::size_t most = 16);

/// Whether probabilities come true: predicted against observed shares. Bins as they may be told, empty ones are passed
/// over. `model`: who answered; `students`: who were asked about.
Figure calibration_figure(std::vector<CalibrationBin> bins, const std::string& model, std::int64_t students);

/// Criteria over the number of states, as curves.
Figure selection_figure(const Selection& selection);

/// The paper's figure 3, sample error over K: a curve a model, bars of one standard deviation over the splits; a model
/// without a K is a line. And its table 1: each model's best sample error and inference accuracy.
Figure error_by_size(const Evaluation& evaluation);
Figure best_of_models(const Evaluation& evaluation);

}  // namespace desirepath::inline reports
