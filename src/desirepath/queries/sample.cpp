// Pathways drawn from the model: whole ones, or what is not known of given students.
#include <algorithm>
#include <bit>
#include <set>

#include <nlohmann/json.hpp>

#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/queries/evidence_settings.h"

namespace desirepath::inline queries {

namespace {

constexpr std::int64_t drawn_at_once = 8192;
constexpr std::int64_t listed_pathways = 5;

struct SampleSettings {
  EvidenceSettings known;
  std::int64_t count = 5;
  bool no_repeats = false;
  Conditioning method = Conditioning::linear;

  void declare(SettingVisitor& visit) {
    visit(Setting("count", "pathways drawn, of each given student").at_least(1).taking("N"), count);
    known.declare(visit);
    visit(Setting("no-repeats", "an enrollment drawn in a course already taken is left out; says how many were"),
          no_repeats);
    visit(Setting("method", "how Gaussian models take what is known: linear or exact"), method);
  }
};

struct DrawnRow {
  std::int64_t student, draw;
  Id period, course;  // -1: there, and took nothing that is counted
};

/// What the rows are about, which all columns share.
struct DrawnOf {
  Schema schema;
  EvidenceBatch known;
  bool is_conditional = false;
  std::int64_t draws = 1;  // of each student
  /// Of every pathway, in order, what was drawn of each trait; -1: nothing.
  std::vector<std::int8_t> values = {};

  std::string value(const DrawnRow& row, Id trait) const {
    const auto pathway = static_cast<std::size_t>(row.student * draws + row.draw);
    const std::int8_t value = values[pathway * schema.traits().size() + static_cast<std::size_t>(trait)];
    return value < 0 ? "" : schema.traits()[static_cast<std::size_t>(trait)].values[static_cast<std::size_t>(value)];
  }
  /// Those that are no more than the periods say.
  std::vector<Id> shown_traits() const {
    std::vector<Id> shown;
    for (Id i = 0; i < schema.trait_count(); ++i) {
      if (schema.traits()[static_cast<std::size_t>(i)].kind != TraitKind::departure) shown.push_back(i);
    }
    return shown;
  }

  std::string student(const DrawnRow& row) const {
    return is_conditional ? known.students()[static_cast<std::size_t>(row.student)] : std::to_string(row.draw + 1);
  }
};

/// Pathways as they are drawn, and how many of their enrollments repeat a course.
struct DrawnPathways {
  const DrawnOf& of;
  bool no_repeats = false;
  std::vector<DrawnRow> rows = {};
  std::int64_t enrollments = 0, repeats = 0, removed = 0;

