#include "desirepath/simulation/synthetic_facts.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "desirepath/core/text.h"

namespace desirepath::inline simulation {

namespace {

constexpr int courses_per_tacit_prerequisite = 16;
constexpr std::array<double, 4> tacit_strengths = {3, 4, 6, 8};

const SyntheticSubject* find_subject(const SyntheticCatalog& catalog, std::string_view code) {
  for (const SyntheticSubject& subject : catalog.subjects) {
    if (subject.code == code) return &subject;
  }
  return nullptr;
}

Id id_of(const SyntheticCatalog& catalog, const SyntheticSubject& subject) {
  return static_cast<Id>(&subject - catalog.subjects.data());
}

bool contains(const std::vector<Id>& ids, Id id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

Id pick(const std::vector<Id>& ids, RandomStream& stream) {
  return ids[static_cast<std::size_t>(stream.below(ids.size()))];
}

/// The first second-level core course of the subject with most students. No course builds on it, so that it alone is
/// late.
void plant_conflict(SyntheticCatalog& catalog, const SyntheticOptions& options) {
  if (options.periods < 2) return;
  const SyntheticSubject& largest =
      *std::max_element(catalog.subjects.begin(), catalog.subjects.end(),
                        [](const SyntheticSubject& a, const SyntheticSubject& b) { return a.appeal < b.appeal; });
  for (const Id id : largest.core) {
    const SyntheticCourse& course = catalog.course(id);
    if (course.level != 2) continue;
    catalog.conflict = {id, course.usual_period, options.rates.conflict_delay};
    return;
  }
}

/// Courses of a subject that satisfy a condition and that others may build on.
template <class Condition>
std::vector<Id> courses_where(const SyntheticCatalog& catalog, const SyntheticSubject& subject, Condition condition) {
  std::vector<Id> found;
  for (Id id = subject.first_course; id < subject.end_course; ++id) {
    const bool in_conflict = catalog.conflict && catalog.conflict->course == id;
    if (!in_conflict && condition(catalog.course(id))) found.push_back(id);
  }
  return found;
}

/// Most courses above the first level build on an earlier one of their subject, of their concentration or the core.
void plant_listed_prerequisites(SyntheticCatalog& catalog, RandomStream stream) {
  for (const SyntheticSubject& subject : catalog.subjects) {
    const auto core_of_level = [&](int level) {
      return courses_where(catalog, subject, [&](const SyntheticCourse& c) { return c.core && c.level == level; });
    };
    std::vector<Id> support_introductions = subject.support;
    std::erase_if(support_introductions, [&](Id id) { return catalog.course(id).level > 1; });
    for (Id id = subject.first_course; id < subject.end_course; ++id) {
      SyntheticCourse& course = catalog.courses[static_cast<std::size_t>(id)];
      const auto add_one_of = [&](const std::vector<Id>& candidates) {
        if (candidates.empty()) return false;
        const Id chosen = pick(candidates, stream);
        if (!contains(course.prerequisites, chosen)) course.prerequisites.push_back(chosen);
        return true;
      };
      if (course.level == 1) {
        const bool is_second_introduction = course.core && id != subject.introduction.front();
        if (is_second_introduction && stream.bernoulli(0.6)) course.prerequisites = {subject.introduction.front()};
      } else if (course.level == 2) {
        if (course.core || stream.bernoulli(0.4)) add_one_of(subject.introduction);
        if (course.core && stream.bernoulli(0.5)) add_one_of(support_introductions);
      } else if (!course.core && course.level == 3 && stream.bernoulli(0.6)) {
        if (stream.bernoulli(0.4)) add_one_of(subject.introduction);  // the others are open to all
      } else {
        const auto below = courses_where(catalog, subject, [&](const SyntheticCourse& c) {
          return c.concentration == course.concentration && c.concentration >= 0 && c.level == course.level - 1;
        });
        const bool in_line = stream.bernoulli(0.65) && add_one_of(below);
        if (!in_line && !add_one_of(core_of_level(course.level - 1))) {
          if (!add_one_of(core_of_level(2))) add_one_of(subject.introduction);
        }
        if (stream.bernoulli(0.3)) add_one_of(core_of_level(2));
      }
      std::sort(course.prerequisites.begin(), course.prerequisites.end());
    }
  }
}

bool builds_on(const SyntheticCatalog& catalog, Id course, Id earlier) {
  for (const Id prerequisite : catalog.course(course).prerequisites) {
    if (prerequisite == earlier || builds_on(catalog, prerequisite, earlier)) return true;
  }
  return false;
}

/// A well-visited introductory course outside every planted pair gets another number.
void plant_renamed_course(SyntheticCatalog& catalog, const SyntheticOptions& options) {
  Id best = -1;
  for (Id id = 0; id < static_cast<Id>(catalog.courses.size()); ++id) {
    const SyntheticCourse& course = catalog.course(id);
    const bool conflict_subject =
        catalog.conflict && catalog.course(catalog.conflict->course).subject == course.subject;
    if (course.level > 1 || course.core || conflict_subject) continue;
    if (best < 0 || course.popularity > catalog.course(best).popularity) best = id;
  }
  if (best < 0) return;
  SyntheticCourse& course = catalog.courses[static_cast<std::size_t>(best)];
  const int years = options.calendar_years();
  catalog.renamed = {best, course.name, options.first_year + std::max(1, years / 2)};
  course.name = catalog.subject(course.subject).code + " 199";
}

/// Another subject of the same school; any subject where the school has no other.
const SyntheticSubject& pick_neighbour(const SyntheticCatalog& catalog, Id subject, RandomStream& stream) {
  std::vector<Id> neighbours;
  for (Id id = 0; id < static_cast<Id>(catalog.subjects.size()); ++id) {
    if (id != subject && catalog.subject(id).school == catalog.subject(subject).school) neighbours.push_back(id);
  }
  return neighbours.empty() ? catalog.subjects[stream.below(catalog.subjects.size())]
                            : catalog.subject(pick(neighbours, stream));
}

/// Pairs (earlier, later) that no catalog lists: `later` is a course of a concentration, `earlier` one that its
/// students neither have to take nor would need otherwise.
void plant_tacit_prerequisites(SyntheticCatalog& catalog, RandomStream stream) {
  std::vector<Id> later;
  for (const int lowest_level : {3, 2}) {
    if (!later.empty()) break;
    for (Id id = 0; id < static_cast<Id>(catalog.courses.size()); ++id) {
      const SyntheticCourse& course = catalog.course(id);
      if (course.concentration >= 0 && course.level >= lowest_level) later.push_back(id);
    }
  }
  shuffle(later, stream);

  const auto wanted = std::max<std::size_t>(1, catalog.courses.size() / courses_per_tacit_prerequisite);
  std::size_t planted = 0;
  for (const Id id : later) {
    if (planted == wanted) break;
    SyntheticCourse& course = catalog.courses[static_cast<std::size_t>(id)];
    const SyntheticSubject& subject = catalog.subject(course.subject);
    const auto is_possible = [&](Id earlier) {
      const bool is_special =
          (catalog.renamed && catalog.renamed->course == earlier) || earlier == catalog.writing_course;
      return !is_special && !contains(subject.core, earlier) && !contains(subject.support, earlier) &&
             !builds_on(catalog, id, earlier);
    };
    const auto possible_in = [&](const SyntheticSubject& of, int highest_level) {
      std::vector<Id> found =
          courses_where(catalog, of, [&](const SyntheticCourse& c) { return c.level <= highest_level; });
      std::erase_if(found, [&](Id earlier) { return !is_possible(earlier); });
      return found;
    };
    std::vector<Id> earlier;
    if (stream.bernoulli(0.6)) earlier = possible_in(subject, std::min(2, course.level - 1));
    if (earlier.empty()) earlier = possible_in(pick_neighbour(catalog, course.subject, stream), 1);
    if (earlier.empty()) continue;
    course.tacit_prerequisite = pick(earlier, stream);
    course.tacit_strength = tacit_strengths.at(stream.below(tacit_strengths.size()));
    ++planted;
  }
}

void plant_detours(SyntheticCatalog& catalog, int periods) {
  struct Step {
    std::string_view subject;
    std::size_t nth_core;
    int period;
  };
  const auto add = [&](const char* name, std::initializer_list<Step> steps) {
    SyntheticDetour detour{name, {}};
    for (const Step& step : steps) {
      const SyntheticSubject* subject = find_subject(catalog, step.subject);
      if (subject == nullptr || step.nth_core >= subject->core.size()) continue;
      detour.steps.push_back({subject->core[step.nth_core], std::min(step.period, periods)});
    }
    catalog.detours.push_back(std::move(detour));
  };
  add("pre-medical",
      {{"BIO", 0, 1}, {"CHEM", 0, 1}, {"CHEM", 1, 1}, {"PHYS", 0, 2}, {"BIO", 1, 2}, {"CHEM", 2, 2}, {"PSYC", 0, 2}});
  add("pre-law", {{"POLS", 0, 1}, {"ECON", 0, 1}, {"PHIL", 0, 1}, {"PHIL", 1, 2}, {"POLS", 2, 2}, {"ENGL", 1, 2}});
}

void plant_company(SyntheticCatalog& catalog) {
  const auto add = [&](std::string_view code, Id concentration, std::string_view companion_code, Id companion) {
    const SyntheticSubject* subject = find_subject(catalog, code);
    const SyntheticSubject* other = find_subject(catalog, companion_code);
    if (subject == nullptr || other == nullptr) return;
    const auto last = [](const SyntheticSubject& s) { return static_cast<Id>(s.concentrations.size()) - 1; };
    catalog.companies.push_back({id_of(catalog, *subject), std::min(concentration, last(*subject)),
                                 id_of(catalog, *other), std::min(companion, last(*other))});
  };
  add("CS", 1, "BIO", 2);     // Artificial Intelligence and Genomics
  add("HIST", 0, "STAT", 0);  // Digital History and Data Science
}

}  // namespace

void plant_facts(SyntheticCatalog& catalog, const SyntheticOptions& options, const RandomStream& stream) {
  catalog.writing_course = find_subject(catalog, "ENGL")->introduction.front();
  for (const std::string_view code : {"MATH", "STAT", "CS"}) {
    const SyntheticSubject* subject = find_subject(catalog, code);
    if (subject != nullptr) catalog.quantitative_courses.push_back(subject->introduction.front());
  }
  plant_conflict(catalog, options);
  plant_listed_prerequisites(catalog, stream.child("listed"));
  plant_renamed_course(catalog, options);
  plant_tacit_prerequisites(catalog, stream.child("tacit"));
  plant_detours(catalog, options.periods);
  plant_company(catalog);
}

}  // namespace desirepath::inline simulation
