#include "desirepath/queries/delays.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "desirepath/queries/disclosed_cohort.h"
#include "desirepath/queries/student_groups.h"

namespace desirepath::inline queries {

double GroupDelay::error() const {
  return std::sqrt(own.error_squared() + others.error_squared());
}

namespace {

struct Sums {
  std::int64_t count = 0;
  double sum = 0, squares = 0, expected_squares = 0;

  void add(const JudgedCourse& judged) {
    const double value = judged.lateness();
    ++count;
    sum += value;
    squares += value * value;
    expected_squares += judged.variance();
  }
  Sums without(const Sums& some) const {
    return {count - some.count, sum - some.sum, squares - some.squares, expected_squares - some.expected_squares};
  }
  Lateness lateness() const {
    const auto n = static_cast<double>(count);
    const double mean = count > 0 ? sum / n : 0;
    return {count, mean, count > 1 ? std::max(0.0, squares - n * mean * mean) / (n - 1) : 0};
  }
  /// Where few are expected to be late and by chance nobody is, the values hardly vary, and yet the mean is no surer.
  Lateness against_model() const {
    Lateness result = lateness();
    if (count > 0) result.variance = std::max(result.variance, expected_squares / static_cast<double>(count));
    return result;
  }
};

}  // namespace

std::vector<GroupDelay> find_delays(const std::vector<JudgedStudent>& students, const std::vector<Id>& group_of,
                                    const std::vector<std::string>& groups, Id courses, const Disclosure& disclosure) {
  const std::size_t group_count = std::max<std::size_t>(1, groups.size());
  std::vector<Sums> all(static_cast<std::size_t>(courses)), cells(all.size() * group_count);
  for (const JudgedStudent& student : students) {
    const Id group = group_of.empty() ? 0 : group_of[static_cast<std::size_t>(student.student)];
    if (group < 0) continue;
    for (const JudgedCourse& judged : student.courses) {
      const auto c = static_cast<std::size_t>(judged.course);
      all[c].add(judged);
      cells[c * group_count + static_cast<std::size_t>(group)].add(judged);
    }
  }
  std::vector<GroupDelay> found;
  for (std::size_t c = 0; c < all.size(); ++c) {
    std::vector<double> takers;
    for (std::size_t g = 0; g < group_count; ++g)
      takers.push_back(static_cast<double>(cells[c * group_count + g].count));
    const Hidden hidden = disclosure.hide(takers);
    for (std::size_t g = 0; g < group_count; ++g) {
      const Sums& own = cells[c * group_count + g];
      const Sums others = groups.empty() ? Sums() : all[c].without(own);
      if (own.count == 0 || hidden[g] != 0) continue;
      if (!groups.empty() && !disclosure.rests(static_cast<double>(others.count))) continue;
      GroupDelay delay{static_cast<Id>(c), groups.empty() ? "" : groups[g],
                       groups.empty() ? own.against_model() : own.lateness(), others.lateness()};
      if (!is_mirrored(groups.size(), g, delay.effect())) found.push_back(std::move(delay));
    }
  }
  std::ranges::stable_sort(found, std::ranges::greater(), &GroupDelay::certain);
  return found;
}

namespace {

struct TakerCount {
  double takers = 0, students = 0;

  TakerCount operator-(const TakerCount& some) const { return {takers - some.takers, students - some.students}; }
};

/// Takers of each course, and students, by group; without groups all students are one.
class GroupTakers {
 public:
  GroupTakers(const StudentGroups& groups, Id courses)
      : groups_(groups),
        students_(std::max<std::size_t>(1, groups.names.size()), 0),
        takers_(students_.size() * static_cast<std::size_t>(courses), 0) {}

  void add(std::int64_t student, const std::vector<Id>& courses) {
    const Id group = groups_.names.empty() ? 0 : groups_.of_student[static_cast<std::size_t>(student)];
    if (group < 0) return;
    students_[static_cast<std::size_t>(group)] += 1;
    for (const Id course : courses)
      takers_[static_cast<std::size_t>(course) * students_.size() + static_cast<std::size_t>(group)] += 1;
  }
  TakerCount of(Id course, std::size_t group) const {
    return {takers_[static_cast<std::size_t>(course) * students_.size() + group], students_[group]};
  }
  TakerCount all(Id course) const {
    TakerCount sum;
    for (std::size_t g = 0; g < students_.size(); ++g) {
      sum.takers += of(course, g).takers;
      sum.students += of(course, g).students;
    }
    return sum;
  }

