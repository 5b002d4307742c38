#include "desirepath/models/checkpoint.h"

#include <nlohmann/json.hpp>

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"
#include "desirepath/emissions/emission_file.h"

namespace desirepath::inline models {

namespace {

using nlohmann::json;

/// Doubles go into arrays, where they keep every bit; lists made on the way are owned here until the file is written.
class ArrayStore {
 public:
  explicit ArrayStore(ArchiveWriter& archive) : archive_(archive) {}
  void add(const std::string& name, std::vector<double> values) {
    owned_.push_back(std::make_unique<std::vector<double>>(std::move(values)));
    archive_.add(name, *owned_.back());
  }
  void add(const std::string& name, const Matrix& matrix) { add(name, matrix.data(), matrix.rows(), matrix.cols()); }
  void add(const std::string& name, const double* data, Index rows, Index columns) {
    archive_.add(name, std::span<const double>(data, static_cast<std::size_t>(rows * columns)), {rows, columns});
  }

 private:
  ArchiveWriter& archive_;
  std::vector<std::unique_ptr<std::vector<double>>> owned_;
};

Matrix read_matrix(const ArchiveReader& archive, const std::string& name) {
  const std::vector<std::int64_t>& shape = archive.shape(name);
  if (shape.size() != 2) archive.refuse("damaged: " + name);
  const std::vector<double> values = archive.read<double>(name);
  return Eigen::Map<const Matrix>(values.data(), shape[0], shape[1]);
}

void save_parameters(ArchiveWriter& archive, ArrayStore& store, const std::string& prefix,
                     const ChainParameters& parameters) {
  const auto& transitions = parameters.prior.transitions;
  store.add(prefix + ".initial", parameters.prior.initial.data(), parameters.prior.initial.size(), 1);
  for (std::size_t t = 0; t < transitions.size(); ++t)
    store.add(concat(prefix, ".transition.", t), transitions[t]);
  if (parameters.departures.size() > 0) store.add(prefix + ".departures", parameters.departures);
  for (std::size_t p = 0; p < parameters.emissions.size(); ++p) {
    parameters.emissions[p]->save(archive, concat(prefix, ".emission.", p));
  }
  const json header = {{"transitions", transitions.size()},
                       {"emissions", parameters.emissions.size()},
                       {"left", parameters.has_left_state}};
  archive.set(prefix, header.dump());
}

ChainParameters load_parameters(const ArchiveReader& archive, const std::string& prefix, const std::string& emission) {
  const json header = json::parse(archive.metadata(prefix));
  ChainParameters parameters;
  parameters.has_left_state = header.at("left").get<bool>();
  parameters.prior.initial = read_matrix(archive, prefix + ".initial").col(0);
  for (std::size_t t = 0; t < header.at("transitions").get<std::size_t>(); ++t) {
    parameters.prior.transitions.push_back(read_matrix(archive, concat(prefix, ".transition.", t)));
  }
  if (archive.has(prefix + ".departures")) parameters.departures = read_matrix(archive, prefix + ".departures");
  for (std::size_t p = 0; p < header.at("emissions").get<std::size_t>(); ++p) {
    parameters.emissions.push_back(load_emission(archive, emission, concat(prefix, ".emission.", p)));
  }
  return parameters;
}

void save_em(ArchiveWriter& archive, ArrayStore& store, const std::string& prefix, const EmProgress& em) {
  const json header = {{"iteration", em.iteration},
                       {"converged", em.converged},
                       {"fell", em.fell},
                       {"best_iteration", em.best_iteration}};
  archive.set(prefix, header.dump());
  store.add(prefix + ".trace", em.trace);
  store.add(prefix + ".objective_trace", em.objective_trace);
  store.add(prefix + ".best_objective", std::vector<double>{em.best_objective});
}

EmProgress load_em(const ArchiveReader& archive, const std::string& prefix) {
  const json header = json::parse(archive.metadata(prefix));
  EmProgress em;
  em.iteration = header.at("iteration").get<int>();
  em.converged = header.at("converged").get<bool>();
  em.fell = header.at("fell").get<bool>();
  em.best_iteration = header.at("best_iteration").get<int>();
  em.trace = archive.read<double>(prefix + ".trace");
  em.objective_trace = archive.read<double>(prefix + ".objective_trace");
  em.best_objective = archive.read<double>(prefix + ".best_objective", {1}).front();
  return em;
}

json save_result(ArrayStore& store, const std::string& name, const RestartResult& result) {
  store.add(name, std::vector<double>{result.log_likelihood, result.objective, result.validation ? 1.0 : 0.0,
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

ChainResponsibilities load_responsibilities(const ArchiveReader& archive, const json& header) {
  ChainResponsibilities loaded;
  loaded.initial = read_matrix(archive, "responsibilities.initial").col(0);
  for (std::size_t t = 0; t < header.at("pairs").get<std::size_t>(); ++t) {
    loaded.pairs.push_back(read_matrix(archive, concat("responsibilities.pairs.", t)));
  }
  for (std::size_t p = 0; p < header.at("pools").get<std::size_t>(); ++p) {
    loaded.rows.emplace_back(read_matrix(archive, concat("responsibilities.rows.", p)).transpose());
  }
  if (archive.has("responsibilities.departures"))
    loaded.departures = read_matrix(archive, "responsibilities.departures");
  return loaded;
}

}  // namespace

Checkpoint Checkpoint::load(const std::filesystem::path& path, const std::string& emission) {
  const ArchiveReader archive = ArchiveReader::open(path);
  archive.require_kind("checkpoint");
  try {
    const json header = json::parse(archive.metadata("checkpoint"));
    Checkpoint checkpoint;
    checkpoint.options_digest = header.at("options_digest").get<std::string>();
    checkpoint.fingerprint = header.at("fingerprint").get<std::string>();
    checkpoint.restart = header.at("restart").get<int>();
    checkpoint.best_iteration = header.at("best_iteration").get<int>();
    checkpoint.warnings = header.at("warnings").get<std::set<std::string>>();
    checkpoint.reseeds = header.at("reseeds").get<std::vector<std::vector<int>>>();
    checkpoint.em = load_em(archive, "em");
    checkpoint.validation_trace = archive.read<double>("validation_trace");
    if (header.at("payload") == "parameters") {
      checkpoint.parameters = load_parameters(archive, "parameters", emission);
    } else {
      checkpoint.responsibilities = load_responsibilities(archive, header);
    }
    if (header.at("best").get<bool>()) checkpoint.best = load_parameters(archive, "best", emission);
    const json& finished = header.at("finished");
    for (std::size_t r = 0; r < finished.size(); ++r)
      checkpoint.finished.push_back(load_result(archive, finished[r], concat("finished.", r)));
    if (header.contains("best_finished")) {
      const json& entry = header.at("best_finished");
      RestartOutcome outcome;
      outcome.result = load_result(archive, entry, "best_finished.result");
      outcome.em = load_em(archive, "best_finished.em");
      outcome.parameters = load_parameters(archive, "best_finished.parameters", emission);
      outcome.validation_trace = archive.read<double>("best_finished.validation_trace");
      outcome.best_iteration = entry.at("best_iteration").get<int>();
      outcome.warnings = entry.at("warnings").get<std::set<std::string>>();
      checkpoint.best_finished = std::move(outcome);
    }
    return checkpoint;
  } catch (const json::exception&) {
    archive.refuse("damaged: the description of the checkpoint");
  } catch (const InputError& error) {
    archive.refuse(concat("damaged: ", error.what()));
  }
}

void Checkpoint::put_into(ChainProblem& problem) {
  if (parameters) {
    problem.start_from_parameters(std::move(*parameters));
  } else {
    problem.start_from_responsibilities(std::move(*responsibilities));
  }
}

CheckpointWriter::CheckpointWriter(std::filesystem::path path, double interval, bool needs_previous)
    : path_(std::move(path)),
      interval_(interval),
      needs_previous_(needs_previous),
      last_(std::chrono::steady_clock::now()) {}

void CheckpointWriter::remember(const ChainProblem& problem) {
  if (path_.empty() || needs_previous_) return;
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
  ArrayStore store(archive);
  json header = {{"options_digest", checkpoint.options_digest},
                 {"fingerprint", checkpoint.fingerprint},
                 {"restart", checkpoint.restart},
                 {"best_iteration", checkpoint.best_iteration},
                 {"warnings", checkpoint.warnings},
                 {"reseeds", checkpoint.reseeds},
                 {"payload", remembered_ ? "responsibilities" : "parameters"},
                 {"best", best != nullptr},
                 {"finished", json::array()}};
  save_em(archive, store, "em", checkpoint.em);
  store.add("validation_trace", checkpoint.validation_trace);
  if (remembered_) {
    header["pairs"] = remembered_->pairs.size();
    header["pools"] = remembered_->rows.size();
    store.add("responsibilities.initial", remembered_->initial.data(), remembered_->initial.size(), 1);
    for (std::size_t t = 0; t < remembered_->pairs.size(); ++t)
      store.add(concat("responsibilities.pairs.", t), remembered_->pairs[t]);
    for (std::size_t p = 0; p < remembered_->rows.size(); ++p) {
      // Row-major rows by states are column-major states by rows.
      const RowMatrix& rows = remembered_->rows[p];
      store.add(concat("responsibilities.rows.", p), rows.data(), rows.cols(), rows.rows());
    }
    if (remembered_->departures.size() > 0) store.add("responsibilities.departures", remembered_->departures);
  } else {
    save_parameters(archive, store, "parameters", problem.level_parameters());
  }
  if (best != nullptr) save_parameters(archive, store, "best", *best);
  for (std::size_t r = 0; r < checkpoint.finished.size(); ++r) {
    header["finished"].push_back(save_result(store, concat("finished.", r), checkpoint.finished[r]));
  }
  if (best_finished != nullptr) {
    json entry = save_result(store, "best_finished.result", best_finished->result);
    entry["best_iteration"] = best_finished->best_iteration;
    entry["warnings"] = best_finished->warnings;
    header["best_finished"] = entry;
    save_em(archive, store, "best_finished.em", best_finished->em);
    save_parameters(archive, store, "best_finished.parameters", best_finished->parameters);
    store.add("best_finished.validation_trace", best_finished->validation_trace);
  }
  archive.set("checkpoint", header.dump());
  archive.write(path_, Overwrite::allow);
  last_ = std::chrono::steady_clock::now();
}

}  // namespace desirepath::inline models
