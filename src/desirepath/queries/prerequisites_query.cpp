// The question: courses that open others, as table, words, graph and curriculum.
#include <algorithm>
#include <cmath>
#include <set>

#include <nlohmann/json.hpp>

#include "desirepath/core/error.h"
#include "desirepath/core/rounded.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/disclosure/disclosure.h"
#include "desirepath/queries/chance.h"
#include "desirepath/queries/curriculum_text.h"
#include "desirepath/queries/evidence_settings.h"
#include "desirepath/queries/prerequisites.h"
#include "desirepath/queries/refits.h"
#include "desirepath/transcripts/cohort_summary.h"

namespace desirepath::inline queries {

namespace {

struct PrerequisiteSettings {
  std::vector<std::string> course;
  PrerequisiteOptions options;
  bool curriculum = false;
  PrerequisiteBounds bounds;
  Id drawn = 2000;
  std::int64_t most_students = 20000;
  RefitSettings refits;
  ChanceSettings chance;

  void declare(SettingVisitor& visit) {
    visit(Setting("course", "only the prerequisites of this course, in words; may be given again").undivided(), course);
    visit(
        Setting("curriculum", "print the courses with declared and found prerequisites as a Curricular Analytics file"),
        curriculum);
    visit(Setting("students", "students drawn for each possible prerequisite").at_least(10).taking("N"),
          options.students);
    visit(Setting("compared",
                  "students whose courses are compared with what the model expects, drawn where there are more")
              .at_least(10)
              .taking("N"),
          most_students);
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
};

double disclosed_score(const PrerequisitePair& pair) {
  return rounded_to_error(pair.score(), pair.error());
}

class PrerequisitesAnswer : public Answer {
 public:
  nlohmann::ordered_json to_json() const override {
    nlohmann::ordered_json json;
    json["model"] = model;
    json["students"] = students;
    json["from"] = source;
    if (from_cohort) {
      const FindingCount count = tacit();
      json["findings"] = count.findings;
      json["by_chance"] = rounded_chance(count.by_chance);
    }
    json["pairs"] = pair_table(true).to_json();
    json["nodes"] = nlohmann::ordered_json::array();
    std::set<Id> disclosed;  // courses of few takers are in no pair
    for (const PrerequisitePair& pair : pairs)
      disclosed.insert({pair.prerequisite, pair.course});
    for (const Id id : disclosed) {
      const Course& course = schema.course(id);
      json["nodes"].push_back({{"course", course.name}, {"label", course.label}, {"subject", course.subject}});
    }
    json["links"] = nlohmann::ordered_json::array();
    for (const PrerequisitePair& pair : pairs) {
      if (is_found(pair)) {
        json["links"].push_back({{"from", name(pair.prerequisite)},
                                 {"to", name(pair.course)},
                                 {"score", disclosed_score(pair)},
                                 {"status", status(pair)}});
      }
    }
    return json;
  }
  Table table() const override { return pair_table(false); }

  void print(std::ostream& out) const override {
    constexpr std::size_t listed = 25;
    if (as_curriculum) {
      out << curriculum().text;
      return;
    }
    if (!courses.empty()) {
      for (const Id course : courses)
        print_course(out, course);
      return;
    }
    Table rows({{"before"}, {"course"}, {"odds x", 1}, {"at least", 1}, {"raises", 3}, {"had it", 2}, {"status"}});
    for (const PrerequisitePair& pair : pairs) {
      if (status(pair).empty()) continue;
      if (rows.row_count() == listed) break;
      const auto odds = [&](double errors) {
        return from_cohort && pair.is_disclosed() ? Cell(std::exp(pair.direct - errors * pair.direct_error)) : Cell();
      };
      rows.add_row({full_name(schema.course(pair.prerequisite)), full_name(schema.course(pair.course)), odds(0),
                    odds(1.96), pair.effect, pair.is_disclosed() ? Cell(pair.coverage) : Cell(), status(pair)});
    }
    rows.print_text(out);
    if (from_cohort) {
      out << chance_words(
                 tacit(),
                 has_list ? "pair looks like a prerequisite that is not listed" : "pair looks like a prerequisite",
                 has_list ? "pairs look like prerequisites that are not listed" : "pairs look like prerequisites")
          << '\n';
    }
    out << "odds x: how many times likelier the later one is next, by odds, among students whom the model expects to "
           "take it alike; raises: by how much the course before raises the model's expected enrollments in the later "
           "one; had it: share of the later one's takers who had it\n";
  }

