#include "desirepath/simulation/synthetic_choices.h"

#include <algorithm>
#include <string>

namespace desirepath::inline simulation {

namespace {

/// The slow drift of a subject: alone, where there is no calendar.
double drift(const SyntheticSubject& subject, int year, int cohorts) {
  if (cohorts < 2) return 1;
  return 1 + (subject.growth - 1) * std::min(year, cohorts - 1) / (cohorts - 1);
}

/// Appeal of a subject in a year (from 0) relative to the first.
double appeal_in(const SyntheticOptions& options, const SyntheticCatalog& catalog, Id subject, int year) {
  if (catalog.calendar)
    return catalog.calendar->appeal[static_cast<std::size_t>(subject)][static_cast<std::size_t>(year)];
  return drift(catalog.subject(subject), year, options.cohorts);
}

/// Weight of a level among the electives of a period: lower levels stay open, higher ones come in time.
double level_fit(int level, int period, int periods) {
  const double usual = periods == 1 ? 1 : 1 + 3.0 * (period - 1) / (periods - 1);
  if (level <= usual) return 1 / (1 + 4 * (usual - level) * (usual - level));
  return level - usual <= 1 ? 0.5 : 0.1;
}

void add_intake(ChoiceTables& tables, const SyntheticOptions& options, const SyntheticCatalog& catalog) {
  if (catalog.calendar) {
    // Of those who enter in the unfinished year, the file has only those who are registered already.
    const SyntheticCalendar& calendar = *catalog.calendar;
    for (int year = 0; year < calendar.years; ++year) {
      const double entrants = calendar.entrants[static_cast<std::size_t>(year)];
      tables.intake.add(calendar.is_unfinished(year) ? options.calendar.registered * entrants : entrants);
    }
    return;
  }
  double intake = 1;
  for (int cohort = 0; cohort < options.cohorts; ++cohort) {
    tables.intake.add(intake);
    intake *= 1 + options.rates.intake_growth;
  }
}

}  // namespace

ChoiceTables make_choice_tables(const SyntheticOptions& options, const SyntheticCatalog& catalog) {
  ChoiceTables tables;
  add_intake(tables, options, catalog);
  const SyntheticRates& rates = options.rates;
  const auto subject_count = static_cast<Id>(catalog.subjects.size());
  for (int cohort = 0; cohort < tables.intake.size(); ++cohort) {
    std::vector<WeightTable>& by_background = tables.majors.emplace_back();
    for (const int background : {0, 1, 2, 3}) {
      WeightTable& table = by_background.emplace_back();
      for (Id id = 0; id < subject_count; ++id) {
        const std::string& school = catalog.school_of_subject(id);
        double weight = catalog.subject(id).appeal * appeal_in(options, catalog, id, cohort);
        if ((background & 1) != 0 && school == "Business") weight *= rates.commuter_business_tilt;
        if ((background & 2) != 0 && school == "Health") weight *= rates.first_generation_health_tilt;
        table.add(weight);
      }
    }
    WeightTable& sequences = tables.sequences.emplace_back();
    for (Id id = 0; id < subject_count; ++id) {
      const double appeal = catalog.subject(id).appeal;
      const double weight = appeal * appeal * appeal;
      sequences.add(catalog.calendar ? weight * appeal_in(options, catalog, id, cohort) : weight);
    }
  }
  for (Id id = 0; id < static_cast<Id>(catalog.subjects.size()); ++id) {
    const SyntheticSubject& subject = catalog.subject(id);
    WeightTable& table = tables.related.emplace_back();
    for (Id other = 0; other < static_cast<Id>(catalog.subjects.size()); ++other) {
      const bool supports =
          std::ranges::any_of(subject.support, [&](Id course) { return catalog.course(course).subject == other; });
      const bool close = supports || catalog.subject(other).school == subject.school;
      table.add(other == id ? 0 : catalog.subject(other).appeal * (close ? 3 : 1));
    }
  }
  for (int year = 0; year < options.calendar_years(); ++year) {
    std::vector<WeightTable>& by_period = tables.electives.emplace_back();
    for (int period = 1; period <= options.periods; ++period) {
      WeightTable& table = by_period.emplace_back();
      for (Id id = 0; id < static_cast<Id>(catalog.courses.size()); ++id) {
        const SyntheticCourse& course = catalog.course(id);
        const double weight = course.popularity * level_fit(course.level, period, options.periods) *
                              appeal_in(options, catalog, course.subject, year);
        table.add(catalog.calendar ? weight * catalog.calendar->popularity(id, year) : weight);
      }
    }
  }
  for (const SyntheticSubject& subject : catalog.subjects) {
    tables.school_end.resize(static_cast<std::size_t>(subject.school) + 1);
    tables.school_end.back() = subject.end_course;
  }
  return tables;
}

}  // namespace desirepath::inline simulation
