#include "desirepath/simulation/synthetic_students.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "desirepath/core/random_stream.h"
#include "desirepath/simulation/synthetic_years.h"

namespace desirepath::inline simulation {

namespace {

constexpr Id none = -1;
constexpr int most_attempts = 3;
constexpr int tries_per_elective = 12;
constexpr int more_tries = 1000;

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
        calendar_(catalog.calendar ? &*catalog.calendar : nullptr),
        tables_(tables),
        stream_(RandomStream(options.seed).child("student").child(static_cast<std::uint64_t>(number))),
        standing_(catalog.courses.size()) {
    student_.number = number;
  }

  SyntheticStudent live() {
    draw_background();
    draw_plan();
    for (int period = 1; period <= options_.last_period(); ++period) {
      if (calendar_ != nullptr && year_of(period) >= calendar_->years) break;
      if (period == student_.leave_period || period < back_in_) continue;
      if (student_.switched_after > 0 && student_.switched_after < period) switch_major(period);
      // Without a calendar, who is away in period 2 never does: the bytes of editions 1 and 2.
      const bool reconsiders = period == 2 || (calendar_ != nullptr && period > 2);
      if (reconsiders && student_.detour_given_up) forget(Origin::detour);
      calendar_ == nullptr ? study_year(period) : study_calendar_year(period);
      if (student_.left_after > 0 || student_.finished_after > 0) break;
    }
    // A leaver may go before the planned switch or leave.
    if (student_.left_after > 0 && student_.leave_period > student_.left_after) student_.leave_period = 0;
    if (!has_switched_) student_.switched_after = 0;
    return std::move(student_);
  }

 private:
  bool chance(double probability) { return stream_.bernoulli(probability); }
  bool is_ambitious() const { return student_.ambition > rates_.ambitious; }
  /// Academic year of a period, from 0; below, where a late entrant's earlier periods lie before the file.
  int year_of(int period) const { return student_.cohort - options_.first_year + period - 1; }
  bool is_offered(Id course, int period) const {
    return calendar_ == nullptr || calendar_->is_offered(course, year_of(period));
  }
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
    if (calendar_ != nullptr) {
      // The year that was drawn is the one of entry; the class of a late entrant is an older one.
      student_.cohort -= student_.entry_period - 1;
      return;
    }
    for (int period = std::max(2, student_.entry_period + 1); period < options_.periods; ++period) {
      if (student_.leave_period == 0 && chance(rates_.leave_of_absence)) student_.leave_period = period;
    }
  }

