#include "desirepath/models/vae.h"

#include <cmath>
#include <numeric>

#include <nlohmann/json.hpp>

#include "desirepath/core/digest.h"
#include "desirepath/core/error.h"
#include "desirepath/core/text.h"
#include "desirepath/probability/factor_nodes.h"
#include "desirepath/probability/log_space.h"

namespace desirepath::inline models {

namespace {

constexpr std::int64_t quick_draws = 256, sampled_draws = 4096, completion_draws = 64;
constexpr std::int64_t draws_at_once = 256;
static_assert(quick_draws <= draws_at_once && completion_draws <= draws_at_once, "answers take their draws at once");
/// The first of this many draws are from the prior, the others from the encoder: a weight is then at most this many
/// times the likelihood, however narrow the encoder is on evidence it has not learned from.
constexpr std::int64_t draws_a_prior = 4;
constexpr std::uint64_t draw_seed = 20190702;

RowMatrix normal_numbers(std::int64_t rows, Index columns, RandomStream stream) {
  RowMatrix numbers(rows, columns);
  for (double& number : numbers.reshaped<Eigen::RowMajor>())
    number = stream.normal();
  return numbers;
}

/// Normal numbers, draws by latent, for whoever asks about one student. They go by what is known of the student, so
/// that no answer depends on its company, and are independent between students who differ, so that their errors average
/// out. Where nothing is known the code is the prior's: evenly spread points.
RowMatrix noise_for(const VaeRows& row, Index latent, std::int64_t draws) {
  std::string known;
  bool blank = true;
  for (Index bit = 0; bit < row.known.cols(); ++bit) {
    known.push_back(row.known(0, bit) == 0 ? '?' : row.taken(0, bit) == 0 ? '0' : '1');
    blank = blank && known.back() == '?';
  }
  if (blank) return prior_nodes(latent, draws, RandomStream(draw_seed), 1).points;
  return normal_numbers(draws, latent, RandomStream(draw_seed).child(hash_of(known)));
}

/// Draws of one student's code from a mixture of the prior and the encoder's normal.
struct WeightedCodes {
  RowMatrix codes;
  Vector log_weights;  // log of prior over mixture
};

WeightedCodes draw_codes(const Eigen::Ref<const Eigen::RowVectorXd>& mean,
                         const Eigen::Ref<const Eigen::RowVectorXd>& log_variance, const RowMatrix& noise,
                         Index from_prior) {
  WeightedCodes drawn{noise, Vector::Zero(noise.rows())};
  const Eigen::ArrayXXd::RowXpr::PlainObject deviation = (0.5 * log_variance.array()).exp();
  constexpr double prior_share = 1.0 / static_cast<double>(draws_a_prior);
  const double log_prior = std::log(prior_share), log_encoder = std::log(1 - prior_share);
  for (Index i = 0; i < noise.rows(); ++i) {
    auto code = drawn.codes.row(i);
    if (i >= from_prior) code = mean.array() + deviation * code.array();
    // Of the normals' logs what they do not share.
    const double prior = -0.5 * code.squaredNorm();
    const double encoder = -0.5 * (log_variance.sum() + ((code - mean).array() / deviation).square().sum());
    const std::array logs = {log_prior + prior, log_encoder + encoder};
    drawn.log_weights[i] = prior - log_sum_exp(logs);
  }
  return drawn;
}

/// Visits a student's draws, some at a time: log-odds of every bit, and log weights p(evidence, code) / q(code).
template <class Visit>
void for_draws(const VaeNetwork& network, const EvidenceBatch& evidence, std::int64_t student, const VaeRows& row,
               const RowMatrix& noise, const Visit& visit) {
  const std::array<std::int64_t, 1> one = {student};
  const VaeNetwork::Code code = network.encode(evidence, one);
  const bool blank = row.known.sum() == 0;
  for (Index first = 0; first < noise.rows(); first += draws_at_once) {
    const RowMatrix some = noise.middleRows(first, std::min<Index>(draws_at_once, noise.rows() - first));
    WeightedCodes drawn =
        blank ? WeightedCodes{some, Vector::Zero(some.rows())}
              : draw_codes(code.mean.row(0), code.log_variance.row(0), some, noise.rows() / draws_a_prior - first);
    const RowMatrix log_odds = network.decode(drawn.codes);
    if (!blank) drawn.log_weights += log_likelihood_of(log_odds, row.taken.row(0), row.known.row(0));
    visit(log_odds, drawn.log_weights);
  }
}

}  // namespace

std::span<const LikelihoodKind> Vae::likelihood_kinds() const {
  static constexpr std::array kinds = {LikelihoodKind::lower_bound};
  return kinds;
}

void Vae::check_evidence(const EvidenceBatch& evidence) const {
  if (evidence.period_count() != schema_.period_count() || evidence.course_count() != schema_.course_count())
    throw InputError("the evidence has other courses or periods than the model");
}

Estimates Vae::lower_bound(const EvidenceBatch& evidence, std::int64_t draws, const Executor& executor,
                           const RandomStream* stream) const {
  check_evidence(evidence);
  Estimates result{RowMatrix::Zero(evidence.student_count(), 1), RowMatrix::Zero(evidence.student_count(), 1)};
  executor.for_blocks(evidence.student_count(), 8, [&](Range range) {
    for (std::int64_t s = range.first; s < range.last; ++s) {
      std::vector<double> logs;
      const std::array<std::int64_t, 1> one = {s};
      const VaeRows row = vae_rows(evidence, one);
      const Index latent = network_.shape().latent;
      const RowMatrix noise = stream != nullptr
                                  ? normal_numbers(draws, latent, stream->child(static_cast<std::uint64_t>(s)))
                                  : noise_for(row, latent, draws);
      for_draws(network_, evidence, s, row, noise, [&](const RowMatrix&, const Vector& log_weights) {
        logs.insert(logs.end(), log_weights.begin(), log_weights.end());
      });
      const auto count = static_cast<double>(logs.size());
      const double log_mean = log_sum_exp(logs) - std::log(count);
      double squares = 0;
      for (const double log : logs)
        squares += std::pow(std::expm1(log - log_mean), 2);
      // A probability is at most one; a sampled one may come out above, and its error says so.
      result.value(s, 0) = std::min(log_mean, 0.0);
      result.standard_error(s, 0) = std::sqrt(squares / (count * std::max(1.0, count - 1)));
    }
  });
  return result;
}

Estimates Vae::log_likelihood(const EvidenceBatch& evidence, LikelihoodKind kind, const Executor& executor,
                              Precision precision) const {
  if (kind != LikelihoodKind::lower_bound)
    throw OptionError(concat("vae has no ", name_of(kind), ", only an estimated lower_bound on the mass"));
  return lower_bound(evidence, precision == Precision::sampled ? sampled_draws : quick_draws, executor);
}

std::string Vae::likelihood_note(const EvidenceBatch&, LikelihoodKind, const Executor&, Precision precision) const {
  return concat(
      "lower bounds, by ", precision == Precision::sampled ? sampled_draws : quick_draws,
      " draws a student: the true log-likelihoods are higher, by how much is not known; compare them with those "
      "of another vae alone");
}

Estimates Vae::marginals(const EvidenceBatch& evidence, std::span<const Id> asked, const Executor& executor,
                         Conditioning) const {
  check_evidence(evidence);
  for (const Id bit : asked) {
    if (bit < 0 || bit >= schema_.bit_count()) throw InputError("a bit outside the model is asked for");
  }
  const std::vector<Id> columns(asked.begin(), asked.end());
  Estimates result{RowMatrix(evidence.student_count(), std::ssize(asked)),
                   RowMatrix(evidence.student_count(), std::ssize(asked))};
  executor.for_blocks(evidence.student_count(), 8, [&](Range range) {
    for (std::int64_t s = range.first; s < range.last; ++s) {
      const std::array<std::int64_t, 1> one = {s};
      const VaeRows row = vae_rows(evidence, one);
      const RowMatrix noise = noise_for(row, network_.shape().latent, quick_draws);
      for_draws(network_, evidence, s, row, noise, [&](const RowMatrix& log_odds, Vector weights) {
        normalise_logs({weights.data(), static_cast<std::size_t>(weights.size())});
        const RowMatrix taken = sigmoid(log_odds(Eigen::all, columns));
        result.value.row(s) = weights.transpose() * taken;
        result.standard_error.row(s) = (weights.array().square().matrix().transpose() *
                                        (taken.rowwise() - result.value.row(s)).array().square().matrix())
                                           .array()
                                           .sqrt();
      });
      for (Index i = 0; i < std::ssize(columns); ++i) {
        const Id bit = columns[static_cast<std::size_t>(i)];
        const bool gone = evidence.presence(s, schema_.period_of(bit)) == Presence::left;
        if (row.known(0, bit) == 0 && !gone) continue;
        result.value(s, i) = row.taken(0, bit);
        result.standard_error(s, i) = 0;
      }
    }
  });
  return result;
}

EvidenceBatch Vae::complete(const EvidenceBatch& evidence, const RandomStream& stream, const Executor& executor,
                            Conditioning) const {
  check_evidence(evidence);
  std::vector<std::vector<Id>> taken(static_cast<std::size_t>(evidence.student_count()));
  executor.for_blocks(evidence.student_count(), 8, [&](Range range) {
    for (std::int64_t s = range.first; s < range.last; ++s) {
      RandomStream draws = stream.child(static_cast<std::uint64_t>(s));
      const std::array<std::int64_t, 1> one = {s};
      const VaeRows row = vae_rows(evidence, one);
      const RowMatrix noise =
          normal_numbers(row.known.sum() == 0 ? 1 : completion_draws, network_.shape().latent, draws.child("codes"));
      for_draws(network_, evidence, s, row, noise, [&](const RowMatrix& log_odds, Vector weights) {
        normalise_logs({weights.data(), static_cast<std::size_t>(weights.size())});
        const auto chosen =
            static_cast<Index>(draws.categorical({weights.data(), static_cast<std::size_t>(weights.size())}));
        const RowMatrix probability = sigmoid(log_odds.row(chosen));
        for (Id bit = 0; bit < schema_.bit_count(); ++bit) {
          const bool is_known = row.known(0, bit) > 0;
          if (is_known ? row.taken(0, bit) > 0 : draws.bernoulli(probability(0, bit)))
            taken[static_cast<std::size_t>(s)].push_back(bit);
        }
      });
    }
  });
  EvidenceBuilder builder(evidence);
  for (std::int64_t s = 0; s < evidence.student_count(); ++s) {
    builder.begin_student(evidence.students()[static_cast<std::size_t>(s)]);
    for (Id t = 0; t < schema_.period_count(); ++t) {
      PeriodEvidence period;
      period.presence = evidence.presence(s, t) == Presence::left ? Presence::left : Presence::present;
      for (const Id bit : taken[static_cast<std::size_t>(s)]) {
        if (period.presence == Presence::present && schema_.period_of(bit) == t) period.taken.push_back(bit);
      }
      builder.add(period);
    }
  }
  return std::move(builder).build();
}

void Vae::save(ArchiveWriter& archive) const {
  archive.set("model", name());
  archive.set("schema", schema_.to_json().dump());
  VaeLayers layers(network_.shape(), network_.parameters());
  layers.for_each([&](const char* name, const auto& values) { archive.add(name, RowMatrix(values)); });
  archive.add("shares", network_.shares());
}

std::unique_ptr<Vae> Vae::load(const ArchiveReader& archive) {
  Schema schema;
  try {
    schema = Schema::from_json(nlohmann::json::parse(archive.metadata("schema"), nullptr, false));
  } catch (const InputError& error) {
    archive.refuse(concat("damaged: ", error.what()));
  }
  if (schema.bit_count() < 1) archive.refuse("damaged: no courses or periods");
  const RowMatrix first = archive.read_matrix("decoder.input");
  const VaeShape shape{schema.bit_count(), first.rows(), first.cols()};
  if (shape.hidden < 1 || shape.latent < 1) archive.refuse("damaged: a network without hidden values or a code");
  if (shape.hidden > archive.byte_count() / shape.bits) archive.refuse("damaged: the networks are not in the file");
  Vector parameters(shape.size());
  VaeLayers layers(shape, parameters);
  layers.for_each(
      [&](const char* name, auto& values) { values = archive.read_matrix(name, values.rows(), values.cols()); });
  const Vector shares = archive.read_vector("shares");
  if (shares.size() != shape.bits || !(shares.array() > 0).all() || !(shares.array() < 1).all())
    archive.refuse("damaged: the shares of the courses");
  if (parameters.cwiseAbs().maxCoeff() > most_vae_parameter) archive.refuse("damaged: the numbers of the networks");
  return std::make_unique<Vae>(std::move(schema), VaeNetwork(shape, std::move(parameters), shares));
}

}  // namespace desirepath::inline models
