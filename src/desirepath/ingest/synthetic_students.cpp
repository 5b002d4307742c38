#include "desirepath/ingest/synthetic_students.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "desirepath/core/random_stream.h"

namespace desirepath::inline ingest {

namespace {

constexpr Id none = -1;
constexpr int most_attempts = 3;
constexpr int tries_per_elective = 12;

enum class Origin { general, detour, major, second_major, repeat };

/// A course the student means to take from a period on.
struct Wish {
  Id course = 0;
  int due = 1;
  Origin origin = Origin::general;
};

/// Where the student stands with a course.
struct Standing {
  std::uint8_t attempts = 0;
  bool passed = false;
  bool enrolled = false;  // this term
  bool given_up = false;
};

/// One student from entry to the last term.
class Career {
 public:
  Career(const SyntheticOptions& options, const SyntheticCatalog& catalog, const ChoiceTables& tables,
         std::int64_t number)
      : options_(options),
        rates_(options.rates),
        catalog_(catalog),
        tables_(tables),
        stream_(RandomStream(options.seed).child("student").child(static_cast<std::uint64_t>(number))),
        standing_(catalog.courses.size()) {
    student_.number = number;
  }

  SyntheticStudent live() {
    draw_background();
    draw_plan();
    for (int period = 1; period <= options_.periods; ++period) {
      if (period == student_.leave_period) continue;
      if (student_.switched_after > 0 && student_.switched_after < period) switch_major(period);
      if (period == 2 && student_.detour_given_up) forget(Origin::detour);
      study_year(period);
      if (student_.left_after > 0) break;
    }
    // A leaver may go before the planned switch or leave.
    if (student_.left_after > 0 && student_.leave_period > student_.left_after) student_.leave_period = 0;
    if (!has_switched_) student_.switched_after = 0;
    return std::move(student_);
  }

 private:
  bool chance(double probability) { return stream_.bernoulli(probability); }
  bool is_ambitious() const { return student_.ambition > rates_.ambitious; }
  Standing& standing(Id course) { return standing_[static_cast<std::size_t>(course)]; }

  void draw_background() {
    student_.cohort = options_.first_year + tables_.intake.draw(stream_);
    const bool commuter = student_.commuter = chance(rates_.commuter_share);
    student_.first_generation = chance(commuter ? rates_.first_generation_commuter : rates_.first_generation_campus);
    student_.part_time = chance(commuter ? rates_.part_time_commuter : rates_.part_time_campus);
    student_.ambition = bell(stream_) + (student_.first_generation ? rates_.ambition_first_generation : 0);
    if (chance(rates_.late_entrant_share) && options_.periods >= 2) {
      student_.entry_period = chance(rates_.late_entrant_third_period) && options_.periods >= 3 ? 3 : 2;
    }
    const double pace = stream_.uniform();
    if (pace < rates_.pace_early) student_.pace = -1;
    if (pace >= 1 - rates_.pace_late) student_.pace = 1;
    student_.enthusiast = chance(rates_.enthusiast_share);
    student_.meets_conflict = chance(rates_.conflict_share_of_group) && commuter && catalog_.conflict.has_value();
    for (int period = std::max(2, student_.entry_period + 1); period < options_.periods; ++period) {
      if (student_.leave_period == 0 && chance(rates_.leave_of_absence)) student_.leave_period = period;
    }
  }

  void draw_plan() {
    const std::size_t background = (student_.commuter ? 1 : 0) + (student_.first_generation ? 2 : 0);
    const auto cohort = static_cast<std::size_t>(student_.cohort - options_.first_year);
    student_.entry_major = student_.major = tables_.majors[cohort][background].draw(stream_);
    if (chance(rates_.switch_major) && options_.periods >= 2) {
      student_.switched_after = chance(rates_.switch_after_first) || options_.periods == 2 ? 1 : 2;
    }
    if (student_.enthusiast) {
      student_.interest = student_.major;
    } else if (chance(rates_.interest_share)) {
      student_.interest = related_subject();
    }

    draw_detour();
    take_up_major(1);
    if (chance(rates_.writing_share)) want(catalog_.writing_course, 1, Origin::general);
    if (chance(rates_.quantitative_share)) {
      const auto& courses = catalog_.quantitative_courses;
      // One draw a statement: the order of draws within one is the compiler's choice.
      const Id course = courses[stream_.below(courses.size())];
      const auto years_later = static_cast<int>(stream_.below(2));
      want(course, std::min(1 + years_later, options_.periods), Origin::general);
    }
    for (const double share : {rates_.sequence_first, rates_.sequence_second}) {
      if (chance(share)) begin_sequence();
    }
    if (chance(is_ambitious() ? rates_.second_major_ambitious : rates_.second_major)) {
      student_.second_major = related_subject();
      want_requirements(catalog_.subject(student_.second_major), std::min(2, options_.periods), Origin::second_major);
    }
  }

