// Which pairs of courses count as prerequisites: compared within years, beyond chance, beyond the model's misfit.
#include "desirepath/queries/prerequisites.h"

#include <array>
#include <cmath>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "support/example_cohorts.h"
#include "support/fits.h"

#include "desirepath/core/error.h"
#include "desirepath/models/earlier_periods.h"
#include "desirepath/models/year_spread.h"
#include "desirepath/queries/delays.h"
#include "desirepath/queries/evidence_settings.h"

namespace desirepath::prerequisites_test {
namespace {

constexpr Id p = 0, c = 1, other = 2;

/// Entrants of 2000 and of 2010, two years each. Only the first could take p: half of them did, and of either half a
/// half took c in the year after. Of the others, who never saw p, some took c.
Cohort two_entries(int late_takers) {
  test::CohortMaker maker(3, 2);
  std::vector<std::int32_t> years;
  for (int s = 0; s < 800; ++s) {
    maker.add_student();
    maker.take(0, other);
    if (s < 400 && s % 2 == 0) maker.take(0, p);
    if (s < 400 ? s % 4 < 2 : s < 400 + late_takers) maker.take(1, c);
    const std::int32_t entry = s < 400 ? 2000 : 2010;
    years.insert(years.end(), {entry, entry + 1});
  }
  return test::changed(maker.build(), [&](CohortParts& parts) { parts.calendar = Calendar::of_years(years); });
}

const PrerequisitePair& pair_of(const std::vector<PrerequisitePair>& pairs, Id prerequisite, Id course) {
  return *std::ranges::find_if(
      pairs, [&](const PrerequisitePair& pair) { return pair.prerequisite == prerequisite && pair.course == course; });
}

TEST(DirectEffects, AreComparedWithinAYearInWhichTheCourseWasOffered) {
  const Executor executor(1);
  const Cohort cohort = two_entries(0);
  const StoredModel model = test::fitted(cohort, FitOptions("nb").set("states", std::int64_t{1}));
  const DirectEffects effects = direct_effects(*model.model, cohort, 1000, RandomStream(1), executor);
  EXPECT_NEAR(effects.log_odds(p, c), 0, 1e-9);  // within their year, c does not depend on p
  EXPECT_NEAR(effects.expected(p, c), 200 * 0.25, 0.5);
  // Without a calendar, having had p tells that c was offered.
  const Cohort undated = test::changed(cohort, [](CohortParts& parts) { parts.calendar = {}; });
  const DirectEffects mixed = direct_effects(*model.model, undated, 1000, RandomStream(1), executor);
  EXPECT_GT(mixed.low(p, c), 1);
}

/// 240 students, six courses of two subjects and one of none, who take more of a subject the more they like it.
Cohort two_subjects() {
  std::vector<Course> courses = test::small_schema(6, 3).courses();
  for (std::size_t i = 0; i < courses.size(); ++i)
    courses[i].subject = i < 3 ? "A" : i < 5 ? "B" : "";
  test::CohortMaker maker(Schema(courses, test::small_schema(6, 3).periods()));
  RandomStream stream(5);
  for (int s = 0; s < 240; ++s) {
    maker.add_student();
    const double likes_a = 0.15 + 0.5 * stream.uniform();
    for (Id t = 0; t < 3; ++t) {
      for (Id course = 0; course < 6; ++course) {
        if (stream.uniform() < (course < 3 ? likes_a : 0.3)) maker.take(t, course);
      }
    }
  }
  return maker.build();
}

TEST(DirectEffects, AreAWeightedRegressionOnTheCourseAndTheOthersOfTheSubject) {
  const Executor executor(1);
  const Cohort cohort = two_subjects();
  const Schema& schema = cohort.schema();
  const StoredModel model = test::fitted(cohort, FitOptions("nb").set("states", std::int64_t{2}));
  const DirectEffects effects = direct_effects(*model.model, cohort, 1000, RandomStream(1), executor);
  const EvidenceBatch record = EvidenceBatch::of(cohort);
  std::vector<std::int64_t> all(240);
  std::iota(all.begin(), all.end(), 0);
  int compared = 0;
  for (Id course = 0; course < 6; ++course) {
    for (Id before = 0; before < 6; ++before) {
      if (before == course) continue;
      const std::string& subject = schema.course(course).subject;
      // Columns: each period, had it, how many others of the subject of the later course.
      std::vector<std::array<double, 4>> rows;
      std::vector<double> residuals, variances;
      for (Id t = 1; t < 3; ++t) {
        const std::vector<Id> asked = {schema.bit(t, course)};
        const RowMatrix share =
            model.model->marginals(known_before(*model.model, record, all, t), asked, executor).value;
        for (const std::int64_t s : all) {
          std::set<Id> had;
          for (Id earlier = 0; earlier < t; ++earlier) {
            for (const Id bit : cohort.bits(s, earlier))
              had.insert(schema.course_of(bit));
          }
          if (had.contains(course)) continue;
          const auto others = std::ranges::count_if(
              had, [&](Id one) { return one != before && !subject.empty() && schema.course(one).subject == subject; });
          rows.push_back(
              {t == 1 ? 1.0 : 0.0, t == 2 ? 1.0 : 0.0, had.contains(before) ? 1.0 : 0.0, static_cast<double>(others)});
          const auto bits = cohort.bits(s, t);
          const double taken = std::ranges::find(bits, asked.front()) != bits.end() ? 1 : 0, q = share(s, 0);
          residuals.push_back(taken - q);
          variances.push_back(q * (1 - q));
        }
      }
      // Nobody has others where these are the only two of the subject.
      const bool has_others = std::ranges::any_of(rows, [](const auto& row) { return row[3] > 0; });
      const int columns = has_others ? 4 : 3;
      Eigen::MatrixXd normal = Eigen::MatrixXd::Zero(columns, columns), meat = normal;
      Eigen::VectorXd score = Eigen::VectorXd::Zero(columns);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const Eigen::VectorXd row = Eigen::Map<const Eigen::VectorXd>(rows[i].data(), columns);
        normal += variances[i] * row * row.transpose();
        meat += residuals[i] * residuals[i] * row * row.transpose();
        score += residuals[i] * row;
      }
      const Eigen::MatrixXd inverse = normal.inverse();
      const double by_spread = (inverse * meat * inverse)(2, 2);
      EXPECT_NEAR(effects.log_odds(before, course), (inverse * score)(2), 1e-9) << before << " " << course;
      EXPECT_NEAR(effects.error(before, course), std::sqrt(std::max(inverse(2, 2), by_spread)), 1e-9);
      ++compared;
    }
  }
  EXPECT_EQ(compared, 30);
}

TEST(Prerequisites, TakersToWhomACourseWasNeverOfferedDoNotCount) {
  const Executor executor(1);
  PrerequisiteOptions options;
  options.students = 20;
  for (const auto& [late, takers] : {std::pair{50, 200}, std::pair{9, 209}, std::pair{0, 200}}) {
    const Cohort cohort = two_entries(late);
    const StoredModel model = test::fitted(cohort, FitOptions("nb").set("states", std::int64_t{1}));
    const auto pairs = find_prerequisites(*model.model, cohort, options, RandomStream(1), executor);
    EXPECT_EQ(pair_of(pairs, p, c).takers, takers) << late;  // nine would be told of by leaving them out
    EXPECT_EQ(pair_of(pairs, p, c).before, 100) << late;
    EXPECT_EQ(pair_of(pairs, other, c).takers, 200 + late) << late;
  }
}

/// 400 students of one year: half take p in autumn, and three quarters of these, but a quarter of the others, c in
/// spring. A second period holds nothing but another course.
Cohort two_terms() {
  test::CohortMaker maker(3, 2);
  std::vector<std::int16_t> terms;
  for (int s = 0; s < 400; ++s) {
    maker.add_student();
    maker.take(1, other);
    const bool has_p = s % 2 == 0, has_c = has_p ? s % 8 < 6 : s % 8 < 2;
    if (has_p) maker.take(0, p);
    if (has_p) terms.push_back(0);
    if (has_c) maker.take(0, c);
    if (has_c) terms.push_back(1);
    terms.push_back(2);
  }
  return test::changed(maker.build(), [&](CohortParts& parts) {
    parts.calendar.terms = {{"autumn", 2000, false}, {"spring", 2000, false}, {"autumn 2", 2001, false}};
    parts.calendar.step = PeriodStep::year;
    for (int s = 0; s < 400; ++s)
      parts.calendar.term_of.insert(parts.calendar.term_of.end(), {0, 2});
    parts.calendar.term_of_enrollment = terms;
  });
}

TEST(Prerequisites, OfAnEarlierTermOfTheSamePeriodAreFound) {
  const Executor executor(1);
  const Cohort cohort = two_terms();
  const StoredModel model = test::fitted(cohort, FitOptions("nb").set("states", std::int64_t{1}));
  PrerequisiteOptions options;
  options.students = 20;
  const auto pairs = find_prerequisites(*model.model, cohort, options, RandomStream(1), executor);
  EXPECT_EQ(pair_of(pairs, p, c).before, 150);
  EXPECT_EQ(pair_of(pairs, p, c).takers, 200);
  EXPECT_EQ(pair_of(pairs, c, p).before, 0);
  const DirectEffects effects = direct_effects(*model.model, cohort, 1000, RandomStream(1), executor);
  // Half take c. Of 200 with p 150 do: residuals 50 above and 50 below, p centred at a half, variance 1/4 each.
  EXPECT_NEAR(effects.log_odds(p, c), (0.5 * 50 + 0.5 * 50) / (400 * 0.25 * 0.25), 0.02);
  EXPECT_EQ(effects.log_odds(c, p), 0);  // nobody had c before p
  const Cohort undated = test::changed(cohort, [](CohortParts& parts) { parts.calendar.term_of_enrollment = {}; });
  EXPECT_EQ(pair_of(find_prerequisites(*model.model, undated, options, RandomStream(1), executor), p, c).before, 0);
  EXPECT_EQ(direct_effects(*model.model, undated, 1000, RandomStream(1), executor).log_odds(p, c), 0);
}

TEST(EnrollmentTerms, StayWithTheirEnrollments) {
  const Cohort cohort = two_terms();
  const Cohort loaded = Cohort::load(ArchiveReader::from_bytes(cohort.to_archive().bytes(), "c"));
  EXPECT_EQ(loaded.fingerprint(), cohort.fingerprint());
  EXPECT_EQ(loaded.calendar(), cohort.calendar());
  const std::vector<std::int64_t> some = {3, 0, 399};
  const Cohort chosen = cohort.select(some);
  ASSERT_TRUE(chosen.has_enrollment_terms());
  const auto terms_of = [](const Cohort& of, std::int64_t s) {
    const auto terms = of.enrollment_terms(s, 0);
    return std::vector<std::int16_t>(terms.begin(), terms.end());
  };
  EXPECT_EQ(terms_of(chosen, 1), (std::vector<std::int16_t>{0, 1}));
  EXPECT_TRUE(terms_of(chosen, 0).empty());
  EXPECT_NE(test::changed(cohort, [](CohortParts& parts) { parts.calendar.term_of_enrollment[0] = 1; }).fingerprint(),
            cohort.fingerprint());
  EXPECT_THROW(test::changed(cohort, [](CohortParts& parts) { parts.calendar.term_of_enrollment.pop_back(); }),
               InputError);
}

/// 200 pairs of 21 courses whose effects, in standard errors, are the quantiles of a normal variable, spread by a
/// factor; the first pair has `strong` in place of its own.
struct MadeEffects {
  explicit MadeEffects(double factor, double strong)
      : effects{RowMatrix::Zero(21, 21), RowMatrix::Constant(21, 21, 0.5), RowMatrix::Constant(21, 21, 50), 1000},
        declared(21, std::vector<char>(21, 0)) {
    for (Id a = 0; a < 21 && std::ssize(pairs) < 200; ++a) {
      for (Id b = 0; b < 21 && std::ssize(pairs) < 200; ++b) {
        if (a == b) continue;
        PrerequisitePair pair{a, b};
        pair.before = pair.takers = 100;
        pair.coverage = 1;
        const double level = (static_cast<double>(pairs.size()) + 0.5) / 200;
        effects.log_odds(a, b) = 0.5 * (pairs.empty() ? strong : factor * quantile(level));
        pairs.push_back(pair);
      }
    }
  }
  /// Of a normal variable, by bisection.
  static double quantile(double level) {
    double low = -10, high = 10;
    for (int i = 0; i < 100; ++i) {
      const double middle = (low + high) / 2;
      (0.5 * std::erfc(-middle / std::sqrt(2.0)) < level ? low : high) = middle;
    }
    return low;
  }

