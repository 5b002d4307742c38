// What students take in periods that are not known, given anything that is.
#include <algorithm>
#include <bit>
#include <cmath>

#include <nlohmann/json.hpp>

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/disclosure/disclosure.h"
#include "desirepath/models/year_spread.h"
#include "desirepath/queries/enrollment_chances.h"
#include "desirepath/queries/evidence_settings.h"
#include "desirepath/queries/infer_outcomes.h"
#include "desirepath/queries/infer_reasons.h"
#include "desirepath/queries/infer_totals.h"
#include "desirepath/queries/inference_accuracy.h"
#include "desirepath/queries/refits.h"
#include "desirepath/transcripts/align.h"

namespace desirepath::inline queries {

namespace {

constexpr std::int64_t students_at_a_time = 4096;
constexpr Id listed_courses = 10;  // of a student and a period, for people
constexpr std::int64_t listed_students = 5;

struct InferSettings {
  EvidenceSettings known;
  std::vector<std::string> period;
  Conditioning method = Conditioning::linear;
  std::optional<Id> top;
  double min_probability = 0;
  std::optional<Id> explain;
  bool total = false, paper_task = false;
  std::vector<std::string> outcome;
  std::string by;
  std::filesystem::path training;
  RefitSettings refits;
  Disclosure disclosure;

  void declare(SettingVisitor& visit) {
    known.declare(visit);
    visit(Setting("period", "the periods asked for (every period of which not all is known)").taking("LIST"), period);
    visit(Setting("method",
                  "how Gaussian models take what is known: linear, the paper's way, or exact, sampled with a standard "
                  "error; other models are exact anyway"),
          method);
    visit(Setting("top", concat("the most likely courses of each student and period alone (for people ", listed_courses,
                                ", else all)"))
              .at_least(1),
          top);
    visit(Setting("min-probability", "only courses at least this likely").at_least(0).at_most(1), min_probability);
    visit(Setting("explain",
                  "what moves each probability most: so many courses taken, attributes, or periods of which the rest "
                  "is known "
                  "not to be taken")
              .at_least(1),
          explain);
    visit(Setting("total", "expected takers of each course, over all the students: seats to plan"), total);
    visit(Setting("outcome",
                  concat("in place of courses: an outcome or attribute that the model knows, as if it were not "
                         "recorded, or ",
                         enrolled_outcome, ", for each period asked for (repeatable)"))
              .taking("NAME"),
          outcome);
    visit(Setting("by", concat("with ", setting_name("outcome"),
                               ": expected numbers in each group of this student attribute, or of entry years (entry)"))
              .taking("COLUMN"),
          by);
    visit(Setting("paper-task",
                  "the second period of COHORT's students from their first and last, and how often that was right"),
          paper_task);
    refits.declare(visit);
    visit(Setting("training", concat("with ", setting_name("refits"), " or ", setting_name("paper-task"),
                                     ": the cohort the model was trained on (COHORT itself); its shares say what is "
                                     "common")),
          training);
    disclosure.declare(visit);
  }
};

struct Inferred {
  std::int64_t student;
  Id bit;
  double probability, standard_error;
};

/// What the rows are about, which all columns share.
struct InferredOf {
  Schema schema;
  EvidenceBatch students;
  bool is_sampled = false;
  Vector base = {};  // of each bit, before anything is known

