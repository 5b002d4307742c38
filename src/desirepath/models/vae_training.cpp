#include <cmath>
#include <numeric>

#include <nlohmann/json.hpp>

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/emissions/capabilities.h"
#include "desirepath/learning/adam.h"
#include "desirepath/models/checkpoint.h"
#include "desirepath/models/vae.h"

namespace desirepath::inline models {

namespace {

constexpr double usual_validation = 0.1;  // of the students, where nothing is said
constexpr std::size_t fewest_vae_judges = 10;
constexpr int epochs_without_judges = 60;
constexpr std::int64_t most_students_a_step = 128, fewest_students_a_step = 16, steps_an_epoch = 30;
constexpr std::int64_t students_a_shard = 32;  // whose gradient is taken at once
constexpr std::int64_t judging_draws = 8, reported_draws = 64;
/// The divergence counts little at first, else codes that mean nothing yet are given up for good.
constexpr int warming_epochs = 20;
constexpr double first_rate = 2e-3;
constexpr int rates = 3;                // each a third of the one before, from the best parameters so far
constexpr double added_students = 0.5;  // to both sides of a share: one of 0 or 1 has no finite log-odds

struct VaeSettings {
  Id latent = 8, hidden = 100;
  int epochs = 500, patience = 10;
  std::optional<double> validation;

  void declare(SettingVisitor& visit) {
    visit(Setting("latent", "numbers a student's code has, the K of the vae").at_least(1).at_most(1000).in("Model"),
          latent);
    visit(
        Setting("hidden", "values of the layer between bits and code, a side").at_least(1).at_most(10'000).in("Model"),
        hidden);
    visit(Setting("epochs", "passes over the students, at most").at_least(1).in("Training"), epochs);
    visit(Setting("patience",
                  "epochs without a better validation score, after which steps are shortened, and in the "
                  "end training stops")
              .at_least(1)
              .in("Training"),
          patience);
    visit(Setting("validation", "a cohort, or a share of the students: the parameters these like best are kept")
              .above(0)
              .at_most(1)
              .taking("FILE|SHARE")
              .in("Training"),
          validation);
  }
};

/// Everything that goes on from epoch to epoch: a fit is taken up again from here.
struct VaeProgress {
  int epoch = 0;  // finished
  int rate = 0;   // how often steps were shortened
  int waited = 0;
  int best_epoch = 0;
  AdamState adam;
  Vector parameters, best;
  std::vector<double> trace, validation_trace;
};

class VaeFit : public TrainingRun {
 public:
  explicit VaeFit(const TrainingTask& task)
      : TrainingRun(task, setting_name("hidden") + " values", "the first epoch ended"),
        settings_(task.options.read<VaeSettings>()) {
    refuse_states(context_, "vae");
    if (settings_.validation && context_.validation == nullptr) hold_out_for("validation", *settings_.validation);
    if (judges() == nullptr) hold_out(usual_validation, fewest_vae_judges);
    shape_ = {cohort_.schema().bit_count(), settings_.hidden, settings_.latent};
    if (context_.warm != nullptr) take_warm();
    everyone_.resize(static_cast<std::size_t>(training().student_count()));
    std::iota(everyone_.begin(), everyone_.end(), 0);
  }

  FitEstimate estimate() const override {
    FitEstimate estimate;
    const auto students = static_cast<double>(training().student_count()), size = static_cast<double>(shape_.size());
    const std::int64_t whole_shards = students_a_step() / students_a_shard;
    const double shards = static_cast<double>(whole_shards) + 1;
    constexpr double vae_program_bytes = 45e6;
    estimate.bytes = vae_program_bytes + 8 * size * (shards + 8) +
                     8.0 * context_.executor.threads() * draws_held * static_cast<double>(shape_.bits + shape_.hidden) +
                     24.0 * static_cast<double>(cohort_.enrollments().one_count());
    estimate.seconds_per_iteration =
        (5 * students * static_cast<double>(shape_.bits * shape_.hidden) + 10 * size * students / students_a_step()) /
        5e9 / std::min<double>(context_.executor.threads(), shards);
    estimate.distinct_rows = training().student_count();
    return estimate;
  }

 private:
  static constexpr double draws_held = 256 * 6;

