#include "desirepath/transcripts/cohort.h"

#include "support/example_cohorts.h"
#include "support/support.h"

#include "desirepath/core/error.h"
#include "desirepath/transcripts/align.h"
#include "desirepath/transcripts/cohort_summary.h"
#include "desirepath/transcripts/evidence.h"
#include "desirepath/transcripts/split.h"

namespace desirepath::cohort_test {
namespace {

Cohort with_attributes() {
  const Cohort plain = test::random_cohort({.students = 12, .courses = 4, .periods = 2}, RandomStream(3));
  Attribute year{"entry", {"2001", "2002", "2003"}, {}};
  for (int s = 0; s < 12; ++s)
    year.codes.push_back(s == 5 ? -1 : s % 3);
  return test::changed(plain, [&](CohortParts& parts) {
    parts.attributes = {year};
    parts.calendar = Calendar::of_years(std::vector<std::int32_t>(24, 2001));
  });
}

TEST(Cohort, ComesBackFromItsFile) {
  const Cohort cohort = with_attributes();
  const Cohort loaded = Cohort::load(ArchiveReader::from_bytes(cohort.to_archive().bytes(), "file"));
  EXPECT_EQ(loaded.fingerprint(), cohort.fingerprint());
  EXPECT_EQ(loaded.to_archive().bytes(), cohort.to_archive().bytes());
  EXPECT_EQ(loaded.schema(), cohort.schema());
  EXPECT_EQ(loaded.attribute("entry").values, cohort.attribute("entry").values);
}

TEST(Cohort, RefusesADamagedFileAtEveryByte) {
  const std::vector<std::byte> whole = with_attributes().to_archive().bytes();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    std::vector<std::byte> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_THROW(Cohort::load(ArchiveReader::from_bytes(std::move(cut), "file")), ArchiveError) << size;
  }
  RandomStream stream(1);
  for (int i = 0; i < 2000; ++i) {
    std::vector<std::byte> flipped = whole;
    flipped[stream.below(flipped.size())] ^= std::byte(1 << stream.below(8));
    EXPECT_THROW(Cohort::load(ArchiveReader::from_bytes(std::move(flipped), "file")), ArchiveError);
  }
}

TEST(Cohort, RefusesPartsThatDoNotFit) {
  const Cohort good = with_attributes();
  const auto broken = [&](auto change) { EXPECT_THROW(test::changed(good, change), InputError); };
  broken([](CohortParts& p) { p.status.pop_back(); });
  broken([](CohortParts& p) { p.status[0] = static_cast<EnrollmentStatus>(9); });
  broken([](CohortParts& p) { std::ranges::fill(p.status, EnrollmentStatus::unknown); });
  broken([](CohortParts& p) { p.calendar.term_of.pop_back(); });
  broken([](CohortParts& p) { p.calendar.term_of[0] = 1; });
  broken([](CohortParts& p) { p.calendar.term_of[0] = -2; });
  broken([](CohortParts& p) { p.calendar.data_end = 1; });
  broken([](CohortParts& p) { p.calendar.terms[0].academic_year = 10'000; });
  broken([](CohortParts& p) { p.calendar.terms.push_back({"earlier", 1999, false}); });
  broken([](CohortParts& p) { p.attributes[0].codes[0] = 3; });
  broken([](CohortParts& p) { p.attributes[0].codes.pop_back(); });
  broken([](CohortParts& p) { p.enrollments = BinaryMatrix({0}, {}, 8); });
}

Cohort with_calendar() {
  using enum EnrollmentStatus;
  CohortParts parts;
  parts.schema = Schema({{"a", "", "", "", "", {}, {}}}, {"1", "2", "3"});
  parts.students = {"x", "y", "z"};
  parts.status = {enrolled, away, enrolled, enrolled, left, not_yet, before_entry, enrolled, finished};
  parts.status_basis = StatusBasis::calendar;
  parts.calendar.terms = {{"Fall 2010", 2010, false}, {"Summer 2011", 2010, true}, {"Fall 2011", 2011, false}};
  parts.calendar.data_end = 1;
  parts.calendar.step = PeriodStep::year;
  parts.calendar.term_of = {0, -1, 2, 1, -1, -1, -1, 2, -1};
  parts.enrollments = BinaryMatrix({0, 1, 1, 2, 2, 2, 2, 2, 3, 3}, {0, 2, 1}, 3);
  return Cohort(std::move(parts));
}

TEST(Cohort, KeepsStatusesTermsAndTheEndOfTheData) {
  using enum EnrollmentStatus;
  const Cohort made = with_calendar();
  const Cohort loaded = Cohort::load(ArchiveReader::from_bytes(made.to_archive().bytes(), "file"));
  for (const Cohort& cohort : {made, loaded}) {
    EXPECT_EQ(cohort.parts().status, made.parts().status);
    EXPECT_EQ(cohort.status_basis(), StatusBasis::calendar);
    EXPECT_EQ(cohort.calendar(), made.calendar());
    EXPECT_TRUE(cohort.has_departures());
    EXPECT_EQ(cohort.term(1, 0), 1);
    EXPECT_EQ(cohort.academic_year(1, 0), 2010);
    EXPECT_EQ(cohort.academic_year(1, 1), -1);
    EXPECT_EQ(cohort.entry_year(2), 2011);
    const StatusCounts second = cohort.status_counts(1);
    EXPECT_EQ(second.enrolled(), 1);
    EXPECT_EQ(second[away], 1);
    EXPECT_EQ(second[left], 1);
    EXPECT_EQ(cohort.status_counts(2).departed(), 1);
  }
  EXPECT_EQ(loaded.fingerprint(), made.fingerprint());
  CohortParts other = made.parts();
  other.calendar.data_end = 2;
  EXPECT_NE(Cohort(std::move(other)).fingerprint(), made.fingerprint());
}

TEST(Cohort, SelectionKeepsStatusesAndTerms) {
  const std::vector<std::int64_t> chosen = {2, 0};
  const Cohort cohort = with_calendar().select(chosen);
  EXPECT_EQ(cohort.status(0, 2), EnrollmentStatus::finished);
  EXPECT_EQ(cohort.status(1, 1), EnrollmentStatus::away);
  EXPECT_EQ(cohort.term(0, 1), 2);
  EXPECT_EQ(cohort.calendar().data_end, 1);
  EXPECT_EQ(cohort.calendar().step, PeriodStep::year);
  EXPECT_EQ(cohort.status_basis(), StatusBasis::calendar);
  const Schema wider({{"b", "", "", "", "", {}, {}}, {"a", "", "", "", "", {}, {}}}, {"1", "2", "3", "4"});
  const Cohort aligned = align_to(cohort, wider, UnseenCourses::refuse).cohort;
  EXPECT_EQ(aligned.status(0, 2), EnrollmentStatus::finished);
  EXPECT_EQ(aligned.status(0, 3), EnrollmentStatus::unknown);
  EXPECT_EQ(aligned.term(1, 2), 2);
  EXPECT_EQ(aligned.calendar().terms, cohort.calendar().terms);
  EXPECT_EQ(aligned.status_basis(), StatusBasis::calendar);
}

TEST(Cohort, OnlyWhatNeedsItIsWrittenInTheNewFormat) {
  const auto version = [](const Cohort& cohort) {
    return ArchiveReader::from_bytes(cohort.to_archive().bytes(), "file").metadata("format_version");
  };
  EXPECT_EQ(version(with_calendar()), "2");
  EXPECT_EQ(version(test::random_cohort({.students = 5, .left = 0.3}, RandomStream(1))), "1");
  // A file of an earlier version is written as it was read.
  CohortParts parts = with_attributes().parts();
  parts.status_basis = StatusBasis::earlier_version;
  const Cohort earlier(std::move(parts));
  EXPECT_EQ(version(earlier), "1");
  const ArchiveReader archive = ArchiveReader::from_bytes(earlier.to_archive().bytes(), "file");
  EXPECT_FALSE(archive.has_metadata("status_basis"));
  EXPECT_EQ(archive.read<std::int32_t>("calendar"), std::vector<std::int32_t>(24, 2001));
  const Cohort loaded = Cohort::load(archive);
  EXPECT_EQ(loaded.status_basis(), StatusBasis::earlier_version);
  EXPECT_EQ(loaded.fingerprint(), earlier.fingerprint());
  EXPECT_EQ(loaded.entry_year(3), 2001);
}

TEST(Cohort, ModelsSeeEnrolledDepartedAndUnknown) {
  const EvidenceBatch evidence = EvidenceBatch::of(with_calendar());
  using enum Presence;
  const std::vector<Presence> expected = {present, unknown, present, present, left, unknown, unknown, present, left};
  for (std::int64_t s = 0; s < 3; ++s) {
    for (Id t = 0; t < 3; ++t)
      EXPECT_EQ(evidence.presence(s, t), expected[static_cast<std::size_t>(3 * s + t)]);
  }
}

TEST(Cohort, NamesTheNearestAttribute) {
  const std::string message = test::message_of<OptionError>([] { with_attributes().attribute("entyr"); });
  EXPECT_TRUE(test::says(message, {"entyr", "entry"}));
}

TEST(Schema, NamesTheNearestCourseAndThePeriods) {
  const Schema schema({{"CS 101", "", "", "", "", {}, {}}, {"CS 102", "", "", "", "", {}, {}}}, {"1", "2"});
  EXPECT_EQ(schema.require_course("CS 102"), 1);
  EXPECT_TRUE(test::says(test::message_of<InputError>([&] { schema.require_course("CS102"); }), {"CS102", "CS 102"}));
  EXPECT_TRUE(test::says(test::message_of<InputError>([&] { schema.require_period("3"); }), {"3", "1", "2"}));
  EXPECT_THROW(Schema({{"a", "", "", "", "", {}, {}}, {"a", "", "", "", "", {}, {}}}, {"1"}), InputError);
}

TEST(Summary, CountsByHand) {
  const Schema schema({{"a", "", "", "Arts", "", {}, {}}, {"b", "", "", "Science", "", {}, {}}}, {"1", "2"});
  const CohortSummary summary = summarise(test::cohort_of(schema, {{"11", "01"}, {"10", "-"}, {"00", "left"}}));
  EXPECT_EQ(summary.students, 3);
  EXPECT_EQ(summary.enrollments, 4);
  EXPECT_EQ(summary.groups, (std::vector<std::string>{"Arts", "Science"}));
  EXPECT_EQ(summary.by_group[0][0].enrollments, 2);
  EXPECT_EQ(summary.by_group[1][1].students, 1);
  EXPECT_EQ(summary.course_counts, (std::vector<std::int64_t>{1, 1, 0, 1}));
  EXPECT_EQ(summary.periods[1].students.enrolled(), 1);
  EXPECT_EQ(summary.periods[1].students[EnrollmentStatus::unknown], 1);
  EXPECT_EQ(summary.periods[1].students[EnrollmentStatus::left], 1);
  EXPECT_DOUBLE_EQ(summary.mean_courses, 4.0 / 3);
}

TEST(SplitProperty, EveryStudentGoesToOnePlace) {
  test::expect_property("a split is a partition, whatever the order of students", [](std::uint64_t seed) {
    const Cohort cohort = test::random_cohort({.students = 50}, RandomStream(seed));
    const Split split = split_by_share(cohort, {0.2, 0.1}, RandomStream(seed));
    std::vector<std::int64_t> all = split.training;
    all.insert(all.end(), split.validation.begin(), split.validation.end());
    all.insert(all.end(), split.hold_out.begin(), split.hold_out.end());
    std::ranges::sort(all);
    RC_ASSERT(all.size() == 50U);
    for (std::int64_t s = 0; s < 50; ++s)
      RC_ASSERT(all[static_cast<std::size_t>(s)] == s);
    RC_ASSERT(split.validation.size() == 10U);
    RC_ASSERT(split.hold_out.size() == 5U);
    std::vector<std::int64_t> reversed(50);
    for (std::int64_t s = 0; s < 50; ++s)
      reversed[static_cast<std::size_t>(s)] = 49 - s;
    const Cohort other = cohort.select(reversed);
    const Split again = split_by_share(other, {0.2, 0.1}, RandomStream(seed));
    std::set<std::string> held, held_again;
    for (const std::int64_t s : split.hold_out)
      held.insert(cohort.students()[static_cast<std::size_t>(s)]);
    for (const std::int64_t s : again.hold_out)
      held_again.insert(other.students()[static_cast<std::size_t>(s)]);
    RC_ASSERT(held == held_again);
  });
}

TEST(Split, ByAttributeTakesTheLastValues) {
  const Cohort cohort = with_attributes();
  const Split split = split_by_attribute(cohort, "entry", 1, 1);
  // The sixth student's year is not known.
  EXPECT_EQ(split.hold_out, (std::vector<std::int64_t>{2, 8, 11}));
  EXPECT_EQ(split.validation, (std::vector<std::int64_t>{1, 4, 7, 10}));
  EXPECT_EQ(split.training, (std::vector<std::int64_t>{0, 3, 5, 6, 9}));
  EXPECT_THROW(split_by_attribute(cohort, "entry", 2, 1), OptionError);
  // Values that nobody has any more do not count.
  const std::vector<std::int64_t> early = {0, 1, 3, 4};
  const Split of_early = split_by_attribute(cohort.select(early), "entry", 0, 1);
  EXPECT_EQ(of_early.hold_out, (std::vector<std::int64_t>{1, 3}));
}

TEST(Split, ByEntryYearWhereNoAttributeHasTheName) {
  const Cohort cohort = test::changed(with_attributes(), [](CohortParts& parts) {
    parts.attributes.clear();
    std::vector<std::int32_t> years;
    for (std::size_t row = 0; row < parts.status.size(); ++row)
      years.push_back(static_cast<std::int32_t>(2000 + row / 2 % 3 + row % 2));
    parts.calendar = Calendar::of_years(years);
  });
  const Split split = split_by_attribute(cohort, "entry", 0, 1);
  std::int32_t last = -1;
  for (std::int64_t s = 0; s < cohort.student_count(); ++s)
    last = std::max(last, cohort.entry_year(s));
  for (std::int64_t s = 0; s < cohort.student_count(); ++s) {
    const bool held_out = std::ranges::find(split.hold_out, s) != split.hold_out.end();
    EXPECT_EQ(held_out, cohort.entry_year(s) == last);
  }
  EXPECT_GE(last, 2002);
  EXPECT_EQ(with_attributes().entry_year(0), 2001);
}

}  // namespace
}  // namespace desirepath::cohort_test