  /// The first core courses of a subject outside the major, over the first two years: what makes the second year follow
  /// from the first whatever the major is.
  void begin_sequence() {
    const Id subject = tables_.sequences.draw(stream_);
    if (subject == student_.major) return;
    const auto& core = catalog_.subject(subject).core;
    for (std::size_t i = 0; i < std::min<std::size_t>(3, core.size()); ++i) {
      if (i > 0 && !chance(rates_.sequence_goes_on)) break;
      want(core[i], catalog_.course(core[i]).usual_period, Origin::general);
    }
  }

  Id related_subject() { return tables_.related[static_cast<std::size_t>(student_.major)].draw(stream_); }

  void draw_detour() {
    const std::string& school = catalog_.school_of_subject(student_.major);
    const bool scientific = school == "Natural Sciences" || school == "Health";
    const double premedical = scientific ? rates_.premedical_sciences : rates_.premedical;
    const double draw = stream_.uniform();
    if (draw < premedical) {
      student_.detour = 0;
    } else if (draw < premedical + rates_.prelaw) {
      student_.detour = 1;
    } else {
      return;
    }
    student_.detour_given_up = chance(rates_.detour_given_up);
    for (const DetourStep& step : catalog_.detours[static_cast<std::size_t>(student_.detour)].steps) {
      want(step.course, step.period, Origin::detour);
    }
  }

  void take_up_major(int from) {
    const SyntheticSubject& subject = catalog_.subject(student_.major);
    want_requirements(subject, from, Origin::major);
    student_.concentration = draw_concentration(subject);
    const double share = is_ambitious() ? rates_.concentration_course_ambitious : rates_.concentration_course;
    for (const Id course : subject.concentrations[static_cast<std::size_t>(student_.concentration)].courses) {
      if (chance(share)) want(course, due_period(course, from), Origin::major);
    }
    join_company();
  }

  Id draw_concentration(const SyntheticSubject& subject) {
    const auto last = static_cast<Id>(subject.concentrations.size()) - 1;
    if (student_.detour != none && chance(rates_.detour_last_concentration)) return last;
    if (student_.detour == none && student_.pace < 0 && chance(rates_.early_first_concentration)) return 0;
    double left = stream_.uniform();
    for (Id i = 0; i < last; ++i) {
      left -= subject.concentrations[static_cast<std::size_t>(i)].weight;
      if (left < 0) return i;
    }
    return last;
  }

  void join_company() {
    for (std::size_t i = 0; i < catalog_.companies.size(); ++i) {
      const UnexpectedCompany& company = catalog_.companies[i];
      if (company.subject != student_.major || company.concentration != student_.concentration) continue;
      if (student_.enthusiast || !chance(rates_.company_share)) continue;
      student_.company = static_cast<Id>(i);
      student_.interest = company.companion_subject;
    }
  }

  void want_requirements(const SyntheticSubject& subject, int from, Origin origin) {
    for (const Id course : subject.support)
      want(course, due_period(course, from), origin);
    for (const Id course : subject.core)
      want(course, due_period(course, from), origin);
  }

  /// The usual period, moved by the student's pace and detour.
  int due_period(Id course_id, int from) {
    const SyntheticCourse& course = catalog_.course(course_id);
    int due = course.usual_period;
    if (student_.pace != 0 && chance(rates_.pace_shift)) due += student_.pace;
    if (student_.detour != none && course.level >= 3) due += rates_.detour_depth_delay;
    return std::clamp(due, from, options_.periods);
  }

  /// Wishes stay in the order of their due periods.
  void want(Id course, int due, Origin origin) {
    const Wish wish{course, due, origin};
    wishes_.insert(std::upper_bound(wishes_.begin(), wishes_.end(), wish,
                                    [](const Wish& a, const Wish& b) { return a.due < b.due; }),
                   wish);
  }