  FitResult train() override {
    const EvidenceBatch students = EvidenceBatch::of(training());
    VaeNetwork network = start();
    VaeProgress progress = taken_up(network);
    try {
      while (progress.epoch < epochs() && progress.rate < rates) {
        // An epoch counts with its judgment, or it is run again.
        VaeProgress next = progress;
        run_epoch(network, students, next);
        if (judges() != nullptr) judge(network, next);
        progress = std::move(next);
        tell(progress);
        if (checkpoint_.is_due()) write(progress);
      }
    } catch (const Interrupted&) {
      if (checkpoint_.is_active() && progress.epoch > 0) write(progress);
      throw;
    }
    if (judges() != nullptr) network.parameters() = progress.best;
    return finish(std::move(network), students, progress);
  }

  int epochs() const {
    return judges() != nullptr ? settings_.epochs : std::min(settings_.epochs, epochs_without_judges);
  }

  std::int64_t students_a_step() const {
    return std::clamp(training().student_count() / steps_an_epoch, fewest_students_a_step, most_students_a_step);
  }

  void take_warm() {
    const std::string name = setting_name("warm");
    const auto* warm = offered<HasNetwork>(*context_.warm);
    if (warm == nullptr) throw OptionError(concat(name, ": the model is ", context_.warm->name(), ", not vae"));
    require_same_bits(*context_.warm, cohort_.schema());
    const VaeShape& other = warm->network().shape();
    if (other != shape_)
      throw OptionError(concat(name, ": the model has ", other.hidden, " hidden values and a code of ", other.latent));
  }

  VaeNetwork start() const {
    if (context_.warm != nullptr) return offered<HasNetwork>(*context_.warm)->network();
    const Schema& schema = cohort_.schema();
    Vector shares = Vector::Constant(schema.bit_count(), added_students);
    Vector present = Vector::Constant(schema.period_count(), 2 * added_students);
    for (std::int64_t s = 0; s < training().student_count(); ++s) {
      for (Id t = 0; t < schema.period_count(); ++t)
        present[t] += training().enrolled(s, t) ? 1 : 0;
    }
    for (const Id bit : training().enrollments().columns())
      shares[bit] += 1;
    for (Id bit = 0; bit < schema.bit_count(); ++bit)
      shares[bit] /= present[schema.period_of(bit)];
    return VaeNetwork::started(shape_, shares, stream().child("start"));
  }

  RandomStream stream() const { return RandomStream(options_.seed).child("vae"); }

  static RowMatrix noise(std::int64_t rows, Index latent, RandomStream stream) {
    RowMatrix drawn(rows, latent);
    for (double& number : drawn.reshaped<Eigen::RowMajor>())
      number = stream.normal();
    return drawn;
  }

  AdamOptions step_options(int rate) const { return {.rate = first_rate * std::pow(3.0, -rate)}; }

  /// One pass over the students.
  void run_epoch(VaeNetwork& network, const EvidenceBatch& students, VaeProgress& progress) const {
    const RandomStream own = stream().child("epoch").child(static_cast<std::uint64_t>(progress.epoch));
    std::vector<std::int64_t> order = everyone_;
    RandomStream shuffling = own.child("order");
    shuffle(order, shuffling);
    network.parameters() = progress.parameters;
    Adam adam(progress.adam, step_options(progress.rate));
    const double weight = std::min(1.0, (progress.epoch + 1.0) / warming_epochs);
    const std::int64_t step = students_a_step();
    double total = 0;
    for (std::int64_t first = 0; first < std::ssize(order); first += step) {
      context_.executor.check_interrupt();
      const std::span<const std::int64_t> some(order.data() + first,
                                               static_cast<std::size_t>(std::min(step, std::ssize(order) - first)));
      total +=
          climb(network, students, some, own.child("noise").child(static_cast<std::uint64_t>(first)), weight, adam);
    }
    if (!std::isfinite(total)) throw NumericalError("the training of the vae left the numbers there are");
    progress.adam = adam.state();
    progress.parameters = network.parameters();
    progress.trace.push_back(total);
    ++progress.epoch;
  }

