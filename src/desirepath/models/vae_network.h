// The two networks of a variational autoencoder and what it climbs (Kingma and Welling, 2014).
//
// Two fully connected layers a side: bits to `hidden` values to the mean and log-variance of `latent` numbers, and back
// to a logit a bit. The encoder sees how far each known bit is from its share among the training students, so a bit
// that is not known says nothing; the decoder is asked about known bits alone.
#pragma once

#include <type_traits>

#include "desirepath/core/random_stream.h"
#include "desirepath/transcripts/evidence.h"

namespace desirepath::inline models {

struct VaeShape {
  Index bits = 0, hidden = 0, latent = 0;

  Index size() const { return 2 * bits * hidden + 3 * hidden * latent + bits + 2 * hidden + 2 * latent; }
  bool operator==(const VaeShape&) const = default;
};

/// The layers within one vector of all parameters.
template <class Values>
struct VaeLayers {
  static constexpr bool constant = std::is_const_v<Values>;
  using Weights = Eigen::Map<std::conditional_t<constant, const RowMatrix, RowMatrix>>;
  using Bias = Eigen::Map<std::conditional_t<constant, const Eigen::RowVectorXd, Eigen::RowVectorXd>>;
  using Pointer = std::conditional_t<constant, const double*, double*>;

  VaeLayers(const VaeShape& shape, Values& values)
      : encoder_input(values.data(), shape.bits, shape.hidden),
        encoder_mean(end(encoder_input), shape.latent, shape.hidden),
        encoder_log_variance(end(encoder_mean), shape.latent, shape.hidden),
        decoder_input(end(encoder_log_variance), shape.hidden, shape.latent),
        decoder_output(end(decoder_input), shape.bits, shape.hidden),
        encoder_input_bias(end(decoder_output), shape.hidden),
        encoder_mean_bias(end(encoder_input_bias), shape.latent),
        encoder_log_variance_bias(end(encoder_mean_bias), shape.latent),
        decoder_input_bias(end(encoder_log_variance_bias), shape.hidden),
        decoder_output_bias(end(decoder_input_bias), shape.bits) {}

  /// Every layer with its name.
  template <class Visit>
  void for_each(const Visit& visit) {
    visit("encoder.input", encoder_input);
    visit("encoder.mean", encoder_mean);
    visit("encoder.log_variance", encoder_log_variance);
    visit("decoder.input", decoder_input);
    visit("decoder.output", decoder_output);
    visit("encoder.input_bias", encoder_input_bias);
    visit("encoder.mean_bias", encoder_mean_bias);
    visit("encoder.log_variance_bias", encoder_log_variance_bias);
    visit("decoder.input_bias", decoder_input_bias);
    visit("decoder.output_bias", decoder_output_bias);
  }

  Weights encoder_input;                       // bits by hidden: a taken course is a row
  Weights encoder_mean, encoder_log_variance;  // latent by hidden
  Weights decoder_input;                       // hidden by latent
  Weights decoder_output;                      // bits by hidden
  Bias encoder_input_bias, encoder_mean_bias, encoder_log_variance_bias, decoder_input_bias, decoder_output_bias;

 private:
  template <class Map>
  static Pointer end(Map& map) {
    return map.data() + map.size();
  }
};

/// What is known of some students, as the networks take it.
struct VaeRows {
  RowMatrix taken;  // students by bits: 1 taken, 0 not or not known
  RowMatrix known;  // 1 known, 0 not
};
VaeRows vae_rows(const EvidenceBatch& evidence, std::span<const std::int64_t> students);

class VaeNetwork {
 public:
  /// shares: of the training students, a bit each.
  VaeNetwork(const VaeShape& shape, Vector parameters, Vector shares);
  /// Small random weights; the decoder begins with the shares.
  static VaeNetwork started(const VaeShape& shape, Vector shares, RandomStream stream);

  const VaeShape& shape() const { return shape_; }
  const Vector& parameters() const { return parameters_; }
  Vector& parameters() { return parameters_; }
  const Vector& shares() const { return shares_; }

  struct Code {
    RowMatrix mean, log_variance;  // students by latent
  };
  Code encode(const EvidenceBatch& evidence, std::span<const std::int64_t> students) const;
  /// Log-odds of every bit: codes by bits.
  RowMatrix decode(const RowMatrix& codes) const;

  /// Summed over the students; noise: students by latent, standard normal.
  struct Bound {
    double fit = 0;         // log p(known bits | code)
    double divergence = 0;  // KL of the code from its prior
  };
  /// gradient, where given, is that of fit - weight * divergence; it is added to.
  Bound bound(const EvidenceBatch& evidence, std::span<const std::int64_t> students, const RowMatrix& noise,
              double weight, Vector* gradient) const;

 private:
  RowMatrix hidden_of(const EvidenceBatch& evidence, std::span<const std::int64_t> students) const;
  Code code_of(const RowMatrix& hidden) const;

  VaeShape shape_;
  Vector parameters_;
  Vector shares_;
};

/// log p(taken among known | log-odds): one a row. One row of what is known may be asked of many rows of log-odds.
Vector log_likelihood_of(const RowMatrix& log_odds, const Eigen::Ref<const Eigen::RowVectorXd>& taken,
                         const Eigen::Ref<const Eigen::RowVectorXd>& known);

/// 1 / (1 + exp(-x)), each.
RowMatrix sigmoid(const RowMatrix& log_odds);

}  // namespace desirepath::inline models
