// The refinement orthant-em: from the Gaussian fit on to EM on the probability of the enrollments themselves.
//
// Each state's thresholded Gaussian, its correlations fitted by few factors, is where the probit emission starts to
// climb; both are judged on students held out of training and the better is kept. docs/models/refinement.md.
#pragma once

#include "desirepath/models/hidden_chain.h"
#include "desirepath/models/training.h"

namespace desirepath::inline models {

/// Of the students, held out to judge a refinement where no validation is named.
inline constexpr double refinement_share = 0.1;

/// What learning of the emissions' continuation can start from; settings: of its family.
ChainParameters continued_parameters(const ChainParameters& fitted, const SettingValues& settings,
                                     const Executor& executor);

/// Fits the model of the options, goes on as its emissions continue, keeps the better of the two by the mass of the
/// students held out.
std::unique_ptr<Training> prepare_orthant_em(const TrainingTask& task);

}  // namespace desirepath::inline models
