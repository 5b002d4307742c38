// How well a model expects students it has not seen: mean log-likelihood and its standard error.
#pragma once

#include <vector>

#include "desirepath/models/model.h"

namespace desirepath::inline evaluation {

struct HeldOutScore {
  std::vector<double> log_likelihood;  // one a student; -inf = impossible under the model
  std::vector<double> standard_error;  // of each, where it is sampled; empty = exact
  double mean = 0;                     // over students that are possible
  double standard_error_of_mean = 0;   // spread of students and error of estimates together
  std::int64_t impossible = 0;
  LikelihoodKind kind = LikelihoodKind::mass;
};

HeldOutScore score_students(const Model& model, const EvidenceBatch& evidence, LikelihoodKind kind,
                            const Compute& compute);

}  // namespace desirepath::inline evaluation
