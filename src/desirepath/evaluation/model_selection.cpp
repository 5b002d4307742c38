#include "desirepath/evaluation/model_selection.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include <nlohmann/json.hpp>

#include "desirepath/core/digest.h"
#include "desirepath/core/error.h"
#include "desirepath/core/json_number.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/queries/student_scores.h"
#include "desirepath/transcripts/split.h"

namespace desirepath::inline evaluation {

std::vector<Id> parse_state_range(const std::string& text) {
  const auto number = [&](const std::string& part) {
    Id value = 0;
    const auto parsed = std::from_chars(part.data(), part.data() + part.size(), value);
    if (parsed.ec != std::errc() || parsed.ptr != part.data() + part.size() || value < 1 || value > 100'000) {
      throw OptionError(concat(setting_name("states"), " '", text, "': write it as 2:20, 2:20:3 or 2,4,8"));
    }
    return value;
  };
  std::vector<Id> states;
  for (const std::string& piece : split(text, ',')) {
    const std::vector<std::string> ends = split(piece, ':');
    if (ends.size() > 3)
      throw OptionError(concat(setting_name("states"), " '", text, "': write it as 2:20, 2:20:3 or 2,4,8"));
    const Id first = number(ends[0]), last = ends.size() > 1 ? number(ends[1]) : first,
             step = ends.size() > 2 ? number(ends[2]) : 1;
    if (last < first) throw OptionError(concat(setting_name("states"), " '", text, "': the range is empty"));
    for (Id k = first; k <= last; k += step)
      states.push_back(k);
  }
  std::ranges::sort(states);
  states.erase(std::unique(states.begin(), states.end()), states.end());
  return states;
}

namespace {

Split split_of(const Cohort& cohort, const FitOptions& options, double validation_share) {
  const auto weights = options.values().find("weights");
  return held_out_split(cohort, validation_share, options.seed,
                        weights == options.values().end() ? "" : setting_text(weights->second));
}

std::vector<FitOptions> fits_of(const FitOptions& options, const std::vector<Id>& states) {
  std::vector<FitOptions> fits(states.size(), options);
  for (std::size_t i = 0; i < states.size(); ++i)
    fits[i].set(options.choice().model->size_setting, std::int64_t{states[i]});
  return fits;
}

std::optional<LikelihoodKind> kind_named(const std::string& name) {
  for (const LikelihoodKind kind : {LikelihoodKind::mass, LikelihoodKind::density, LikelihoodKind::lower_bound}) {
    if (name == name_of(kind)) return kind;
  }
  return std::nullopt;
}

/// What finished fits belong to.
std::string digest_of(const Cohort& cohort, const std::vector<FitOptions>& fits, double validation_share,
                      const TrainingContext& context) {
  DigestBuilder digest;
  digest.add(concat("select\n", cohort.fingerprint(), "\n", shortest(validation_share), "\n"));
  for (const FitOptions& options : fits)
    digest.add(TrainingTask{cohort, options, context}.digest());
  return digest.finish().hex();
}

}  // namespace

FitEstimate estimate_selection(const Cohort& cohort, const FitOptions& options, const std::vector<Id>& states,
                               double validation_share, const TrainingContext& context) {
  const Split split = split_of(cohort, options, validation_share);
  return estimate_fits(cohort.select(split.training), fits_of(options, states), context);
}

Selection select_states(const Cohort& cohort, const FitOptions& options, const std::vector<Id>& states,
                        double validation_share, const TrainingContext& context, const FitsFile& file) {
  const Split split = split_of(cohort, options, validation_share);
  const Cohort training = cohort.select(split.training), validation = cohort.select(split.validation);
  const EvidenceBatch held_out = EvidenceBatch::of(validation);
  const SettingValues& values = options.values();
  const auto weights_column = values.find("weights");
  const std::vector<double> weights = weights_column == values.end()
                                          ? std::vector<double>()
                                          : student_weights(validation, setting_text(weights_column->second));
  const std::vector<FitOptions> fits = fits_of(options, states);
  FinishedFits finished(file, digest_of(cohort, fits, validation_share, context), fits.size());
  Selection selection;
  selection.disclosure = Disclosure().bound_to(cohort.min_cell());
  selection.model = options.choice().name();
  selection.training_students = training.student_count();
  selection.validation_students = validation.student_count();
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (i >= finished.size()) {
      TrainingContext inner = context;
      if (context.progress) {
        inner.progress = [&](ProgressEvent event) {
          event.phase = concat("K = ", states[i], " (", i + 1, " of ", states.size(), ") ", event.phase);
          event.fraction = (static_cast<double>(i) + event.fraction) / static_cast<double>(states.size());
          context.progress(event);
        };
      }
      const FitResult fit = fit_model(training, fits[i], inner);
      const LikelihoodKind kind = fit.model->likelihood_kinds().front();
      const StudentScores score = score_students(*fit.model, held_out, kind, context.executor, weights);
      finished.add(
          {{{"kind", std::string(name_of(kind))},
            {"criteria_kind", std::string(name_of(fit.kind))},
            {"parameters", fit.model->parameter_count()},
            {"impossible", score.impossible},
            {"iterations", fit.iterations},
            {"converged", fit.converged}},
           {fit.log_likelihood, fit.student_weight, fit.state_entropy, score.mean(), score.standard_error_of_mean}});
    }
    SelectionRow& row = selection.rows.emplace_back();
    row.states = states[i];
    finished.read(i, 5, [&](const FinishedFit& fit) {
      const auto kind = kind_named(fit.facts.at("kind").get<std::string>());
      const auto criteria_kind = kind_named(fit.facts.at("criteria_kind").get<std::string>());
      if (!kind || !criteria_kind) finished.refuse();
      selection.kind = *kind;
      selection.criteria_kind = *criteria_kind;
      row.parameters = whole_number_in<std::int64_t>(fit.facts.at("parameters"), "parameters of a fit");
      row.impossible = whole_number_in<std::int64_t>(fit.facts.at("impossible"), "students of a fit");
      row.iterations = whole_number_in<int>(fit.facts.at("iterations"), "iterations of a fit");
      row.converged = fit.facts.at("converged").get<bool>();
      row.log_likelihood = fit.numbers[0];
      const double penalty = static_cast<double>(row.parameters);
      row.bic = -2 * row.log_likelihood + penalty * std::log(fit.numbers[1]);
      row.aic = -2 * row.log_likelihood + 2 * penalty;
      row.icl = row.bic + 2 * fit.numbers[2];
      row.held_out = fit.numbers[3];
      row.held_out_error = fit.numbers[4];
    });
  }
  const auto& rows = selection.rows;
  const auto best_by = [&](double SelectionRow::*criterion) {
    const SelectionRow* least = nullptr;
    for (const SelectionRow& row : rows) {
      if (!row.is_void(selection.training_students) && (least == nullptr || row.*criterion < least->*criterion))
        least = &row;
    }
    return least == nullptr ? 0 : least->states;
  };
  selection.best_bic = best_by(&SelectionRow::bic);
  selection.best_aic = best_by(&SelectionRow::aic);
  selection.best_icl = best_by(&SelectionRow::icl);
  const auto best = std::ranges::max_element(rows, {}, &SelectionRow::held_out);
  selection.best_held_out = std::isfinite(best->held_out) ? best->states : 0;
  return selection;
}

