// How well the model expects each student, and what makes a pathway unusual.
#include <algorithm>
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
#include "desirepath/queries/typical_groups.h"
#include "desirepath/queries/typicality.h"

namespace desirepath::inline queries {

namespace {

struct ScoreSettings {
  std::optional<std::string> likelihood;
  Precision precision = Precision::quick;
  LeaveOut leave_one_out = LeaveOut::automatic;
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

}  // namespace

Percentiles percentiles(const std::vector<double>& values, const std::vector<std::int64_t>& group) {
  std::map<std::int64_t, std::vector<double>> sorted;
  for (std::size_t s = 0; s < values.size(); ++s) {
    if (group[s] != 0) sorted[group[s]].push_back(values[s]);
  }
  sorted[0] = values;
  for (auto& [number, list] : sorted)
    std::ranges::sort(list);
  Percentiles result;
  for (std::size_t s = 0; s < values.size(); ++s) {
    const std::vector<double>& list = sorted.at(group[s]);
    const auto at_or_under = std::ranges::upper_bound(list, values[s]) - list.begin();
    result.value.push_back(100 * static_cast<double>(at_or_under) / static_cast<double>(list.size()));
    result.of.push_back(std::ssize(list));
  }
  return result;
}

std::vector<std::int64_t> least_typical_first(const Percentiles& percentiles) {
  std::vector<std::int64_t> order(percentiles.value.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::int64_t s) { return percentiles.value[static_cast<std::size_t>(s)]; });
  return order;
}

std::vector<std::int64_t> groups_by_presence(const Cohort& cohort, std::int64_t fewest) {
  const auto students = static_cast<std::size_t>(cohort.student_count());
  std::map<std::vector<Presence>, std::vector<std::size_t>> same;
  for (std::size_t s = 0; s < students; ++s) {
    std::vector<Presence> pattern;
    for (Id t = 0; t < cohort.schema().period_count(); ++t)
      pattern.push_back(presence_of(cohort.status(static_cast<std::int64_t>(s), t)));
    same[pattern].push_back(s);
  }
  std::map<std::int64_t, std::vector<std::size_t>> as_many;
  std::vector<std::int64_t> group(students, 0);
  std::int64_t number = 1;
  for (const auto& [pattern, members] : same) {
    if (std::ssize(members) >= fewest) {
      for (const std::size_t s : members)
        group[s] = number;
      ++number;
    } else {
      auto& list = as_many[std::ranges::count(pattern, Presence::present)];
      list.insert(list.end(), members.begin(), members.end());
    }
  }
  for (const auto& [periods, members] : as_many) {
    if (std::ssize(members) < fewest) continue;
    for (const std::size_t s : members)
      group[s] = number;
    ++number;
  }
  return group;
}

namespace {

/// Students of one value of the attribute; 0 where it is not known.
std::vector<std::int64_t> groups_of(const Attribute& attribute) {
  std::vector<std::int64_t> groups;
  for (const Id code : attribute.codes)
    groups.push_back(code + 1);
  return groups;
}

class ScoreAnswer : public Answer {
 public:
  /// its_ranking: what the students are ranked by where that is not their scores.
  ScoreAnswer(const Cohort& its_cohort, StudentScores its_scores, std::optional<std::vector<double>> its_ranking,
              const Disclosure& its_disclosure)
      : cohort(its_cohort), scores(std::move(its_scores)), ranking(std::move(its_ranking)), disclosure(its_disclosure) {
    const std::vector<std::int64_t> all(scores.log_likelihood.size(), 0);
    percentile_all = percentiles(ranked(), all);
    percentile = percentiles(ranked(), groups_by_presence(cohort, disclosure.least()));
  }
  const std::vector<double>& ranked() const { return ranking ? *ranking : scores.log_likelihood; }