  void tell(const VaeProgress& progress) {
    const auto count = static_cast<double>(training().student_count());
    ProgressEvent event{"epochs", static_cast<double>(progress.epoch) / epochs(), progress.epoch - 1,
                        progress.trace.back() / count};
    if (progress.epoch > 1) event.change = event.objective - progress.trace[progress.trace.size() - 2] / count;
    report(event);
  }

  /// One step of Adam along the mean gradient of some students; their bound before it.
  double climb(VaeNetwork& network, const EvidenceBatch& students, std::span<const std::int64_t> some,
               const RandomStream& draws, double weight, Adam& adam) const {
    const auto count = std::ssize(some);
    const std::int64_t shards = (count + students_a_shard - 1) / students_a_shard;
    std::vector<Vector> gradients(static_cast<std::size_t>(shards));
    std::vector<double> bounds(static_cast<std::size_t>(shards));
    context_.executor.for_each(shards, [&](std::int64_t shard) {
      const std::int64_t first = shard * students_a_shard, rows = std::min(students_a_shard, count - first);
      Vector& gradient = gradients[static_cast<std::size_t>(shard)];
      gradient.setZero(shape_.size());
      const VaeNetwork::Bound bound =
          network.bound(students, some.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(rows)),
                        noise(rows, shape_.latent, draws.child(static_cast<std::uint64_t>(shard))), weight, &gradient);
      bounds[static_cast<std::size_t>(shard)] = bound.fit - bound.divergence;
    });
    for (std::size_t shard = 1; shard < gradients.size(); ++shard)
      gradients[0] += gradients[shard];
    gradients[0] /= static_cast<double>(count);
    adam.ascend(gradients[0], network.parameters());
    return std::accumulate(bounds.begin(), bounds.end(), 0.0);
  }

  /// Keeps the best parameters; shortens the steps where they have not become better for long.
  void judge(const VaeNetwork& network, VaeProgress& progress) const {
    // The same draws after every epoch: what differs is the parameters.
    const RandomStream draws = stream().child("judges");
    const double score = Vae(cohort_.schema(), network)
                             .lower_bound(EvidenceBatch::of(*judges()), judging_draws, context_.executor, &draws)
                             .value.mean();
    const bool better = progress.validation_trace.empty() ||
                        score > progress.validation_trace[static_cast<std::size_t>(progress.best_epoch - 1)];
    progress.validation_trace.push_back(score);
    progress.waited = better ? 0 : progress.waited + 1;
    if (better) {
      progress.best_epoch = progress.epoch;
      progress.best = progress.parameters;
    }
    // While the divergence grows to its full weight nothing is settled.
    if (progress.waited < settings_.patience || progress.epoch < warming_epochs) return;
    ++progress.rate;
    progress.waited = 0;
    progress.parameters = progress.best;
    progress.adam = Adam(shape_.size()).state();
  }

  FitResult finish(VaeNetwork network, const EvidenceBatch& students, const VaeProgress& progress) const {
    FitResult result;
    auto model = std::make_unique<Vae>(cohort_.schema(), std::move(network));
    result.model_name = options_.choice().model->name;
    result.kind = LikelihoodKind::lower_bound;
    result.students = training().student_count();
    result.student_weight = static_cast<double>(result.students);
    result.log_likelihood = model->lower_bound(students, reported_draws, context_.executor).value.sum();
    result.objective = result.log_likelihood;
    result.trace = result.objective_trace = progress.trace;
    result.validation_trace = progress.validation_trace;
    result.iterations = progress.epoch;
    result.best_iteration = judges() != nullptr ? progress.best_epoch : progress.epoch;
    result.converged = progress.rate >= rates || judges() == nullptr;
    result.stopped_by = progress.rate >= rates ? "validation" : "iterations";
    RestartResult only{0,
                       context_.warm != nullptr ? "model" : "random",
                       options_.seed,
                       result.log_likelihood,
                       result.objective,
                       result.iterations,
                       result.converged,
                       {}};
    if (judges() != nullptr) {
      only.validation = progress.validation_trace[static_cast<std::size_t>(progress.best_epoch - 1)];
      if (!settings_.validation && context_.validation == nullptr)
        result.warnings.push_back(concat(counted(judges()->student_count(), "student", "students"),
                                         " set aside to say when to stop; the model is learned from the others"));
    } else {
      warn_of_few(result, counted(result.iterations, "epoch", "epochs"));
    }
    if (cohort_.has_departures())
      result.warnings.emplace_back(
          "vae does not know that students leave: what comes after that counts as unknown, not as nothing taken");
    result.restarts.push_back(std::move(only));
    warn_of_the_end(result, "epoch");
    result.model = std::move(model);
    return result;
  }

