#include "desirepath/models/checkpoint.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "desirepath/core/error.h"
#include "desirepath/core/json_number.h"
#include "desirepath/core/text.h"

namespace desirepath::inline models {

namespace {

using nlohmann::json;

/// Of what a checkpoint holds. One written by another version is refused, not read wrongly.
constexpr int checkpoint_version = 3;
constexpr int most_iterations = 1 << 30;

// Numbers go into arrays, where they keep every bit.
void save_em(ArchiveWriter& archive, const std::string& prefix, const EmProgress& em) {
  const json header = {{"iteration", em.iteration},
                       {"converged", em.converged},
                       {"stopped", em.stopped},
                       {"fell", em.fell},
                       {"best_iteration", em.best_iteration}};
  archive.set(prefix, header.dump());
  archive.add(prefix + ".trace", em.trace);
  archive.add(prefix + ".objective_trace", em.objective_trace);
  archive.add(prefix + ".best_objective", std::vector<double>{em.best_objective});
}

/// ended: with the E step after the last iteration.
EmProgress load_em(const ArchiveReader& archive, const std::string& prefix, bool ended) {
  const json header = json::parse(archive.metadata(prefix));
  EmProgress em;
  em.iteration = whole_number(archive, header, "iteration", 0, most_iterations);
  em.converged = header.at("converged").get<bool>();
  em.stopped = header.at("stopped").get<bool>();
  em.fell = header.at("fell").get<bool>();
  em.best_iteration = whole_number(archive, header, "best_iteration", 0, em.iteration);
  em.trace = load_trace(archive, prefix + ".trace", em.iteration + (ended ? 1 : 0));
  em.objective_trace = load_trace(archive, prefix + ".objective_trace", em.iteration + (ended ? 1 : 0));
  em.best_objective = archive.read<double>(prefix + ".best_objective", {1}).front();
  const bool begun = !em.trace.empty();
  if (begun ? !std::isfinite(em.best_objective) : em.best_objective != -infinity)
    archive.refuse("damaged: the best objective");
  return em;
}

void save_responsibilities(ArchiveWriter& archive, const ChainResponsibilities& found) {
  archive.add("responsibilities.initial", found.initial);
  for (std::size_t t = 0; t < found.pairs.size(); ++t)
    archive.add_columns(concat("responsibilities.pairs.", t), found.pairs[t]);
  for (std::size_t p = 0; p < found.rows.size(); ++p)
    archive.add(concat("responsibilities.rows.", p), found.rows[p]);
  if (found.departures.size() > 0) archive.add_columns("responsibilities.departures", found.departures);
}

ChainResponsibilities load_responsibilities(const ArchiveReader& archive, const StepLayout& layout) {
  ChainResponsibilities loaded;
  loaded.initial = archive.read_vector("responsibilities.initial");
  for (Id t = 0; t + 1 < layout.step_count(); ++t)
    loaded.pairs.push_back(archive.read_columns(concat("responsibilities.pairs.", t)));
  for (Id p = 0; p < layout.pool_count(); ++p)
    loaded.rows.push_back(archive.read_matrix(concat("responsibilities.rows.", p)));
  if (archive.has("responsibilities.departures"))
    loaded.departures = archive.read_columns("responsibilities.departures");
  return loaded;
}

void save_starts(ArchiveWriter& archive, const StartFindings& found) {
  archive.add("starts.trials", found.trials);
  if (found.mixture.size() > 0) archive.add(Checkpoint::mixture_key, found.mixture);
}

StartFindings load_starts(const ArchiveReader& archive, const Checkpoint::Frame& frame) {
  StartFindings found;
  const Vector trials = archive.read_vector("starts.trials");
  found.trials.assign(trials.begin(), trials.end());
  if (found.trials.size() > frame.candidates) archive.refuse("damaged: the starts that were tried");
  if (archive.has(Checkpoint::mixture_key)) {
    found.mixture = archive.read_matrix(Checkpoint::mixture_key, frame.students, frame.problem.state_count());
    if (!(found.mixture.array() >= 0).all() || !(found.mixture.array() <= 1).all())
      archive.refuse("damaged: the states of the mixture");
  }
  return found;
}

std::vector<std::vector<int>> load_reseeds(const ArchiveReader& archive, const json& lists) {
  std::vector<std::vector<int>> reseeds;
  for (const auto& list : lists.get<std::vector<std::vector<json>>>()) {
    std::vector<int>& counts = reseeds.emplace_back();
    for (const json& entry : list) {
      const std::int64_t count = whole_number_in(entry).value_or(-1);
      if (count < 0 || count >= most_iterations) archive.refuse("damaged: re-seeded states");
      counts.push_back(static_cast<int>(count));
    }
  }
  return reseeds;
}

}  // namespace

int whole_number(const ArchiveReader& archive, const json& header, const char* key, int lowest, int highest) {
  const json& value = header.at(key);
  if (!value.is_number_integer()) archive.refuse(concat("damaged: ", key));
  const std::optional<std::int64_t> number = whole_number_in(value);
  if (!number || *number < lowest || *number > std::min(highest, most_iterations))
    archive.refuse(concat("damaged: ", key, " out of range"));
  return static_cast<int>(*number);
}

std::vector<double> load_trace(const ArchiveReader& archive, const std::string& name, int size) {
  const Vector values = archive.read_vector(name);
  if (values.size() != size) archive.refuse(concat("damaged: '", name, "' is of another length"));
  return {values.begin(), values.end()};
}

json save_result(ArchiveWriter& archive, const std::string& name, const RestartResult& result) {
  archive.add(name, std::vector<double>{result.log_likelihood, result.objective, result.validation ? 1.0 : 0.0,
                                        result.validation.value_or(0)});
  return {{"number", result.number},
          {"seed", result.seed},
          {"start", result.start},
          {"iterations", result.iterations},
          {"converged", result.converged}};
}

RestartResult load_result(const ArchiveReader& archive, const json& header, const std::string& name) {
  const std::vector<double> numbers = load_trace(archive, name, 4);
  RestartResult result;
  result.number = whole_number(archive, header, "number", 0, most_iterations);
  const std::optional<std::uint64_t> seed = whole_number_in<std::uint64_t>(header.at("seed"));
  if (!seed) archive.refuse("damaged: seed");
  result.seed = *seed;
  result.start = header.at("start").get<std::string>();
  result.iterations = whole_number(archive, header, "iterations", 0, most_iterations);
  result.converged = header.at("converged").get<bool>();
  result.log_likelihood = numbers[0];
  result.objective = numbers[1];
  if (numbers[2] != 0) result.validation = numbers[3];
  return result;
}

Checkpoint Checkpoint::load(const ArchiveReader& archive, CheckpointFile& file, const Frame& frame) {
  const auto check = [&](const std::optional<std::string>& incompatibility) {
    if (incompatibility) archive.refuse(concat("damaged: a checkpoint of ", *incompatibility));
  };
  const auto chain = [&](const std::string& prefix) {
    ChainParameters loaded = ChainParameters::load(archive, prefix, frame.layout, frame.schema, frame.family);
    check(frame.problem.incompatibility(loaded));
    return loaded;
  };
  try {
    const json header = json::parse(archive.metadata("checkpoint"));
    if (whole_number_in(header.value("version", json(1))) != checkpoint_version)
      archive.refuse("a checkpoint of another version of desirepath; finish it there, or begin anew");
    file.require_own(archive, header);
    Checkpoint checkpoint;
    checkpoint.starts = load_starts(archive, frame);
    checkpoint.climbing = header.at("climbing").get<bool>();
    if (!checkpoint.climbing) return checkpoint;
    checkpoint.restart = whole_number(archive, header, "restart", 0, frame.restarts - 1);
    checkpoint.em = load_em(archive, "em", /*ended=*/false);
    const int iteration = checkpoint.em.iteration;
    checkpoint.best_iteration = whole_number(archive, header, "best_iteration", 0, iteration);
    checkpoint.warnings = header.at("warnings").get<std::set<std::string>>();
    checkpoint.reseeds = load_reseeds(archive, header.at("reseeds"));
    if (!std::ranges::equal(checkpoint.reseeds, frame.problem.reseeds(), {}, &std::vector<int>::size,
                            &std::vector<int>::size))
      archive.refuse("damaged: re-seeded states");
    checkpoint.validation_trace = load_trace(archive, "validation_trace", frame.validated ? iteration : 0);
    if (header.at("payload") == "parameters")
      checkpoint.parameters = chain("parameters.");
    else
      check(frame.problem.incompatibility(
          checkpoint.responsibilities.emplace(load_responsibilities(archive, frame.layout))));
    if (header.at("best").get<bool>()) checkpoint.best = chain("best.");
    const bool keeps_best = frame.validated || !frame.problem.exact_m_step();
    if (!checkpoint.best && keeps_best && iteration > 0) archive.refuse("damaged: no best iterate");
    const json& finished = header.at("finished");
    for (std::size_t r = 0; r < finished.size(); ++r)
      checkpoint.finished.push_back(load_result(archive, finished[r], concat("finished.", r)));
    if (std::ssize(checkpoint.finished) != checkpoint.restart ||
        header.contains("best_finished") != (checkpoint.restart > 0))
      archive.refuse("damaged: the restarts that are finished");
    if (header.contains("best_finished")) {
      const json& entry = header.at("best_finished");
      EmProgress em = load_em(archive, "best_finished.em", /*ended=*/true);
      const int last = em.iteration;
      checkpoint.best_finished =
          RestartOutcome{load_result(archive, entry, "best_finished.result"),
                         std::move(em),
                         chain("best_finished."),
                         load_trace(archive, "best_finished.validation_trace", frame.validated ? last + 1 : 0),
                         whole_number(archive, entry, "best_iteration", 0, last),
                         entry.at("warnings").get<std::set<std::string>>()};
    }
    return checkpoint;
  } catch (const json::exception&) {
    archive.refuse("damaged: the description of the checkpoint");
  }
}

void Checkpoint::put_into(ChainProblem& problem) {
  if (parameters) {
    problem.start_from_parameters(std::move(*parameters));
  } else {
    problem.start_from_responsibilities(std::move(*responsibilities));
  }
}

void CheckpointWriter::remember(const ChainProblem& problem) {
  if (needs_previous_) return;
  std::int64_t parameters = 0, responsibilities = 0;
  for (const auto& emission : problem.parameters().emissions)
    parameters += emission->byte_count();
  for (const RowMatrix& rows : problem.responsibilities().rows)
    responsibilities += rows.size() * 8;
  // The next E step overwrites the responsibilities; what they led to, an M step restores.
  if (parameters > responsibilities) remembered_ = problem.responsibilities();
}

void CheckpointWriter::write_starts(const StartFindings& found) {
  ArchiveWriter archive("checkpoint");
  archive.set("em", "{}");
  save_starts(archive, found);
  file_.write(archive, {{"version", checkpoint_version}, {"climbing", false}});
}

void CheckpointWriter::write(const Checkpoint& checkpoint, const ChainProblem& problem, const ChainParameters* best,
                             const RestartOutcome* best_finished) {
  ArchiveWriter archive("checkpoint");
  json header = {{"version", checkpoint_version},
                 {"climbing", true},
                 {"restart", checkpoint.restart},
                 {"best_iteration", checkpoint.best_iteration},
                 {"warnings", checkpoint.warnings},
                 {"reseeds", checkpoint.reseeds},
                 {"payload", remembered_ ? "responsibilities" : "parameters"},
                 {"best", best != nullptr},
                 {"finished", json::array()}};
  save_starts(archive, checkpoint.starts);
  save_em(archive, "em", checkpoint.em);
  archive.add("validation_trace", checkpoint.validation_trace);
  if (remembered_)
    save_responsibilities(archive, *remembered_);
  else
    problem.level_parameters().save(archive, "parameters.");
  if (best != nullptr) best->save(archive, "best.");
  for (std::size_t r = 0; r < checkpoint.finished.size(); ++r)
    header["finished"].push_back(save_result(archive, concat("finished.", r), checkpoint.finished[r]));
  if (best_finished != nullptr) {
    json entry = save_result(archive, "best_finished.result", best_finished->result);
    entry["best_iteration"] = best_finished->best_iteration;
    entry["warnings"] = best_finished->warnings;
    header["best_finished"] = entry;
    save_em(archive, "best_finished.em", best_finished->em);
    best_finished->parameters.save(archive, "best_finished.");
    archive.add("best_finished.validation_trace", best_finished->validation_trace);
  }
  file_.write(archive, std::move(header));
}

}  // namespace desirepath::inline models
