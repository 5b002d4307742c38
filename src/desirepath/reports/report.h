// The page a registrar mails to a dean: states and flows from one model, answers from another, the figures of both,
// and first of all in ten lines what they say. Values in, a page out; nothing on it rests on few students.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "desirepath/core/progress.h"
#include "desirepath/disclosure/disclosure.h"
#include "desirepath/evaluation/model_evaluation.h"
#include "desirepath/models/model_file.h"
#include "desirepath/queries/pathways.h"
#include "desirepath/queries/states.h"
#include "desirepath/reports/html_page.h"

namespace desirepath::inline reports {

struct ReportSettings {
  std::string title;
  std::vector<std::string> sections;  // empty: all
  FlowWidth width = FlowWidth::flow;
  std::vector<std::string> highlight;  // states, one a period from the first on
  std::string by;
  std::int64_t students = 5000;
  StateNameSettings names;
  ChanceSettings chance;
  Disclosure disclosure;

  void declare(SettingVisitor& visit);
};

/// A model and the students it is asked about, through its schema.
struct AskedModel {
  const StoredModel& stored;
  const Cohort& students;

  const Model& model() const { return *stored.model; }
};

struct ReportInput {
  const Cohort& cohort;  // as it was given
  AskedModel states;
  const AskedModel* answers = nullptr;     // null: `states` answers what it can
  const Evaluation* evaluation = nullptr;  // of models over their sizes
  std::vector<Paragraph> remarks = {};     // for the card: what a reader should know of how all this was made
  Paragraph subtitle = {};                 // empty: the usual one
  std::uint64_t seed = 1;
  const Executor& executor;
  ProgressSink progress = {};
};

/// Names of the sections there are, in their order.
std::vector<std::string> report_sections();

/// Throws OptionError for a section, group or state that is not there, PrivacyError where there are too few students
/// for any page. A section that the models cannot give is left out, and a line says how to get it.
Page make_report(const ReportInput& input, const ReportSettings& settings);

/// Names of all figures a report can have, section by section.
std::vector<std::string> report_figures();
/// Every picture of a page.
std::vector<Figure> figures_of(const Page& page);

}  // namespace desirepath::inline reports