  std::vector<PrerequisitePair> pairs;
  DirectEffects effects;
  DeclaredPrerequisites declared;
};

TEST(Prerequisites, AreListedBeyondChanceAndBeyondTheMisfitOfTheModel) {
  const PrerequisiteBounds bounds;
  const double tail = 0.5 * std::erfc(6 / std::sqrt(2.0));
  for (const double factor : {1.0, 3.0}) {
    MadeEffects made(factor, 6 * factor);
    add_direct_effects(made.pairs, made.effects, made.declared, 10);
    EXPECT_EQ(made.pairs[0].prerequisite, 0);  // the best first
    EXPECT_EQ(made.pairs[0].course, 1);
    EXPECT_NEAR(made.pairs[0].direct_error, 0.5 * factor, 0.01 * factor);
    const double in_errors = made.pairs[0].direct / made.pairs[0].direct_error;
    EXPECT_NEAR(in_errors, 6, 0.1);
    EXPECT_NEAR(made.pairs[0].q / (200 * 0.5 * std::erfc(in_errors / std::sqrt(2.0))), 1, 1e-9);
    const FindingCount count = count_tacit(made.pairs, made.declared, bounds);
    EXPECT_EQ(count.findings, 1);
    EXPECT_NEAR(count.by_chance, made.pairs[0].q, 1e-15);
  }
  // Three times too wide and nothing that stands out: nothing is found, although many are far from 0.
  MadeEffects wide(3, 0);
  add_direct_effects(wide.pairs, wide.effects, wide.declared, 10);
  EXPECT_EQ(count_tacit(wide.pairs, wide.declared, bounds).findings, 0);
  // Of which too few are expected, it is not judged.
  MadeEffects rare(1, 6);
  rare.effects.expected(0, 1) = 9;
  add_direct_effects(rare.pairs, rare.effects, rare.declared, 10);
  EXPECT_EQ(pair_of(rare.pairs, 0, 1).q, 1);
  // A declared pair is held against declared ones alone, and is not tacit.
  MadeEffects listed(1, 6);
  listed.declared[1][0] = 1;
  add_direct_effects(listed.pairs, listed.effects, listed.declared, 10);
  EXPECT_NEAR(pair_of(listed.pairs, 0, 1).direct / pair_of(listed.pairs, 0, 1).direct_error, 6, 0.1);
  EXPECT_LT(pair_of(listed.pairs, 0, 1).q, 3 * tail);
  EXPECT_EQ(count_tacit(listed.pairs, listed.declared, bounds).findings, 0);
  EXPECT_TRUE(is_any_declared(listed.declared));
  EXPECT_FALSE(is_any_declared(wide.declared));
}

TEST(Delays, AgainstTheModelAreListedBeyondChance) {
  const auto delay_of = [](Id course, double in_errors) {
    return GroupDelay{course, "", {100, 0.1 * in_errors, 1}, {}};  // standard error 0.1
  };
  std::vector<GroupDelay> delays;
  for (Id i = 0; i < 99; ++i)
    delays.push_back(delay_of(i, MadeEffects::quantile((i + 0.5) / 99)));
  delays.push_back(delay_of(99, -6));
  std::vector<GroupDelay> wide = delays;
  EXPECT_EQ(keep_certain_delays(delays, 0.05).findings, 1);
  ASSERT_EQ(delays.size(), 1U);
  EXPECT_EQ(delays[0].course, 99);
  EXPECT_NEAR(delays[0].error(), 0.1, 0.005);
  EXPECT_NEAR(delays[0].q / (100 * std::erfc(0.6 / delays[0].error() / std::sqrt(2.0))), 1, 1e-9);
  for (GroupDelay& delay : wide)
    delay.own.mean *= delay.course == 99 ? 1 : 4;
  EXPECT_EQ(keep_certain_delays(wide, 0.05).findings, 0);  // six errors are little where most are off by three
}

TEST(YearSpread, IsTheLeastThatWouldHaveCoveredNineteenForecastsOfTwentyInEveryYear) {
  // Three years of 100 students and 30 courses, taken by between 20 and 49 in a year, and otherwise in the next.
  constexpr Id courses = 30;
  const auto takers = [](Id course, int year) { return 20 + (course * 7 + year * (course % 5) * 3) % 30; };
  test::CohortMaker maker(courses + 1, 2);
  std::vector<std::int32_t> years;
  for (int year = 0; year < 3; ++year) {
    for (int s = 0; s < 100; ++s) {
      maker.add_student();
      maker.take(0, courses);
      for (Id course = 0; course < courses; ++course) {
        if (s < takers(course, year)) maker.take(1, course);
      }
      years.insert(years.end(), {2000 + year, 2001 + year});
    }
  }
  const Cohort cohort =
      test::changed(maker.build(), [&](CohortParts& parts) { parts.calendar = Calendar::of_years(years); });
  // Forecast from the shares of the years before; each year is covered by itself.
  std::vector<std::vector<double>> needed(2);
  for (Id course = 0; course < courses; ++course) {
    for (int year = 1; year < 3; ++year) {
      double before = 0;
      for (int earlier = 0; earlier < year; ++earlier)
        before += takers(course, earlier);
      const double share = before / (100 * year), expected = 100 * share;
      const double variance = expected * (1 - share) * (1 + 1.0 / year);
      const double miss = std::abs(takers(course, year) - expected) / 1.96;
      needed[static_cast<std::size_t>(year) - 1].push_back(std::sqrt(std::max(0.0, miss * miss - variance)) / expected);
    }
  }
  for (std::vector<double>& of_year : needed)
    std::ranges::sort(of_year);
  const auto spread = spread_between_years(cohort);
  ASSERT_TRUE(spread);
  EXPECT_EQ(spread->forecasts, 60);
  EXPECT_EQ(spread->last_entry, 2002);
  EXPECT_NEAR(spread->share, std::max(needed[0][28], needed[1][28]), 1e-12);  // 29 of 30
  EXPECT_GT(std::abs(needed[0][28] - needed[1][28]), 0.01);
  EXPECT_GT(spread->share, 0.05);
  EXPECT_FALSE(spread_between_years(test::changed(cohort, [](CohortParts& parts) { parts.calendar = {}; })));
  EXPECT_DOUBLE_EQ(variance_with_training(2, 50, 100), 3);
  EXPECT_DOUBLE_EQ(variance_with_training(2, 50, 0), 2);
}

}  // namespace
}  // namespace desirepath::prerequisites_test
