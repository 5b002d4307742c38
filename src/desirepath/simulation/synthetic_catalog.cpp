#include "desirepath/simulation/synthetic_catalog.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <iterator>
#include <numeric>
#include <string_view>
#include <utility>

#include "desirepath/core/random_stream.h"
#include "desirepath/core/text.h"
#include "desirepath/simulation/synthetic_facts.h"
#include "desirepath/simulation/synthetic_names.h"

namespace desirepath::inline simulation {

namespace {

constexpr int courses_per_subject = 15;
constexpr int fewest_subjects = 4;
constexpr int smallest_subject = 3;  // every subject has these, the rest is shared out by appeal
constexpr int evenness = 4;          // added to appeal, so that small subjects do not starve
/// The curve of popularity is (rank + zipf_offset)^-1.25: flat among the few most popular, then Zipf's.
constexpr double zipf_offset = 5;
constexpr std::array<double, 4> concentration_weights = {4, 3, 2, 2};

struct LevelPlan {
  int courses = 0;
  int core = 0;
};

/// How many courses of each level a subject of so many has, and how many of them its major requires.
std::array<LevelPlan, 4> level_plan(int courses) {
  std::array<LevelPlan, 4> plan;
  plan[0].courses = std::max(2, (30 * courses + 50) / 100);
  plan[2].courses = std::max(1, 25 * courses / 100);
  plan[3].courses = 15 * courses / 100;
  plan[1].courses = courses - plan[0].courses - plan[2].courses - plan[3].courses;
  plan[0].core = plan[0].courses >= 3 ? 2 : 1;
  plan[1].core = std::min(plan[1].courses / 2, 3);
  plan[2].core = std::min(plan[2].courses / 3, 2);
  return plan;
}

/// Shares `total` out by weight: whole numbers that sum to it (largest remainders, the earlier first).
std::vector<int> share_out(int total, const std::vector<int>& weights) {
  const int sum = std::accumulate(weights.begin(), weights.end(), 0);
  std::vector<int> shares;
  std::vector<std::pair<int, std::size_t>> remainders;
  int left = total;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    shares.push_back(total * weights[i] / sum);
    remainders.emplace_back(-(total * weights[i] % sum), i);
    left -= shares.back();
  }
  std::sort(remainders.begin(), remainders.end());
  for (int i = 0; i < left; ++i)
    ++shares[remainders[static_cast<std::size_t>(i)].second];
  return shares;
}

std::vector<const SubjectWords*> choose_subjects(int courses) {
  const auto all = all_subject_words();
  const int count = std::clamp((courses + courses_per_subject / 2) / courses_per_subject, fewest_subjects,
                               static_cast<int>(all.size()));
  std::vector<const SubjectWords*> chosen;
  for (const std::string_view school : all_school_names()) {
    for (const SubjectWords& words : all.first(static_cast<std::size_t>(count))) {
      if (words.school == school) chosen.push_back(&words);
    }
  }
  return chosen;
}

void add_concentrations(SyntheticSubject& subject, const SubjectWords& words, int upper_courses) {
  const int count = std::clamp(upper_courses / 3, 2, 4);
  double sum = 0;
  for (int i = 0; i < count; ++i)
    sum += concentration_weights.at(static_cast<std::size_t>(i));
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    subject.concentrations.push_back(
        {std::string(words.concentrations.at(at)), concentration_weights.at(at) / sum, {}});
  }
}

/// Appends the courses of one subject: core courses first in each level, then those of its concentrations in turn.
void add_courses(SyntheticCatalog& catalog, Id subject_id, const SubjectWords& words, int count, int periods) {
  SyntheticSubject& subject = catalog.subjects[static_cast<std::size_t>(subject_id)];
  const auto plan = level_plan(count);
  int upper_courses = 0;
  for (const std::size_t level : {1, 2, 3})
    upper_courses += plan.at(level).courses - plan.at(level).core;
  add_concentrations(subject, words, upper_courses);
  const auto concentration_count = static_cast<int>(subject.concentrations.size());
  subject.first_course = static_cast<Id>(catalog.courses.size());
  int in_concentrations = 0;
  for (int level = 1; level <= 4; ++level) {
    const LevelPlan& of_level = plan.at(static_cast<std::size_t>(level - 1));
    int topics_used = 0;
    for (int i = 0; i < of_level.courses; ++i) {
      const Id id = static_cast<Id>(catalog.courses.size());
      SyntheticCourse course;
      course.subject = subject_id;
      course.level = level;
      course.usual_period = usual_period(level, periods);
      course.name = concat(words.code, " ", 100 * level + 1 + i);
      course.core = i < of_level.core;
      if (level == 1 || course.core) {
        course.label = course_title(words.foundations.at(static_cast<std::size_t>(i % 4)), level, i / 4);
      } else {
        course.concentration = in_concentrations++ % concentration_count;
        SyntheticConcentration& of = subject.concentrations[static_cast<std::size_t>(course.concentration)];
        course.label = course_title(of.name, level, topics_used++ / concentration_count);
        of.courses.push_back(id);
      }
      if (course.core) subject.core.push_back(id);
      if (course.core && level == 1) subject.introduction.push_back(id);
      catalog.courses.push_back(std::move(course));
    }
  }
  subject.end_course = static_cast<Id>(catalog.courses.size());
}

