// Gaussian emissions by the book: every row on its own, dense, unknown values by their conditional moments.
#include <cmath>
#include <numbers>

#include <Eigen/Dense>

#include "support/textbook_em.h"

#include "desirepath/core/random_stream.h"

namespace desirepath::test {

namespace {

std::vector<Index> places(const Eigen::RowVectorXd& known, bool wanted) {
  std::vector<Index> result;
  for (Index j = 0; j < known.size(); ++j) {
    if ((known[j] > 0) == wanted) result.push_back(j);
  }
  return result;
}

class GaussianFamily : public TextbookFamily {
 public:
  GaussianFamily(const TextbookOptions& options, const RandomStream& stream) : options_(options), stream_(stream) {
    if (options.covariance.starts_with("factor:")) factors_ = std::stoi(options.covariance.substr(7));
  }

  void maximise(const DenseRows& rows, const Matrix& weight) override {
    const Matrix x = 2 * rows.value.array() - 1;
    // What the prior draws towards: rows that know anything count.
    pooled_.resize(x.cols());
    for (Index j = 0; j < x.cols(); ++j) {
      double taken = 0.5, known = 1;
      for (Index r = 0; r < x.rows(); ++r) {
        if (weight.row(r).sum() == 0) continue;
        taken += rows.known(r, j) * rows.value(r, j);
        known += rows.known(r, j);
      }
      pooled_[j] = 4 * taken / known * (1 - taken / known);
    }
    if (factors_ > 0 || options_.covariance == "diagonal")
      maximise_factors(x, rows.known, weight);
    else
      maximise_dense(x, rows.known, weight);
  }

  double log_emission(const Eigen::RowVectorXd& value, const Eigen::RowVectorXd& known, Id state) const override {
    const std::vector<Index> o = places(known, true);
    if (o.empty()) return 0;
    const Vector deviation =
        (2 * value.array() - 1).matrix().transpose()(o) - mean_[static_cast<std::size_t>(state)](o);
    const Matrix covariance = covariance_[static_cast<std::size_t>(state)](o, o);
    const Eigen::FullPivLU<Matrix> decomposition(covariance);
    double log_determinant = 0;
    for (Index i = 0; i < covariance.rows(); ++i)
      log_determinant += std::log(std::abs(decomposition.matrixLU()(i, i)));
    return -0.5 * (static_cast<double>(o.size()) * std::log(2 * std::numbers::pi) + log_determinant +
                   deviation.dot(decomposition.solve(deviation)));
  }

 private:
  /// Shares of those who know a bit, half a student added to each answer.
  Vector available_mean(const Matrix& x, const Matrix& known, const Vector& weight, double added) const {
    Vector result(x.cols());
    for (Index j = 0; j < x.cols(); ++j) {
      double sum = added / 2, count = added;
      for (Index r = 0; r < x.rows(); ++r) {
        sum += weight[r] * known(r, j) * (x(r, j) + 1) / 2;
        count += weight[r] * known(r, j);
      }
      result[j] = 2 * sum / count - 1;
    }
    return result;
  }

  void maximise_dense(const Matrix& x, const Matrix& known, const Matrix& weight) {
    const Index bits = x.cols();
    const bool tied = options_.covariance == "tied";
    if (mean_.empty()) {
      // At the start the unknown are independent.
      for (Id k = 0; k < options_.states; ++k) {
        mean_.push_back(available_mean(x, known, weight.col(k), 1));
        covariance_.emplace_back((1 - mean_.back().array().square()).matrix().asDiagonal());
      }
    }
    std::vector<Vector> first;
    std::vector<Matrix> second;
    std::vector<double> total;
    for (Id k = 0; k < options_.states; ++k) {
      Vector sum = Vector::Zero(bits);
      Matrix products = Matrix::Zero(bits, bits);
      double count = 0;
      for (Index r = 0; r < x.rows(); ++r) {
        if (weight(r, k) == 0) continue;
        const std::vector<Index> o = places(known.row(r), true), u = places(known.row(r), false);
        Vector expected = x.row(r).transpose();
        Matrix spread = Matrix::Zero(bits, bits);
        if (!u.empty()) {
          const Vector& m = mean_[static_cast<std::size_t>(k)];
          const Matrix& s = covariance_[static_cast<std::size_t>(k)];
          const Matrix gain = s(u, o) * Matrix(s(o, o)).inverse();
          expected(u) = m(u) + gain * (x.row(r).transpose()(o) - m(o));
          spread(u, u) = s(u, u) - gain * s(o, u);
        }
        sum += weight(r, k) * expected;
        products += weight(r, k) * (expected * expected.transpose() + spread);
        count += weight(r, k);
      }
      first.push_back(sum / count);
      second.push_back(products - count * first.back() * first.back().transpose());
      total.push_back(count);
    }
    mean_ = first;
    if (tied) {
      Matrix all = Matrix::Zero(bits, bits);
      double count = 0;
      for (std::size_t k = 0; k < second.size(); ++k) {
        all += second[k];
        count += total[k];
      }
      second.assign(second.size(), all);
      total.assign(total.size(), count);
    }
    covariance_.clear();
    for (std::size_t k = 0; k < second.size(); ++k) {
      Matrix covariance = second[k];
      covariance.diagonal() += options_.covariance_prior * pooled_;
      covariance /= total[k] + options_.covariance_prior;
      covariance.diagonal().array() += options_.ridge;
      covariance_.push_back(covariance);
    }
  }

