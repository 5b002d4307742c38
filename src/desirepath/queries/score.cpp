// How well the model expects each student, and what makes a pathway unusual.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include <nlohmann/json.hpp>

#include "desirepath/core/error.h"
#include "desirepath/core/rounded.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/disclosure/disclosure.h"
#include "desirepath/queries/evidence_settings.h"
#include "desirepath/queries/held_out.h"
#include "desirepath/queries/student_scores.h"
#include "desirepath/queries/trait_conditions.h"
#include "desirepath/queries/typicality.h"

namespace desirepath::inline queries {

namespace {

/// Whether what is known of students beside their courses counts.
enum class TraitRule { on, off };
std::span<const std::string_view> value_names(TraitRule) {
  static constexpr std::array<std::string_view, 2> names = {"on", "off"};
  return names;
}

struct ScoreSettings {
  std::optional<std::string> likelihood;
  Precision precision = Precision::quick;
  LeaveOut leave_one_out = LeaveOut::automatic;
  TraitRule traits = TraitRule::on;
  std::string weights, by, major;
  Id explain = 0;
  double contrast = 0.1;
  bool full_precision = false;
  Disclosure disclosure;

  void declare(SettingVisitor& visit) {
    visit(Setting("likelihood", "mass, density or lower_bound (mass where the model has it)").taking("KIND"),
          likelihood);
    visit(Setting("precision",
                  "where a likelihood has no closed form: a quick approximation; sampled with a standard error, ten "
                  "times slower and more; or fitted, of whole covariances their fit by 8 factors, a hundred times "
                  "faster and nats too low"),
          precision);
    visit(Setting("leave-one-out",
                  "scores of each student by a model of the others, where COHORT is the one the model was trained on: "
                  "one EM step from the model towards the one trained without the student (emissions bernoulli and "
                  "hidden-tree), or fits to four fifths of the students (tree, gaussian, probit and vae). auto: for "
                  "percentiles and rankings; on, or nothing after it: for everything; off: the model's own scores"),
          leave_one_out);
    visit(Setting("traits",
                  "on: attributes and outcomes that the model knows count in the score beside courses; off: they are "
                  "treated as unknown"),
          traits);
    visit(Setting("weights", "student attribute that weighs each student in the mean").taking("COLUMN"), weights);
    visit(Setting("by", "student attribute: percentiles within its groups too").taking("COLUMN"), by);
    visit(Setting("explain", "of this many least typical students: what makes their pathways unusual; names them")
              .at_least(0)
              .taking("N"),
          explain);
    visit(Setting("contrast", "the most and the least typical students compared: this share of all each")
              .above(0)
              .at_most(0.5),
          contrast);
    visit(Setting("major", "student attribute that names the subject, school or concentration of their major")
              .taking("COLUMN"),
          major);
    visit(Setting("full-precision",
                  "every digit of the means, and how many students are impossible however few: as confidential as the "
                  "records themselves"),
          full_precision);
    disclosure.declare(visit);
  }
};

LikelihoodKind choose_kind(const std::optional<std::string>& name, const Model& model) {
  std::vector<std::string> names;
  for (const LikelihoodKind kind : model.likelihood_kinds()) {
    if (!name || name_of(kind) == *name) return kind;
    names.emplace_back(name_of(kind));
  }
  throw OptionError(concat(setting_name("likelihood"), " ", *name, ": this model has ", join(names, ", ")));
}

/// Students of one value of the attribute; 0 where it is not known.
std::vector<std::int64_t> group_numbers(const Attribute& attribute) {
  std::vector<std::int64_t> groups;
  for (const Id code : attribute.codes)
    groups.push_back(code + 1);
  return groups;
}

/// What the rows of students share.
struct ScoredStudents {
  Cohort cohort;
  StudentScores scores;
  std::optional<std::vector<double>> ranking;  // what they are ranked by where that is not their scores
  std::optional<StudentScores> with_student;
  Percentiles percentile, percentile_all;  // among students present in the same periods; among all
  std::optional<Percentiles> in_group;
  std::map<std::int64_t, std::vector<Surprise>> unusual;