std::string Selection::finding() const {
  return concat(best_held_out > 0
                    ? concat("Held-out likelihood is best with ", best_held_out, " states")
                    : std::string("Some held-out students are impossible with every number of states (probability 0)"),
                criteria_kind == kind ? "" : concat(" (", name_of(kind), "); of the training ", name_of(criteria_kind)),
                best_bic > 0 ? concat(", BIC with ", best_bic, ", ICL with ", best_icl, ", AIC with ", best_aic) : "",
                std::ranges::any_of(rows, [&](const SelectionRow& row) { return row.is_void(training_students); })
                    ? concat("; BIC, AIC and ICL are void where parameters exceed the ",
                             with_separators(training_students), " students")
                    : "",
                ".");
}

Table Selection::table() const {
  using Row = SelectionRow;
  const auto criterion = [students = training_students](double Row::*value) {
    return [=](const Row& row) { return value_if(!row.is_void(students), row.*value); };
  };
  const Look total{.unit = "nats", .decimals = 1}, each{.unit = "nats", .decimals = 4};
  return {rows,
          {{"states", &Row::states},
           {"parameters", &Row::parameters},
           {"log_likelihood", &Row::log_likelihood, total},
           {"bic", criterion(&Row::bic), total},
           {"aic", criterion(&Row::aic), total},
           {"icl", criterion(&Row::icl), total},
           {"likelihood_kind", [name = name_of(kind)](const Row&) { return name; }},
           {"held_out", &Row::held_out, each},
           {"standard_error", &Row::held_out_error, each},
           {"iterations", &Row::iterations},
           {"converged", &Row::converged, {.flag = FlagForm::word}}}};
}

Answer Selection::answer() const {
  const auto best_of = [](Id best) { return best > 0 ? nlohmann::ordered_json(best) : nlohmann::ordered_json(); };
  Answer answer;
  answer.set({{"model", model},
              {"likelihood_kind", std::string(name_of(kind))},
              {"criteria_kind", std::string(name_of(criteria_kind))},
              {"training_students", training_students},
              {"validation_students", validation_students}});
  answer.set("best", {{"bic", best_of(best_bic)},
                      {"aic", best_of(best_aic)},
                      {"icl", best_of(best_icl)},
                      {"held_out", best_of(best_held_out)}});
  answer.add("rows", table());
  answer.show(table());
  answer.say("\n" + finding());
  if (rows.size() > 1 && (best_held_out == rows.back().states || best_held_out == rows.front().states))
    answer.warn("the best number of states, ", best_held_out, ", is an end of the range: ask for ",
                best_held_out == rows.back().states ? "more" : "fewer");
  for (const SelectionRow& row : rows) {
    if (row.impossible == 0) continue;
    answer.warn("with ", row.states, " states ",
                disclosure.rests(static_cast<double>(row.impossible))
                    ? counted(row.impossible, "held-out student is", "held-out students are")
                    : "some held-out students are",
                " impossible (probability 0): no held-out likelihood; give ", setting_name("pseudocount"), " above 0");
  }
  return answer;
}

}  // namespace desirepath::inline evaluation