  nlohmann::ordered_json to_json() const override {
    nlohmann::ordered_json json;
    json["students"] = cohort.student_count();
    const std::optional<MeanShown> mean = disclosed(scores);
    json["mean_log_likelihood"] = mean && !mean->leaves_out ? number(mean->mean) : nlohmann::ordered_json();
    json["standard_error"] = mean ? number(mean->error) : nlohmann::ordered_json();
    json["likelihood_kind"] = std::string(name_of(scores.kind));
    json["ranked_by"] = !left_out ? "model" : *left_out == LeftOutBy::folds ? "folds" : "left_out";
    if (with_student) {
      json["leave_one_out"] = how_left_out();
      const std::optional<MeanShown> with = disclosed(*with_student);
      json["mean_with_student"] = with && !with->leaves_out ? number(with->mean) : nlohmann::ordered_json();
    }
    const std::optional<std::int64_t> impossible = disclosed_impossible();
    json["impossible_students"] = impossible ? nlohmann::ordered_json(*impossible) : nlohmann::ordered_json();
    if (!note.empty()) json["note"] = note;
    if (mean && mean->leaves_out) {
      json["mean_of_possible_students"] = number(mean->mean);
      json["reason"] = "some students' evidence has probability 0 under the model";
    } else if (!mean) {
      json["reason"] = "nearly all students' evidence has probability 0 under the model";
    }
    if (high && low) {
      json["most_typical"] = high->to_json(cohort.schema());
      json["least_typical"] = low->to_json(cohort.schema());
    }
    for (const auto& [student, list] : unusual) {
      nlohmann::ordered_json entry{{"student", cohort.students()[static_cast<std::size_t>(student)]}};
      for (const Surprise& surprise : list) {
        entry["surprises"].push_back({{"course", course(surprise.bit).name},
                                      {"period", period(surprise.bit)},
                                      {"taken", surprise.taken},
                                      {"probability", surprise.probability}});
      }
      json["unusual"].push_back(std::move(entry));
    }
    return json;
  }

  Table table() const override {
    std::vector<TableColumn> columns = {
        {"student"}, {"log_likelihood"}, {"percentile"}, {"percentile_all"}, {"compared_with"}};
    if (!scores.standard_error.empty()) columns.push_back({"standard_error"});
    if (with_student) columns.push_back({"with_student"});
    if (ranking) columns.push_back({"left_out"});
    if (in_group) columns.push_back({concat("percentile_in_", group_name)});
    if (!unusual.empty()) columns.push_back({"unusual"});
    Table rows(std::move(columns));
    for (std::size_t s = 0; s < scores.log_likelihood.size(); ++s) {
      std::vector<Cell> row = {cohort.students()[s], scores.log_likelihood[s], percentile.value[s],
                               percentile_all.value[s], percentile.of[s]};
      if (!scores.standard_error.empty()) row.emplace_back(scores.standard_error[s]);
      if (with_student) row.emplace_back(with_student->log_likelihood[s]);
      if (ranking) row.emplace_back((*ranking)[s]);
      if (in_group) row.emplace_back(in_group->value[s]);
      if (!unusual.empty()) {
        const auto found = unusual.find(static_cast<std::int64_t>(s));
        row.emplace_back(found == unusual.end() ? std::string() : words(found->second));
      }
      rows.add_row(std::move(row));
    }
    return rows;
  }

  void print(std::ostream& out) const override {
    const std::optional<MeanShown> mean = disclosed(scores);
    out << counted(cohort.student_count(), "student", "students");
    if (mean) {
      out << ", mean log-likelihood (" << name_of(scores.kind) << ") "
          << (mean->leaves_out ? "of those that are possible " : "") << shortest(mean->mean) << ", standard error "
          << shortest(mean->error) << '\n';
      quantiles().print_text(out, "  ");
    } else {
      out << ": nearly all are impossible under the model (probability 0)\n";
    }
    if (const std::optional<MeanShown> with = with_student ? disclosed(*with_student) : std::nullopt; with) {
      out << (*left_out == LeftOutBy::folds
                  ? "each student is scored by a model trained on four fifths of the students, without this one"
                  : "each student is scored by a model that one step of training took their own record out of, nearly "
                    "one learned without it")
          << "; with it the mean is " << shortest(with->mean) << '\n';
    }
    if (high && low) print_contrast(out);
    for (const auto& [student, list] : unusual)
      out << cohort.students()[static_cast<std::size_t>(student)] << " (percentile "
          << fixed(percentile.value[static_cast<std::size_t>(student)], 1) << "): " << words(list) << '\n';
    out << setting_name("csv") << " lists every student\n";
  }

  std::vector<std::string> notes() const override {
    std::vector<std::string> all;
    if (!note.empty()) all.push_back(note);
    if (ranking) {
      all.push_back(concat(
          "the model was trained on these students: percentiles and rankings are by scores without the student's own "
          "record (",
          how_left_out(), "); ", setting_name("leave-one-out"), " off ranks by the model's own scores"));
    }
    if (of_published) {
      all.emplace_back(
          "a published model does not say which students it was trained on; if these are among them, it finds them "
          "more typical than it would find others");
    }
    if (!not_left_out.empty()) {
      all.push_back(
          concat("percentiles and rankings are by the model's own scores, which flatter the students it was "
                 "trained on; ",
                 not_left_out));
    }
    return all;
  }
  std::vector<std::string> warnings() const override {
    // With student by student in the same answer nothing is left to withhold.
    const std::optional<std::int64_t> impossible = by_student ? scores.impossible : disclosed_impossible();
    if (impossible.value_or(0) == 0) return {};
    return {concat(
        counted(*impossible, "student is", "students are"),
        " impossible under the model (probability 0, shown empty) and in no mean: they did what nobody did whom it was "
        "learned from; a fit with ",
        setting_name("pseudocount"), " above 0 allows for it")};
  }

