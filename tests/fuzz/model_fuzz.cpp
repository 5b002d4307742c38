// A model file with a right digest is refused with a reason, or every answer of the model is made of numbers.
#include "fuzz/archive_mutants.h"
#include "fuzz/fuzz_fits.h"

#include "desirepath/core/error.h"
#include "desirepath/queries/file_contents.h"
#include "desirepath/queries/query.h"

namespace {

using namespace desirepath;
const Executor one_thread(1);

test::Bytes file_of(const Cohort& cohort, const FitOptions& options) {
  const TrainingContext context{one_thread};
  const FitResult fit = fit_model(cohort, options, context);
  ArchiveWriter archive("model");
  fit.model->save(archive);
  archive.set("training", training_record({cohort, options, context}, fit).text);
  return archive.bytes();
}

std::vector<test::Bytes> made_seeds() {
  std::vector<test::Bytes> seeds;
  const Cohort cohort = test::fuzz_cohort();
  for (const FitOptions& options : test::fuzz_fits())
    seeds.push_back(file_of(cohort, options));
  // Chains with carry-over take no gaps.
  const Cohort whole =
      test::random_cohort({.students = 16, .courses = 3, .periods = 2, .unknown = 0, .left = 0.2}, RandomStream(7));
  for (const char* choice : {"hmm+bernoulli", "cmm+bernoulli"})
    seeds.push_back(file_of(whole, FitOptions(choice).set("states", 2).set("iterations", 4).set("carry-over", true)));
  return seeds;
}

void ask(const StoredModel& stored, double unknown) {
  const Model& model = *stored.model;
  const Schema& schema = model.schema();
  if (schema.bit_count() > 60) return;  // the schema is the file's: another than the seeds' costs time alone
  const Cohort cohort = test::random_cohort(
      {.students = 4, .courses = schema.course_count(), .periods = schema.period_count(), .unknown = unknown},
      RandomStream(3));
  const EvidenceBatch evidence = EvidenceBatch::of(cohort);
  std::vector<Id> all(static_cast<std::size_t>(schema.bit_count()));
  for (Id bit = 0; bit < schema.bit_count(); ++bit)
    all[static_cast<std::size_t>(bit)] = bit;
  for (const LikelihoodKind kind : model.likelihood_kinds())
    test::require_numbers(model.log_likelihood(evidence, kind, one_thread).value);
  test::require_numbers(model.marginals(evidence, all, one_thread).value);
  (void)model.complete(evidence, RandomStream(5), one_thread);
  for (const CourseLink& link : model.links())
    test::require_numbers(RowMatrix::Constant(1, 1, link.information));
  const HiddenStates* states = model.hidden_states();
  if (states == nullptr) return;
  test::require_numbers(states->posterior(evidence, one_thread));
  (void)states->paths(evidence, one_thread);
  for (Id period = 0; period < schema.period_count(); ++period)
    test::require_numbers(states->course_probabilities(period));
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  static const std::vector<test::Bytes> seeds = made_seeds();
  return test::mutate_archive(data, size, most, seed, seeds);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  try {
    const ArchiveReader archive = ArchiveReader::from_bytes({bytes.begin(), bytes.end()}, "file");
    (void)describe_contents(archive).to_json().dump();
    const StoredModel stored = load_model(archive);
    ask(stored, 0);
    ask(stored, 0.2);
    static const Cohort cohort = test::fuzz_cohort();
    test::require_numbers(leave_one_out(stored, cohort, one_thread));
  } catch (const Error&) {  // refused, with a reason
  } catch (const std::bad_alloc&) {
  }
  return 0;
}
