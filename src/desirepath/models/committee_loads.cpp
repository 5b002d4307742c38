#include "desirepath/models/committee_loads.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "desirepath/emissions/capabilities.h"
#include "desirepath/emissions/hidden_tree.h"
#include "desirepath/probability/log_space.h"

namespace desirepath::inline models {

namespace {

// A dozen draws per student add little to the error that the students themselves leave in the factors, and 24,000 leave
// about a hundredth of a nat in log Z; more would cost more than a third of what the trees cost.
constexpr std::int64_t draws_per_student = 12, fewest_draws = 4000, most_draws = 24'000;
constexpr std::int64_t drawn_loads_at_once = 1000;
constexpr std::size_t averaged_completions = 1000;  // of a student of whom some period is known in part
constexpr std::size_t attempts_at_once = 4, most_attempts = 64;
constexpr std::int64_t students_at_once = 512;

PeriodSet one_period(Id period) {
  return PeriodSet{1} << period;
}

Id last_of(PeriodSet periods) {
  return static_cast<Id>(std::bit_width(periods)) - 1;
}

/// The last period of a student who has been completed; where nobody leaves, it is the last of all.
Id drawn_last(const KnownLoads& before, const KnownLoads& completed) {
  const Id last = last_of(completed.enrolled);
  return last >= 0 && has_period(before.last, last) ? last : last_of(before.last);
}

}  // namespace

LoadReader::LoadReader(const HiddenChain& chain) : leaves_(chain.models_leaving()) {
  const auto* trees = dynamic_cast<const HiddenTreeEmission*>(chain.parameters().emissions.front().get());
  first_only_ = trees != nullptr && trees->retakes() == Retakes::never;
}

KnownLoads LoadReader::read(const EvidenceBatch& evidence, std::int64_t student) const {
  const Id periods = evidence.period_count(), courses = evidence.course_count();
  KnownLoads loads;
  loads.courses.assign(static_cast<std::size_t>(periods), 0);
  std::vector<Id> before;
  for (Id t = 0; t < periods; ++t) {
    if (evidence.seen(student, t) != Presence::present) continue;
    loads.enrolled |= one_period(t);
    const auto taken = evidence.taken(student, t), exceptions = evidence.exceptions(student, t);
    const bool is_closed = evidence.presence(student, t) == Presence::present;
    if (is_closed ? exceptions.empty() : std::ssize(taken) + std::ssize(exceptions) == courses)
      loads.known |= one_period(t);
    Id& load = loads.courses[static_cast<std::size_t>(t)];
    for (const Id bit : taken) {
      const Id course = bit - t * courses;
      if (first_only_ && std::ranges::find(before, course) != before.end()) continue;
      before.push_back(course);
      ++load;
    }
  }
  if (!leaves_) {
    loads.last = one_period(periods - 1);
    return loads;
  }
  const DepartureRange range = evidence.departure(student);
  for (Id last = range.earliest; last <= range.latest; ++last)
    loads.last |= one_period(last - 1);
  return loads;
}

std::vector<Loads> draw_loads(const HiddenChain& chain, std::int64_t count, const RandomStream& stream,
                              const Executor& executor) {
  const Id periods = chain.schema().period_count(), courses = chain.schema().course_count();
  const LoadReader reader(chain);
  // P(the last period is at most this one).
  Vector until = Vector::Ones(periods);
  if (chain.models_leaving() && periods > 1) {
    EvidenceBuilder gone(periods, courses);
    for (Id last = 0; last + 1 < periods; ++last) {
      gone.begin_student("");
      for (Id t = 0; t < periods; ++t)
        gone.add(t <= last ? PeriodEvidence() : PeriodEvidence{Presence::left, {}, {}});
    }
    until.head(periods - 1) = chain.log_likelihood(std::move(gone).build(), chain.likelihood_kinds().front(), executor)
                                  .value.col(0)
                                  .array()
                                  .exp();
  }
  const Id first = chain.models_leaving() ? 0 : periods - 1;
  const std::int64_t each = std::max<std::int64_t>(1, count / (periods - first));
  std::vector<Loads> loads;
  for (Id last = first; last < periods; ++last) {
    const double share = until[last] - (last > first ? until[last - 1] : 0);
    if (!(share > 1e-12)) continue;
    PeriodEvidence enrolled{Presence::present, {}, {}};
    for (Id c = 0; c < courses; ++c)
      enrolled.exceptions.push_back(last * courses + c);
    for (std::int64_t begin = 0; begin < each; begin += drawn_loads_at_once) {
      EvidenceBuilder nothing(periods, courses);
      for (std::int64_t i = begin; i < std::min(each, begin + drawn_loads_at_once); ++i) {
        nothing.begin_student("");
        for (Id t = 0; t < periods; ++t) {
          nothing.add(t < last || !chain.models_leaving() ? PeriodEvidence()
                      : t == last                         ? enrolled
                                                          : PeriodEvidence{Presence::left, {}, {}});
        }
      }
      const RandomStream own = stream.child(static_cast<std::uint64_t>(last)).child(static_cast<std::uint64_t>(begin));
      const EvidenceBatch drawn = chain.complete(std::move(nothing).build(), own, executor);
      for (std::int64_t s = 0; s < drawn.student_count(); ++s) {
        loads.push_back({{periods_until(last), one_period(last)},
                         reader.read(drawn, s).courses,
                         share / static_cast<double>(each)});
      }
    }
  }
  return loads;
}

std::optional<LoadTilt> tilt_for(const HiddenChain& chain, const LoadStudents& students, const RandomStream& stream,
                                 const Executor& executor) {
  const LoadReader reader(chain);
  std::vector<Loads> loads;
  for (std::int64_t s = 0; s < students.evidence.student_count(); ++s) {
    const KnownLoads own = reader.read(students.evidence, s);
    // A load that is known in part is none.
    const PeriodSet enrolled = own.is_whole() ? own.enrolled : 0;
    const double weight = students.weights.empty() ? 1 : students.weights[static_cast<std::size_t>(s)];
    loads.push_back({{enrolled, own.last}, own.courses, weight});
  }
  if (!enough_for_loads(loads)) return std::nullopt;
  const std::int64_t count = std::clamp(draws_per_student * std::ssize(loads), fewest_draws, most_draws);
  const std::vector<Loads> draws = draw_loads(chain, count, stream, executor);
  return fit_load_tilt(loads, draws, chain.schema().period_count(), students.settings);
}

Estimates tilted_log_likelihood(const HiddenChain& chain, const LoadTilt& tilt, const EvidenceBatch& evidence,
                                LikelihoodKind kind, Estimates untilted, const Executor& executor) {
  const LoadReader reader(chain);
  Estimates result = std::move(untilted);
  std::vector<KnownLoads> loads;
  std::vector<std::int64_t> in_part;
  for (std::int64_t s = 0; s < evidence.student_count(); ++s) {
    const KnownLoads& own = loads.emplace_back(reader.read(evidence, s));
    if (std::isfinite(result.value(s, 0)) && own.enrolled != 0 && own.last != 0 && !own.is_whole())
      in_part.push_back(s);
  }
  // The factors are averaged over the last periods there may be, by how likely each is given the evidence.
  const RowMatrix of_trees = result.value;
  for (const LastPeriods& own : weigh_last_periods(chain, tilt, evidence, kind, of_trees, executor))
    result.value(own.student, 0) = std::min(0.0, of_trees(own.student, 0) + log_sum_exp(own.log_weight));
  if (in_part.empty()) return result;
  if (result.is_exact()) result.standard_error.setZero(evidence.student_count(), 1);
  // The same draws whenever the same is known, so that differences between answers are not those of draws.
  const RandomStream stream = RandomStream(0).child("loads");
  executor.for_blocks(std::ssize(in_part), 1, [&](Range range) {
    const std::int64_t s = in_part[static_cast<std::size_t>(range.first)];
    const KnownLoads& own = loads[static_cast<std::size_t>(s)];
    const std::vector<std::int64_t> copies(averaged_completions, s);
    const EvidenceBatch drawn = chain.complete(copied_students(evidence, copies), stream, executor);
    std::vector<double> logs;
    for (std::int64_t i = 0; i < drawn.student_count(); ++i) {
      const KnownLoads whole = reader.read(drawn, i);
      const Id last = drawn_last(own, whole);
      logs.push_back(tilt.log_product(own.enrolled, last, whole.courses) - tilt.log_normaliser(own.enrolled, last));
    }
    const auto count = static_cast<double>(logs.size());
    const double mean = log_sum_exp(logs) - std::log(count);
    double squares = 0;
    for (const double log_weight : logs)
      squares += std::pow(std::exp(log_weight - mean) - 1, 2);
    result.value(s, 0) = std::min(0.0, result.value(s, 0) + mean);
    result.standard_error(s, 0) += std::sqrt(squares / (count - 1) / count);
  });
  return result;
}

namespace {

/// Students who are being completed, with what is drawn for each of them.
class TiltedDraws {
 public:
  TiltedDraws(const HiddenChain& chain, const LoadTilt& tilt, const Executor& executor, Conditioning conditioning)
      : chain_(chain), tilt_(tilt), executor_(executor), conditioning_(conditioning), reader_(chain) {}