  void forget(Origin origin) {
    std::erase_if(wishes_, [&](const Wish& wish) { return wish.origin == origin; });
  }

  void switch_major(int period) {
    if (std::exchange(has_switched_, true)) return;
    forget(Origin::major);
    student_.major = related_subject();
    if (student_.enthusiast) student_.interest = student_.major;
    if (student_.second_major == student_.major) {
      forget(Origin::second_major);
      student_.second_major = none;
    }
    take_up_major(period);
  }

  void study_year(int period) {
    const bool is_here = period >= student_.entry_period;
    const bool leaves = is_here && period < options_.periods && chance(drop_out_rate(period));
    const bool leaves_midyear = leaves && chance(rates_.drop_out_midyear);
    const int load = draw_load(period);
    last_year_ = std::exchange(this_year_, {});
    study_term(period, SyntheticTerm::autumn, (load + 1) / 2);
    if (!leaves_midyear) study_term(period, SyntheticTerm::spring, std::max(1, load / 2));
    if (!leaves && chance(student_.commuter ? rates_.summer_commuter : rates_.summer_campus)) {
      study_term(period, SyntheticTerm::summer, chance(rates_.summer_second_course) ? 2 : 1);
    }
    if (leaves) student_.left_after = period;
  }

  double drop_out_rate(int period) const {
    const std::size_t last = rates_.drop_out.size() - 1;
    double rate = rates_.drop_out.at(std::min(static_cast<std::size_t>(period) - 1, last));
    if (student_.commuter) rate *= rates_.drop_out_commuter;
    if (student_.first_generation) rate *= rates_.drop_out_first_generation;
    return rate;
  }

  /// Courses in a year, autumn and spring.
  int draw_load(int period) {
    const double most = rates_.catalog_share * options_.courses / options_.periods;
    const double scale = std::min(1.0, most / rates_.courses_a_year);
    double load =
        rates_.courses_a_year + rates_.load_by_ambition * student_.ambition + rates_.load_noise * bell(stream_);
    if (student_.commuter) load += rates_.commuter_load;
    if (student_.enthusiast) load += rates_.enthusiast_load;
    if (student_.part_time) {
      load *= rates_.part_time_load;
    } else if (chance(rates_.reduced_year_share)) {
      load *= rates_.part_time_load;
      if (period >= student_.entry_period) student_.reduced_periods.push_back(period);
    }
    return std::max(1, static_cast<int>(std::floor(load * scale + 0.5)));
  }

  void study_term(int period, SyntheticTerm term, int count) {
    if (options_.edition >= 2 && term == SyntheticTerm::autumn) count -= take_again(count);
    int required = std::max(1, static_cast<int>(std::floor(rates_.required_share_of_term * count + 0.5)));
    for (const Wish& wish : wishes_) {
      if (required == 0 || wish.due > period) break;
      // What falls due this year is spread over its terms.
      if (wish.due == period && term == SyntheticTerm::autumn && chance(0.5)) continue;
      if (enroll(next_step_towards(wish.course, period))) {
        --required;
        --count;
      }
    }
    for (int tries = tries_per_elective * count; tries > 0 && count > 0; --tries) {
      if (enroll(draw_elective(period))) --count;
    }
    finish_term(period, term);
  }

  /// Courses of last year that go on, at most half a term; how many.
  int take_again(int count) {
    int enrolled = 0;
    for (const Id course : last_year_) {
      if (2 * (enrolled + 1) > count) break;
      if (chance(rates_.taken_again) && enroll(course)) ++enrolled;
    }
    return enrolled;
  }

  Id draw_elective(int period) {
    const auto year = static_cast<std::size_t>(student_.cohort - options_.first_year + period - 1);
    // The ambitious choose a year ahead.
    const int as_in = std::min(period + (is_ambitious() ? 1 : 0), options_.periods);
    const WeightTable& table = tables_.electives[year][static_cast<std::size_t>(as_in - 1)];
    if (chance(rates_.depth_elective * (period - 1) / std::max(1, options_.periods - 1))) {
      return next_step_towards(draw_of_subject(table, student_.major), period);
    }
    if (student_.interest != none && chance(rates_.interest_elective)) {
      return next_step_towards(draw_of_interest(table), period);
    }
    Id course = none;
    if (chance(rates_.school_elective)) {
      const auto school = static_cast<std::size_t>(catalog_.subject(student_.major).school);
      course = table.draw(stream_, school == 0 ? 0 : tables_.school_end[school - 1], tables_.school_end[school]);
    } else {
      course = table.draw(stream_);
    }
    return has_prerequisites(course) ? next_step_towards(course, period) : none;
  }

