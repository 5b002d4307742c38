#include "desirepath/queries/prerequisites.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "desirepath/core/rounded.h"
#include "desirepath/queries/offered_courses.h"

namespace desirepath::inline queries {

std::string_view name_of(PrerequisiteStatus status) {
  static constexpr std::array<std::string_view, 6> names = {"",      "tacit",  "both", "declared, not followed",
                                                            "found", "implied"};
  return names.at(static_cast<std::size_t>(status));
}

std::optional<double> PrerequisitePair::odds() const {
  return value_if(is_compared && is_disclosed(), std::exp(direct));
}

std::optional<double> PrerequisitePair::least_odds() const {
  return value_if(is_compared && is_disclosed(), std::exp(direct - 1.96 * direct_error));
}

double PrerequisitePair::rounded_score() const {
  return rounded_to_error(score(), error());
}

double PrerequisitePair::error() const {
  const double spread = takers > 0 ? coverage * (1 - coverage) / static_cast<double>(takers) : 0;
  return std::sqrt(coverage * coverage * effect_error * effect_error + effect * effect * spread);
}

namespace {

/// First period of each (student, course), the number of periods where it was never taken, and which of two came first.
class FirstPeriods {
 public:
  explicit FirstPeriods(const Cohort& cohort)
      : courses_(static_cast<std::size_t>(cohort.schema().course_count())),
        first_(static_cast<std::size_t>(cohort.student_count()) * courses_,
               static_cast<std::uint8_t>(cohort.schema().period_count())) {
    if (cohort.has_enrollment_terms()) term_.assign(first_.size(), -1);
    const Schema& schema = cohort.schema();
    for (std::int64_t s = 0; s < cohort.student_count(); ++s) {
      for (Id t = schema.period_count(); t-- > 0;) {
        const std::span bits = cohort.bits(s, t);
        for (std::size_t i = 0; i < bits.size(); ++i) {
          const std::size_t at = cell(s, schema.course_of(bits[i]));
          first_[at] = static_cast<std::uint8_t>(t);
          if (!term_.empty()) term_[at] = cohort.enrollment_terms(s, t)[i];
        }
      }
    }
  }
  Id operator()(std::int64_t student, Id course) const { return first_[cell(student, course)]; }
  /// In an earlier period, or in an earlier term of the same one where terms are known. Both were taken.
  bool is_before(std::int64_t student, Id course, Id other) const {
    const std::size_t a = cell(student, course), b = cell(student, other);
    if (first_[a] != first_[b] || term_.empty()) return first_[a] < first_[b];
    return term_[a] >= 0 && term_[a] < term_[b];
  }

 private:
  std::size_t cell(std::int64_t student, Id course) const {
    return static_cast<std::size_t>(student) * courses_ + static_cast<std::size_t>(course);
  }

  std::size_t courses_;
  std::vector<std::uint8_t> first_;
  std::vector<std::int16_t> term_;  // of the first enrollment, -1 = not known; empty where no terms are
};

/// Of every two courses: the takers of one by whose time the other had been offered. Where it had not been, but so few
/// students of the same years took the one that leaving them out would tell of them, they count all the same.
class OfferedTakers {
 public:
  OfferedTakers(const Cohort& cohort, const FirstPeriods& first, const Disclosure& disclosure)
      : periods_(cohort.schema().period_count()), courses_(cohort.schema().course_count()) {
    const OfferedCourses offered(cohort);
    std::map<std::vector<std::int32_t>, std::size_t> number;  // students of the same years
    for (std::int64_t s = 0; s < cohort.student_count(); ++s) {
      std::vector<std::int32_t> years;
      for (Id t = 0; t < periods_; ++t)
        years.push_back(cohort.enrolled(s, t) ? offered.year(s, t) : not_enrolled);
      const auto [at, is_new] = number.try_emplace(std::move(years), groups_.size());
      if (is_new) groups_.push_back(Group{first_offers(offered, at->first), Takers(cells(), 0)});
      for (Id c = 0; c < courses_; ++c) {
        if (first(s, c) < periods_) ++groups_[at->second].takers[cell(c, first(s, c))];
      }
    }
    hide_few(disclosure);
  }
  std::int64_t operator()(Id p, Id c) const {
    std::int64_t sum = 0;
    for (const Group& group : groups_) {
      for (Id t = group.offered_from[static_cast<std::size_t>(p)]; t < periods_; ++t)
        sum += group.takers[cell(c, t)];
    }
    return sum + always_[static_cast<std::size_t>(c)];
  }

