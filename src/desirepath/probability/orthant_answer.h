// An orthant probability as an answer.
#pragma once

#include "desirepath/core/answer.h"
#include "desirepath/probability/orthant_problem_json.h"

namespace desirepath::inline probability {

class OrthantAnswer : public Answer {
 public:
  /// Estimates; throws InputError that names the source of the problem.
  OrthantAnswer(const OrthantProblem& problem, const std::string& source, const OrthantOptions& options,
                const RandomStream& stream, const Executor& executor);
  nlohmann::ordered_json to_json() const override;
  Table table() const override;
  void print(std::ostream& out) const override;
  std::vector<std::string> warnings() const override;

 private:
  OrthantEstimate found_;
  std::int64_t courses_ = 0, taken_ = 0;
  double seconds_ = 0;
};

}  // namespace desirepath::inline probability
