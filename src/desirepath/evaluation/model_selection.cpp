#include "desirepath/evaluation/model_selection.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"
#include "desirepath/evaluation/held_out.h"
#include "desirepath/transcripts/split.h"

namespace desirepath::inline evaluation {

std::vector<Id> parse_state_range(const std::string& text) {
  const auto number = [&](const std::string& part) {
    Id value = 0;
    const auto parsed = std::from_chars(part.data(), part.data() + part.size(), value);
    if (parsed.ec != std::errc() || parsed.ptr != part.data() + part.size() || value < 1 || value > 100'000) {
      throw OptionError(concat("--states '", text, "': write it as 2:20, 2:20:3 or 2,4,8"));
    }
    return value;
  };
  std::vector<Id> states;
  for (const std::string& piece : split(text, ',')) {
    const std::vector<std::string> ends = split(piece, ':');
    if (ends.size() > 3) throw OptionError(concat("--states '", text, "': write it as 2:20, 2:20:3 or 2,4,8"));
    const Id first = number(ends[0]), last = ends.size() > 1 ? number(ends[1]) : first,
             step = ends.size() > 2 ? number(ends[2]) : 1;
    if (last < first) throw OptionError(concat("--states '", text, "': the range is empty"));
    for (Id k = first; k <= last; k += step)
      states.push_back(k);
  }
  std::ranges::sort(states);
  states.erase(std::unique(states.begin(), states.end()), states.end());
  return states;
}

Selection select_states(const Cohort& cohort, const FitOptions& options, const std::vector<Id>& states,
                        double validation_share, const Compute& compute, const ProgressSink& progress) {
  const Split split = split_by_share(cohort, {validation_share, 0}, RandomStream(options.seed).child("validation"));
  if (split.training.empty() || split.validation.empty())
    throw OptionError("too few students to set some aside for validation");
  const Cohort training = cohort.select(split.training), validation = cohort.select(split.validation);
  const EvidenceBatch held_out = EvidenceBatch::of(validation);
  const std::vector<double> weights =
      options.weights.empty() ? std::vector<double>() : student_weights(validation, options.weights);
  Selection selection;
  selection.training_students = training.student_count();
  selection.validation_students = validation.student_count();
  for (std::size_t i = 0; i < states.size(); ++i) {
    FitOptions here = options;
    here.states = states[i];
    here.validation_share.reset();
    here.validation = nullptr;
    const ProgressSink sink = !progress ? progress : ProgressSink([&](ProgressEvent event) {
      event.phase = concat("K = ", states[i], " (", i + 1, " of ", states.size(), ") ", event.phase);
      progress(event);
    });
    const FitResult fit = fit_model(training, here, compute, sink);
    const HeldOutScore score = score_students(*fit.model, held_out, fit.kind, compute, weights);
    SelectionRow row;
    row.states = states[i];
    row.log_likelihood = fit.log_likelihood;
    row.parameters = fit.model->parameter_count();
    const double penalty = static_cast<double>(row.parameters);
    row.bic = -2 * fit.log_likelihood + penalty * std::log(fit.student_weight);
    row.aic = -2 * fit.log_likelihood + 2 * penalty;
    row.icl = row.bic + 2 * fit.state_entropy;
    row.held_out = score.mean();
    row.impossible = score.impossible;
    row.held_out_error = score.standard_error_of_mean;
    row.iterations = fit.iterations;
    row.converged = fit.converged;
    selection.kind = fit.kind;
    selection.rows.push_back(row);
  }
  const auto& rows = selection.rows;
  selection.best_bic = std::ranges::min_element(rows, {}, &SelectionRow::bic)->states;
  selection.best_aic = std::ranges::min_element(rows, {}, &SelectionRow::aic)->states;
  selection.best_icl = std::ranges::min_element(rows, {}, &SelectionRow::icl)->states;
  const auto best = std::ranges::max_element(rows, {}, &SelectionRow::held_out);
  selection.best_held_out = std::isfinite(best->held_out) ? best->states : 0;
  return selection;
}

}  // namespace desirepath::inline evaluation
