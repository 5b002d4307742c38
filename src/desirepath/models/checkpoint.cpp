#include "desirepath/models/checkpoint.h"

#include <nlohmann/json.hpp>

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"

namespace desirepath::inline models {

namespace {

using nlohmann::json;

/// Of what a checkpoint holds. One written by another version is refused, not read wrongly.
constexpr int checkpoint_version = 2;

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

EmProgress load_em(const ArchiveReader& archive, const std::string& prefix) {
  const json header = json::parse(archive.metadata(prefix));
  EmProgress em;
  em.iteration = header.at("iteration").get<int>();
  em.converged = header.at("converged").get<bool>();
  em.stopped = header.at("stopped").get<bool>();
  em.fell = header.at("fell").get<bool>();
  em.best_iteration = header.at("best_iteration").get<int>();
  em.trace = archive.read<double>(prefix + ".trace");
  em.objective_trace = archive.read<double>(prefix + ".objective_trace");
  em.best_objective = archive.read<double>(prefix + ".best_objective", {1}).front();
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
  const std::vector<double> initial = archive.read<double>("responsibilities.initial");
  loaded.initial = Eigen::Map<const Vector>(initial.data(), static_cast<Index>(initial.size()));
  for (Id t = 0; t + 1 < layout.step_count(); ++t)
    loaded.pairs.push_back(archive.read_columns(concat("responsibilities.pairs.", t)));
  for (Id p = 0; p < layout.pool_count(); ++p)
    loaded.rows.push_back(archive.read_matrix(concat("responsibilities.rows.", p)));
  if (archive.has("responsibilities.departures"))
    loaded.departures = archive.read_columns("responsibilities.departures");
  return loaded;
}

}  // namespace

json save_result(ArchiveWriter& archive, const std::string& name, const RestartResult& result) {
  archive.add(name, std::vector<double>{result.log_likelihood, result.objective, result.validation ? 1.0 : 0.0,
                                        result.validation.value_or(0)});
  return {{"number", result.number},
          {"seed", result.seed},
          {"iterations", result.iterations},
          {"converged", result.converged}};
}

RestartResult load_result(const ArchiveReader& archive, const json& header, const std::string& name) {
  const std::vector<double> numbers = archive.read<double>(name, {4});
  RestartResult result;
  result.number = header.at("number").get<int>();
  result.seed = header.at("seed").get<std::uint64_t>();
  result.iterations = header.at("iterations").get<int>();
  result.converged = header.at("converged").get<bool>();
  result.log_likelihood = numbers[0];
  result.objective = numbers[1];
  if (numbers[2] != 0) result.validation = numbers[3];
  return result;
}

Checkpoint Checkpoint::load(const std::filesystem::path& path, const CheckpointOwner& owner, const StepLayout& layout,
                            const Schema& schema, const EmissionFamily& family) {
  const ArchiveReader archive = ArchiveReader::open(path);
  archive.require_kind("checkpoint");
  const auto chain = [&](const std::string& prefix) {
    return ChainParameters::load(archive, prefix, layout, schema, family);
  };
  try {
    const json header = json::parse(archive.metadata("checkpoint"));
    if (header.value("version", 1) != checkpoint_version)
      archive.refuse("a checkpoint of another version of desirepath; finish it there, or begin anew");
    Checkpoint checkpoint;
    checkpoint.owner = {header.at("options_digest").get<std::string>(), header.at("fingerprint").get<std::string>()};
    const auto refuse = [&](std::string_view whose) {
      throw OptionError(concat(path.string(), ": the checkpoint belongs to ", whose));
    };
    if (checkpoint.owner.options != owner.options) refuse("a fit with other options");
    if (checkpoint.owner.fingerprint != owner.fingerprint) refuse("other data");
    checkpoint.restart = header.at("restart").get<int>();
    checkpoint.best_iteration = header.at("best_iteration").get<int>();
    checkpoint.warnings = header.at("warnings").get<std::set<std::string>>();
    checkpoint.reseeds = header.at("reseeds").get<std::vector<std::vector<int>>>();
    checkpoint.em = load_em(archive, "em");
    checkpoint.validation_trace = archive.read<double>("validation_trace");
    if (header.at("payload") == "parameters")
      checkpoint.parameters = chain("parameters.");
    else
      checkpoint.responsibilities = load_responsibilities(archive, layout);
    if (header.at("best").get<bool>()) checkpoint.best = chain("best.");
    const json& finished = header.at("finished");
    for (std::size_t r = 0; r < finished.size(); ++r)
      checkpoint.finished.push_back(load_result(archive, finished[r], concat("finished.", r)));
    if (header.contains("best_finished")) {
      const json& entry = header.at("best_finished");
      checkpoint.best_finished = RestartOutcome{load_result(archive, entry, "best_finished.result"),
                                                load_em(archive, "best_finished.em"),
                                                chain("best_finished."),
                                                archive.read<double>("best_finished.validation_trace"),
                                                entry.at("best_iteration").get<int>(),
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

CheckpointWriter::CheckpointWriter(const TrainingContext& context, bool needs_previous)
    : path_(context.checkpoint),
      interval_(context.checkpoint_interval),
      also_save_(context.also_save),
      needs_previous_(needs_previous),
      last_(std::chrono::steady_clock::now()) {}

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

bool CheckpointWriter::is_due() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - last_).count() >= interval_;
}

void CheckpointWriter::write(const Checkpoint& checkpoint, const ChainProblem& problem, const ChainParameters* best,
                             const RestartOutcome* best_finished) {
  ArchiveWriter archive("checkpoint");
  json header = {{"version", checkpoint_version},
                 {"options_digest", checkpoint.owner.options},
                 {"fingerprint", checkpoint.owner.fingerprint},
                 {"restart", checkpoint.restart},
                 {"best_iteration", checkpoint.best_iteration},
                 {"warnings", checkpoint.warnings},
                 {"reseeds", checkpoint.reseeds},
                 {"payload", remembered_ ? "responsibilities" : "parameters"},
                 {"best", best != nullptr},
                 {"finished", json::array()}};
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
  archive.set("checkpoint", header.dump());
  if (also_save_) also_save_(archive);
  archive.write(path_, Overwrite::allow);
  last_ = std::chrono::steady_clock::now();
}

}  // namespace desirepath::inline models
