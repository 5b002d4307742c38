#include "desirepath/emissions/gaussian.h"

#include <array>
#include <cmath>

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/emissions/gaussian_dense.h"
#include "desirepath/emissions/gaussian_factors.h"
#include "desirepath/emissions/gaussian_mass.h"
#include "desirepath/emissions/gaussian_whole.h"
#include "desirepath/emissions/probit.h"
#include "desirepath/probability/gaussian.h"
#include "desirepath/probability/normal.h"

namespace desirepath::inline emissions {

RowMatrix GaussianParameters::variances() const {
  if (!is_dense()) {
    RowMatrix result = noise;
    for (Index k = 0; k < mean.cols(); ++k)
      result.col(k) += loading[static_cast<std::size_t>(k)].rowwise().squaredNorm();
    return result;
  }
  RowMatrix result(mean.rows(), mean.cols());
  for (Index k = 0; k < mean.cols(); ++k) {
    if (is_tied() && k > 0)
      result.col(k) = result.col(0);
    else
      result.col(k) = Matrix(factor_of(k).triangularView<Eigen::Lower>()).rowwise().squaredNorm();
  }
  return result;
}

namespace {

/// Far beyond what courses of -1 and +1 lead to; squares and ratios stay numbers.
constexpr double largest_deviation = 1e12;
bool are_moderate(const auto& values) {
  return (values.array().abs() <= largest_deviation).all();
}

}  // namespace

std::optional<std::string> GaussianParameters::fault() const {
  const Index bits = mean.rows(), states = mean.cols();
  if (states < 1 || !are_moderate(mean)) return "means are not numbers";
  if (standard_mean.rows() != bits || standard_mean.cols() != states || !are_moderate(standard_mean))
    return "calibrated means do not fit";
  if (is_dense()) {
    const auto count = static_cast<Index>(cholesky.size());
    if (count != states && count != 1) return "covariances do not fit the states";
    for (const Matrix& factor : cholesky) {
      if (factor.rows() != bits || factor.cols() != bits || !are_moderate(factor) ||
          !(factor.diagonal().array() >= 1 / largest_deviation).all())
        return "a covariance is not positive definite";
    }
    return std::nullopt;
  }
  if (static_cast<Index>(loading.size()) != states) return "loadings do not fit the states";
  for (const RowMatrix& matrix : loading) {
    if (matrix.rows() != bits || matrix.cols() != loading.front().cols() || !are_moderate(matrix))
      return "loadings do not fit the courses";
  }
  if (noise.rows() != bits || noise.cols() != states ||
      !(noise.array() <= largest_deviation && noise.array() >= 1 / largest_deviation / largest_deviation).all())
    return "a variance is not above zero";
  return std::nullopt;
}

GaussianEmission::GaussianEmission(GaussianParameters parameters) : parameters_(std::move(parameters)) {
  if (const auto fault = parameters_.fault()) throw NumericalError(concat("Gaussian: ", *fault));
}

GaussianEmission::~GaussianEmission() = default;

std::unique_ptr<GaussianEmission> GaussianEmission::load(const ArchiveReader& archive, const std::string& prefix) {
  GaussianParameters parameters;
  parameters.mean = archive.read_matrix(prefix + ".mean");
  parameters.standard_mean = archive.read_matrix(prefix + ".standard_mean");
  for (Index k = 0; archive.has(concat(prefix, ".cholesky.", k)); ++k)
    parameters.cholesky.push_back(archive.read_columns(concat(prefix, ".cholesky.", k)));
  if (!parameters.is_dense()) {
    for (Index k = 0; archive.has(concat(prefix, ".loading.", k)); ++k)
      parameters.loading.push_back(archive.read_matrix(concat(prefix, ".loading.", k)));
    parameters.noise = archive.read_matrix(prefix + ".noise");
  }
  if (const auto fault = parameters.fault()) archive.refuse("damaged: " + *fault);
  return std::make_unique<GaussianEmission>(std::move(parameters));
}

void GaussianEmission::save(ArchiveWriter& archive, const std::string& prefix) const {
  archive.add(prefix + ".mean", parameters_.mean);
  archive.add(prefix + ".standard_mean", parameters_.standard_mean);
  // Column by column, as they lie: read row by row it is the upper factor U of U'U.
  for (std::size_t k = 0; k < parameters_.cholesky.size(); ++k)
    archive.add_columns(concat(prefix, ".cholesky.", k), parameters_.cholesky[k]);
  for (std::size_t k = 0; k < parameters_.loading.size(); ++k)
    archive.add(concat(prefix, ".loading.", k), parameters_.loading[k]);
  if (!parameters_.is_dense()) archive.add(prefix + ".noise", parameters_.noise);
}

Matrix GaussianEmission::covariance(Id state) const {
  if (parameters_.is_dense()) return covariance_of(parameters_.factor_of(state));
  const RowMatrix& loading = parameters_.loading[static_cast<std::size_t>(state)];
  Matrix result = loading * loading.transpose();
  result.diagonal() += parameters_.noise.col(state);
  return result;
}

const DenseForm& GaussianEmission::dense_form(const Executor& executor) const {
  std::call_once(form_made_, [&] {
    Vector log_determinants(static_cast<Index>(parameters_.cholesky.size()));
    for (std::size_t g = 0; g < parameters_.cholesky.size(); ++g)
      log_determinants[static_cast<Index>(g)] = log_determinant(parameters_.cholesky[g]);
    form_ = std::make_unique<DenseForm>(precisions_of(parameters_.cholesky, executor), log_determinants,
                                        parameters_.mean, bit_count(), executor);
  });
  return *form_;
}

std::span<const LikelihoodKind> GaussianEmission::likelihood_kinds() const {
  static constexpr std::array kinds = {LikelihoodKind::mass, LikelihoodKind::density};
  return kinds;
}

const ThresholdedStates& GaussianEmission::thresholded(const Executor& executor) const {
  std::call_once(thresholded_made_, [&] {
    thresholded_ = std::make_unique<ThresholdedStates>(thresholded_states(parameters_, executor));
  });
  return *thresholded_;
}

bool GaussianEmission::is_fitted(LikelihoodKind kind, Precision precision) const {
  if (kind != LikelihoodKind::mass || !parameters_.is_dense()) return false;
  return precision == Precision::fitted ||
         (precision == Precision::quick && bit_count() > GaussianOptions::most_dense_bits);
}

RowScores GaussianEmission::score(const StepRows& rows, LikelihoodKind kind, Precision precision,
                                  const Executor& executor) const {
  if (kind == LikelihoodKind::density)
    return {parameters_.is_dense() ? dense_scores(*this, rows, executor) : factor_scores(*this, rows, executor), {}};
  if (parameters_.is_dense() && !is_fitted(kind, precision)) return whole_mass_scores(*this, rows, precision, executor);
  return factor_mass_scores(thresholded(executor), rows, precision, executor);
}

ScoreError GaussianEmission::score_error(const StepRows& rows, LikelihoodKind kind, Precision precision,
                                         const Executor& executor) const {
  return is_fitted(kind, precision) ? gap_of_fit(*this, rows, executor) : ScoreError{};
}

std::unique_ptr<GivenPattern> GaussianEmission::given(const UnknownBits& unknown) const {
  return parameters_.is_dense() ? dense_given(*this, unknown) : factor_given(*this, unknown);
}

std::unique_ptr<GivenPattern> GaussianEmission::given_exactly(const UnknownBits& unknown) const {
  return parameters_.is_dense() ? truncated_given(*this, unknown)
                                : thresholded_given(thresholded(Executor(1)), unknown);
}

RowMatrix GaussianEmission::bit_probabilities() const {
  return parameters_.standard_mean.unaryExpr([](double t) { return normal_cdf(t); });
}

std::int64_t GaussianEmission::parameter_count() const {
  const std::int64_t bits = bit_count(), states = state_count();
  if (parameters_.is_dense())
    return bits * states + static_cast<std::int64_t>(parameters_.cholesky.size()) * bits * (bits + 1) / 2;
  const std::int64_t factors = parameters_.loading.front().cols();
  return states * (2 * bits + bits * factors - factors * (factors - 1) / 2);
}

std::unique_ptr<Emission> GaussianEmission::reordered(std::span<const Id> order) const {
  GaussianParameters result;
  const std::vector<Id> columns(order.begin(), order.end());
  result.mean = parameters_.mean(Eigen::all, columns);
  result.standard_mean = parameters_.standard_mean(Eigen::all, columns);
  if (parameters_.is_dense()) {
    if (parameters_.cholesky.size() == 1)
      result.cholesky = parameters_.cholesky;
    else
      for (const Id k : order)
        result.cholesky.push_back(parameters_.cholesky[static_cast<std::size_t>(k)]);
  } else {
    for (const Id k : order)
      result.loading.push_back(parameters_.loading[static_cast<std::size_t>(k)]);
    result.noise = parameters_.noise(Eigen::all, columns);
  }
  return std::make_unique<GaussianEmission>(std::move(result));
}

std::int64_t GaussianEmission::byte_count() const {
  std::int64_t count = 2 * parameters_.mean.size() + parameters_.noise.size();
  for (const Matrix& factor : parameters_.cholesky)
    count += factor.size();
  for (const RowMatrix& loading : parameters_.loading)
    count += loading.size();
  return 8 * count;
}

std::vector<std::vector<Index>> GaussianEmission::latent_groups() const {
  std::vector<std::vector<Index>> groups;
  for (Index k = 0; k < parameters_.mean.cols() && parameters_.is_dense(); ++k) {
    if (k == 0 || !parameters_.is_tied()) groups.emplace_back();
    groups.back().push_back(k);
  }
  return groups;
}

LatentParameters GaussianEmission::latent_parameters(const std::vector<Index>& group) const {
  return {parameters_.standard_mean(Eigen::all, group), parameters_.factor_of(group.front())};
}

std::unique_ptr<Emission> GaussianEmission::with_latent(const std::vector<LatentParameters>& groups) const {
  GaussianParameters changed = parameters_;
  const std::vector<std::vector<Index>> states = latent_groups();
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const Vector deviation = changed.variances().col(states[g].front()).cwiseSqrt();
    changed.standard_mean(Eigen::all, states[g]) = groups[g].standard_mean();
    changed.cholesky[g] = deviation.asDiagonal() * groups[g].correlation_factor();
  }
  return std::make_unique<GaussianEmission>(std::move(changed));
}

namespace {

/// Of a whole covariance the factors are fitted, as many as the other family takes.
SettingValues probit_settings(SettingValues values) {
  const auto covariance = settings_from<GaussianOptions>(values).covariance;
  if (covariance && covariance->shape != CovarianceShape::factor) values.erase("covariance");
  return values;
}

}  // namespace

EmissionFamily gaussian_family() {
  return {std::string(GaussianEmission::family_name),
          "courses as one thresholded Gaussian in a state (the paper's)",
          declaration_of<GaussianOptions>(),
          [](const SettingValues& values, const StepShape& shape) {
            return std::make_unique<GaussianLearner>(settings_from<GaussianOptions>(values), shape.bits());
          },
          GaussianEmission::load,
          /*can_be_published=*/false,
          /*climbs=*/LikelihoodKind::density,
          /*latent_with=*/concat(setting_name("covariance"), " full or tied"),
          EmissionFamily::Continuation{std::string(ProbitEmission::family_name), probit_settings}};
}

}  // namespace desirepath::inline emissions
