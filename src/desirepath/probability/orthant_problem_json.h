// Reads an orthant problem from JSON, and answers it: `x` (0 or 1 a course), `d` (their number, optional), and one
// model: `mu` + `Lambda` (row-major, courses by `q` factors) + `D` (variances): Sigma = Lambda Lambda' + diag(D); `mu`
// + `Sigma` (row-major); `mean` + `rho` (unit variances, all correlated alike); `mean` + `neighbour_corr` (unit
// variances, tridiagonal). `mean` is one number for all, `mu` one a course. A reference value may come along: `log_p`
// and `log_p_err`. Other fields are left alone.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "desirepath/core/answer.h"
#include "desirepath/probability/orthant.h"

namespace desirepath::inline probability {

struct OrthantCase {
  std::string name;    // may be empty
  std::string family;  // may be empty
  OrthantProblem problem;
  std::optional<double> log_p;      // the known answer
  std::optional<double> log_p_err;  // about two of its standard errors
};

/// `source` names the text in errors. Throws InputError that says what is missing or wrong, and where; the problem is
/// valid.
OrthantCase parse_orthant_case(std::string_view text, const std::string& source);
/// Throws FileError when the file cannot be read.
OrthantCase read_orthant_case(const std::filesystem::path& path);

/// Its log-probability, estimated; throws InputError that names the source of the problem.
Answer answer_orthant(const OrthantProblem& problem, const std::string& source, const OrthantOptions& options,
                      const RandomStream& stream, const Executor& executor);

}  // namespace desirepath::inline probability