  const std::string& name(std::int64_t student) const { return students.students()[static_cast<std::size_t>(student)]; }
  const std::string& period(Id bit) const { return schema.period(schema.period_of(bit)); }
  const Course& course(Id bit) const { return schema.course(schema.course_of(bit)); }
  std::string known_words(std::int64_t s) const {
    std::vector<std::string> words;
    for (Id t = 0; t < schema.period_count(); ++t) {
      if (students.is_unknown(s, t)) continue;
      const auto count = std::ssize(students.taken(s, t));
      words.push_back(students.presence(s, t) == Presence::left
                          ? concat("left by period ", schema.period(t))
                          : concat(counted(count, "course", "courses"), " in period ", schema.period(t)));
    }
    for (Id i = 0; i < students.trait_count(); ++i) {
      const TraitValues possible = students.possible(s, students.trait(i));
      if (students.trait(i).kind != TraitKind::departure && std::popcount(possible) == 1)
        words.push_back(concat(students.trait(i).name, " = ",
                               students.trait(i).values[static_cast<std::size_t>(std::countr_zero(possible))]));
    }
    return words.empty() ? "nothing known" : concat("known ", join(words, ", "));
  }
};

Table inferred_table(std::vector<Inferred> rows, const std::shared_ptr<const InferredOf>& of) {
  using Row = Inferred;
  return {std::move(rows),
          {{"student", [of](const Row& row) { return of->name(row.student); }},
           {"period", [of](const Row& row) { return of->period(row.bit); }},
           {"course", [of](const Row& row) { return of->course(row.bit).name; }},
           {"full_name",
            [of](const Row& row) { return full_name(of->course(row.bit)); },
            {.title = "course", .shown = Shown::if_picked}},
           {"probability", &Row::probability, share(3)},
           {"anyone", [of](const Row& row) { return of->base[row.bit]; }, share(3, {.shown = Shown::if_picked})},
           {"standard_error", [of](const Row& row) { return value_if(of->is_sampled, row.standard_error); }}}};
}

/// How much what is known of a student moves a probability, of a row of `rows`.
Table reasons_table(std::vector<Reason> reasons, const std::vector<Inferred>& rows,
                    const std::shared_ptr<const InferredOf>& of) {
  const auto asked = std::make_shared<const std::vector<Inferred>>(rows);
  const auto row_of = [asked](const Reason& reason) -> const Inferred& { return (*asked)[reason.asked]; };
  return {
      std::move(reasons),
      {{"student", [=](const Reason& reason) { return of->name(row_of(reason).student); }},
       {"period", [=](const Reason& reason) { return of->period(row_of(reason).bit); }},
       {"course", [=](const Reason& reason) { return of->course(row_of(reason).bit).name; }},
       {"known_period",
        [of](const Reason& reason) {
          return reason.period ? std::optional(of->schema.period(*reason.period)) : std::nullopt;
        }},
       {"known_course",
        [of](const Reason& reason) { return reason.bit ? std::optional(of->course(*reason.bit).name) : std::nullopt; }},
       {"known_trait",
        [of](const Reason& reason) {
          return reason.trait ? std::optional(of->students.trait(*reason.trait).name) : std::nullopt;
        },
        {.may_lack = true}},
       {"probability", &Reason::probability, share(3)},
       {"without", &Reason::without, share(3)},
       {"log_odds", [](const Reason& reason) { return reason.change(); }}}};
}

/// One line for each of the rows that something moves.
void say_reasons(Answer& answer, std::span<const Inferred> rows, std::size_t first, const std::vector<Reason>& reasons,
                 const InferredOf& of) {
  auto at = std::ranges::lower_bound(reasons, first, {}, &Reason::asked);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::vector<std::string> parts;
    for (; at != reasons.end() && at->asked == first + i; ++at) {
      const std::string what = at->trait ? of.students.trait(*at->trait).name
                                         : concat(at->bit ? of.course(*at->bit).name : "no other course", " in period ",
                                                  of.schema.period(*at->period));
      parts.push_back(concat(what, at->change() < 0 ? " " : " +", fixed(at->change(), 2)));
    }
    if (!parts.empty()) answer.say("  ", of.course(rows[i].bit).name, ": ", join(parts, ", "));
  }
}

/// Of the first students: what is known of each, and period by period what they take.
void say_students(Answer& answer, const std::vector<Inferred>& rows, const std::vector<Leaving>& leaving,
                  const std::vector<Reason>& reasons, const std::shared_ptr<const InferredOf>& of) {
  const std::int64_t wanted = std::min(of->students.student_count(), listed_students);
  auto at = rows.begin();
  for (std::int64_t s = 0; s < wanted; ++s) {
    answer.say(s > 0 ? "\n" : "", of->name(s), ": ", of->known_words(s));
    while (at != rows.end() && at->student == s) {
      const Id period = of->schema.period_of(at->bit);
      std::string words = concat("period ", of->schema.period(period));
      for (const auto& [student, left_in, chance] : leaving) {
        if (student == s && left_in == period) words += concat(", left by then with probability ", fixed(chance, 3));
      }
      answer.say(words);
      const auto next = std::find_if(at, rows.end(), [&](const Inferred& row) {
        return row.student != s || of->schema.period_of(row.bit) != period;
      });
      answer.show(inferred_table({at, next}, of).pick({"full_name", "probability", "anyone"}), "  ");
      say_reasons(answer, {at, next}, static_cast<std::size_t>(at - rows.begin()), reasons, *of);
      at = next;
    }
  }
  if (of->students.student_count() > wanted)
    answer.say("and ", counted(of->students.student_count() - wanted, "student", "students"),
               " more: ", setting_name("csv"), " lists all");
}

void add_task(Answer& answer, const InferenceScore& task, const Disclosure& disclosure) {
  const Table calibration = calibration_table(merge_calibration_bins(task.bins, disclosure), 3);
  answer.set("paper_task", {{"students", task.students},
                            {"accuracy", task.accuracy},
                            {"most_frequent", task.most_frequent},
                            {"cross_entropy", task.cross_entropy},
                            {"marginal_entropy", task.marginal_entropy},
                            {"least_probability", task.least_probability},
                            {"calibration", calibration.to_json()}});
  answer.say("second period from the first and last, ", counted(task.students, "student", "students"),
             " present in all three: the 5 most common courses answered right ", fixed(100 * task.accuracy, 1),
             " % of the time (always the more frequent answer: ", fixed(100 * task.most_frequent, 1),
             " %), cross-entropy over all courses ", fixed(task.cross_entropy, 3),
             " nats a student (shares alone: ", fixed(task.marginal_entropy, 3),
             ")\n\nhow often courses were taken, by the probability they were given:");
  answer.show(calibration);
}

std::vector<Id> asked_periods(const Schema& schema, const InferSettings& settings, const EvidenceBatch& evidence) {
  if (!settings.period.empty()) return parse_periods(schema, settings.period);
  std::vector<Id> periods;
  for (Id t = 0; t < schema.period_count(); ++t) {
    bool open = false;
    for (std::int64_t s = 0; s < evidence.student_count() && !open; ++s)
      open = evidence.presence(s, t) == Presence::unknown || !evidence.exceptions(s, t).empty();
    if (open) periods.push_back(t);
  }
  if (periods.empty())
    throw OptionError(concat("everything is known of every period: say which to ask for with ",
                             setting_name("known-periods"), " or ", setting_name("period")));
  return periods;
}

std::vector<Id> bits_of(const Schema& schema, const std::vector<Id>& periods) {
  std::vector<Id> bits;
  for (const Id t : periods) {
    for (Id c = 0; c < schema.course_count(); ++c)
      bits.push_back(schema.bit(t, c));
  }
  return bits;
}

/// user: the setting that asks for them.
Cohort training_students(const QueryInput& input, const std::filesystem::path& file, const char* user) {
  if (!file.empty()) return align_to(Cohort::load(file), input.model().schema(), UnseenCourses::ignore).cohort;
  if (input.cohort != nullptr) return *input.cohort;
  throw OptionError(concat(setting_name(user), " needs the students the model was trained on: a COHORT or ",
                           setting_name("training")));
}

std::vector<std::unique_ptr<Model>> refits_for(const QueryInput& input, const InferSettings& settings) {
  if (settings.refits.count == 0) return {};
  return refit_models(input.stored, training_students(input, settings.training, "refits"), settings.refits.count,
                      input.stream.child("refits"), input.executor, input.progress);
}

std::vector<InferredTotals::Returning> find_returning(const QueryInput& input, const InferSettings& settings,
                                                      const EvidenceBatch& evidence, const std::vector<Id>& periods) {
  std::vector<InferredTotals::Returning> found;
  const Model& model = input.model();
  std::optional<Cohort> earlier;
  if (!settings.training.empty() || input.cohort != nullptr)
    earlier = training_students(input, settings.training, "total");
  const RowMatrix enrolled =
      knows_leaving(model) ? enrollment_chances(model, evidence, periods, input.executor) : RowMatrix();
  for (const Id period : periods) {
    InferredTotals::Returning& its = found.emplace_back();
    its.period = model.schema().period(period);
    std::optional<Id> from;
    for (Id t = 0; t < period; ++t) {
      for (std::int64_t s = 0; s < evidence.student_count() && from != t; ++s)
        if (!evidence.is_unknown(s, t)) from = t;
    }
    if (from) its.from = model.schema().period(*from);
    if (from && earlier) its.percent = percent_enrolled_again(*earlier, *from, period, settings.disclosure);
    if (knows_leaving(model)) its.enrolled = std::round(enrolled.col(std::ssize(found) - 1).sum());
  }
  return found;
}

/// Which students are asked about in a year after those of the training: those who entered later, or whose asked period
/// is still to come. Where the calendar does not say, all are.
std::vector<std::uint8_t> students_to_come(const QueryInput& input, const EvidenceBatch& evidence,
                                           const std::vector<Id>& periods, std::int32_t last_entry) {
  std::vector<std::uint8_t> found(static_cast<std::size_t>(evidence.student_count()), 1);
  if (input.cohort == nullptr || !input.cohort->has_calendar() ||
      input.cohort->student_count() != evidence.student_count())
    return found;
  for (std::int64_t s = 0; s < evidence.student_count(); ++s) {
    const std::int32_t entry = input.cohort->entry_year(s);
    if (entry < 0) continue;
    const bool is_open =
        std::ranges::any_of(periods, [&](Id t) { return input.cohort->status(s, t) == EnrollmentStatus::not_yet; });
    found[static_cast<std::size_t>(s)] = entry > last_entry || is_open ? 1 : 0;
  }
  return found;
}

Answer answer_outcomes(const QueryInput& input, const InferSettings& settings) {
  const Schema& schema = input.model().schema();
  for (const auto& [is_given, name] :
       {std::pair(settings.paper_task, "paper-task"), std::pair(settings.explain.has_value(), "explain"),
        std::pair(settings.refits.count > 0, "refits")}) {
    if (is_given)
      throw OptionError(concat(setting_name(name), " is about courses: not with ", setting_name("outcome")));
  }
  OutcomeTask task{{}, {}, settings.total || !settings.by.empty(), settings.by, settings.method, settings.disclosure};
  bool is_enrollment = false;
  for (const std::string& name : settings.outcome) {
    const bool is_trait = std::ranges::find(schema.traits(), name, &Trait::name) != schema.traits().end();
    if (!is_trait && name == enrolled_outcome)
      is_enrollment = true;
    else
      task.traits.push_back(schema.require_trait(name));
  }
  if (!is_enrollment && !settings.period.empty())
    throw OptionError(concat(setting_name("period"), " needs ", setting_name("outcome"), " ", enrolled_outcome));
  if (!settings.by.empty() && (input.cohort == nullptr || !settings.known.student.empty()))
    throw OptionError(concat(setting_name("by"), " needs all the students of a COHORT"));
  const EvidenceBatch evidence = what_is_known(input, settings.known, task.traits);
  if (evidence.student_count() == 0) throw InputError("there is no student to ask about");
  require_possible(input.model(), evidence, input.executor);
  if (is_enrollment) task.enrolled_in = asked_periods(schema, settings, evidence);
  return infer_outcomes(input, evidence, task);
}

Answer answer_infer(const QueryInput& input) {
  auto settings = input.read<InferSettings>();
  if (!settings.outcome.empty()) return answer_outcomes(input, settings);
  if (!settings.by.empty()) throw OptionError(concat(setting_name("by"), " needs ", setting_name("outcome")));
  const Model& model = input.model();
  const Schema& schema = model.schema();
  std::optional<InferenceScore> task;
  if (settings.paper_task) {
    if (input.cohort == nullptr) throw OptionError(concat(setting_name("paper-task"), " needs a COHORT"));
    if (schema.period_count() < 3) throw OptionError(concat(setting_name("paper-task"), " needs three periods"));
    const Cohort training = training_students(input, settings.training, "paper-task");
    task = infer_period(model, training, *input.cohort, {}, input.executor, settings.method);
    // Student by student, by request, nothing is summed up.
    if (!input.students_wanted) {
      settings.disclosure.require(training.student_count());
      settings.disclosure.require(task->students);
    }
    settings.known.known_periods = {schema.period(0), schema.period(schema.period_count() - 1)};
    settings.period = {schema.period(1)};
  }
  const EvidenceBatch evidence = what_is_known(input, settings.known);
  if (evidence.student_count() == 0) throw InputError("there is no student to ask about");
  require_possible(model, evidence, input.executor);
  const std::vector<Id> periods = asked_periods(schema, settings, evidence), asked = bits_of(schema, periods);
  const bool for_people = input.for_people && !settings.total;
  const Id top = settings.top.value_or(for_people ? listed_courses : schema.course_count());
  if (settings.total) settings.disclosure.require(evidence.student_count());
  if (settings.explain && (settings.total || settings.paper_task))
    throw OptionError(concat(setting_name("explain"), " is of one student at a time: not with ",
                             setting_name(settings.total ? "total" : "paper-task")));

  Answer answer;
  answer.set({{"model", model.name()}, {"students", evidence.student_count()}});
  if (task) add_task(answer, *task, settings.disclosure);
  if (task && for_people) return answer;  // its figures are all that is told
  InferredOf of{schema, evidence};
  std::vector<Inferred> all_rows;
  const std::vector<std::unique_ptr<Model>> refits = refits_for(input, settings);
  Vector expected = Vector::Zero(static_cast<Index>(asked.size())), variance = expected, coming = expected;
  const std::optional<YearSpread> years =
      settings.total ? input.stored.training.between_years : std::optional<YearSpread>();
  const std::vector<std::uint8_t> is_coming =
      years ? students_to_come(input, evidence, periods, years->last_entry) : std::vector<std::uint8_t>();
  RowMatrix refitted = RowMatrix::Zero(std::ssize(refits), std::ssize(asked));  // expected takers
  const std::int64_t wanted =
      for_people ? std::min(evidence.student_count(), listed_students) : evidence.student_count();
  const EvidenceBatch asked_about = evidence.slice(0, wanted);
  for (std::int64_t first = 0; first < wanted; first += students_at_a_time) {
    const std::int64_t last = std::min(wanted, first + students_at_a_time);
    if (input.progress) input.progress({"infer", static_cast<double>(first) / static_cast<double>(wanted)});
    const EvidenceBatch some = asked_about.slice(first, last);
    const Estimates found = model.marginals(some, asked, input.executor, settings.method);
    of.is_sampled = !found.is_exact() || !refits.empty();
    RefitSpread spread;
    for (std::size_t b = 0; b < refits.size(); ++b) {
      const RowMatrix again = refits[b]->marginals(some, asked, input.executor, settings.method).value;
      if (settings.total)
        refitted.row(static_cast<Index>(b)) += again.colwise().sum();
      else
        spread.add(again);
    }
    RowMatrix error = found.standard_error;
    if (!refits.empty() && !settings.total)
      error = found.is_exact() ? RowMatrix(spread.variance().cwiseSqrt())
                               : RowMatrix((spread.variance() + error.cwiseAbs2()).cwiseSqrt());
    if (settings.total) {
      expected += found.value.colwise().sum().transpose();
      variance += (found.value.array() * (1 - found.value.array())).matrix().colwise().sum().transpose();
      if (!found.is_exact()) variance += found.standard_error.colwise().squaredNorm().transpose();
      for (std::int64_t s = first; s < last && !is_coming.empty(); ++s) {
        if (is_coming[static_cast<std::size_t>(s)] != 0) coming += found.value.row(s - first).transpose();
      }
      continue;
    }
    for (std::int64_t s = first; s < last; ++s) {
      std::size_t at = 0;
      for (const Id period : periods) {
        std::vector<Inferred> rows;
        for (Id c = 0; c < schema.course_count(); ++c, ++at) {
          const auto column = static_cast<Index>(at);
          const double p = found.value(s - first, column);
          if (p >= settings.min_probability)
            rows.push_back({s, schema.bit(period, c), p, of.is_sampled ? error(s - first, column) : 0.0});
        }
        std::ranges::stable_sort(rows, std::ranges::greater(), &Inferred::probability);
        rows.resize(std::min(rows.size(), static_cast<std::size_t>(top)));
        all_rows.insert(all_rows.end(), rows.begin(), rows.end());
      }
    }
  }
  if (settings.total) {
    InferredTotals totals;
    totals.students = evidence.student_count();
    totals.refits = std::ssize(refits);
    totals.disclosure = settings.disclosure;
    totals.knows_leaving = knows_leaving(model);
    totals.returning = find_returning(input, settings, evidence, periods);
    RefitSpread spread;
    for (Index b = 0; b < refitted.rows(); ++b)
      spread.add(refitted.row(b));
    totals.years = years;
    totals.coming = std::ranges::count(is_coming, 1);
    totals.trained = input.stored.training.students.value_or(0);
    if (!refits.empty())
      variance += spread.variance().row(0).transpose();
    else
      variance *=
          variance_with_training(1, static_cast<double>(evidence.student_count()), static_cast<double>(totals.trained));
    if (years) variance += years->share * years->share * coming.cwiseAbs2();
    for (std::size_t i = 0; i < asked.size(); ++i) {
      const auto column = static_cast<Index>(i);
      constexpr double half_a_student = 0.5;  // a normal interval for whole numbers
      const double reach = 1.96 * std::sqrt(variance[column]) + half_a_student;
      const auto all = static_cast<double>(evidence.student_count());
      if (!settings.disclosure.rests(expected[column]) || !settings.disclosure.allows(expected[column], all)) {
        ++totals.withheld;
        continue;
      }
      const Id period = schema.period_of(asked[i]);
      const auto& its =
          totals.returning[static_cast<std::size_t>(std::ranges::find(periods, period) - periods.begin())];
      const auto scaled =
          its.percent && !its.enrolled ? std::optional(expected[column] * *its.percent / 100) : std::nullopt;
      totals.rows.push_back({schema.period(period), named(schema.course(schema.course_of(asked[i]))), expected[column],
                             std::max(0.0, expected[column] - reach), std::min(all, expected[column] + reach), scaled});
    }
    std::ranges::stable_sort(totals.rows, std::ranges::greater(), &InferredTotals::Row::expected);
    return totals.answer();
  }
  std::vector<Reason> reasons;
  if (settings.explain) {
    std::vector<AskedBit> bits;
    for (const Inferred& row : all_rows)
      bits.push_back({row.student, row.bit});
    reasons = find_reasons(model, asked_about, bits, *settings.explain, settings.method, input.executor);
    if (!reasons.empty()) {
      answer.note(
          "behind each course what moves its probability most: by how much the logarithm of its odds would change ",
          "if that alone were not known");
    }
  }
  if (for_people) of.base = usual_shares(model, input.executor);
  const std::vector<Leaving> leaving = find_leaving(model, asked_about, periods, input.executor);
  const auto shared = std::make_shared<const InferredOf>(std::move(of));
  if (for_people) say_students(answer, all_rows, leaving, reasons, shared);
  if (settings.explain) answer.add("reasons", reasons_table(std::move(reasons), all_rows, shared));
  answer.add("courses", inferred_table(std::move(all_rows), shared));
  if (!leaving.empty()) {
    answer.add("left", {leaving,
                        {{"student", [shared](const Leaving& row) { return shared->name(std::get<0>(row)); }},
                         {"period", [shared](const Leaving& row) { return shared->schema.period(std::get<1>(row)); }},
                         {"probability", [](const Leaving& row) { return std::get<2>(row); }, share(3)}}});
  }
  return answer;
}

}  // namespace

Query infer_query() {
  return {"infer",
          "probability of each course in a period, given anything else",
          {"desirepath infer answers.desirepath all.cohort --student S00000042 --known-periods 1",
           "desirepath infer answers.desirepath --took \"CS 101@1\" --period 2 --explain 2",
           "desirepath infer answers.desirepath all.cohort --known-periods 1 --period 2 --total"},
          CohortUse::optional,
          "students to ask about: a cohort file or a raw table",
          declaration_of<InferSettings>(),
          answer_infer,
          /*takes_evidence=*/true};
}

}  // namespace desirepath::inline queries
