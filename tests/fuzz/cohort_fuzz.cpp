// A cohort file with a right digest is refused with a reason or makes a cohort that everything can be asked of.
#include "fuzz/archive_mutants.h"

#include "desirepath/core/error.h"
#include "desirepath/queries/file_contents.h"
#include "desirepath/transcripts/align.h"
#include "desirepath/transcripts/cohort_summary.h"
#include "desirepath/transcripts/evidence.h"
#include "desirepath/transcripts/split.h"

namespace {

using namespace desirepath;

std::vector<test::Bytes> made_seeds() {
  const Cohort whole = test::changed(test::fuzz_cohort(), [](CohortParts& parts) {
    parts.provenance = R"({"selected":[{"where":"x"}],"stages":[{"after":"read","rows":3,"students":2,"courses":1}]})";
    parts.calendar.terms = {{"2019 Fall", 2019, false}, {"2020 Summer", 2019, true}, {"2020 Fall", 2020, false}};
    parts.calendar.data_end = 1;
    parts.calendar.step = PeriodStep::year;
    parts.calendar.term_of.assign(parts.status.size(), 2);
    parts.status_basis = StatusBasis::calendar;
    parts.attributes.push_back({"major", {"a", "b"}, {}});
    for (std::size_t s = 0; s < parts.students.size(); ++s)
      parts.attributes.back().codes.push_back(static_cast<Id>(s % 3) - 1);
  });
  return {test::fuzz_cohort().to_archive().bytes(), whole.to_archive().bytes()};
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
    const Cohort cohort = Cohort::load(archive);
    (void)cohort.fingerprint();
    (void)EvidenceBatch::of(cohort);
    (void)split_students(cohort, {}, RandomStream(1));
    (void)align_to(cohort, test::fuzz_cohort().schema(), UnseenCourses::ignore);
    (void)summarise(cohort);
  } catch (const Error&) {  // refused, with a reason
  } catch (const std::bad_alloc&) {
  }
  return 0;
}