  std::vector<std::string> notes() const override {
    std::vector<std::string> lines = {
        concat(
            source, "; ", students_each,
            " drawn for each course at most; intervals tell how far other students would move the figures, the model "
            "taken as it is"),
        from_cohort
            ? concat("ranked by the share of the later course's takers who had the earlier one, times what having it "
                     "adds: by the model, and beyond the model in the records of ",
                     with_separators(direct_students), " students")
            : "ranked by the share of the later course's takers who had the earlier one, times what having it adds",
        concat("pairs with ", disclosure.few(),
               " students who took one before the other have no score; where all but as few had it, all count as "
               "having it")};
    if (const std::int64_t left_out = as_curriculum ? curriculum().left_out : 0; left_out > 0)
      lines.push_back(counted(left_out, "link that would close a circle is", "links that would close circles are") +
                      " left out");
    return lines;
  }

  const Schema& schema;
  std::string model, source;
  std::int64_t students = 0, students_each = 0, direct_students = 0, refits = 0;
  Disclosure disclosure;
  PrerequisiteBounds bounds;
  bool from_cohort = true, as_curriculum = false;
  std::vector<Id> courses;  // asked for
  std::vector<PrerequisitePair> pairs;
  DeclaredPrerequisites declared;
  bool has_list = false;                // some prerequisite is declared
  std::vector<std::uint8_t> is_listed;  // of each course: taken by enough students to be named
  explicit PrerequisitesAnswer(const Schema& its_schema) : schema(its_schema) {}