  Id draw_of_subject(const WeightTable& table, Id subject) {
    return table.draw(stream_, catalog_.subject(subject).first_course, catalog_.subject(subject).end_course);
  }

  Id draw_of_interest(const WeightTable& table) {
    if (student_.company == none) return draw_of_subject(table, student_.interest);
    const UnexpectedCompany& company = catalog_.companies[static_cast<std::size_t>(student_.company)];
    const auto& courses = catalog_.subject(student_.interest)
                              .concentrations[static_cast<std::size_t>(company.companion_concentration)]
                              .courses;
    return courses[stream_.below(courses.size())];
  }

  bool has_prerequisites(Id course) {
    return std::ranges::all_of(catalog_.course(course).prerequisites, [&](Id id) { return standing(id).passed; });
  }

  /// What a student who wants the course can take this term: it, a missing prerequisite of it, or nothing.
  Id next_step_towards(Id course_id, int period) {
    const Standing& here = standing(course_id);
    if (here.passed || here.enrolled || here.given_up) return none;
    const SyntheticCourse& course = catalog_.course(course_id);
    for (const Id prerequisite : course.prerequisites) {
      if (!standing(prerequisite).passed) return next_step_towards(prerequisite, period);
    }
    if (lacks_tacit_prerequisite(course)) {
      if (chance(rates_.tacit_followed)) return next_step_towards(course.tacit_prerequisite, period);
      if (chance(1 - 1 / course.tacit_strength)) return none;
    }
    if (student_.meets_conflict && course_id == catalog_.conflict->course &&
        period < catalog_.conflict->usual_period + catalog_.conflict->delay) {
      return none;
    }
    return course_id;
  }

  bool lacks_tacit_prerequisite(const SyntheticCourse& course) {
    return course.tacit_prerequisite != none && !standing(course.tacit_prerequisite).passed;
  }

  bool enroll(Id course) {
    if (course == none) return false;
    standing(course).enrolled = true;
    this_term_.push_back(course);
    return true;
  }

  void finish_term(int period, SyntheticTerm term) {
    const bool is_here = period >= student_.entry_period;
    // Grades first: what is missing counts as missing for the whole term.
    std::vector<SyntheticGrade> grades;
    for (const Id course : this_term_)
      grades.push_back(draw_grade(catalog_.course(course)));
    for (std::size_t i = 0; i < this_term_.size(); ++i) {
      const Id course = this_term_[i];
      standing(course).enrolled = false;
      const bool had_passed = standing(course).passed;
      if (is_pass(grades[i])) {
        standing(course).passed = true;
        if (!is_here && !had_passed) student_.transferred.push_back(course);
        if (catalog_.is_taken_again(course, options_)) this_year_.push_back(course);
      } else if (!had_passed) {
        decide_on_repeat(course, period);
      }
      if (is_here) student_.enrollments.push_back({course, period, term, grades[i]});
    }
    this_term_.clear();
    std::erase_if(wishes_, [&](const Wish& wish) { return standing(wish.course).passed; });
  }

  void decide_on_repeat(Id course, int period) {
    const bool wanted = std::ranges::any_of(wishes_, [&](const Wish& wish) { return wish.course == course; });
    const bool again = chance(wanted ? rates_.repeat_required : rates_.repeat_elective);
    if (++standing(course).attempts == most_attempts || !again) {
      standing(course).given_up = true;
      std::erase_if(wishes_, [&](const Wish& wish) { return wish.course == course; });
    } else if (!wanted) {
      want(course, period, Origin::repeat);
    }
  }