  void draw_plan() {
    const std::size_t background = (student_.commuter ? 1 : 0) + (student_.first_generation ? 2 : 0);
    const auto cohort = static_cast<std::size_t>(std::max(0, year_of(1)));
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
    if (chance(by_popularity(rates_.writing_share, catalog_.writing_course)))
      want(catalog_.writing_course, 1, Origin::general);
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
    const Id subject = tables_.sequences[static_cast<std::size_t>(std::max(0, year_of(1)))].draw(stream_);
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
      if (chance(by_popularity(share, course))) want(course, due_period(course, from), Origin::major);
    }
    join_company();
  }

  /// A share of takers, moved a little by how popular the course is in the year in which it is usually taken.
  double by_popularity(double share, Id course) const {
    if (calendar_ == nullptr) return share;
    const double popularity = calendar_->popularity(course, year_of(catalog_.course(course).usual_period));
    return popularity > 0 ? std::min(0.98, share * std::sqrt(popularity)) : share;
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
    return std::min(std::max(due, from), options_.periods);  // `from` may lie behind the last
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
    if (!leaves) study_summer(period);
    if (leaves) student_.left_after = period;
  }

  void study_summer(int period) {
    if (!chance(student_.commuter ? rates_.summer_commuter : rates_.summer_campus)) return;
    study_term(period, SyntheticTerm::summer, chance(rates_.summer_second_course) ? 2 : 1);
  }

  /// Where there is a calendar: what follows the year is decided after its autumn.
  void study_calendar_year(int period) {
    const CalendarRates& rates = options_.calendar;
    const bool is_here = period >= student_.entry_period;
    ++studied_;
    disengaged_ = is_here && chance(rates.disengaged);
    double factor = disengaged_ ? rates.disengaged_load : 1;
    if (studied_ > options_.periods) factor *= rates.extra_year_load;
    const int load = std::max(1, static_cast<int>(std::floor(factor * draw_load(period) + 0.5)));
    last_year_ = std::exchange(this_year_, {});
    study_term(period, SyntheticTerm::autumn, (load + 1) / 2);
    SyntheticYear year;
    year.period = period;
    year.disengaged = disengaged_;
    if (calendar_->is_unfinished(year_of(period))) {
      year.courses = courses_in(student_, period);
      student_.years.push_back(year);
      student_.enrollments = recorded_in_part(rates, student_, period, stream_);
      return;
    }
    bool has_spring = true;
    if (is_here) {
      set_chances(year, options_, *calendar_, student_, studied_);
      year.end = draw_end(year, stream_);
      has_spring = !chance(chance_of_no_spring(year, options_, studied_));
    }
    if (has_spring) study_term(period, SyntheticTerm::spring, std::max(1, load / 2));
    if (year.end == YearEnd::returns || year.end == YearEnd::pauses) study_summer(period);
    if (!is_here) return;
    year.courses = courses_in(student_, period);
    student_.years.push_back(year);
    if (year.end == YearEnd::leaves) student_.left_after = period;
    if (year.end == YearEnd::finishes) student_.finished_after = period;
    student_.finished_in_autumn = year.end == YearEnd::finishes && !has_spring;
    if (year.end == YearEnd::pauses) pause(period);
  }

  void pause(int period) {
    student_.leave_period = period + 1;
    back_in_ = period + 2;
    if (chance(options_.calendar.pausing_two_years) && back_in_ < options_.last_period()) ++back_in_;
  }

  double drop_out_rate(int period) const {
    double rate = rates_.drop_out.at(std::min(static_cast<std::size_t>(period) - 1, rates_.drop_out.size() - 1));
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
    if (options_.edition >= 2 && term == SyntheticTerm::autumn) count -= take_again(count, period);
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
    // Where there is a calendar, who is enrolled has a row: a student who has found nothing yet goes on looking.
    const auto least_tries = [&] { return calendar_ != nullptr && this_term_.empty() ? -more_tries : 0; };
    for (int tries = tries_per_elective * count; tries > least_tries() && count > 0; --tries) {
      if (enroll(draw_elective(period))) --count;
    }
    finish_term(period, term);
  }

  /// Courses of last year that go on, at most half a term; how many.
  int take_again(int count, int period) {
    int enrolled = 0;
    for (const Id course : last_year_) {
      if (2 * (enrolled + 1) > count) break;
      if (is_offered(course, period) && chance(rates_.taken_again) && enroll(course)) ++enrolled;
    }
    return enrolled;
  }

  Id draw_elective(int period) {
    const auto year = static_cast<std::size_t>(std::max(0, year_of(period)));
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
    if (here.passed || here.enrolled || here.given_up || !is_offered(course_id, period)) return none;
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
      if (is_here) student_.enrollments.push_back({course, period, term, grades[i], student_.major});
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
    if (disengaged_) failure *= options_.calendar.disengaged_failure;
    return draw_synthetic_grade(rates_.withdrawal, failure, student_.ambition, stream_);
  }

  const SyntheticOptions& options_;
  const SyntheticRates& rates_;
  const SyntheticCatalog& catalog_;
  const SyntheticCalendar* calendar_;  // null: years do not differ
  const ChoiceTables& tables_;
  RandomStream stream_;
  SyntheticStudent student_;
  std::vector<Standing> standing_;
  std::vector<Wish> wishes_;
  std::vector<Id> this_term_;
  bool has_switched_ = false;
  std::vector<Id> last_year_, this_year_;  // passed, and may be taken again
  int studied_ = 0;                        // years, transferred ones too; counted where there is a calendar
  int back_in_ = 1;                        // the period in which a pause ends
  bool disengaged_ = false;                // this year
};

}  // namespace

SyntheticStudent make_synthetic_student(const SyntheticOptions& options, const SyntheticCatalog& catalog,
                                        const ChoiceTables& tables, std::int64_t number) {
  return Career(options, catalog, tables, number).live();
}

}  // namespace desirepath::inline simulation