  /// What a draw is to have, beside what is known.
  enum class Stage {
    enrolled,  // the loads of the periods in which the student is known to be enrolled, and the last period
    all        // those of all periods until the last
  };
  /// A completion by the chain of each of these students, accepted by the weight of its loads; `numbers` address the
  /// random numbers of each.
  struct Drawn {
    std::vector<PeriodEvidence> periods;
    std::vector<TraitValues> traits;
    Id last = 0;
  };
  std::vector<Drawn> draw(const EvidenceBatch& evidence, std::span<const std::uint64_t> numbers, Stage stage,
                          const RandomStream& stream) {
    std::vector<Attempt> attempts;
    for (std::int64_t s = 0; s < evidence.student_count(); ++s) {
      Attempt& student = attempts.emplace_back();
      student.known = reader_.read(evidence, s);
      student.goal = stage == Stage::enrolled ? student.known.enrolled : ~PeriodSet{0};
      student.offset = offset(student.known, student.goal);
    }
    const RandomStream rows = stream.child("rows"), choices = stream.child("choices");
    for (std::size_t first = 0; first < most_attempts; first += attempts_at_once) {
      std::vector<std::int64_t> open;
      std::vector<std::uint64_t> own;
      for (std::size_t s = 0; s < attempts.size(); ++s) {
        if (attempts[s].is_done) continue;
        for (std::size_t a = first; a < first + attempts_at_once; ++a) {
          open.push_back(static_cast<std::int64_t>(s));
          own.push_back(numbers[s] * most_attempts + a);
        }
      }
      if (open.empty()) break;
      const EvidenceBatch drawn =
          chain_.complete_numbered(copied_students(evidence, open), own, rows, executor_, conditioning_);
      if (traits_.empty()) {
        for (Id a = 0; a < drawn.trait_count(); ++a)
          traits_.push_back(drawn.trait(a));
      }
      for (std::size_t row = 0; row < open.size(); ++row) {
        Attempt& student = attempts[static_cast<std::size_t>(open[row])];
        RandomStream choice = choices.child(own[row]);
        if (!student.is_done) weigh(drawn, static_cast<std::int64_t>(row), choice, student);
      }
    }
    std::vector<Drawn> result;
    for (Attempt& student : attempts)
      result.push_back(std::move(student.chosen));
    return result;
  }
  const std::vector<Trait>& traits() const { return traits_; }
  const LoadReader& reader() const { return reader_; }