  const std::vector<double>& ranked() const { return ranking ? *ranking : scores.log_likelihood; }
  const std::string& name(std::int64_t student) const { return cohort.students()[static_cast<std::size_t>(student)]; }
  const Course& course(Id bit) const { return cohort.schema().course(cohort.schema().course_of(bit)); }
  const std::string& period(Id bit) const { return cohort.schema().period(cohort.schema().period_of(bit)); }
  /// What makes the pathway unusual; empty for students of whom that was not asked.
  std::string why_unusual(std::size_t student) const {
    const auto found = unusual.find(static_cast<std::int64_t>(student));
    if (found == unusual.end()) return {};
    std::vector<std::string> parts;
    for (const Surprise& surprise : found->second) {
      parts.push_back(concat(surprise.taken ? "took " : "did not take ", full_name(course(surprise.bit)), " in period ",
                             period(surprise.bit), " (1 in ",
                             with_separators(std::llround(1 / std::max(surprise.probability, 1e-9))), ")"));
    }
    return join(parts, "; ");
  }
};

Table student_table(const std::shared_ptr<const ScoredStudents>& of, const std::string& group) {
  using Row = std::size_t;
  const Look percent{.unit = "%"}, nats{.unit = "nats"};
  const auto nats_if = [](bool is_there) { return Look{.unit = "nats", .is_there = is_there}; };
  return {RowNumbers{of->scores.log_likelihood.size()},
          {{"student", [of](Row s) { return of->cohort.students()[s]; }},
           {"log_likelihood", [of](Row s) { return of->scores.log_likelihood[s]; }, nats},
           {"percentile", [of](Row s) { return of->percentile.value[s]; }, percent},
           {"percentile_all", [of](Row s) { return of->percentile_all.value[s]; }, percent},
           {"compared_with", [of](Row s) { return of->percentile.of[s]; }, {.unit = "students"}},
           {"standard_error", [of](Row s) { return of->scores.standard_error[s]; },
            nats_if(!of->scores.standard_error.empty())},
           {"with_student", [of](Row s) { return of->with_student->log_likelihood[s]; },
            nats_if(of->with_student.has_value())},
           {"left_out", [of](Row s) { return (*of->ranking)[s]; }, nats_if(of->ranking.has_value())},
           {concat("percentile_in_", group),
            [of](Row s) { return of->in_group->value[s]; },
            {.unit = "%", .is_there = of->in_group.has_value()}},
           {"unusual", [of](Row s) { return of->why_unusual(s); }, {.is_there = !of->unusual.empty()}}}};
}

/// Means and counts as they may be shown.
struct ShownScores {
  struct Mean {
    double mean, error;
    bool leaves_out;  // students of probability 0, enough of them to be told
  };
  const Disclosure& disclosure;
  bool full_precision;