  SyntheticGrade draw_grade(const SyntheticCourse& course) {
    double failure = rates_.failure;
    if (student_.ambition < -1) failure *= rates_.failure_low_ambition;
    if (is_ambitious()) failure *= rates_.failure_ambitious;
    if (lacks_tacit_prerequisite(course)) failure *= rates_.failure_without_tacit;
    const double fate = stream_.uniform();
    if (fate < rates_.withdrawal) return SyntheticGrade::w;
    if (fate < rates_.withdrawal + failure) return SyntheticGrade::f;
    static constexpr std::array<double, 7> least = {0.55, 0.1, -0.2, -0.6, -0.95, -1.25, -1.65};
    const double score = 0.7 * bell(stream_) + 0.45 * student_.ambition;
    const auto reached = std::ranges::find_if(least, [&](double bound) { return score > bound; });
    return static_cast<SyntheticGrade>(reached - least.begin());
  }

  const SyntheticOptions& options_;
  const SyntheticRates& rates_;
  const SyntheticCatalog& catalog_;
  const ChoiceTables& tables_;
  RandomStream stream_;
  SyntheticStudent student_;
  std::vector<Standing> standing_;
  std::vector<Wish> wishes_;
  std::vector<Id> this_term_;
  bool has_switched_ = false;
  std::vector<Id> last_year_, this_year_;  // passed, and may be taken again
};

/// Appeal of a subject in a year (from 0) relative to the first: the slow drift.
double drift(const SyntheticSubject& subject, int year, int cohorts) {
  if (cohorts < 2) return 1;
  return 1 + (subject.growth - 1) * std::min(year, cohorts - 1) / (cohorts - 1);
}

/// Weight of a level among the electives of a period: lower levels stay open, higher ones come in time.
double level_fit(int level, int period, int periods) {
  const double usual = periods == 1 ? 1 : 1 + 3.0 * (period - 1) / (periods - 1);
  if (level <= usual) return 1 / (1 + 4 * (usual - level) * (usual - level));
  return level - usual <= 1 ? 0.5 : 0.1;
}

}  // namespace

std::string_view to_string(SyntheticGrade grade) {
  static constexpr std::array<std::string_view, 10> letters = {"A", "A-", "B+", "B", "B-", "C+", "C", "D", "F", "W"};
  return letters.at(static_cast<std::size_t>(grade));
}

ChoiceTables make_choice_tables(const SyntheticOptions& options, const SyntheticCatalog& catalog) {
  ChoiceTables tables;
  const SyntheticRates& rates = options.rates;
  double intake = 1;
  for (int cohort = 0; cohort < options.cohorts; ++cohort) {
    tables.intake.add(intake);
    intake *= 1 + rates.intake_growth;
    std::vector<WeightTable>& by_background = tables.majors.emplace_back();
    for (const int background : {0, 1, 2, 3}) {
      WeightTable& table = by_background.emplace_back();
      for (const SyntheticSubject& subject : catalog.subjects) {
        const std::string& school = catalog.schools[static_cast<std::size_t>(subject.school)];
        double weight = subject.appeal * drift(subject, cohort, options.cohorts);
        if ((background & 1) != 0 && school == "Business") weight *= rates.commuter_business_tilt;
        if ((background & 2) != 0 && school == "Health") weight *= rates.first_generation_health_tilt;
        table.add(weight);
      }
    }
  }
  for (const SyntheticSubject& subject : catalog.subjects)
    tables.sequences.add(subject.appeal * subject.appeal * subject.appeal);
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
  for (int year = 0; year < options.cohorts + options.periods - 1; ++year) {
    std::vector<WeightTable>& by_period = tables.electives.emplace_back();
    for (int period = 1; period <= options.periods; ++period) {
      WeightTable& table = by_period.emplace_back();
      for (const SyntheticCourse& course : catalog.courses) {
        table.add(course.popularity * level_fit(course.level, period, options.periods) *
                  drift(catalog.subject(course.subject), year, options.cohorts));
      }
    }
  }
  for (const SyntheticSubject& subject : catalog.subjects) {
    tables.school_end.resize(static_cast<std::size_t>(subject.school) + 1);
    tables.school_end.back() = subject.end_course;
  }
  return tables;
}

SyntheticStudent make_synthetic_student(const SyntheticOptions& options, const SyntheticCatalog& catalog,
                                        const ChoiceTables& tables, std::int64_t number) {
  return Career(options, catalog, tables, number).live();
}

}  // namespace desirepath::inline ingest