  Cohort cohort;
  StudentScores scores;
  std::optional<std::vector<double>> ranking;
  std::optional<LeftOutBy> left_out;
  std::string not_left_out;  // why not, where it would matter
  Disclosure disclosure;
  Percentiles percentile, percentile_all;  // among students present in the same periods; among all
  std::optional<Percentiles> in_group;
  std::string group_name;
  std::optional<StudentScores> with_student;
  std::optional<GroupPortrait> high, low;  // the most and the least typical
  std::map<std::int64_t, std::vector<Surprise>> unusual;
  std::string note;
  bool full_precision = false;
  bool by_student = false;
  bool of_published = false;

 private:
  /// A mean as it may be told.
  struct MeanShown {
    double mean, error;
    bool leaves_out;  // students of probability 0, enough of them to be told
  };
  static nlohmann::ordered_json number(double value) {
    return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
  }
  std::int64_t possible(const StudentScores& of) const { return std::ssize(of.log_likelihood) - of.impossible; }
  /// Nothing where it would rest on few. Of few impossible students nothing is said: the mean is that of the others.
  std::optional<MeanShown> disclosed(const StudentScores& of) const {
    if (full_precision) return MeanShown{of.mean_of_possible, of.standard_error_of_mean, of.impossible > 0};
    if (!disclosure.rests(of.behind_mean)) return std::nullopt;
    // Students who are all alike would give all digits of what they did.
    constexpr double least_spread = 0.1;
    const double error =
        std::max(of.standard_error_of_mean, least_spread / std::sqrt(static_cast<double>(possible(of))));
    return MeanShown{rounded_to_error(of.mean_of_possible, error), rounded_to_error(error, error),
                     disclosure.rests(static_cast<double>(of.impossible))};
  }
  /// Nothing where they, or all others, are few or none.
  std::optional<std::int64_t> disclosed_impossible() const {
    const bool disclosed = disclosure.rests(static_cast<double>(scores.impossible)) &&
                           disclosure.rests(static_cast<double>(possible(scores)));
    return disclosed || full_precision ? std::optional(scores.impossible) : std::nullopt;
  }
  /// Of the possible: the mean of the students around each place, as many as make a cell.
  Table quantiles() const {
    std::vector<double> sorted = scores.log_likelihood;
    std::erase_if(sorted, [](double value) { return !std::isfinite(value); });
    std::ranges::sort(sorted);
    const auto window = std::min(static_cast<std::size_t>(disclosure.least()), sorted.size());
    const double error = disclosed(scores)->error;
    Table rows({{"least typical of"}, {"log_likelihood"}});
    for (const auto& [name, share] :
         {std::pair<const char*, double>{"1 in 100", 0.01}, {"1 in 10", 0.1}, {"half", 0.5}, {"9 in 10", 0.9}}) {
      // Below a small share stand few students.
      if (!disclosure.rests(share * static_cast<double>(sorted.size()))) continue;
      const auto at = static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1));
      const std::size_t first = std::min(at - std::min(at, window / 2), sorted.size() - window);
      const auto begin = sorted.begin() + static_cast<std::ptrdiff_t>(first);
      const double mean =
          std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(window), 0.0) / static_cast<double>(window);
      rows.add_row({std::string(name), full_precision ? sorted[at] : rounded_to_error(mean, error)});
    }
    return rows;
  }
  std::string how_left_out() const {
    return *left_out == LeftOutBy::folds ? "fits to four fifths of the students"
                                         : "one EM step towards the optimum without the student";
  }
  const Course& course(Id bit) const { return cohort.schema().course(cohort.schema().course_of(bit)); }
  const std::string& period(Id bit) const { return cohort.schema().period(cohort.schema().period_of(bit)); }
  std::string words(const std::vector<Surprise>& list) const {
    std::vector<std::string> parts;
    for (const Surprise& surprise : list) {
      parts.push_back(concat(surprise.taken ? "took " : "did not take ", full_name(course(surprise.bit)), " in period ",
                             period(surprise.bit), " (1 in ",
                             with_separators(std::llround(1 / std::max(surprise.probability, 1e-9))), ")"));
    }
    return join(parts, "; ");
  }
  void print_contrast(std::ostream& out) const {
    out << "most typical " << high->students << " students beside the least typical " << low->students
        << ", among students present in the same periods\n";
    Table rows({{"a student"}, {"most typical", 2}, {"least typical", 2}});
    rows.add_row({std::string("courses"), high->courses, low->courses});
    if (has_subjects(cohort.schema())) rows.add_row({std::string("different subjects"), high->subjects, low->subjects});
    if (high->in_major && low->in_major)
      rows.add_row({std::string("courses in the own major"), *high->in_major, *low->in_major});
    for (std::size_t i = 0; i < std::min<std::size_t>(8, high->by_subject.size()); ++i) {
      const auto& [subject, count] = high->by_subject[i];
      const std::optional<double> other = low->courses_in(subject);
      rows.add_row({concat("courses in ", subject), count, other ? Cell(*other) : Cell("–")});
    }
    if (high->others > 0 || low->others > 0)
      rows.add_row({std::string("courses in subjects withheld (–)"), high->others, low->others});
    rows.print_text(out, "  ");
    for (const auto& [name, portrait] : {std::pair("most", &*high), std::pair("least", &*low)}) {
      std::vector<std::string> parts;
      for (const auto& [course, share] : portrait->most_taken)
        parts.push_back(concat(full_name(cohort.schema().course(course)), " ", fixed(100 * share, 0), "%"));
      if (!parts.empty()) out << "  the " << name << " typical take " << join(parts, ", ") << '\n';
    }
  }
};

