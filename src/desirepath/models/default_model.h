// The model whose states tell the story, where a user names none: chosen by measurement (docs/models/comparison.md).
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "desirepath/core/types.h"

namespace desirepath::inline models {

/// States of their own in every period and courses independent in them: on held-out students above nb and hmm at every
/// K that was measured, and read off as a list of courses.
inline constexpr std::string_view default_choice = "cmm+bernoulli";

/// How many kinds of students people read about, and fewer where there would be under 70 students to each.
inline Id default_states(std::int64_t students) {
  constexpr std::int64_t most = 8, students_a_state = 70;
  return static_cast<Id>(std::clamp<std::int64_t>(students / students_a_state, 2, most));
}

/// For whoever has to choose.
inline std::string which_model() {
  return "Which model for which question:\n"
         "  kinds of students, how they flow     cmm+bernoulli (without --model), nb (one kind a student)\n"
         "  what they will take, seats, samples,\n"
         "  prerequisites, typicality            hct\n"
         "  the paper's models                   nb, tan, gmm, cmm (Gaussian), vae";
}

}  // namespace desirepath::inline models