  void maximise_factors(const Matrix& x, const Matrix& known, const Matrix& weight) {
    const Index bits = x.cols();
    const bool complete = (known.rowwise().maxCoeff() - known.rowwise().minCoeff()).cwiseAbs().maxCoeff() == 0;
    const bool starts = mean_.empty();
    if (starts) {
      for (Id k = 0; k < options_.states; ++k) {
        RandomStream draws = stream_.child("loading").child(static_cast<std::uint64_t>(k));
        Matrix loading(bits, factors_);
        for (Index j = 0; j < bits; ++j) {
          for (Index q = 0; q < factors_; ++q)
            loading(j, q) = std::sqrt(pooled_[j] / (3.0 * factors_)) * draws.normal();
        }
        loading_.push_back(loading);
        noise_.push_back(pooled_);
        mean_.emplace_back();
      }
      covariance_.resize(mean_.size());
    }
    for (std::size_t k = 0; k < mean_.size(); ++k) {
      const Vector w = weight.col(static_cast<Index>(k));
      if (starts || complete) mean_[k] = available_mean(x, known, w, 0);
      for (int step = 0; step < (starts && factors_ > 0 ? 8 : 1); ++step) {
        std::vector<Matrix> products(static_cast<std::size_t>(bits), Matrix::Zero(factors_ + 1, factors_ + 1));
        Matrix response = Matrix::Zero(bits, factors_ + 1);
        Vector squares = Vector::Zero(bits);
        for (Index r = 0; r < x.rows(); ++r) {
          if (w[r] == 0) continue;
          const std::vector<Index> o = places(known.row(r), true);
          const Matrix loading = loading_[k](o, Eigen::all);
          const Matrix scaled = Vector(noise_[k](o)).cwiseInverse().asDiagonal() * loading;
          const Matrix posterior = (Matrix::Identity(factors_, factors_) + loading.transpose() * scaled).inverse();
          Vector z(factors_ + 1);
          z.head(factors_) = posterior * scaled.transpose() * (x.row(r).transpose()(o) - mean_[k](o));
          z[factors_] = 1;
          Matrix second = z * z.transpose();
          second.topLeftCorner(factors_, factors_) += posterior;
          for (const Index j : o) {
            products[static_cast<std::size_t>(j)] += w[r] * second;
            response.row(j) += w[r] * x(r, j) * z.transpose();
            squares[j] += w[r];
          }
        }
        for (Index j = 0; j < bits; ++j) {
          const Vector b = products[static_cast<std::size_t>(j)].fullPivLu().solve(response.row(j).transpose());
          loading_[k].row(j) = b.head(factors_).transpose();
          mean_[k][j] = b[factors_];
          noise_[k][j] = (squares[j] - response.row(j).dot(b) + options_.covariance_prior * pooled_[j]) /
                             (squares[j] + options_.covariance_prior) +
                         options_.ridge;
        }
      }
      covariance_[k] = loading_[k] * loading_[k].transpose();
      covariance_[k].diagonal() += noise_[k];
    }
  }

  TextbookOptions options_;
  Index factors_ = 0;
  Vector pooled_;
  std::vector<Vector> mean_, noise_;
  RandomStream stream_;
  std::vector<Matrix> covariance_, loading_;
};

}  // namespace

std::unique_ptr<TextbookFamily> gaussian_family(const TextbookOptions& options, const RandomStream& stream) {
  return std::make_unique<GaussianFamily>(options, stream);
}

}  // namespace desirepath::test
