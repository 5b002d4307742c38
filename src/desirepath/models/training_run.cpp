#include "desirepath/models/training_run.h"

#include <nlohmann/json.hpp>

#include "desirepath/core/available_memory.h"
#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/transcripts/split.h"

namespace desirepath::inline models {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

CheckpointFile::CheckpointFile(const TrainingTask& task) : task_(task), last_(Clock::now()) {}

bool CheckpointFile::is_due() const {
  return is_active() && seconds_since(last_) >= task_.context.checkpoint_interval;
}

std::optional<ArchiveReader> CheckpointFile::resumed() const {
  const TrainingContext& context = task_.context;
  const bool in_memory = !context.checkpoint_bytes.empty();
  if (!context.resume || (!in_memory && !std::filesystem::exists(context.checkpoint))) return std::nullopt;
  ArchiveReader archive = in_memory ? ArchiveReader::from_bytes(context.checkpoint_bytes, "checkpoint")
                                    : ArchiveReader::open(context.checkpoint);
  archive.require_kind("checkpoint");
  return archive;
}

const CheckpointFile::Owner& CheckpointFile::owner() {
  if (!owner_) owner_ = Owner{task_.digest(), task_.cohort.fingerprint()};
  return *owner_;
}

void CheckpointFile::require_own(const ArchiveReader& archive, const nlohmann::json& header) {
  const auto require = [&](const char* key, const std::string& own, const char* whose) {
    if (header.at(key).get<std::string>() != own)
      throw OptionError(concat(archive.name(), ": the checkpoint belongs to ", whose));
  };
  require("options_digest", owner().options, "a fit with other options");
  require("fingerprint", owner().fingerprint, "other data");
}

void CheckpointFile::write(ArchiveWriter& archive, nlohmann::json header) {
  header["options_digest"] = owner().options;
  header["fingerprint"] = owner().fingerprint;
  archive.set("checkpoint", header.dump());
  if (task_.context.also_save) task_.context.also_save(archive);
  archive.write(task_.context.checkpoint, Overwrite::allow);
  last_ = Clock::now();
}

TrainingRun::TrainingRun(const TrainingTask& task, std::string fewer, std::string first_step)
    : cohort_(task.cohort),
      options_(task.options),
      context_(task.context),
      checkpoint_(task),
      fewer_(std::move(fewer)),
      first_step_(std::move(first_step)) {
  if (context_.validation != nullptr && !context_.validation->schema().has_same_bits(cohort_.schema()))
    refuse_other_bits();
}

FitResult TrainingRun::run() {
  const auto begin = Clock::now();
  const double needed = estimate().bytes, free = available_memory();
  if (free > 0 && needed > free) {
    throw OptionError(concat("training needs about ", as_bytes_text(needed), ", ", as_bytes_text(free),
                             " are free; use fewer ", fewer_, " or courses (", setting_name("min-takers"), ")"));
  }
  try {
    FitResult result = train();
    result.seconds = seconds_since(begin);
    return result;
  } catch (const Interrupted&) {
    throw Interrupted(how_to_go_on());
  }
}

std::string TrainingRun::how_to_go_on() const {
  const std::string checkpoint = setting_name("checkpoint");
  if (!checkpoint_.is_active())
    return context_.may_checkpoint ? concat("interrupted; no checkpoint (", checkpoint, " FILE keeps one)")
                                   : "interrupted";
  if (!std::filesystem::exists(context_.checkpoint)) return concat("interrupted before ", first_step_);
  return concat("interrupted; continue with ", setting_name("resume"), " ", checkpoint, " ",
                context_.checkpoint.string());
}

bool TrainingRun::hold_out(double share, std::size_t least) {
  const Split split = split_by_share(cohort_, {share, 0}, RandomStream(options_.seed).child("validation"));
  if (split.training.empty() || split.validation.size() < least) return false;
  training_ = cohort_.select(split.training);
  judges_ = cohort_.select(split.validation);
  return true;
}

void TrainingRun::hold_out_for(std::string_view setting, double share) {
  if (!hold_out(share))
    throw OptionError(concat(setting_name(setting), ": too few students to hold out a share of ", shortest(share)));
}

void TrainingRun::report(const ProgressEvent& event) {
  if (!context_.progress) return;
  const std::lock_guard lock(progress_mutex_);
  context_.progress(event);
}

void refuse_states(const TrainingContext& context, const std::string& model) {
  for (const auto& [given, name] : {std::pair{context.match != nullptr, "match"},
                                    {!context.labels.empty(), "start"},
                                    {!context.transitions.empty(), "transitions"}}) {
    if (given) throw OptionError(concat(setting_name(name), ": ", model, " has no states to begin from or to number"));
  }
}

void refuse_other_bits() {
  throw InputError(
      concat(setting_name("validation"), ": the file has other courses or periods than the training cohort"));
}

void require_same_bits(const Model& warm, const Schema& schema) {
  if (!warm.schema().has_same_bits(schema))
    throw OptionError(concat(setting_name("warm"), ": the model has other courses or periods than the cohort"));
}

void warn_of_starts(FitResult& result) {
  result.starts_at_best = result.count_at_best();
  if (result.starts_at_best != 1 || result.restarts.size() < 2) return;
  result.warnings.push_back(concat("only one of ", result.restarts.size(),
                                   " starts reached the best likelihood: another run may find better states; raise ",
                                   setting_name("restarts")));
}

void warn_of_the_end(FitResult& result, const std::string& step) {
  if (result.converged) return;
  result.warnings.push_back(
      concat("not converged after ", counted(result.iterations, step, step + "s"), ": training was cut short",
             result.states > 0 ? " and the states may still change" : "", "; raise ", setting_name(step + "s")));
}

void warn_of_refinement(FitResult& result) {
  if (!result.refinement || result.refinement->kept_round > 0) return;
  result.warnings.emplace_back(
      "the refinement described the students held out no better: the model from before it is kept");
}

void warn_of_few(FitResult& result, const std::string& count) {
  result.warnings.push_back(concat(count, ": there are too few students to try which number is best"));
}

}  // namespace desirepath::inline models
