// The question: courses that open others, as table, words, graph and curriculum.
#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include <nlohmann/json.hpp>

#include "desirepath/core/error.h"
#include "desirepath/core/rounded.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/disclosure/disclosure.h"
#include "desirepath/models/tilts_loads.h"
#include "desirepath/queries/chance.h"
#include "desirepath/queries/curriculum_text.h"
#include "desirepath/queries/evidence_settings.h"
#include "desirepath/queries/prerequisites.h"
#include "desirepath/queries/refits.h"
#include "desirepath/transcripts/cohort_summary.h"

namespace desirepath::inline queries {

namespace {

/// The declared links first, then those found.
Curriculum curriculum_with(const Prerequisites& judged, const Schema& schema) {
  using enum PrerequisiteStatus;
  std::vector<std::pair<Id, Id>> links;
  for (const auto& wanted : {std::array{both, unfollowed}, std::array{tacit, found}}) {
    for (const PrerequisitePair& pair : judged.pairs) {
      if (std::ranges::find(wanted, pair.status) != wanted.end()) links.emplace_back(pair.prerequisite, pair.course);
    }
  }
  return curriculum_of(schema, judged.is_listed, links, "declared and tacit prerequisites");
}

std::string pair_words(const PrerequisitePair& pair) {
  const std::string had = pair.is_disclosed() ? concat(fixed(100 * pair.coverage, 0), " % of the ",
                                                       with_separators(pair.takers), " who took it had this before")
                                              : "nearly nobody had this before";
  const std::string odds = pair.is_found && pair.is_compared
                               ? concat(", and its odds are ", fixed(std::exp(pair.direct), 1),
                                        " times those of students with like records who lack it")
                               : "";
  return concat("  ", pair.name.title, ": ", had, "; having it changes the chance to take it later by ",
                fixed(100 * pair.effect, 1), " +- ", fixed(196 * pair.effect_error, 1), " points", odds, " (",
                name_of(pair.status), ")");
}

/// What opens one course.
void say_course(Answer& answer, const Prerequisites& judged, const Course& course) {
  constexpr std::size_t most = 8;
  std::vector<PrerequisitePair> own = judged.pairs;
  std::erase_if(own, [&](const PrerequisitePair& pair) {
    return pair.course_name.name != course.name || pair.status == PrerequisiteStatus::none;
  });
  answer.say(full_name(course));
  for (std::size_t i = 0; i < std::min(most, own.size()); ++i)
    answer.say(pair_words(own[i]));
  if (own.empty()) answer.say("  nothing stands out as a prerequisite");
}

/// Drawn students as a cohort: what the model believes in place of what was seen.
Cohort drawn_cohort(const Model& model, std::int64_t count, std::span<const TraitCondition> given,
                    const RandomStream& stream, const Executor& executor) {
  const Schema& schema = model.schema();
  const EvidenceBatch known = given_conditions(schema, nothing_known(schema, count), given);
  require_possible(model, known.slice(0, 1), executor);
  // What they are held against are marginals, which know nothing of tilted loads.
  const EvidenceBatch drawn = untilted(model).complete(known, stream, executor);
  CohortParts parts;
  parts.schema = schema;
  parts.students = drawn.students();
  BinaryMatrixBuilder enrollments(schema.bit_count());
  for (std::int64_t s = 0; s < count; ++s) {
    for (Id t = 0; t < schema.period_count(); ++t) {
      parts.status.push_back(status_for(drawn.presence(s, t)));
      for (const Id bit : drawn.taken(s, t))
        enrollments.add(bit);
      enrollments.finish_row();
    }
  }
  parts.enrollments = std::move(enrollments).build();
  return Cohort(std::move(parts));
}

RowMatrix effects_of(const std::vector<PrerequisitePair>& pairs, const Schema& schema) {
  RowMatrix effects = RowMatrix::Zero(schema.course_count(), schema.course_count());
  for (const PrerequisitePair& pair : pairs)
    effects(pair.prerequisite, pair.course) = pair.effect;
  return effects;
}

std::vector<std::unique_ptr<Model>> refits_for(const QueryInput& input, const PrerequisiteSettings& settings,
                                               const RandomStream& stream) {
  if (settings.refits.count == 0) return {};
  if (input.cohort == nullptr)
    throw OptionError(concat(setting_name("refits"), " needs the students the model was trained on: a COHORT"));
  return refit_models(input.stored, *input.cohort, settings.refits.count, stream.child("refits"), input.executor,
                      input.progress);
}

/// The fields and tables; pairs that are neither found nor declared are for CSV alone.
void set_pairs(Answer& answer, const Prerequisites& judged, const Schema& schema) {
  std::vector<PrerequisitePair> found = judged.pairs;
  std::erase_if(found, [](const PrerequisitePair& pair) { return !pair.is_found; });
  answer.set("pairs", judged.with_status().pair_table());
  answer.add_table("pairs", judged.pair_table());
  std::set<Id> disclosed;  // courses of few takers are in no pair
  for (const PrerequisitePair& pair : judged.pairs)
    disclosed.insert({pair.prerequisite, pair.course});
  std::vector<Course> courses;
  for (const Id id : disclosed)
    courses.push_back(schema.course(id));
  answer.add("nodes", course_table(std::move(courses)));
  answer.add("links", {std::move(found),
                       {{"from", &PrerequisitePair::name},
                        {"to", &PrerequisitePair::course_name},
                        {"score", &PrerequisitePair::rounded_score},
                        {"status", [](const PrerequisitePair& pair) { return name_of(pair.status); }}}});
}

/// The best of them.
void say_pairs(Answer& answer, const Prerequisites& judged) {
  constexpr std::size_t most = 25;
  answer.show(judged.with_status().pair_table().first(most));
  if (judged.compared > 0) {
    const std::string_view unlisted = judged.has_list ? " that is not listed" : "",
                           are = judged.has_list ? " that are not listed" : "";
    answer.say(chance_words(judged.found, concat("pair looks like a prerequisite", unlisted),
                            concat("pairs look like prerequisites", are)));
  }
  answer.say(
      "odds x: how many times likelier the later one is next, by odds, among students whom the model expects to take "
      "it alike; raises: by how much the course before raises the model's expected enrollments in the later one; had "
      "it: share of the later one's takers who had it");
}

Answer answer_prerequisites(const QueryInput& input) {
  const auto settings = input.read<PrerequisiteSettings>();
  const Schema& schema = input.model().schema();
  if (schema.period_count() < 2)
    throw OptionError("prerequisites: the model has one period, so nothing comes before anything");
  Prerequisites judged = ask_prerequisites(input, settings);
  // In the order of what is shown: that of the exact scores would tell more.
  std::ranges::stable_sort(judged.pairs, std::ranges::greater(), &PrerequisitePair::rounded_score);
  const bool from_cohort = input.cohort != nullptr;
  const std::string source = concat("over ", counted(judged.students, "student", "students"),
                                    from_cohort ? " of the cohort" : " drawn from the model",
                                    judged.given.empty() ? "" : concat(" with ", judged.given));
  Answer answer;
  answer.set({{"model", input.model().name()}, {"students", judged.students}, {"from", source}});
  if (from_cohort) set_findings(answer, judged.found);
  set_pairs(answer, judged, schema);
  Curriculum curriculum;
  if (settings.curriculum) {
    curriculum = curriculum_with(judged, schema);
    curriculum.text.pop_back();  // the end of its last line
    answer.say(curriculum.text);
  } else if (settings.course.empty()) {
    say_pairs(answer, judged);
  } else {
    for (const std::string& course : settings.course)
      say_course(answer, judged, schema.course(schema.require_course(course)));
  }
  answer.note(source, "; ", settings.options.students,
              " drawn for each course at most; intervals tell how far other students would move the figures, "
              "the model taken as it is");
  answer.note("ranked by the share of the later course's takers who had the earlier one, times what having it adds",
              from_cohort ? concat(": by the model, and beyond the model in the records of ",
                                   with_separators(judged.compared), " students")
                          : "");
  answer.note("pairs with ", settings.options.disclosure.few(),
              " students who took one before the other have no score; where all but as few had it, all count as "
              "having it");
  if (curriculum.left_out > 0) {
    answer.note(
        counted(curriculum.left_out, "link that would close a circle is", "links that would close circles are") +
        " left out");
  }
  return answer;
}

PrerequisiteStatus status_of(char declared, bool has_list, bool is_found, bool raises) {
  using enum PrerequisiteStatus;
  if (declared == 1) return is_found || raises ? both : unfollowed;
  if (declared == 2) return implied;
  return !is_found ? none : has_list ? tacit : found;
}

}  // namespace

void PrerequisiteSettings::declare(SettingVisitor& visit) {
  visit(Setting("course", "only the prerequisites of this course, in words; may be given again").undivided(), course);
  visit(condition_setting(), given);
  visit(Setting("curriculum", "print the courses with declared and found prerequisites as a Curricular Analytics file"),
        curriculum);
  visit(Setting("students", "students drawn for each possible prerequisite").at_least(10).taking("N"),
        options.students);
  visit(
      Setting("compared", "students whose courses are compared with what the model expects, drawn where there are more")
          .at_least(10)
          .taking("N"),
      compared);
  visit(Setting("least-direct", "from this tacit score on a pair counts as found").at_least(0), bounds.least_direct);
  visit(Setting("least-score",
                "from this score on, and with an interval above 0, a declared pair counts as followed; without a "
                "COHORT any pair as found")
            .at_least(0),
        bounds.least_score);
  visit(Setting("drawn", "without a COHORT: students drawn from the model").at_least(100).taking("N"), drawn);
  refits.declare(visit);
  chance.declare(visit);
  options.disclosure.declare(visit);
}

Prerequisites ask_prerequisites(const QueryInput& input, PrerequisiteSettings settings) {
  settings.bounds.most_q = settings.chance.q;
  const Disclosure& disclosure = settings.options.disclosure;
  const Model& model = input.model();
  const Schema& schema = model.schema();
  for (const std::string& course : settings.course)
    settings.options.of.push_back(schema.require_course(course));
  settings.options.given = parse_conditions(schema, settings.given);
  const std::vector<TraitCondition>& given = settings.options.given;
  const bool from_cohort = input.cohort != nullptr;
  const RandomStream stream = input.stream.child("prerequisites");
  const Cohort cohort = from_cohort ? students_with(*input.cohort, schema, given, disclosure)
                                    : drawn_cohort(model, settings.drawn, given, stream.child("drawn"), input.executor);
  disclosure.require(cohort.student_count());
  const DeclaredPrerequisites declared = declared_prerequisites(from_cohort ? cohort.schema() : schema);
  Prerequisites judged{find_prerequisites(model, cohort, settings.options, stream, input.executor, input.progress),
                       is_any_declared(declared), cohort.student_count()};
  judged.given = words_for(schema, given);
  const std::vector<std::unique_ptr<Model>> refits = refits_for(input, settings, stream);
  RefitSpread effect_spread, direct_spread;
  for (const auto& refit : refits)
    effect_spread.add(effects_of(find_prerequisites(*refit, cohort, settings.options, stream, input.executor), schema));
  const RowMatrix variance = refits.empty() ? RowMatrix() : effect_spread.variance();
  for (std::size_t i = 0; i < judged.pairs.size() && !refits.empty(); ++i) {
    PrerequisitePair& pair = judged.pairs[i];
    pair.effect_error = std::sqrt(pair.effect_error * pair.effect_error + variance(pair.prerequisite, pair.course));
  }
  if (from_cohort) {
    const auto direct = [&](const Model& asked) {
      return direct_effects(asked, cohort, settings.compared, stream.child("direct"), input.executor, input.progress,
                            given);
    };
    DirectEffects effects = direct(model);
    for (const auto& refit : refits)
      direct_spread.add(direct(*refit).log_odds);
    if (!refits.empty()) effects.error = (effects.error.cwiseAbs2() + direct_spread.variance()).cwiseSqrt();
    judged.compared = effects.students;
    add_direct_effects(judged.pairs, effects, declared, static_cast<double>(disclosure.least()));
    judged.found = count_tacit(judged.pairs, declared, settings.bounds);
  }
  for (PrerequisitePair& pair : judged.pairs) {
    const bool raises = settings.bounds.raises(pair);
    pair.is_found = from_cohort ? settings.bounds.is_direct(pair) : raises;
    pair.status = status_of(pair.declared_in(declared), judged.has_list, pair.is_found, raises);
    pair.name = named(schema.course(pair.prerequisite));
    pair.course_name = named(schema.course(pair.course));
  }
  judged.is_listed.assign(static_cast<std::size_t>(schema.course_count()), 0);
  for (const CohortSummary::CourseCount& entry : summarise(cohort).popular)
    judged.is_listed[static_cast<std::size_t>(entry.course)] =
        disclosure.rests(static_cast<double>(entry.students)) ? 1 : 0;
  return judged;
}

std::int64_t Prerequisites::count(PrerequisiteStatus status) const {
  return std::ranges::count(pairs, status, &PrerequisitePair::status);
}

Prerequisites Prerequisites::with_status() const {
  Prerequisites some = *this;
  std::erase_if(some.pairs, [](const PrerequisitePair& pair) { return pair.status == PrerequisiteStatus::none; });
  return some;
}

Table Prerequisites::pair_table(std::string_view (*status_words)(PrerequisiteStatus)) const {
  using Row = PrerequisitePair;
  // In more digits than their errors bear numbers would tell the counts that they were computed from.
  const auto by_model = [](const auto& get) {
    return [=](const Row& row) { return rounded_to_error(std::invoke(get, row), row.effect_error); };
  };
  const auto of_students = [](const auto& get) {
    return [=](const Row& row) {
      return value_if(row.is_disclosed(), rounded_to_error(std::invoke(get, row), row.error()));
    };
  };
  const auto of_records = [](const auto& get) {
    return [=](const Row& row) {
      return value_if(row.is_compared && row.is_disclosed(), rounded_to_error(std::invoke(get, row), row.direct_error));
    };
  };
  const auto had_first = [](const Row& row) -> Cell {
    if (!row.is_disclosed()) return {};
    return row.did_nearly_all() ? cell_of("nearly all") : cell_of(row.coverage);
  };
  const auto in_percent = [](double share) { return std::round(100 * share) / 100; };
  const Look programs{.shown = Shown::to_programs};
  return {pairs,
          {{"prerequisite", &Row::name, {.title = "before"}},
           {"course", &Row::course_name},
           {"score", of_students(&Row::score), programs},
           {"raised", of_students(&Row::raised), programs},
           {"low", of_students(&Row::low), programs},
           {"high", of_students(&Row::high), programs},
           {"odds", &Row::odds, {.title = "odds x", .decimals = 1, .shown = Shown::to_people}},
           {"least_odds", &Row::least_odds, {.title = "at least", .decimals = 1, .shown = Shown::to_people}},
           {"effect", by_model(&Row::effect), programs},
           {"effect_error", by_model(&Row::effect_error), programs},
           {"without", by_model(&Row::without), programs},
           {"raises", &Row::effect, {.shown = Shown::to_people}},
           {"coverage", [=](const Row& row) { return value_if(row.is_disclosed(), in_percent(row.coverage)); },
            share(2, programs)},
           {"had_it", [](const Row& row) { return value_if(row.is_disclosed(), row.coverage); },
            share(2, {.title = "had it", .shown = Shown::to_people})},
           {"asymmetry",
            [=](const Row& row) { return row.asymmetry ? std::optional(in_percent(*row.asymmetry)) : std::nullopt; },
            programs},
           {"students",
            [](const Row& row) { return value_if(row.is_disclosed(), row.before); },
            {.unit = "students", .shown = Shown::to_programs}},
           {"direct", of_records(&Row::direct), programs},
           {"direct_error", of_records(&Row::direct_error), programs},
           {"tacit_score", of_records(&Row::tacit_score), programs},
           {"q", [](const Row& row) { return value_if(row.is_compared, rounded_chance(row.q)); }, programs},
           {"had_first", had_first, {.percent = Percent::fitting, .shown = Shown::if_picked}},
           {"exact_score", &Row::disclosed_score, {.shown = Shown::if_picked}},
           {"status", [=](const Row& row) { return status_words(row.status); }}}};
}

Query prerequisites_query() {
  return {"prerequisites",
          "courses that open others, declared or not",
          {"desirepath prerequisites answers.desirepath all.cohort",
           "desirepath prerequisites answers.desirepath all.cohort --course \"CS 201\"",
           "desirepath prerequisites answers.desirepath all.cohort --curriculum > curriculum.csv"},
          CohortUse::optional,
          "the students to look at; without it, students drawn from the model",
          declaration_of<PrerequisiteSettings>(),
          answer_prerequisites};
}

}  // namespace desirepath::inline queries