 private:
  struct Attempt {
    KnownLoads known;
    PeriodSet goal = 0;    // periods whose loads are to be those of students
    double offset = 0;     // added to log-weights, so that few are above 0
    bool is_done = false;  // `chosen` is accepted
    double total = 0;      // of the weights so far
    Drawn chosen;
  };

  /// The factors of what is known, over their normaliser, differ from one last period to another; weights must not.
  double offset(const KnownLoads& own, PeriodSet goal) {
    if (own.last == 0) return 0;
    double least = infinity;
    for (Id d = 0; d <= last_of(own.last); ++d) {
      if (!has_period(own.last, d)) continue;
      const PeriodSet known = own.known & periods_until(d);
      least = std::min(least, tilt_.log_normaliser(known, d) - tilt_.log_product(known, d, own.courses) +
                                  tilt_.log_product(known, any_last_period, own.courses));
    }
    const auto [found, is_new] = bounds_.emplace(std::array{own.known, goal, own.last}, 0);
    if (is_new) found->second = tilt_.log_weight_bound(own.known, goal, own.last);
    return least - found->second;
  }

  /// Rejection, and where nothing is accepted in most_attempts, one of the rejected by weight.
  void weigh(const EvidenceBatch& drawn, std::int64_t row, RandomStream& stream, Attempt& student) const {
    const KnownLoads whole = reader_.read(drawn, row);
    const Id last = drawn_last(student.known, whole);
    const PeriodSet known = student.known.known & periods_until(last), goal = student.goal & periods_until(last);
    const double log_weight = tilt_.log_product(goal, last, whole.courses) - tilt_.log_normaliser(goal, last) -
                              tilt_.log_product(known, any_last_period, whole.courses) + student.offset;
    const double weight = std::exp(std::min(0.0, log_weight)), accept = stream.uniform(), replace = stream.uniform();
    student.is_done = accept < weight;
    student.total += weight;
    if (!student.is_done && !student.chosen.periods.empty() && !(replace * student.total < weight)) return;
    student.chosen = {{}, {}, last};
    for (Id t = 0; t < drawn.period_count(); ++t)
      student.chosen.periods.push_back(PeriodEvidence::of(drawn, row, t));
    for (Id a = 0; a < drawn.trait_count(); ++a)
      student.chosen.traits.push_back(drawn.possible(row, drawn.trait(a)));
  }