 private:
  const StudentGroups& groups_;
  std::vector<double> students_, takers_;
};

}  // namespace

void disclose_students(std::vector<GroupDelay>& delays, const std::vector<JudgedStudent>& judged, const Cohort& cohort,
                       const StudentGroups& groups, const Disclosure& disclosure) {
  const Schema& schema = cohort.schema();
  GroupTakers seen(groups, schema.course_count()), all = seen;
  std::vector<Id> courses;
  for (std::int64_t s = 0; s < cohort.student_count(); ++s) {
    courses.clear();
    for (const Id bit : cohort.bits(s))
      courses.push_back(schema.course_of(bit));
    std::ranges::sort(courses);
    courses.erase(std::unique(courses.begin(), courses.end()), courses.end());
    all.add(s, courses);
  }
  for (const JudgedStudent& student : judged) {
    courses.clear();
    for (const JudgedCourse& course : student.courses)
      courses.push_back(course.course);
    seen.add(student.student, courses);
  }
  // What is withheld of a course stays so, for else those that keep it company would tell of it.
  std::vector<std::uint8_t> is_disclosed(static_cast<std::size_t>(schema.course_count()), 0);
  for (const DisclosedCohort::CourseCount& course : disclose_cohort(cohort, disclosure).courses)
    is_disclosed[static_cast<std::size_t>(course.course)] = course.students.has_value() ? 1 : 0;
  const bool judged_are_disclosed = disclosed_judged(std::ssize(judged), cohort, disclosure).has_value();
  const auto may_count = [&](const TakerCount& seen_here, const TakerCount& all_here) {
    // Takers who are all that were judged would tell how many these are.
    const bool are_some = judged_are_disclosed || seen_here.takers < seen_here.students;
    const TakerCount once = all_here - seen_here;
    return are_some && disclosure.allows(seen_here.takers, seen_here.students) &&
           disclosure.allows(seen_here.takers, all_here.students) && disclosure.allows(once.takers, once.students);
  };
  for (GroupDelay& delay : delays) {
    bool& disclosed = delay.students_disclosed;
    disclosed = is_disclosed[static_cast<std::size_t>(delay.course)] != 0 &&
                may_count(seen.all(delay.course), all.all(delay.course));
    // One group's number follows from those of the others.
    for (std::size_t g = 0; g < groups.names.size(); ++g)
      disclosed = disclosed && may_count(seen.of(delay.course, g), all.of(delay.course, g));
  }
}

std::optional<std::int64_t> disclosed_judged(std::int64_t judged, const Cohort& cohort, const Disclosure& disclosure) {
  const Id periods = cohort.schema().period_count();
  std::vector<double> other_periods(static_cast<std::size_t>(periods), 0);  // in two or more, but not in this one
  std::vector<double> once(other_periods);                                  // in this one alone
  for (std::int64_t s = 0; s < cohort.student_count(); ++s) {
    Id enrolled = 0;
    for (Id t = 0; t < periods; ++t)
      enrolled += cohort.enrolled(s, t) ? 1 : 0;
    for (Id t = 0; t < periods; ++t) {
      const bool is_here = cohort.enrolled(s, t);
      if (enrolled > 1 && !is_here) other_periods[static_cast<std::size_t>(t)] += 1;
      if (enrolled == 1 && is_here) once[static_cast<std::size_t>(t)] += 1;
    }
  }
  // How many were enrolled in a period is told elsewhere: the difference would tell who paused.
  const auto allowed = [&](double count) { return disclosure.allows(count); };
  const bool is_disclosed = allowed(static_cast<double>(cohort.student_count() - judged)) &&
                            std::ranges::all_of(other_periods, allowed) && std::ranges::all_of(once, allowed);
  return is_disclosed ? std::optional(judged) : std::nullopt;
}

FindingCount keep_certain_delays(std::vector<GroupDelay>& delays, const std::vector<JudgedStudent>& students,
                                 const StudentGroups& groups, Id courses, const LabelNull& null, double most_q) {
  LabelledStudents labelled{{}, {}, groups.names};
  std::vector<std::vector<std::int64_t>> takers(static_cast<std::size_t>(courses));
  std::vector<GroupMeasure> lateness(takers.size());
  for (std::size_t s = 0; s < students.size(); ++s) {
    const auto student = static_cast<std::size_t>(students[s].student);
    labelled.group.push_back(groups.of_student[student]);
    labelled.stratum.push_back(null.strata[student]);
    for (const JudgedCourse& judged : students[s].courses) {
      const auto c = static_cast<std::size_t>(judged.course);
      takers[c].push_back(static_cast<std::int64_t>(s));
      lateness[c].values.push_back({static_cast<std::int64_t>(s), judged.lateness()});
    }
  }
  for (std::size_t c = 0; c < lateness.size(); ++c)
    lateness[c].population = c;
  std::vector<GroupDifferences::Cell> cells;
  for (const GroupDelay& delay : delays) {
    const auto group = std::ranges::find(groups.names, delay.group) - groups.names.begin();
    cells.push_back({static_cast<std::size_t>(delay.course), static_cast<std::size_t>(group)});
  }
  const GroupDifferences differences(std::move(labelled), std::move(takers), std::move(lateness));
  const auto chance = differences.chance(cells, null);
  for (std::size_t i = 0; i < delays.size(); ++i)
    delays[i].q = chance.q[i];
  std::erase_if(delays, [&](const GroupDelay& delay) { return delay.q > most_q; });
  return chance.findings.cut(most_q);
}

FindingCount keep_certain_delays(std::vector<GroupDelay>& delays, double most_q) {
  std::vector<double> in_errors;
  for (const GroupDelay& delay : delays) {
    if (delay.error() > 0) in_errors.push_back(delay.effect() / delay.error());
  }
  const double spread = misfit(std::move(in_errors));
  std::vector<double> p_values;
  for (GroupDelay& delay : delays) {
    delay.own.variance *= spread * spread;
    p_values.push_back(delay.error() > 0 ? std::erfc(std::abs(delay.effect()) / delay.error() / std::sqrt(2.0)) : 1);
  }
  const ChanceOfFindings chance = chance_from_p_values(p_values, std::ssize(p_values));
  for (std::size_t i = 0; i < delays.size(); ++i)
    delays[i].q = chance.q[i];
  std::erase_if(delays, [&](const GroupDelay& delay) { return delay.q > most_q; });
  std::ranges::stable_sort(delays, std::ranges::greater(), &GroupDelay::certain);
  return chance.cut(most_q);
}

double ApartPair::chance(std::int64_t at_most) const {
  double term = std::exp(-expected), sum = term;
  for (std::int64_t k = 1; k <= at_most; ++k) {
    term *= expected / static_cast<double>(k);
    sum += term;
  }
  return std::min(1.0, sum);
}

std::vector<ApartPair> find_apart(const std::vector<JudgedStudent>& students, Id courses,
                                  const Disclosure& disclosure) {
  std::vector<ApartPair> pairs(static_cast<std::size_t>(courses) * static_cast<std::size_t>(courses));
  for (const JudgedStudent& student : students) {
    for (std::size_t i = 0; i < student.courses.size(); ++i) {
      for (std::size_t j = i + 1; j < student.courses.size(); ++j) {
        const JudgedCourse &a = student.courses[i], &b = student.courses[j];
        ApartPair& pair = pairs[static_cast<std::size_t>(a.course) * static_cast<std::size_t>(courses) +
                                static_cast<std::size_t>(b.course)];
        pair.a = a.course;
        pair.b = b.course;
        ++pair.both;
        const bool together =
            b.taken_in(a.first) || std::ranges::any_of(a.again, [&](Id period) { return b.taken_in(period); });
        pair.together += together ? 1 : 0;
        pair.a_first += !together && a.first < b.first ? 1 : 0;
        for (std::size_t t = 0; t < a.chance.size(); ++t)
          pair.expected += a.chance[t] * b.chance[t];
      }
    }
  }
  constexpr double least_share = 0.2;  // of those apart, in the rarer order
  std::erase_if(pairs, [&](const ApartPair& pair) {
    const std::int64_t apart = pair.both - pair.together, rarer = std::min(pair.a_first, apart - pair.a_first);
    if (static_cast<double>(rarer) < least_share * static_cast<double>(apart)) return true;
    return !disclosure.rests(static_cast<double>(pair.both)) || static_cast<double>(pair.together) >= pair.expected / 2;
  });
  std::ranges::stable_sort(pairs, {}, [](const ApartPair& pair) { return pair.chance(pair.together); });
  return pairs;
}

std::int64_t most_together(const ApartPair& pair, const Disclosure& disclosure) {
  return disclosure.allows(static_cast<double>(pair.together)) ? pair.together : disclosure.least() - 1;
}

std::vector<ApartPair> surely_apart(const std::vector<JudgedStudent>& students, Id courses, double most_by_chance,
                                    const Disclosure& disclosure) {
  std::vector<ApartPair> apart = find_apart(students, courses, disclosure);
  const double pairs = 0.5 * courses * (courses - 1);
  std::erase_if(apart, [&](const ApartPair& pair) {
    return pair.chance(most_together(pair, disclosure)) * pairs > most_by_chance;
  });
  return apart;
}

double Detour::certain() const {
  return surplus() - 1.96 * std::sqrt(variance);
}

std::vector<Detour> find_detours(const std::vector<JudgedStudent>& students, const Cohort& cohort, Id goal,
                                 const Disclosure& disclosure) {
  const Schema& schema = cohort.schema();
  std::vector<Detour> detours(static_cast<std::size_t>(schema.course_count()));
  for (Id c = 0; c < schema.course_count(); ++c)
    detours[static_cast<std::size_t>(c)].course = c;
  std::vector<std::int64_t> last_of(detours.size(), -1);  // the last student who took it
  double reached_goal = 0;
  for (const JudgedStudent& student : students) {
    const auto reached = std::ranges::find(student.courses, goal, &JudgedCourse::course);
    if (reached == student.courses.end()) continue;
    reached_goal += 1;
    for (Id t = 0; t < reached->first; ++t) {
      if (!cohort.enrolled(student.student, t)) continue;
      for (const Id bit : cohort.bits(student.student, t)) {
        Detour& detour = detours[static_cast<std::size_t>(schema.course_of(bit))];
        ++detour.taken;
        if (last_of[static_cast<std::size_t>(detour.course)] != student.student) ++detour.students;
        last_of[static_cast<std::size_t>(detour.course)] = student.student;
      }
      for (Id c = 0; c < schema.course_count(); ++c) {
        const double p = student.probability[static_cast<std::size_t>(schema.bit(t, c))];
        detours[static_cast<std::size_t>(c)].expected += p;
        detours[static_cast<std::size_t>(c)].variance += p * (1 - p);
      }
    }
  }
  for (Detour& detour : detours)
    detour.students_disclosed = disclosure.allows(static_cast<double>(detour.students), reached_goal);
  std::erase_if(detours, [&](const Detour& detour) {
    return !disclosure.rests(static_cast<double>(detour.students)) || detour.course == goal || detour.certain() <= 0;
  });
  std::ranges::stable_sort(detours, std::ranges::greater(), &Detour::certain);
  for (Detour& detour : detours)
    detour.name = named(schema.course(detour.course));
  return detours;
}

Delays ask_delays(const QueryInput& input, const DelaySettings& settings) {
  const Model& model = input.model();
  const Schema& schema = model.schema();
  const Id courses = schema.course_count();
  const Disclosure& disclosure = settings.disclosure;
  const std::vector<TraitCondition> given = parse_conditions(schema, settings.given);
  const Cohort cohort = students_with(*input.cohort, schema, given, disclosure);
  const RandomStream stream = input.stream.child("delays");
  const StudentGroups groups =
      settings.by.empty() ? StudentGroups() : disclosed_groups(groups_of(cohort, settings.by), disclosure);
  const std::optional<Id> goal =
      settings.goal.empty() ? std::nullopt : std::optional(schema.require_course(settings.goal));
  std::vector<JudgedStudent> judged =
      judge_timings(model, cohort, settings.students, goal.has_value(), stream, input.executor, input.progress, given);
  Delays lost{model.name(),
              settings.by,
              words_for(schema, given),
              std::ssize(judged),
              disclosed_judged(std::ssize(judged), cohort, disclosure),
              disclosure};
  lost.delays = find_delays(judged, groups.of_student, groups.names, courses, disclosure);
  if (settings.by.empty()) {
    lost.found = keep_certain_delays(lost.delays, settings.chance.q);
  } else {
    const LabelNull null{label_strata(cohort, settings.by), input.stream.child("labels"), input.executor};
    lost.found = keep_certain_delays(lost.delays, judged, groups, courses, null, settings.chance.q);
  }
  disclose_students(lost.delays, judged, cohort, groups, disclosure);
  for (GroupDelay& delay : lost.delays)
    delay.name = named(schema.course(delay.course));
  if (goal) {
    lost.goal = named(schema.course(*goal));
    disclosure.require(std::ranges::count_if(judged, [&](const JudgedStudent& student) {
      return std::ranges::find(student.courses, *goal, &JudgedCourse::course) != student.courses.end();
    }));
    lost.detours = find_detours(judged, cohort, *goal, disclosure);
  }
  std::ranges::move(one_period_students(cohort, std::ssize(judged), stream.child("one period")),
                    std::back_inserter(judged));
  lost.apart = surely_apart(judged, courses, settings.most_by_chance, disclosure);
  for (ApartPair& pair : lost.apart) {
    pair.name = named(schema.course(pair.a));
    pair.other = named(schema.course(pair.b));
  }
  return lost;
}

}  // namespace desirepath::inline queries