  // Checkpoints: everything of VaeProgress.

  void write(const VaeProgress& progress) {
    ArchiveWriter archive("checkpoint");
    archive.set("em", nlohmann::json{{"iteration", progress.epoch}}.dump());
    archive.add("vae.parameters", progress.parameters);
    archive.add("vae.best", progress.best);
    archive.add("vae.adam_mean", progress.adam.mean);
    archive.add("vae.adam_square", progress.adam.square);
    archive.add("vae.adam_left", std::vector{progress.adam.mean_left, progress.adam.square_left});
    archive.add("vae.trace", progress.trace);
    archive.add("vae.validation_trace", progress.validation_trace);
    checkpoint_.write(archive, {{"payload", "networks"},
                                {"rate", progress.rate},
                                {"waited", progress.waited},
                                {"best_epoch", progress.best_epoch}});
  }

  VaeProgress taken_up(const VaeNetwork& network) {
    VaeProgress progress;
    progress.adam = Adam(shape_.size()).state();
    progress.parameters = network.parameters();
    const std::optional<ArchiveReader> resumed = checkpoint_.resumed();
    if (!resumed) return progress;
    const ArchiveReader& archive = *resumed;
    try {
      const auto header = nlohmann::json::parse(archive.metadata("checkpoint"));
      checkpoint_.require_own(archive, header);
      const auto em = nlohmann::json::parse(archive.metadata("em"));
      progress.epoch = whole_number(archive, em, "iteration", 1, epochs());
      progress.rate = whole_number(archive, header, "rate", 0, rates);
      progress.waited = whole_number(archive, header, "waited", 0, progress.epoch);
      progress.best_epoch = whole_number(archive, header, "best_epoch", judges() != nullptr ? 1 : 0, progress.epoch);
    } catch (const nlohmann::json::exception&) {
      archive.refuse("damaged: the description of the checkpoint");
    }
    progress.parameters = numbers(archive, "vae.parameters", shape_.size());
    progress.best = numbers(archive, "vae.best", judges() != nullptr ? shape_.size() : 0);
    progress.adam.mean = numbers(archive, "vae.adam_mean", shape_.size());
    progress.adam.square = numbers(archive, "vae.adam_square", shape_.size());
    const Vector left = numbers(archive, "vae.adam_left", 2);
    progress.adam.mean_left = left[0];
    progress.adam.square_left = left[1];
    if ((progress.adam.square.array() < 0).any() || (left.array() < 0).any() || (left.array() > 1).any())
      archive.refuse("damaged: the memory of the steps");
    progress.trace = load_trace(archive, "vae.trace", progress.epoch);
    progress.validation_trace = load_trace(archive, "vae.validation_trace", judges() != nullptr ? progress.epoch : 0);
    return progress;
  }

  static Vector numbers(const ArchiveReader& archive, const std::string& name, Index size) {
    Vector values = archive.read_vector(name);
    if (values.size() != size || (size > 0 && values.cwiseAbs().maxCoeff() > most_vae_parameter))
      archive.refuse(concat("damaged: ", name));
    return values;
  }

  VaeSettings settings_;
  VaeShape shape_;
  std::vector<std::int64_t> everyone_;
};

}  // namespace

ModelEntry vae_entry() {
  ModelEntry entry;
  entry.name = "vae";
  entry.what = "variational autoencoder, the paper's deep baseline: no states, a lower bound for a likelihood";
  entry.settings = declaration_of<VaeSettings>();
  entry.size_setting = "latent";
  entry.prepare = [](const TrainingTask& task) { return std::make_unique<VaeFit>(task); };
  entry.load = [](const ArchiveReader& archive, const Catalog&) { return Vae::load(archive); };
  return entry;
}

}  // namespace desirepath::inline models