  static std::int64_t possible(const StudentScores& of) { return std::ssize(of.log_likelihood) - of.impossible; }
  /// Nothing where it would rest on few. Of few impossible students nothing is said: the mean is that of the others.
  std::optional<Mean> mean(const StudentScores& of) const {
    if (full_precision) return Mean{of.mean_of_possible, of.standard_error_of_mean, of.impossible > 0};
    if (!disclosure.rests(of.behind_mean)) return std::nullopt;
    // Students who are all alike would give all digits of what they did.
    constexpr double least_spread = 0.1;
    const double error =
        std::max(of.standard_error_of_mean, least_spread / std::sqrt(static_cast<double>(possible(of))));
    return Mean{rounded_to_error(of.mean_of_possible, error), rounded_to_error(error, error),
                disclosure.rests(static_cast<double>(of.impossible))};
  }
  /// Nothing where they, or all others, are few or none.
  std::optional<std::int64_t> impossible(const StudentScores& of) const {
    const bool disclosed =
        disclosure.rests(static_cast<double>(of.impossible)) && disclosure.rests(static_cast<double>(possible(of)));
    return value_if(disclosed || full_precision, of.impossible);
  }
  /// Of the possible: the mean of the students around each place, as many as make a cell.
  Table quantiles(const StudentScores& of) const {
    std::vector<double> sorted = of.log_likelihood;
    std::erase_if(sorted, [](double value) { return !std::isfinite(value); });
    std::ranges::sort(sorted);
    const auto window = std::min(static_cast<std::size_t>(disclosure.least()), sorted.size());
    const double error = mean(of)->error;
    std::vector<std::pair<std::string, double>> rows;
    for (const auto& [name, share] :
         {std::pair<const char*, double>{"1 in 100", 0.01}, {"1 in 10", 0.1}, {"half", 0.5}, {"9 in 10", 0.9}}) {
      // Below a small share stand few students.
      if (!disclosure.rests(share * static_cast<double>(sorted.size()))) continue;
      const auto at = static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1));
      const std::size_t first = std::min(at - std::min(at, window / 2), sorted.size() - window);
      const auto begin = sorted.begin() + static_cast<std::ptrdiff_t>(first);
      const double around =
          std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(window), 0.0) / static_cast<double>(window);
      rows.emplace_back(name, full_precision ? sorted[at] : rounded_to_error(around, error));
    }
    using Row = std::pair<std::string, double>;
    return {std::move(rows), {{"least typical of", &Row::first}, {"log_likelihood", &Row::second, {.unit = "nats"}}}};
  }
};