/// The share of students with the highest and the lowest percentiles; both enough, else none.
void add_contrast(ScoreAnswer& answer, const ScoreSettings& settings) {
  const std::int64_t students = answer.cohort.student_count();
  const auto size = static_cast<std::int64_t>(std::llround(settings.contrast * static_cast<double>(students)));
  if (!settings.disclosure.rests(static_cast<double>(size))) return;
  const std::vector<std::int64_t> order = least_typical_first(answer.percentile);
  const std::string major = settings.major.empty() ? usual_major(answer.cohort) : settings.major;
  answer.low = portray(answer.cohort, {order.begin(), order.begin() + size}, major, settings.disclosure);
  answer.high = portray(answer.cohort, {order.end() - size, order.end()}, major, settings.disclosure);
}

void add_explanations(ScoreAnswer& answer, const Model& model, const ScoreSettings& settings,
                      const Executor& executor) {
  constexpr std::size_t most_surprises = 4;
  const EvidenceBatch evidence = EvidenceBatch::of(answer.cohort);
  const Vector usual = usual_shares(model, executor);
  std::vector<std::int64_t> order = least_typical_first(answer.percentile);
  order.resize(std::min(order.size(), static_cast<std::size_t>(settings.explain)));
  for (const std::int64_t s : order) {
    std::vector<Surprise> found = find_surprises(model, evidence, s, usual, executor);
    found.resize(std::min(found.size(), most_surprises));
    answer.unusual[s] = std::move(found);
  }
}

std::unique_ptr<Answer> answer_score(const QueryInput& input) {
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
  const EvidenceBatch evidence = EvidenceBatch::of(cohort);
  std::string not_left_out;
  const std::optional<LeftOutScores> left_out =  // first: what is refused is refused at once
      left_out_scores(input.stored, cohort, kind, settings.leave_one_out, RandomStream(input.seed).child("left out"),
                      input.executor, input.progress, not_left_out);
  StudentScores scores = score_students(model, evidence, kind, input.executor, weights, settings.precision);
  std::optional<StudentScores> with_student;
  std::optional<std::vector<double>> ranking;
  if (left_out && settings.leave_one_out == LeaveOut::on) {
    with_student = std::move(scores);
    scores = summarise_scores({left_out->log_likelihood, {}}, kind, weights);
  } else if (left_out) {
    ranking.emplace(left_out->log_likelihood.begin(), left_out->log_likelihood.end());
  }
  auto answer = std::make_unique<ScoreAnswer>(cohort, std::move(scores), std::move(ranking), settings.disclosure);
  answer->full_precision = settings.full_precision;
  answer->of_published = settings.leave_one_out != LeaveOut::off && input.stored.training.published;
  answer->by_student = input.students_wanted;
  answer->with_student = std::move(with_student);
  if (left_out) answer->left_out = left_out->by;
  answer->not_left_out = std::move(not_left_out);
  answer->note = model.likelihood_note(evidence, kind, input.executor, settings.precision);
  if (group != nullptr) {
    answer->group_name = group->name;
    answer->in_group = percentiles(answer->ranked(), groups_of(*group));
  }
  add_contrast(*answer, settings);
  if (settings.explain > 0) add_explanations(*answer, model, settings, input.executor);
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