  void add(const EvidenceBatch& drawn, std::int64_t row, std::int64_t student, std::int64_t draw) {
    std::set<Id> had;
    for (Id t = 0; t < of.schema.period_count(); ++t) {
      if (drawn.presence(row, t) == Presence::left) continue;
      bool any = false;
      for (const Id bit : drawn.taken(row, t)) {
        const bool repeat = !had.insert(of.schema.course_of(bit)).second;
        ++enrollments;
        repeats += repeat ? 1 : 0;
        // What is known stays.
        if (repeat && no_repeats && PeriodEvidence::of(of.known, student, t).known(bit) != true) {
          ++removed;
          continue;
        }
        rows.push_back({student, draw, t, of.schema.course_of(bit)});
        any = true;
      }
      if (!any) rows.push_back({student, draw, t, -1});
    }
  }
};

std::int8_t drawn_value(const EvidenceBatch& drawn, std::int64_t row, Id trait) {
  if (trait >= drawn.trait_count()) return -1;
  const TraitValues possible = drawn.possible(row, drawn.trait(trait));
  return static_cast<std::int8_t>(std::popcount(possible) == 1 ? std::countr_zero(possible) : -1);
}

/// The first ones, period by period; how many those are.
std::int64_t say_pathways(Answer& answer, const std::vector<DrawnRow>& rows, const DrawnOf& of) {
  std::int64_t listed = 0;
  for (auto at = rows.begin(); at != rows.end() && listed < listed_pathways; ++listed) {
    std::vector<std::string> facts;
    for (const Id trait : of.shown_traits())
      facts.push_back(concat(of.schema.traits()[static_cast<std::size_t>(trait)].name, " = ", of.value(*at, trait)));
    answer.say(of.is_conditional ? of.student(*at) + ", possible " : "", "pathway ", at->draw + 1,
               facts.empty() ? "" : concat(" (", join(facts, ", "), ")"));
    const auto end = std::find_if(at, rows.end(), [first = *at](const DrawnRow& row) {
      return row.student != first.student || row.draw != first.draw;
    });
    while (at != end) {
      const Id period = at->period;
      const bool is_known = of.is_conditional && of.known.presence(at->student, period) == Presence::present;
      std::vector<std::string> names;
      for (; at != end && at->period == period; ++at) {
        if (at->course >= 0) names.push_back(full_name(of.schema.course(at->course)));
      }
      answer.say("  period ", of.schema.period(period), is_known ? " (known): " : ": ",
                 names.empty() ? "nothing that is counted" : join(names, ", "));
    }
  }
  return listed;
}

Answer answer_sample(const QueryInput& input) {
  const auto settings = input.read<SampleSettings>();
  const Model& model = input.model();
  const EvidenceBatch known = what_is_known(input, settings.known);
  require_possible(model, known, input.executor);
  const bool is_conditional = input.cohort != nullptr || input.given != nullptr;
  const auto of = std::make_shared<DrawnOf>(DrawnOf{model.schema(), known, is_conditional, settings.count});
  DrawnPathways drawn{*of, settings.no_repeats};
  const std::int64_t all = known.student_count() * settings.count;
  for (std::int64_t first = 0; first < all; first += drawn_at_once) {
    if (input.progress) input.progress({"sample", static_cast<double>(first) / static_cast<double>(all)});
    const std::int64_t last = std::min(all, first + drawn_at_once);
    EvidenceBuilder copies(known);
    for (std::int64_t i = first; i < last; ++i)
      add_student(copies, known, i / settings.count);
    // A block has its own stream, so that any number of draws begins with the same ones.
    const RandomStream stream = input.stream.child("sample").child(static_cast<std::uint64_t>(first / drawn_at_once));
    const EvidenceBatch block = model.complete(std::move(copies).build(), stream, input.executor, settings.method);
    for (std::int64_t i = first; i < last; ++i) {
      drawn.add(block, i - first, i / settings.count, i % settings.count);
      for (Id trait = 0; trait < of->schema.trait_count(); ++trait)
        of->values.push_back(drawn_value(block, i - first, trait));
    }
  }
  const auto enrollments = static_cast<double>(drawn.enrollments);
  Answer answer;
  answer.set({{"model", model.name()},
              {"pathways", all},
              {"enrollments", drawn.enrollments - drawn.removed},
              {"repeats", enrollments > 0 ? static_cast<double>(drawn.repeats) / enrollments : 0},
              {"removed_repeats", drawn.removed}});
  const std::int64_t listed = say_pathways(answer, drawn.rows, *of);
  if (all > listed) answer.say("and ", with_separators(all - listed), " more: ", setting_name("csv"), " lists all");
  answer.say("drawn from ", model.name(), is_conditional ? ", given what is known of the student" : "");
  using Row = DrawnRow;
  std::vector<ColumnOf<Row>> columns = {
      {"student", [of](const Row& row) { return of->student(row); }},
      {"period", [of](const Row& row) { return of->schema.period(row.period); }},
      {"course", [of](const Row& row) { return row.course < 0 ? "" : of->schema.course(row.course).name; }},
      {"draw", [](const Row& row) { return row.draw + 1; }, {.is_there = is_conditional}}};
  for (const Id trait : of->shown_traits()) {
    columns.push_back({of->schema.traits()[static_cast<std::size_t>(trait)].name,
                       [of, trait](const Row& row) { return of->value(row, trait); }});
  }
  answer.add("rows", {std::move(drawn.rows), std::move(columns)});
  if (drawn.removed > 0) {
    answer.note(with_separators(drawn.removed), " of ", with_separators(drawn.enrollments), " enrollments (",
                fixed(100.0 * static_cast<double>(drawn.removed) / enrollments, 2),
                " %) were repeats and are left out: loads shrink by as much, and later periods lose more");
  }
  return answer;
}

}  // namespace

Query sample_query() {
  return {"sample",
          "pathways drawn from the model, whole or completing what is known",
          {"desirepath sample answers.desirepath --count 1000 --csv",
           "desirepath sample answers.desirepath all.cohort --student S00000042 --known-periods 1,2"},
          CohortUse::optional,
          "students to complete: a cohort file or a raw table",
          declaration_of<SampleSettings>(),
          answer_sample,
          /*takes_evidence=*/true};
}

}  // namespace desirepath::inline queries
