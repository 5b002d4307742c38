// Prerequisites nobody writes down: courses that open others, by what the model expects of students with and without
// them (docs/questions.md).
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "desirepath/disclosure/disclosure.h"
#include "desirepath/queries/chance.h"
#include "desirepath/queries/direct_effects.h"
#include "desirepath/queries/query.h"
#include "desirepath/queries/refits.h"

namespace desirepath::inline queries {

/// What a pair is, by what was found and by the list of declared prerequisites.
enum class PrerequisiteStatus : std::uint8_t {
  none,
  tacit,       // found, and not on the list
  both,        // declared and found
  unfollowed,  // declared, but not followed
  found,       // where there is no list
  implied      // declared through others
};
std::string_view name_of(PrerequisiteStatus status);

/// Declared prerequisites of each course, and what they imply through chains: courses by courses, 1 declared, 2
/// implied.
using DeclaredPrerequisites = std::vector<std::vector<char>>;

/// What speaks for p being a prerequisite of c.
struct PrerequisitePair {
  Id prerequisite = 0, course = 0;
  double effect = 0;        // mean over students: expected later enrollments in c with p, less those without
  double effect_error = 0;  // its standard error over the students drawn
  double without = 0;       // mean over students: expected later enrollments in c without p
  double coverage = 0;      // share of c's takers who had p in an earlier period
  /// Of those who took both in different periods: (p first - c first) / all; nothing where few took them in an order.
  std::optional<double> asymmetry = std::nullopt;
  std::int64_t before = 0;  // students who had p before c; all but a few count as all
  std::int64_t takers = 0;  // of c, in years by which p had been offered
  /// Log-odds by which p raises c beyond what the model expects of the record; known where students were seen.
  double direct = 0, direct_error = 0;
  double expected = 0;       // takers of c whom the model expects among those who had p
  double q = 1;              // of so large a direct effect by chance
  bool is_compared = false;  // records of students were held against the model
  bool is_found = false;     // as PrerequisiteBounds have it, declared or not
  PrerequisiteStatus status = PrerequisiteStatus::none;
  Named name = {}, course_name = {};

  /// Whether enough students had p before c. Coverage, and all that is computed with it or from their records, is
  /// withheld otherwise.
  bool is_disclosed() const { return before > 0; }
  /// By how much p raises the later enrollments in c, over all of c's takers, by the model alone.
  double raised() const { return effect * coverage; }
  double error() const;
  /// What pairs are ranked by: the model's effect, and what it leaves unexplained, a tenth for each standard error.
  double score() const {
    constexpr double per_error = 0.1;
    const double in_errors = direct_error > 0 ? std::max(0.0, direct / direct_error) : 0;
    return coverage * (effect + per_error * in_errors);
  }
  /// What is certain of the direct effect, for the share of takers it can speak of.
  double tacit_score() const { return coverage * std::max(0.0, direct - 1.96 * direct_error); }
  /// 95 %, of what it raises.
  double low() const { return raised() - 1.96 * error(); }
  double high() const { return raised() + 1.96 * error(); }
  /// How many times the odds are those of students with like records who lack it; the lower end of the interval.
  std::optional<double> odds() const;
  std::optional<double> least_odds() const;
  char declared_in(const DeclaredPrerequisites& declared) const;
  /// Found and not listed, or found where there is no list.
  bool is_new() const { return status == PrerequisiteStatus::tacit || status == PrerequisiteStatus::found; }
  std::optional<double> disclosed_score() const { return value_if(is_disclosed(), score()); }
  /// All stands for all but a few, whose number is not told.
  bool did_nearly_all() const { return before >= takers; }
  /// In more digits than its error bears it would tell the counts that it was computed from.
  double rounded_score() const;
};

/// From where on a pair counts: as found beyond the model and beyond chance, or as raising the other.
struct PrerequisiteBounds {
  double least_direct = 0.3, least_score = 0.02, most_q = 0.05;

  bool is_direct(const PrerequisitePair& pair) const {
    return pair.tacit_score() >= least_direct && pair.tacit_score() > 0 && pair.q <= most_q;
  }
  bool raises(const PrerequisitePair& pair) const { return pair.raised() >= least_score && pair.low() > 0; }
};

struct PrerequisiteOptions {
  std::int64_t students = 500;  // drawn for each p
  Disclosure disclosure;        // courses of few takers are left out; few students behind a pair count as none
  std::vector<Id> of;           // only these c; empty: all
  std::vector<TraitCondition> given = {};  // holds for all students
};

/// All ordered pairs of courses with enough takers, best score first.
std::vector<PrerequisitePair> find_prerequisites(const Model& model, const Cohort& cohort,
                                                 const PrerequisiteOptions& options, const RandomStream& stream,
                                                 const Executor& executor, const ProgressSink& progress = {});

DeclaredPrerequisites declared_prerequisites(const Schema& schema);
/// Whether there is a list of them at all: without one, nothing is missing from it.
bool is_any_declared(const DeclaredPrerequisites& declared);

/// What the students of the cohort do beyond the model, in the pairs, and how often chance alone would do as much: over
/// the pairs of which the model expects `least_expected` students, declared ones apart from all others. The best first.
void add_direct_effects(std::vector<PrerequisitePair>& pairs, const DirectEffects& effects,
                        const DeclaredPrerequisites& declared, double least_expected);

/// Of the pairs that nobody declared: those found, and how many would be by chance.
FindingCount count_tacit(const std::vector<PrerequisitePair>& pairs, const DeclaredPrerequisites& declared,
                         const PrerequisiteBounds& bounds);

struct PrerequisiteSettings {
  std::vector<std::string> course, given;
  PrerequisiteOptions options;
  bool curriculum = false;
  PrerequisiteBounds bounds;
  Id drawn = 2000;
  std::int64_t compared = 20000;
  RefitSettings refits;
  ChanceSettings chance;

  void declare(SettingVisitor& visit);
};

/// Pairs of courses where one opens the other, as they may be shown.
struct Prerequisites {
  std::vector<PrerequisitePair> pairs;  // the best score first
  bool has_list = false;                // some prerequisite is declared
  std::int64_t students = 0;            // of the cohort, or drawn from the model
  std::int64_t compared = 0;            // whose records were held against the model
  FindingCount found;                   // pairs that nobody declared
  std::vector<std::uint8_t> is_listed;  // of each course: taken by enough students to be named
  std::string given = {};               // what holds for all students beside, in words

  std::int64_t count(PrerequisiteStatus status) const;
  /// Those that are something.
  Prerequisites with_status() const;
  /// status_words: as the page, or a figure, has it.
  Table pair_table(std::string_view (*status_words)(PrerequisiteStatus) = name_of) const;
};
/// Over the students of the input; without any, over students drawn from the model, who do just what it expects.
Prerequisites ask_prerequisites(const QueryInput& input, PrerequisiteSettings settings);

}  // namespace desirepath::inline queries
