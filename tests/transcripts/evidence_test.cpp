#include "desirepath/transcripts/evidence.h"

#include <map>

#include "support/example_cohorts.h"
#include "support/support.h"

#include "desirepath/core/error.h"

namespace desirepath::evidence_test {
namespace {

std::vector<Id> list(std::span<const Id> bits) {
  return {bits.begin(), bits.end()};
}

TEST(Evidence, RowsBecomeKnowledge) {
  const Schema schema = test::small_schema(3, 2);
  const std::vector<EvidenceRow> rows = {{"ann", "1", "c1", true, 2},
                                         {"ann", "1", "*", false, 3},
                                         {"ann", "1", "c3", std::nullopt, 4},
                                         {"bob", "2", "c2", false, 5},
                                         {"bob", "2", "c1", true, 6}};
  const EvidenceBatch evidence = evidence_from_rows(schema, rows, "file");
  EXPECT_EQ(evidence.students(), (std::vector<std::string>{"ann", "bob"}));
  EXPECT_EQ(evidence.presence(0, 0), Presence::present);
  EXPECT_EQ(list(evidence.taken(0, 0)), (std::vector<Id>{0}));
  EXPECT_EQ(list(evidence.exceptions(0, 0)), (std::vector<Id>{2}));
  EXPECT_TRUE(evidence.is_unknown(0, 1));
  EXPECT_EQ(evidence.presence(1, 1), Presence::unknown);
  EXPECT_EQ(list(evidence.taken(1, 1)), (std::vector<Id>{3}));
  EXPECT_EQ(list(evidence.exceptions(1, 1)), (std::vector<Id>{4}));
}

TEST(Evidence, FaultsAreNamed) {
  const Schema schema = test::small_schema(3, 2);
  const auto message = [&](EvidenceRow row) {
    const std::vector<EvidenceRow> rows = {row};
    return test::message_of<InputError>([&] { evidence_from_rows(schema, rows, "e.csv"); });
  };
  EXPECT_TRUE(test::says(message({"a", "1", "c9", true, 7}), {"e.csv:7", "c9", "c1"}));
  EXPECT_TRUE(test::says(message({"a", "5", "c1", true, 7}), {"e.csv:7", "5", "1", "2"}));
  EXPECT_TRUE(test::says(message({"a", "1", "*", true, 7}), {"e.csv:7", "*", "taken = 0"}));
  const std::vector<EvidenceRow> twice = {{"a", "1", "c1", true, 2}, {"a", "1", "c1", false, 3}};
  EXPECT_TRUE(
      test::says(test::message_of<InputError>([&] { evidence_from_rows(schema, twice, "e.csv"); }), {"e.csv:3", "c1"}));
}

TEST(Evidence, OfACohortKeepsPresentUnknownAndLeftApart) {
  const Cohort cohort = test::random_cohort({.students = 30, .left = 0.3}, RandomStream(2));
  const EvidenceBatch evidence = EvidenceBatch::of(cohort);
  std::map<Presence, int> seen;
  for (std::int64_t s = 0; s < 30; ++s) {
    for (Id t = 0; t < 3; ++t) {
      const EnrollmentStatus status = cohort.status(s, t);
      ++seen[evidence.presence(s, t)];
      EXPECT_EQ(evidence.is_unknown(s, t), status == EnrollmentStatus::unknown);
      EXPECT_EQ(evidence.presence(s, t) == Presence::left, status == EnrollmentStatus::left);
      EXPECT_EQ(list(evidence.taken(s, t)), list(cohort.bits(s, t)));
    }
  }
  EXPECT_EQ(seen.size(), 3U);
  const std::vector<Id> middle = {1};
  const EvidenceBatch less = evidence.without_periods(middle);
  for (std::int64_t s = 0; s < 30; ++s) {
    EXPECT_TRUE(less.is_unknown(s, 1));
    EXPECT_EQ(list(less.taken(s, 0)), list(evidence.taken(s, 0)));
  }
}

}  // namespace
}  // namespace desirepath::evidence_test