 private:
  static constexpr std::int32_t not_enrolled = -2;
  using Takers = std::vector<std::int64_t>;  // of each course, by the period of the first enrollment
  struct Group {
    std::vector<Id> offered_from;  // of each course: the first of the students' periods in which it was offered
    Takers takers;
  };

  std::vector<Id> first_offers(const OfferedCourses& offered, const std::vector<std::int32_t>& years) const {
    std::vector<Id> from(static_cast<std::size_t>(courses_), periods_);
    for (Id c = 0; c < courses_; ++c) {
      for (Id t = periods_; t-- > 0;) {
        const std::int32_t year = years[static_cast<std::size_t>(t)];
        if (year != not_enrolled && offered(c, year)) from[static_cast<std::size_t>(c)] = t;
      }
    }
    return from;
  }
  void hide_few(const Disclosure& disclosure) {
    for (Id c = 0; c < courses_; ++c) {
      std::vector<double> parts;
      for (const Group& group : groups_) {
        for (Id t = 0; t < periods_; ++t)
          parts.push_back(static_cast<double>(group.takers[cell(c, t)]));
      }
      const Hidden hidden = disclosure.hide(parts);
      std::int64_t& always = always_.emplace_back(0);
      for (std::size_t i = 0; i < parts.size(); ++i) {
        if (hidden[i] == 0) continue;
        const auto periods = static_cast<std::size_t>(periods_);
        always += std::exchange(groups_[i / periods].takers[cell(c, static_cast<Id>(i % periods))], 0);
      }
    }
  }
  std::size_t cells() const { return static_cast<std::size_t>(courses_) * static_cast<std::size_t>(periods_); }
  std::size_t cell(Id course, Id period) const {
    return static_cast<std::size_t>(course) * static_cast<std::size_t>(periods_) + static_cast<std::size_t>(period);
  }

