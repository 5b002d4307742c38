#include "desirepath/queries/evidence_settings.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/models/tilts_loads.h"
#include "desirepath/queries/trait_conditions.h"

namespace desirepath::inline queries {

void EvidenceSettings::declare(SettingVisitor& visit) {
  visit(Setting("took", "a course known to be taken, may be given again").taking("COURSE@PERIOD").undivided(), took);
  visit(Setting("not", "a course known not to be taken, may be given again").taking("COURSE@PERIOD").undivided(),
        not_taken);
  visit(Setting("given",
                "an attribute or outcome that the model knows, for every student asked about, in place of what is "
                "recorded (repeatable); or a table student,period,course,taken of what is known (taken 1 or 0; course "
                "* with 0: nothing else in that period)")
            .taking("NAME=VALUE|FILE")
            .undivided(),
        given);
  visit(Setting("student", "of COHORT or the evidence: this student, may be given again").taking("ID").undivided(),
        student);
  visit(Setting("known-periods", concat("of COHORT or the evidence: only what is known of these periods; with ",
                                        setting_name("took"), " alone: nothing else was taken in them"))
            .taking("LIST"),
        known_periods);
}

Id parse_bit(const Schema& schema, const std::string& text) {
  const std::size_t at = text.rfind('@');
  if (at == std::string::npos) {
    if (schema.period_count() == 1) return schema.bit(0, schema.require_course(text));
    throw InputError(
        concat("'", text, "' names no period: write COURSE@PERIOD, such as '", text, "@", schema.period(0), "'"));
  }
  const Id period = schema.require_period(trimmed(std::string_view(text).substr(at + 1)));
  return schema.bit(period, schema.require_course(trimmed(std::string_view(text).substr(0, at))));
}

std::vector<Id> parse_periods(const Schema& schema, const std::vector<std::string>& names) {
  std::vector<Id> periods;
  for (const std::string& name : names)
    periods.push_back(schema.require_period(name));
  std::ranges::sort(periods);
  periods.erase(std::unique(periods.begin(), periods.end()), periods.end());
  return periods;
}

EvidenceBatch nothing_known(const Schema& schema, std::int64_t students) {
  EvidenceBuilder blank(schema.period_count(), schema.course_count());
  for (std::int64_t s = 1; s <= students; ++s) {
    blank.begin_student(std::to_string(s));
    for (Id t = 0; t < schema.period_count(); ++t)
      blank.add({});
  }
  return std::move(blank).build();
}

Vector usual_shares(const Model& model, const Executor& executor) {
  std::vector<Id> bits(static_cast<std::size_t>(model.schema().bit_count()));
  std::iota(bits.begin(), bits.end(), 0);
  return model.marginals(nothing_known(model.schema(), 1), bits, executor).value.row(0);
}

void add_student(EvidenceBuilder& rows, const EvidenceBatch& from, std::int64_t student) {
  rows.begin_student(from, student);
  for (Id t = 0; t < from.period_count(); ++t)
    rows.add(PeriodEvidence::of(from, student, t));
}

namespace {

EvidenceBatch of_students(const EvidenceBatch& all, const std::vector<std::string>& wanted) {
  EvidenceBuilder chosen(all);
  for (const std::string& name : wanted) {
    const auto found = std::ranges::find(all.students(), name);
    // No other student's name is offered: names are private.
    if (found == all.students().end()) throw OptionError(concat(setting_name("student"), ": no such student"));
    add_student(chosen, all, found - all.students().begin());
  }
  return std::move(chosen).build();
}

}  // namespace

EvidenceBatch what_is_known(const QueryInput& input, const EvidenceSettings& settings,
                            std::span<const Id> asked_traits) {
  const Schema& schema = input.model().schema();
  const bool has_record = input.given != nullptr || input.cohort != nullptr;
  if (!has_record && !settings.student.empty())
    throw OptionError(concat(setting_name("student"), " needs a COHORT or ", setting_name("given")));
  const std::vector<Id> periods = parse_periods(schema, settings.known_periods);
  const auto is_named = [&](Id period) { return std::ranges::find(periods, period) != periods.end(); };
  std::optional<EvidenceBatch> record;
  if (input.given != nullptr) record = *input.given;
  if (input.cohort != nullptr) record = EvidenceBatch::of(*input.cohort);
  if (record && !settings.student.empty()) record = of_students(*record, settings.student);
  if (record && !periods.empty()) {
    std::vector<Id> forgotten;
    for (Id t = 0; t < schema.period_count(); ++t) {
      if (!is_named(t)) forgotten.push_back(t);
    }
    record = record->without_periods(forgotten);
    if (!forgotten.empty()) record = without_outcomes(*record);
  }
  if (!record) {
    EvidenceBuilder anyone(schema.period_count(), schema.course_count());
    anyone.begin_student("anyone");
    for (Id t = 0; t < schema.period_count(); ++t)
      anyone.add({is_named(t) ? Presence::present : Presence::unknown, {}, {}});
    record = std::move(anyone).build();
  }
  if (!asked_traits.empty()) record = without_outcomes(*record, asked_traits);
  record = given_conditions(schema, with_traits_of(schema, *record), parse_conditions(schema, settings.given));
  if (settings.took.empty() && settings.not_taken.empty()) return *record;

  std::vector<std::vector<std::pair<Id, bool>>> said(static_cast<std::size_t>(schema.period_count()));
  const auto say = [&](const std::vector<std::string>& texts, bool taken) {
    for (const std::string& text : texts) {
      const Id bit = parse_bit(schema, text);
      auto& list = said[static_cast<std::size_t>(schema.period_of(bit))];
      if (std::ranges::find(list, std::pair(bit, !taken)) != list.end())
        throw InputError(concat("'", text, "' is said to be taken and not taken"));
      list.emplace_back(bit, taken);
    }
  };
  say(settings.took, true);
  say(settings.not_taken, false);
  EvidenceBuilder result(*record);
  for (std::int64_t s = 0; s < record->student_count(); ++s) {
    result.begin_student(*record, s);
    for (Id t = 0; t < schema.period_count(); ++t) {
      PeriodEvidence period = PeriodEvidence::of(*record, s, t);
      for (const auto& [bit, taken] : said[static_cast<std::size_t>(t)]) {
        if (has_record && period.known(bit).value_or(taken) != taken) {
          throw InputError(concat("'", schema.course(schema.course_of(bit)).name, "@", schema.period(t),
                                  "': the record says otherwise; leave that period out with ",
                                  setting_name("known-periods")));
        }
        period.set(bit, taken);
      }
      result.add(period);
    }
  }
  return std::move(result).build();
}

void require_possible(const Model& model, const EvidenceBatch& evidence, const Executor& executor) {
  // Tilting loads makes nothing impossible, and takes draws where periods are known in part.
  const Estimates found = untilted(model).log_likelihood(evidence, model.likelihood_kinds().back(), executor);
  std::int64_t impossible = 0;
  for (Index s = 0; s < found.value.rows(); ++s)
    impossible += std::isfinite(found.value(s, 0)) ? 0 : 1;
  if (impossible > 0)
    throw InputError(concat("what is known of ", counted(impossible, "student has", "students has"),
                            " probability 0 under the model: there is no answer"));
}

}  // namespace desirepath::inline queries