nlohmann::ordered_json number_or_null(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

/// Of all students: nothing where some are left out of it.
nlohmann::ordered_json mean_of_all(const std::optional<ShownScores::Mean>& mean) {
  return mean && !mean->leaves_out ? number_or_null(mean->mean) : nlohmann::ordered_json();
}

Table contrast_table(const TypicalityContrast& contrast) {
  struct Row {
    std::string what;
    double most;
    std::optional<double> least;  // nothing: withheld
  };
  const GroupPortrait &most = contrast.most, &least = contrast.least;
  std::vector<Row> rows = {{"courses", most.courses, least.courses}};
  if (most.has_subjects) rows.push_back({"different subjects", most.subjects, least.subjects});
  if (most.in_major && least.in_major) rows.push_back({"courses in the own major", *most.in_major, *least.in_major});
  for (std::size_t i = 0; i < std::min<std::size_t>(8, most.by_subject.size()); ++i) {
    const auto& [subject, count] = most.by_subject[i];
    rows.push_back({concat("courses in ", subject), count, least.courses_in(subject)});
  }
  if (most.others > 0 || least.others > 0)
    rows.push_back({"courses in subjects withheld (–)", most.others, least.others});
  const auto least_typical = [](const Row& row) { return row.least ? cell_of(*row.least) : cell_of("–"); };
  return {std::move(rows),
          {{"a student", &Row::what},
           {"most typical", &Row::most, {.unit = "courses", .decimals = 2}},
           {"least typical", least_typical, {.unit = "courses", .decimals = 2, .type = ColumnType::number}}}};
}

void say_contrast(Answer& answer, const TypicalityContrast& contrast) {
  answer.say("most typical ", contrast.most.students, " students beside the least typical ", contrast.least.students,
             ", among students present in the same periods");
  answer.show(contrast_table(contrast), "  ");
  for (const auto& [name, portrait] : {std::pair("most", &contrast.most), std::pair("least", &contrast.least)}) {
    std::vector<std::string> parts;
    for (const auto& [course, share] : portrait->most_taken)
      parts.push_back(concat(course.title, " ", fixed(100 * share, 0), "%"));
    if (!parts.empty()) answer.say("  the ", name, " typical take ", join(parts, ", "));
  }
}

std::map<std::int64_t, std::vector<Surprise>> explain_unusual(const ScoredStudents& students,
                                                              const EvidenceBatch& evidence, const Model& model,
                                                              Id count, const Executor& executor) {
  constexpr std::size_t most_surprises = 4;
  std::map<std::int64_t, std::vector<Surprise>> unusual;
  if (count == 0) return unusual;
  const Vector usual = usual_shares(model, executor);
  std::vector<std::int64_t> order = least_typical_first(students.percentile);
  order.resize(std::min(order.size(), static_cast<std::size_t>(count)));
  for (const std::int64_t s : order) {
    std::vector<Surprise> found = find_surprises(model, evidence, s, usual, executor);
    found.resize(std::min(found.size(), most_surprises));
    unusual[s] = std::move(found);
  }
  return unusual;
}

nlohmann::ordered_json unusual_json(const ScoredStudents& students) {
  nlohmann::ordered_json list;
  for (const auto& [student, surprises] : students.unusual) {
    nlohmann::ordered_json entry{{"student", students.name(student)}};
    for (const Surprise& surprise : surprises) {
      entry["surprises"].push_back({{"course", students.course(surprise.bit).name},
                                    {"period", students.period(surprise.bit)},
                                    {"taken", surprise.taken},
                                    {"probability", surprise.probability}});
    }
    list.push_back(std::move(entry));
  }
  return list;
}

Answer answer_score(const QueryInput& input) {
  const auto settings = input.read<ScoreSettings>();
  const Model& model = input.model();
  const Cohort& cohort = *input.cohort;
  const LikelihoodKind kind = choose_kind(settings.likelihood, model);
  const std::vector<double> weights =
      settings.weights.empty() ? std::vector<double>() : student_weights(cohort, settings.weights);
  const Attribute* group = settings.by.empty() ? nullptr : &cohort.attribute(settings.by);
  if (!settings.major.empty()) cohort.attribute(settings.major);
  if (!input.students_wanted || settings.full_precision) {
    settings.disclosure.require(cohort.student_count());
    if (!weights.empty()) settings.disclosure.require_behind(weights);
  }
  const bool leaves_traits = settings.traits == TraitRule::off;
  const EvidenceBatch evidence = leaves_traits ? without_traits(EvidenceBatch::of(cohort)) : EvidenceBatch::of(cohort);
  std::string not_left_out;
  if (leaves_traits && settings.leave_one_out == LeaveOut::on)
    throw OptionError(concat(setting_name("leave-one-out"), " on takes out whole records: not with ",
                             setting_name("traits"), " off"));
  const std::optional<LeftOutScores> left_out =  // first: what is refused is refused at once
      left_out_scores(input.stored, cohort, kind, leaves_traits ? LeaveOut::off : settings.leave_one_out,
                      input.stream.child("left out"), input.executor, input.progress, not_left_out);
  ScoredStudents students{cohort, score_students(model, evidence, kind, input.executor, weights, settings.precision)};
  if (left_out && settings.leave_one_out == LeaveOut::on) {
    students.with_student = std::move(students.scores);
    students.scores = summarise_scores({left_out->log_likelihood, {}}, kind, weights);
  } else if (left_out) {
    students.ranking.emplace(left_out->log_likelihood.begin(), left_out->log_likelihood.end());
  }
  const std::vector<double>& ranked = students.ranked();
  students.percentile_all = percentiles(ranked, std::vector<std::int64_t>(ranked.size(), 0));
  students.percentile = percentiles(ranked, groups_by_presence(cohort, settings.disclosure.least()));
  if (group != nullptr) students.in_group = percentiles(ranked, group_numbers(*group));
  const auto contrast = contrast_typical(
      cohort, students.percentile, std::llround(settings.contrast * static_cast<double>(cohort.student_count())),
      settings.major.empty() ? usual_major(cohort) : settings.major, settings.disclosure);
  students.unusual = explain_unusual(students, evidence, model, settings.explain, input.executor);
  const auto shared = std::make_shared<const ScoredStudents>(std::move(students));
  const StudentScores& scores = shared->scores;

  const ShownScores shown{settings.disclosure, settings.full_precision};
  const std::optional<ShownScores::Mean> mean = shown.mean(scores);
  const std::optional<ShownScores::Mean> with = shared->with_student ? shown.mean(*shared->with_student) : std::nullopt;
  const bool by_folds = left_out && left_out->by == LeftOutBy::folds;
  const std::string how_left_out =
      by_folds ? "fits to four fifths of the students" : "one EM step towards the optimum without the student";
  const std::string note = model.likelihood_note(evidence, kind, input.executor, settings.precision);
  Answer answer;
  answer.set({{"students", cohort.student_count()},
              {"mean_log_likelihood", mean_of_all(mean)},
              {"standard_error", mean ? number_or_null(mean->error) : nlohmann::ordered_json()},
              {"likelihood_kind", std::string(name_of(scores.kind))},
              {"ranked_by", !left_out  ? "model"
                            : by_folds ? "folds"
                                       : "left_out"}});
  if (shared->with_student) {
    answer.set({{"leave_one_out", how_left_out}, {"mean_with_student", mean_of_all(with)}});
  }
  answer.set("impossible_students", shown.impossible(scores));
  if (!note.empty()) answer.set("note", note);
  if (mean && mean->leaves_out) answer.set("mean_of_possible_students", number_or_null(mean->mean));
  if (!mean || mean->leaves_out)
    answer.set("reason", concat(mean ? "some" : "nearly all", " students' evidence has probability 0 under the model"));
  if (contrast) {
    answer.set({{"most_typical", contrast->most.to_json()}, {"least_typical", contrast->least.to_json()}});
  }
  if (!shared->unusual.empty()) answer.set("unusual", unusual_json(*shared));
  answer.add_table("students", student_table(shared, settings.by));

  const std::string count = counted(cohort.student_count(), "student", "students");
  if (mean) {
    answer.say(count, ", mean log-likelihood (", name_of(scores.kind), ") ",
               mean->leaves_out ? "of those that are possible " : "", shortest(mean->mean), ", standard error ",
               shortest(mean->error));
    answer.show(shown.quantiles(scores), "  ");
  } else {
    answer.say(count + ": nearly all are impossible under the model (probability 0)");
  }
  if (with) {
    answer.say(by_folds ? "each student is scored by a model trained on four fifths of the students, without "
                          "this one"
                        : "each student is scored by a model that one step of training took their own record "
                          "out of, nearly one learned without it",
               "; with it the mean is ", shortest(with->mean));
  }
  if (contrast) say_contrast(answer, *contrast);
  for (const auto& [student, surprises] : shared->unusual) {
    const auto s = static_cast<std::size_t>(student);
    answer.say(shared->name(student), " (percentile ", fixed(shared->percentile.value[s], 1),
               "): ", shared->why_unusual(s));
  }
  answer.say(setting_name("csv"), " lists every student");
  if (!note.empty()) answer.note(note);
  if (shared->ranking) {
    answer.note(
        "the model was trained on these students: percentiles and rankings are by scores without the student's own "
        "record (",
        how_left_out, "); ", setting_name("leave-one-out"), " off ranks by the model's own scores");
  }
  if (settings.leave_one_out != LeaveOut::off && input.stored.training.published) {
    answer.note(
        "a published model does not say which students it was trained on; if these are among them, it finds them more "
        "typical than it would find others");
  }
  if (!not_left_out.empty()) {
    answer.note(
        "percentiles and rankings are by the model's own scores, which flatter the students it was trained on; ",
        not_left_out);
  }
  // With student by student in the same answer nothing is left to withhold.
  const std::int64_t impossible = input.students_wanted ? scores.impossible : shown.impossible(scores).value_or(0);
  if (impossible > 0) {
    answer.warn(
        counted(impossible, "student is", "students are"),
        " impossible under the model (probability 0, shown empty) and in no mean: they did what nobody did whom it was "
        "learned from; a fit with ",
        setting_name("pseudocount"), " above 0 allows for it");
  }
  return answer;
}

}  // namespace

Query score_query() {
  return {"score",
          "log-likelihood and typicality of each student",
          {"desirepath score all.desirepath all.cohort --json", "desirepath score all.desirepath new.csv --csv",
           "desirepath score all.desirepath all.cohort --leave-one-out on"},
          CohortUse::required,
          "a cohort file or a raw table",
          declaration_of<ScoreSettings>(),
          answer_score};
}

}  // namespace desirepath::inline queries