void add_support(SyntheticCatalog& catalog, const std::vector<const SubjectWords*>& words) {
  for (std::size_t i = 0; i < catalog.subjects.size(); ++i) {
    for (const std::string_view entry : split(words[i]->support, ' ')) {
      const std::string_view code = entry.substr(0, entry.find(':'));
      const auto found = std::ranges::find(catalog.subjects, code, &SyntheticSubject::code);
      if (found == catalog.subjects.end()) continue;
      const auto count = std::min<std::size_t>(static_cast<std::size_t>(entry.back() - '0'), found->core.size());
      std::copy_n(found->core.begin(), count, std::back_inserter(catalog.subjects[i].support));
    }
  }
}

void draw_units(SyntheticCatalog& catalog, RandomStream stream) {
  for (SyntheticCourse& course : catalog.courses) {
    const std::uint64_t draw = stream.below(20);
    course.units = draw < 5 ? 3 : draw < 17 ? 4 : 5;
  }
}

/// Ranks the courses, introductory ones and those of large subjects mostly first, and gives each its Zipf weight.
void draw_popularity(SyntheticCatalog& catalog, RandomStream stream) {
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < catalog.courses.size(); ++i) {
    const SyntheticCourse& course = catalog.courses[i];
    const double score =
        0.3 * (course.level - 1) + 1.2 * stream.uniform() - 0.03 * catalog.subject(course.subject).appeal;
    order.emplace_back(score, i);
  }
  std::sort(order.begin(), order.end());
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const double place = static_cast<double>(rank + 1) + zipf_offset;
    // Square roots, unlike powers, are rounded alike everywhere.
    catalog.courses[order[rank].second].popularity = 1 / (place * std::sqrt(std::sqrt(place)));
  }
}

}  // namespace

const std::string& SyntheticCatalog::name_in(Id course_id, int year) const {
  if (renamed && renamed->course == course_id && year < renamed->first_year) return renamed->old_name;
  return course(course_id).name;
}

int usual_period(int level, int periods) {
  return 1 + ((level - 1) * (periods - 1) + 1) / 3;
}

SyntheticCatalog make_synthetic_catalog(const SyntheticOptions& options) {
  options.validate();
  assert(options.is_possible());
  const RandomStream stream = RandomStream(options.seed).child("catalog");
  const std::vector<const SubjectWords*> words = choose_subjects(options.courses);
  const auto subject_count = static_cast<int>(words.size());

  std::vector<int> weights;
  weights.reserve(words.size());
  for (const SubjectWords* subject : words)
    weights.push_back(subject->appeal + evenness);
  const std::vector<int> shares = share_out(options.courses - smallest_subject * subject_count, weights);

  SyntheticCatalog catalog;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (catalog.schools.empty() || catalog.schools.back() != words[i]->school) {
      catalog.schools.emplace_back(words[i]->school);
    }
    SyntheticSubject subject;
    subject.code = words[i]->code;
    subject.name = words[i]->name;
    subject.school = static_cast<Id>(catalog.schools.size()) - 1;
    subject.appeal = words[i]->appeal;
    subject.growth = words[i]->growth_percent / 100.0;
    catalog.subjects.push_back(std::move(subject));
    add_courses(catalog, static_cast<Id>(i), *words[i], smallest_subject + shares[i], options.periods);
  }
  add_support(catalog, words);
  draw_units(catalog, stream.child("units"));
  draw_popularity(catalog, stream.child("popularity"));
  plant_facts(catalog, options, stream.child("facts"));
  if (options.has_calendar()) catalog.calendar = make_synthetic_calendar(options, catalog, stream.child("calendar"));
  return catalog;
}

}  // namespace desirepath::inline simulation