  Id periods_, courses_;
  std::vector<Group> groups_;
  std::vector<std::int64_t> always_;  // of each course: takers who count for every other
};

/// A student and the period in which the course is taken or not.
struct Place {
  std::int64_t student;
  Id period;
};

/// Students who can take p and another course later: who took it, where they did; others where takers did.
std::vector<Place> draw_places(const Cohort& cohort, const FirstPeriods& first, Id p, std::int64_t count,
                               RandomStream stream) {
  const Id periods = cohort.schema().period_count();
  std::vector<double> when(static_cast<std::size_t>(periods), 0);
  for (std::int64_t s = 0; s < cohort.student_count(); ++s) {
    if (first(s, p) + 1 < periods) when[static_cast<std::size_t>(first(s, p))] += 1;
  }
  std::vector<std::int64_t> order(static_cast<std::size_t>(cohort.student_count()));
  std::iota(order.begin(), order.end(), 0);
  shuffle(order, stream);
  std::vector<Place> places;
  for (const std::int64_t s : order) {
    if (std::ssize(places) >= count) break;
    Id period = first(s, p);
    if (period + 1 == periods) continue;
    if (period == periods) {
      std::vector<double> open = when;
      for (Id t = 0; t < periods; ++t) {
        if (!cohort.enrolled(s, t)) open[static_cast<std::size_t>(t)] = 0;
      }
      if (std::accumulate(open.begin(), open.end(), 0.0) <= 0) continue;
      period = static_cast<Id>(stream.categorical(open));
    }
    places.push_back({s, period});
  }
  return places;
}

/// Everything known up to the place's period, p there as said, nothing known later.
void add_until(EvidenceBuilder& rows, const EvidenceBatch& record, const Place& place, Id bit, bool taken) {
  rows.begin_student(record, place.student);
  for (Id t = 0; t < record.period_count(); ++t) {
    if (t > place.period) {
      rows.add({});
      continue;
    }
    PeriodEvidence period = PeriodEvidence::of(record, place.student, t);
    if (t == place.period) period.set(bit, taken);
    rows.add(period);
  }
}

}  // namespace

std::vector<PrerequisitePair> find_prerequisites(const Model& model, const Cohort& cohort,
                                                 const PrerequisiteOptions& options, const RandomStream& stream,
                                                 const Executor& executor, const ProgressSink& progress) {
  const Schema& schema = model.schema();
  const Id courses = schema.course_count(), periods = schema.period_count();
  const FirstPeriods first(cohort);
  const OfferedTakers offered_takers(cohort, first, options.disclosure);
  const EvidenceBatch record = given_conditions(schema, without_outcomes(EvidenceBatch::of(cohort)), options.given);
  std::vector<std::int64_t> takers(static_cast<std::size_t>(courses), 0);
  for (std::int64_t s = 0; s < cohort.student_count(); ++s) {
    for (Id c = 0; c < courses; ++c)
      takers[static_cast<std::size_t>(c)] += first(s, c) < periods ? 1 : 0;
  }
  const auto enough = [&](Id c) {
    return options.disclosure.rests(static_cast<double>(takers[static_cast<std::size_t>(c)]));
  };
  const auto is_asked = [&](Id c) {
    return options.of.empty() || std::ranges::find(options.of, c) != options.of.end();
  };
  std::vector<Id> later_bits;
  for (Id bit = courses; bit < schema.bit_count(); ++bit) {
    if (is_asked(schema.course_of(bit))) later_bits.push_back(bit);
  }
  std::vector<PrerequisitePair> pairs;
  for (Id p = 0; p < courses; ++p) {
    if (progress) progress({"prerequisites", static_cast<double>(p) / courses});
    if (!enough(p)) continue;
    const std::vector<Place> places =
        draw_places(cohort, first, p, options.students, stream.child(static_cast<std::uint64_t>(p)));
    if (!options.disclosure.rests(static_cast<double>(places.size()))) continue;
    EvidenceBuilder rows(record);
    for (const Place& place : places) {
      add_until(rows, record, place, schema.bit(place.period, p), true);
      add_until(rows, record, place, schema.bit(place.period, p), false);
    }
    const RowMatrix found = model.marginals(std::move(rows).build(), later_bits, executor).value;
    RowMatrix difference = RowMatrix::Zero(std::ssize(places), courses);
    Vector without = Vector::Zero(courses);
    for (std::size_t i = 0; i < places.size(); ++i) {
      const auto row = static_cast<Index>(i);
      for (std::size_t b = 0; b < later_bits.size(); ++b) {
        if (schema.period_of(later_bits[b]) <= places[i].period) continue;
        const Id c = schema.course_of(later_bits[b]);
        difference(row, c) += found(2 * row, static_cast<Index>(b)) - found(2 * row + 1, static_cast<Index>(b));
        without[c] += found(2 * row + 1, static_cast<Index>(b)) / static_cast<double>(places.size());
      }
    }
    std::vector<std::int64_t> p_first(static_cast<std::size_t>(courses), 0), c_first = p_first;
    for (std::int64_t s = 0; s < cohort.student_count(); ++s) {
      if (first(s, p) == periods) continue;
      for (Id c = 0; c < courses; ++c) {
        if (first(s, c) == periods) continue;
        p_first[static_cast<std::size_t>(c)] += first.is_before(s, p, c) ? 1 : 0;
        c_first[static_cast<std::size_t>(c)] += first.is_before(s, c, p) ? 1 : 0;
      }
    }
    const double drawn = static_cast<double>(places.size());
    for (Id c = 0; c < courses; ++c) {
      if (c == p || !enough(c) || !is_asked(c)) continue;
      PrerequisitePair pair{p, c};
      pair.effect = difference.col(c).mean();
      pair.effect_error =
          std::sqrt((difference.col(c).array() - pair.effect).square().sum() / std::max(1.0, drawn - 1) / drawn);
      pair.without = without[c];
      pair.takers = offered_takers(p, c);
      const std::int64_t before = p_first[static_cast<std::size_t>(c)], after = c_first[static_cast<std::size_t>(c)];
      if (options.disclosure.rests(static_cast<double>(before))) {
        pair.before = static_cast<std::int64_t>(
            options.disclosure.all_but_few(static_cast<double>(before), static_cast<double>(pair.takers)));
        pair.coverage = static_cast<double>(pair.before) / static_cast<double>(pair.takers);
        if (options.disclosure.allows(static_cast<double>(after)))
          pair.asymmetry = static_cast<double>(before - after) / static_cast<double>(before + after);
      }
      pairs.push_back(pair);
    }
  }
  std::ranges::stable_sort(pairs, std::ranges::greater(), &PrerequisitePair::score);
  return pairs;
}

char PrerequisitePair::declared_in(const DeclaredPrerequisites& declared) const {
  return declared[static_cast<std::size_t>(course)][static_cast<std::size_t>(prerequisite)];
}

namespace {

/// Of so large a direct effect, were the model true.
double p_value(const PrerequisitePair& pair) {
  return pair.direct_error > 0 ? 0.5 * std::erfc(pair.direct / pair.direct_error / std::sqrt(2.0)) : 1;
}

}  // namespace

void add_direct_effects(std::vector<PrerequisitePair>& pairs, const DirectEffects& effects,
                        const DeclaredPrerequisites& declared, double least_expected) {
  // Which pairs are tested does not depend on what students did: those of whom the model expects enough.
  std::vector<PrerequisitePair*> listed, others;
  for (PrerequisitePair& pair : pairs) {
    pair.expected = effects.expected(pair.prerequisite, pair.course);
    if (pair.expected >= least_expected) (pair.declared_in(declared) != 0 ? listed : others).push_back(&pair);
  }
  std::vector<double> in_errors;
  for (const PrerequisitePair* pair : others) {
    const double error = effects.error(pair->prerequisite, pair->course);
    if (error > 0) in_errors.push_back(effects.log_odds(pair->prerequisite, pair->course) / error);
  }
  const double spread = misfit(std::move(in_errors));
  for (PrerequisitePair& pair : pairs) {
    pair.is_compared = true;
    if (pair.before == 0) continue;  // it rests on too few
    pair.direct = effects.log_odds(pair.prerequisite, pair.course);
    pair.direct_error = spread * effects.error(pair.prerequisite, pair.course);
  }
  for (const auto* tested : {&listed, &others}) {
    std::vector<double> p_values;
    for (const PrerequisitePair* pair : *tested)
      p_values.push_back(p_value(*pair));
    const ChanceOfFindings chance = chance_from_p_values(p_values, std::ssize(p_values));
    for (std::size_t i = 0; i < tested->size(); ++i)
      (*tested)[i]->q = chance.q[i];
  }
  std::ranges::stable_sort(pairs, std::ranges::greater(), &PrerequisitePair::score);
}

FindingCount count_tacit(const std::vector<PrerequisitePair>& pairs, const DeclaredPrerequisites& declared,
                         const PrerequisiteBounds& bounds) {
  FindingCount count;
  double largest = 0;
  for (const PrerequisitePair& pair : pairs) {
    if (pair.declared_in(declared) != 0 || !bounds.is_direct(pair)) continue;
    ++count.findings;
    largest = std::max(largest, pair.q);
  }
  count.by_chance = largest * static_cast<double>(count.findings);
  return count;
}

DeclaredPrerequisites declared_prerequisites(const Schema& schema) {
  const auto count = static_cast<std::size_t>(schema.course_count());
  DeclaredPrerequisites declared(count, std::vector<char>(count, 0));  // [course][prerequisite]
  for (std::size_t c = 0; c < count; ++c) {
    for (const std::string& name : schema.courses()[c].prerequisites) {
      if (const auto found = schema.find_course(name)) declared[c][static_cast<std::size_t>(*found)] = 1;
    }
  }
  for (std::size_t via = 0; via < count; ++via) {
    for (std::size_t c = 0; c < count; ++c) {
      if (declared[c][via] == 0) continue;
      for (std::size_t p = 0; p < count; ++p) {
        if (declared[via][p] != 0 && declared[c][p] == 0 && p != c) declared[c][p] = 2;
      }
    }
  }
  return declared;
}

bool is_any_declared(const DeclaredPrerequisites& declared) {
  return std::ranges::any_of(
      declared, [](const auto& row) { return std::ranges::any_of(row, [](char said) { return said != 0; }); });
}

}  // namespace desirepath::inline queries