 private:
  const std::string& name(Id course) const { return schema.course(course).name; }
  bool is_found(const PrerequisitePair& pair) const {
    return from_cohort ? bounds.is_direct(pair) : bounds.raises(pair);
  }
  Curriculum curriculum() const {
    std::vector<std::pair<Id, Id>> links;
    for (const bool wants_declared : {true, false}) {
      for (const PrerequisitePair& pair : pairs) {
        const std::string said = status(pair);
        const bool is_declared = said == "both" || said == "declared, not followed";
        if (is_declared == wants_declared && (is_declared || said == "tacit" || said == "found"))
          links.emplace_back(pair.prerequisite, pair.course);
      }
    }
    return curriculum_of(schema, is_listed, links, "declared and tacit prerequisites");
  }
  FindingCount tacit() const { return count_tacit(pairs, declared, bounds); }
  std::string status(const PrerequisitePair& pair) const {
    const char said = declared[static_cast<std::size_t>(pair.course)][static_cast<std::size_t>(pair.prerequisite)];
    const bool found = is_found(pair);
    if (said == 1) return found || bounds.raises(pair) ? "both" : "declared, not followed";
    if (said == 2) return "implied";
    if (!found) return "";
    return has_list ? "tacit" : "found";
  }
  static Cell in_percent(double share) { return std::round(100 * share) / 100; }
  Table pair_table(bool found_only) const {
    Table rows({{"prerequisite"},
                {"course"},
                {"score"},
                {"raised"},
                {"low"},
                {"high"},
                {"effect"},
                {"effect_error"},
                {"without"},
                {"coverage"},
                {"asymmetry"},
                {"students"},
                {"direct"},
                {"direct_error"},
                {"tacit_score"},
                {"q"},
                {"status"}});
    for (const PrerequisitePair& pair : pairs) {
      if (found_only && !is_found(pair) && status(pair).empty()) continue;
      // In more digits than their errors bear they would tell the counts that they were computed from.
      const auto rounded = [](double value, double error) { return Cell(rounded_to_error(value, error)); };
      const auto disclosed = [&](const Cell& cell) { return pair.is_disclosed() ? cell : Cell(); };
      const auto of_students = [&](double value) { return disclosed(rounded(value, pair.error())); };
      const auto of_records = [&](double value) {
        return from_cohort ? disclosed(rounded(value, pair.direct_error)) : Cell();
      };
      rows.add_row({name(pair.prerequisite), name(pair.course), disclosed(disclosed_score(pair)),
                    of_students(pair.raised()), of_students(pair.low()), of_students(pair.high()),
                    rounded(pair.effect, pair.effect_error), rounded(pair.effect_error, pair.effect_error),
                    rounded(pair.without, pair.effect_error), disclosed(in_percent(pair.coverage)),
                    pair.asymmetry ? in_percent(*pair.asymmetry) : Cell(), disclosed(pair.before),
                    of_records(pair.direct), of_records(pair.direct_error), of_records(pair.tacit_score()),
                    from_cohort ? Cell(rounded_chance(pair.q)) : Cell(), status(pair)});
    }
    return rows;
  }
  void print_course(std::ostream& out, Id course) const {
    constexpr std::size_t most = 8;
    out << full_name(schema.course(course)) << '\n';
    std::size_t listed = 0;
    for (const PrerequisitePair& pair : pairs) {
      if (pair.course != course || (!is_found(pair) && status(pair).empty())) continue;
      if (listed++ == most) break;
      out << "  " << full_name(schema.course(pair.prerequisite)) << ": ";
      if (pair.is_disclosed()) {
        out << fixed(100 * pair.coverage, 0) << " % of the " << with_separators(pair.takers)
            << " who took it had this before";
      } else {
        out << "nearly nobody had this before";
      }
      out << "; having it changes the chance to take it later by " << fixed(100 * pair.effect, 1) << " +- "
          << fixed(196 * pair.effect_error, 1) << " points";
      if (is_found(pair) && from_cohort)
        out << ", and its odds are " << fixed(std::exp(pair.direct), 1)
            << " times those of students with like records who lack it";
      out << " (" << (status(pair).empty() ? "weak" : status(pair)) << ")\n";
    }
    if (listed == 0) out << "  nothing stands out as a prerequisite\n";
  }
};

/// Drawn students as a cohort: what the model believes in place of what was seen.
Cohort drawn_cohort(const Model& model, std::int64_t count, const RandomStream& stream, const Executor& executor) {
  const Schema& schema = model.schema();
  const EvidenceBatch drawn = model.complete(nothing_known(schema, count), stream, executor);
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

std::unique_ptr<Answer> answer_prerequisites(const QueryInput& input) {
  auto settings = input.read<PrerequisiteSettings>();
  const Model& model = input.model();
  if (model.schema().period_count() < 2)
    throw OptionError("prerequisites: the model has one period, so nothing comes before anything");
  for (const std::string& course : settings.course)
    settings.options.of.push_back(model.schema().require_course(course));
  const RandomStream stream = RandomStream(input.seed).child("prerequisites");
  const Cohort cohort = input.cohort != nullptr
                            ? *input.cohort
                            : drawn_cohort(model, settings.drawn, stream.child("drawn"), input.executor);
  settings.options.disclosure.require(cohort.student_count());
  auto answer = std::make_unique<PrerequisitesAnswer>(model.schema());
  answer->model = model.name();
  answer->students = cohort.student_count();
  answer->students_each = settings.options.students;
  answer->disclosure = settings.options.disclosure;
  answer->bounds = settings.bounds;
  answer->bounds.most_q = settings.chance.q;
  answer->as_curriculum = settings.curriculum;
  answer->from_cohort = input.cohort != nullptr;
  answer->courses = settings.options.of;
  answer->source =
      input.cohort != nullptr
          ? concat("over ", counted(cohort.student_count(), "student", "students"), " of the cohort")
          : concat("over ", counted(cohort.student_count(), "student", "students"), " drawn from the model");
  answer->declared = declared_prerequisites(input.cohort != nullptr ? input.cohort->schema() : model.schema());
  answer->has_list = is_any_declared(answer->declared);
  answer->is_listed.assign(static_cast<std::size_t>(model.schema().course_count()), 0);
  for (const CohortSummary::CourseCount& entry : summarise(cohort).popular)
    answer->is_listed[static_cast<std::size_t>(entry.course)] =
        settings.options.disclosure.rests(static_cast<double>(entry.students)) ? 1 : 0;
  answer->pairs = find_prerequisites(model, cohort, settings.options, stream, input.executor, input.progress);
  const std::vector<std::unique_ptr<Model>> refits = refits_for(input, settings, stream);
  answer->refits = std::ssize(refits);
  RefitSpread effect_spread, direct_spread;
  for (const auto& refit : refits)
    effect_spread.add(
        effects_of(find_prerequisites(*refit, cohort, settings.options, stream, input.executor), model.schema()));
  if (!refits.empty()) {
    const RowMatrix variance = effect_spread.variance();
    for (PrerequisitePair& pair : answer->pairs)
      pair.effect_error = std::sqrt(pair.effect_error * pair.effect_error + variance(pair.prerequisite, pair.course));
  }
  // In the order of what is shown: that of the exact scores would tell more.
  const auto sort_pairs = [&] { std::ranges::stable_sort(answer->pairs, std::ranges::greater(), disclosed_score); };
  sort_pairs();
  if (input.cohort == nullptr) return answer;  // drawn students do just what the model expects
  const auto direct = [&](const Model& asked) {
    return direct_effects(asked, cohort, settings.most_students, stream.child("direct"), input.executor,
                          input.progress);
  };
  DirectEffects effects = direct(model);
  for (const auto& refit : refits)
    direct_spread.add(direct(*refit).log_odds);
  if (!refits.empty()) effects.error = (effects.error.cwiseAbs2() + direct_spread.variance()).cwiseSqrt();
  answer->direct_students = effects.students;
  add_direct_effects(answer->pairs, effects, answer->declared,
                     static_cast<double>(settings.options.disclosure.least()));
  sort_pairs();
  return answer;
}

}  // namespace

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
