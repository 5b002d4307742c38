#include "desirepath/models/vae_network.h"

#include <cmath>

namespace desirepath::inline models {

namespace {

/// Beyond it a variance is neither learned nor used: exp() stays a number whatever a file holds.
constexpr double most_log_variance = 20;

RowMatrix tanh_of(const RowMatrix& x) {
  return 1 - 2 / (1 + (2 * x.array()).exp());
}

/// log(1 + exp(x)), each.
RowMatrix softplus(const RowMatrix& x) {
  return x.array().max(0) + (1 + (-x.array().abs()).exp()).log();
}

/// Calls visit(bit, x) for the known bits that are not just "a closed period, not taken", with how far each is from
/// such a bit; and closed(period) for closed periods.
template <class Closed, class Visit>
void for_each_known(const EvidenceBatch& evidence, std::int64_t student, const Vector& shares, const Closed& closed,
                    const Visit& visit) {
  for (Id t = 0; t < evidence.period_count(); ++t) {
    const Presence presence = evidence.presence(student, t);
    if (presence == Presence::left) continue;
    const bool is_closed = presence == Presence::present;
    if (is_closed) closed(t);
    for (const Id bit : evidence.taken(student, t))
      visit(bit, is_closed ? 1 : 1 - shares[bit]);
    for (const Id bit : evidence.exceptions(student, t))
      visit(bit, is_closed ? shares[bit] : -shares[bit]);
  }
}

}  // namespace

RowMatrix sigmoid(const RowMatrix& log_odds) {
  return 1 / (1 + (-log_odds.array()).exp());
}

Vector log_likelihood_of(const RowMatrix& log_odds, const Eigen::Ref<const Eigen::RowVectorXd>& taken,
                         const Eigen::Ref<const Eigen::RowVectorXd>& known) {
  return log_odds * taken.transpose() - softplus(log_odds) * known.transpose();
}

VaeRows vae_rows(const EvidenceBatch& evidence, std::span<const std::int64_t> students) {
  const Index count = std::ssize(students), courses = evidence.course_count();
  VaeRows rows{RowMatrix::Zero(count, courses * evidence.period_count()),
               RowMatrix::Zero(count, courses * evidence.period_count())};
  for (Index i = 0; i < count; ++i) {
    const std::int64_t s = students[static_cast<std::size_t>(i)];
    for (Id t = 0; t < evidence.period_count(); ++t) {
      const bool is_closed = evidence.presence(s, t) == Presence::present;
      if (is_closed) rows.known.row(i).segment(t * courses, courses).setOnes();
      for (const Id bit : evidence.taken(s, t))
        rows.taken(i, bit) = rows.known(i, bit) = 1;
      for (const Id bit : evidence.exceptions(s, t))
        rows.known(i, bit) = is_closed ? 0 : 1;
    }
  }
  return rows;
}

VaeNetwork::VaeNetwork(const VaeShape& shape, Vector parameters, Vector shares)
    : shape_(shape), parameters_(std::move(parameters)), shares_(std::move(shares)) {}

VaeNetwork VaeNetwork::started(const VaeShape& shape, Vector shares, RandomStream stream) {
  VaeNetwork network(shape, Vector::Zero(shape.size()), std::move(shares));
  VaeLayers layers(shape, network.parameters_);
  const auto fill = [&](auto& weights, double inputs) {
    for (Index i = 0; i < weights.size(); ++i)
      weights.data()[i] = stream.normal() / std::sqrt(inputs);
  };
  const auto hidden = static_cast<double>(shape.hidden), latent = static_cast<double>(shape.latent);
  fill(layers.encoder_input, 1 + network.shares_.sum());
  fill(layers.encoder_mean, hidden);
  fill(layers.encoder_log_variance, 100 * hidden);
  fill(layers.decoder_input, latent);
  fill(layers.decoder_output, 10 * hidden);
  layers.decoder_output_bias = (network.shares_.array() / (1 - network.shares_.array())).log().matrix().transpose();
  return network;
}

RowMatrix VaeNetwork::hidden_of(const EvidenceBatch& evidence, std::span<const std::int64_t> students) const {
  const VaeLayers layers(shape_, parameters_);
  const Index courses = evidence.course_count();
  // What a closed period in which nothing is taken adds.
  RowMatrix nothing(evidence.period_count(), shape_.hidden);
  for (Id t = 0; t < evidence.period_count(); ++t) {
    nothing.row(t) =
        -shares_.segment(t * courses, courses).transpose() * layers.encoder_input.middleRows(t * courses, courses);
  }
  RowMatrix sums = layers.encoder_input_bias.replicate(std::ssize(students), 1);
  for (Index i = 0; i < sums.rows(); ++i) {
    auto sum = sums.row(i);
    for_each_known(
        evidence, students[static_cast<std::size_t>(i)], shares_, [&](Id t) { sum += nothing.row(t); },
        [&](Id bit, double distance) { sum += distance * layers.encoder_input.row(bit); });
  }
  return tanh_of(sums);
}

VaeNetwork::Code VaeNetwork::code_of(const RowMatrix& hidden) const {
  const VaeLayers layers(shape_, parameters_);
  Code code;
  code.mean = (hidden * layers.encoder_mean.transpose()).rowwise() + layers.encoder_mean_bias;
  code.log_variance = (hidden * layers.encoder_log_variance.transpose()).rowwise() + layers.encoder_log_variance_bias;
  code.log_variance = code.log_variance.array().max(-most_log_variance).min(most_log_variance);
  return code;
}

VaeNetwork::Code VaeNetwork::encode(const EvidenceBatch& evidence, std::span<const std::int64_t> students) const {
  return code_of(hidden_of(evidence, students));
}

RowMatrix VaeNetwork::decode(const RowMatrix& codes) const {
  const VaeLayers layers(shape_, parameters_);
  const RowMatrix hidden = tanh_of((codes * layers.decoder_input.transpose()).rowwise() + layers.decoder_input_bias);
  return (hidden * layers.decoder_output.transpose()).rowwise() + layers.decoder_output_bias;
}

VaeNetwork::Bound VaeNetwork::bound(const EvidenceBatch& evidence, std::span<const std::int64_t> students,
                                    const RowMatrix& noise, double weight, Vector* gradient) const {
  const VaeLayers layers(shape_, parameters_);
  const VaeRows rows = vae_rows(evidence, students);
  const RowMatrix seen = hidden_of(evidence, students);
  const Code code = code_of(seen);
  const RowMatrix deviation = (0.5 * code.log_variance.array()).exp();
  const RowMatrix drawn = code.mean.array() + deviation.array() * noise.array();
  const RowMatrix hidden = tanh_of((drawn * layers.decoder_input.transpose()).rowwise() + layers.decoder_input_bias);
  const RowMatrix log_odds = (hidden * layers.decoder_output.transpose()).rowwise() + layers.decoder_output_bias;
  Bound bound;
  bound.fit = (rows.taken.array() * log_odds.array() - rows.known.array() * softplus(log_odds).array()).sum();
  bound.divergence =
      0.5 * (code.mean.array().square() + code.log_variance.array().exp() - 1 - code.log_variance.array()).sum();
  if (gradient == nullptr) return bound;

  VaeLayers slopes(shape_, *gradient);
  const RowMatrix at_odds = rows.taken.array() - rows.known.array() * sigmoid(log_odds).array();
  slopes.decoder_output.noalias() += at_odds.transpose() * hidden;
  slopes.decoder_output_bias += at_odds.colwise().sum();
  const RowMatrix at_hidden = (at_odds * layers.decoder_output).array() * (1 - hidden.array().square());
  slopes.decoder_input.noalias() += at_hidden.transpose() * drawn;
  slopes.decoder_input_bias += at_hidden.colwise().sum();
  const RowMatrix at_drawn = at_hidden * layers.decoder_input;
  const RowMatrix at_mean = at_drawn - weight * code.mean;
  // Where the variance is held at its bound nothing moves it.
  const RowMatrix at_variance = (code.log_variance.array().abs() < most_log_variance)
                                    .select(0.5 * (at_drawn.array() * noise.array() * deviation.array() -
                                                   weight * (code.log_variance.array().exp() - 1)),
                                            0);
  slopes.encoder_mean.noalias() += at_mean.transpose() * seen;
  slopes.encoder_mean_bias += at_mean.colwise().sum();
  slopes.encoder_log_variance.noalias() += at_variance.transpose() * seen;
  slopes.encoder_log_variance_bias += at_variance.colwise().sum();
  const RowMatrix at_seen =
      (at_mean * layers.encoder_mean + at_variance * layers.encoder_log_variance).array() * (1 - seen.array().square());
  slopes.encoder_input_bias += at_seen.colwise().sum();
  const Index courses = evidence.course_count();
  RowMatrix closed = RowMatrix::Zero(evidence.period_count(), shape_.hidden);
  for (Index i = 0; i < at_seen.rows(); ++i) {
    for_each_known(
        evidence, students[static_cast<std::size_t>(i)], shares_, [&](Id t) { closed.row(t) += at_seen.row(i); },
        [&](Id bit, double distance) { slopes.encoder_input.row(bit) += distance * at_seen.row(i); });
  }
  for (Id t = 0; t < evidence.period_count(); ++t) {
    slopes.encoder_input.middleRows(t * courses, courses).noalias() -=
        shares_.segment(t * courses, courses) * closed.row(t);
  }
  return bound;
}

}  // namespace desirepath::inline models