  const HiddenChain& chain_;
  const LoadTilt& tilt_;
  const Executor& executor_;
  Conditioning conditioning_;
  LoadReader reader_;
  std::vector<Trait> traits_;
  std::map<std::array<PeriodSet, 3>, double> bounds_;
};

/// What is known of a student whose enrolled periods and last period are drawn: of the periods before that, nothing is
/// known but that the student is enrolled.
std::vector<PeriodEvidence> with_open_periods(const TiltedDraws::Drawn& drawn, PeriodSet enrolled, Id courses) {
  std::vector<PeriodEvidence> periods = drawn.periods;
  for (Id t = 0; t <= drawn.last; ++t) {
    if (has_period(enrolled, t)) continue;
    PeriodEvidence& open = periods[static_cast<std::size_t>(t)];
    open = {Presence::present, {}, {}};
    for (Id c = 0; c < courses; ++c)
      open.exceptions.push_back(t * courses + c);
  }
  return periods;
}

}  // namespace

EvidenceBatch tilted_completions(const HiddenChain& chain, const LoadTilt& tilt, const EvidenceBatch& evidence,
                                 const RandomStream& stream, const Executor& executor, Conditioning conditioning) {
  TiltedDraws draws(chain, tilt, executor, conditioning);
  std::vector<Trait> traits;
  for (Id a = 0; a < evidence.trait_count(); ++a)
    traits.push_back(evidence.trait(a));
  EvidenceBuilder result(evidence);
  std::vector<TraitValues> known_traits;
  const auto add = [](EvidenceBuilder& to, const std::string& name, const std::vector<PeriodEvidence>& periods) {
    to.begin_student(name);
    for (const PeriodEvidence& period : periods)
      to.add(period);
  };
  for (std::int64_t first = 0; first < evidence.student_count(); first += students_at_once) {
    const std::int64_t end = std::min(evidence.student_count(), first + students_at_once);
    // First the periods in which a student is known to be enrolled, so that those of which nothing is known do not
    // change their loads; then the others, given these.
    std::vector<TiltedDraws::Drawn> drawn(static_cast<std::size_t>(end - first));
    std::vector<std::int64_t> enrolled, rest;
    std::vector<std::uint64_t> enrolled_numbers, rest_numbers;
    for (std::int64_t s = first; s < end; ++s) {
      if (draws.reader().read(evidence, s).enrolled == 0) continue;
      enrolled.push_back(s);
      enrolled_numbers.push_back(static_cast<std::uint64_t>(s));
    }
    std::vector<TiltedDraws::Drawn> found = draws.draw(copied_students(evidence, enrolled), enrolled_numbers,
                                                       TiltedDraws::Stage::enrolled, stream.child("enrolled"));
    for (std::size_t i = 0; i < enrolled.size(); ++i)
      drawn[static_cast<std::size_t>(enrolled[i] - first)] = std::move(found[i]);
    EvidenceBuilder open(evidence);
    std::vector<TraitValues> open_traits;
    for (std::int64_t s = first; s < end; ++s) {
      const TiltedDraws::Drawn& own = drawn[static_cast<std::size_t>(s - first)];
      const PeriodSet seen = draws.reader().read(evidence, s).enrolled;
      if (seen != 0 && (periods_until(own.last) & ~seen) == 0) continue;
      rest.push_back(s);
      rest_numbers.push_back(static_cast<std::uint64_t>(s));
      std::vector<PeriodEvidence> periods;
      for (Id t = 0; t < evidence.period_count() && seen == 0; ++t)
        periods.push_back(PeriodEvidence::of(evidence, s, t));
      add(open, evidence.students()[static_cast<std::size_t>(s)],
          seen == 0 ? periods : with_open_periods(own, seen, evidence.course_count()));
      for (Id a = 0; a < evidence.trait_count(); ++a)
        open_traits.push_back(evidence.possible(s, evidence.trait(a)));
    }
    if (!rest.empty()) {
      EvidenceBatch batch = std::move(open).build();
      if (!traits.empty()) batch = batch.with_traits(traits, std::move(open_traits));
      found = draws.draw(batch, rest_numbers, TiltedDraws::Stage::all, stream.child("all"));
      for (std::size_t i = 0; i < rest.size(); ++i)
        drawn[static_cast<std::size_t>(rest[i] - first)] = std::move(found[i]);
    }
    for (std::int64_t s = first; s < end; ++s) {
      const TiltedDraws::Drawn& own = drawn[static_cast<std::size_t>(s - first)];
      add(result, evidence.students()[static_cast<std::size_t>(s)], own.periods);
      known_traits.insert(known_traits.end(), own.traits.begin(), own.traits.end());
    }
  }
  EvidenceBatch batch = std::move(result).build();
  return draws.traits().empty() ? batch : batch.with_traits(draws.traits(), std::move(known_traits));
}

}  // namespace desirepath::inline models
