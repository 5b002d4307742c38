// What a report is put together from: one function a section, from what is asked to what is told.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "desirepath/queries/disclosed_cohort.h"
#include "desirepath/queries/inference_accuracy.h"
#include "desirepath/queries/prerequisites.h"
#include "desirepath/reports/axes.h"
#include "desirepath/reports/report.h"
#include "desirepath/transcripts/cohort_summary.h"

namespace desirepath::inline reports {

/// A section, what it adds to the first one, or why there is none.
struct ReportPart {
  std::optional<PageSection> section = std::nullopt;
  std::vector<Paragraph> points = {};  // of the ten lines
  Paragraph left_out = {};             // and how to get it
};

struct ReportContext;

/// Found or declared; asked once for all sections. Nothing where no model answers, there is one period, or no section
/// wants it.
std::optional<Prerequisites> ask_for_pairs(const ReportContext& context);

/// What the sections share.
struct ReportContext {
  ReportContext(const ReportInput& its_input, const ReportSettings& its_settings);

  const ReportInput& input;
  const ReportSettings& settings;
  const Disclosure& disclosure;
  DisclosedCohort disclosed;  // of the cohort as it was given
  std::vector<std::uint8_t> disclosed_to_states, disclosed_to_answers;
  StateNames state_names;                      // of every state, by courses that may be told; empty without states
  std::optional<Prerequisites> prerequisites;  // where there is an answering model and a period before another
  SettingValues no_settings;                   // questions are asked with settings of their own types

  /// The model that answers, null: none does.
  const AskedModel* answering() const;
  /// The model that judges single students: the answering one, else the one with the states.
  const AskedModel& judging() const { return answering() != nullptr ? *answering() : input.states; }
  const HiddenStates* states() const { return input.states.model().hidden_states(); }
  RandomStream stream() const { return RandomStream(input.seed).child("report"); }
  RandomStream stream(const char* section) const { return stream().child(section); }
  /// For a question about a model and its students.
  QueryInput about(const AskedModel& asked) const {
    return {asked.stored, &asked.students, nullptr, no_settings, false, true, stream(), input.executor, input.progress};
  }
  /// Of each course of a model, whether it may be named: of all students and of those it is asked about.
  const std::vector<std::uint8_t>& disclosed_courses(const AskedModel& asked) const {
    return &asked == &input.states ? disclosed_to_states : disclosed_to_answers;
  }
};

/// Whether something of this name may be what a sentence is about: not "other", "not known", "left" and the like.
bool is_headline(std::string_view name);

}  // namespace desirepath::inline reports
