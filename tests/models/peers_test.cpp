// Chains learned by several who each hold some of the students: all that is global in a fit is summed.
#include "support/peers.h"

#include <cmath>
#include <cstring>
#include <numeric>

#include "support/example_cohorts.h"
#include "support/support.h"

#include "desirepath/emissions/capabilities.h"
#include "desirepath/models/catalog.h"
#include "desirepath/models/chain_training.h"

namespace desirepath::peers_test {
namespace {

constexpr Id courses = 5, periods = 3, states = 3;
constexpr int peers = 4;

struct Case {
  const char* emission;
  TimeStructure structure;
  SettingValues settings;
  double unknown = 0.2, left = 0;
};

std::vector<Case> cases() {
  using enum TimeStructure;
  return {{"bernoulli", one_step, {}},
          {"bernoulli", one_step, {}, 0.2, 0.2},
          {"bernoulli", per_period, {}, 0.2, 0.2},
          {"bernoulli", tied, {}},
          {"bernoulli", tied, {{"carry-over", true}}, 0},
          {"tree", one_step, {}, 0},
          {"tree", one_step, {{"tree", std::string("per-state")}}},
          {"tree", per_period, {}},
          {"gaussian", one_step, {{"covariance", std::string("full")}}},
          {"gaussian", per_period, {{"covariance", std::string("tied")}}},
          {"gaussian", one_step, {{"covariance", std::string("factor:2")}}},
          {"probit", one_step, {{"covariance", std::string("factor:2")}}},
          {"hidden-tree", one_step, {{"tree-states", std::int64_t{3}}}}};
}

/// What a climb found, as bytes, and as numbers.
struct Climb {
  std::vector<double> trace;  // of objectives; at the end the entropy of the states and the mean log-likelihood
  int reseeds = 0;            // of emptied states
  std::string bytes;
};

class Chain {
 public:
  Chain(const Case& example, const Cohort& students)
      : layout_(made_layout(example)),
        learner_(
            standard_catalog().emission(example.emission).learner(example.settings, layout_.shape(students.schema()))),
        evidence_(EvidenceBatch::of(students), with_history(layout_, *learner_)) {
    task_.schema = students.schema();
    task_.states = states;
    task_.state_pseudocount = 0;  // which would give an emptied state a chance
    for (const std::string& student : students.students())
      task_.weights.push_back(student.back() % 3 == 0 ? 2.5 : 1);
  }

  ChainParameters start(const Executor& executor) {
    ChainProblem problem(task_, evidence_, *learner_, executor);
    problem.start_at_random(RandomStream(4));
    problem.expectation();
    problem.maximisation();
    ChainParameters parameters = problem.take_parameters();
    // A state that nobody is in is begun anew with the students described worst.
    for (Index k = 0; k < parameters.prior.initial.size(); ++k)
      parameters.prior.initial[k] = k == 0 ? 0 : parameters.prior.initial[k] / (1 - parameters.prior.initial[0]);
    for (Matrix& transition : parameters.prior.transitions)
      transition.col(0).setZero();
    return parameters;
  }

  Climb climb(const ChainParameters& start, const Executor& executor) {
    ChainProblem problem(task_, evidence_, *learner_, executor);
    problem.start_from_parameters(start);
    const EmProgress em = run_em(problem, {.max_iterations = 12, .tolerance = 0}, {}, {});
    Climb found{em.objective_trace, {}};
    problem.measure();
    found.trace.push_back(problem.state_entropy());
    for (const std::vector<int>& pool : problem.reseeds())
      found.reseeds += std::accumulate(pool.begin(), pool.end(), 0);
    problem.finish_emissions();
    found.trace.push_back(mean_log_likelihood(problem.parameters(), evidence_, task_, executor));
    for (const std::string& note : problem.notes())
      found.bytes += note;
    found.bytes += std::to_string(problem.warnings().size());
    ArchiveWriter archive("model");
    problem.parameters().save(archive, "p.");
    const auto bytes = archive.bytes();
    found.bytes.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return found;
  }

 private:
  static StepLayout made_layout(const Case& example) { return StepLayout::of(example.structure, periods); }
  static const StepLayout& with_history(StepLayout& layout, const EmissionLearner& learner) {
    layout.with_history = offered<ReadsHistory>(learner) != nullptr;
    return layout;
  }

  StepLayout layout_;
  std::unique_ptr<EmissionLearner> learner_;
  ChainEvidence evidence_;
  ChainTask task_;
};

/// Quarters of the students; the last is larger than the others.
Cohort quarter(const Cohort& all, int number) {
  const std::int64_t size = all.student_count() / peers, first = number * size;
  std::vector<std::int64_t> chosen(
      static_cast<std::size_t>((number + 1 == peers ? all.student_count() : first + size) - first));
  std::iota(chosen.begin(), chosen.end(), first);
  return all.select(chosen);
}

std::string text_of(const Climb& climb) {
  std::string text(sizeof(double) * climb.trace.size(), ' ');
  std::memcpy(text.data(), climb.trace.data(), text.size());
  return text + climb.bytes;
}

std::vector<double> trace_of(const std::string& text, std::size_t count) {
  std::vector<double> trace(count);
  std::memcpy(trace.data(), text.data(), count * sizeof(double));
  return trace;
}

TEST(Peers, EverybodyComesToTheSameChain) {
  const Executor alone(2);
  for (const Case& example : cases()) {
    SCOPED_TRACE(::testing::Message() << example.emission << static_cast<int>(example.structure));
    const Cohort all = test::random_cohort(
        {.students = 303, .courses = courses, .periods = periods, .unknown = example.unknown, .left = example.left},
        RandomStream(8));
    Chain whole(example, all);
    const ChainParameters start = whole.start(alone);
    const Climb expected = whole.climb(start, alone);
    EXPECT_GT(expected.reseeds, 0);
    const auto task = [&](const Peers& own) {
      const Executor executor(1, nullptr, {}, &own);
      Chain part(example, quarter(all, own.number()));
      return text_of(part.climb(start, executor));
    };
    const std::vector<std::string> threads = test::run_as_threads(peers, task);
    for (int p = 1; p < peers; ++p)
      EXPECT_EQ(threads[static_cast<std::size_t>(p)], threads[0]) << p;
    // What passes through pipes is all there is to know.
    EXPECT_EQ(test::run_as_processes(peers, task), threads);
    // Sums of quarters are rounded differently, and nothing else.
    const std::vector<double> found = trace_of(threads[0], expected.trace.size());
    for (std::size_t i = 0; i < found.size(); ++i)
      EXPECT_NEAR(found[i], expected.trace[i], 1e-7 * (1 + std::abs(expected.trace[i]))) << i;
  }
}

}  // namespace
}  // namespace desirepath::peers_test
