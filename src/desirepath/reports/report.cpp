#include "desirepath/reports/report.h"

#include <algorithm>
#include <array>
#include <set>

#include "desirepath/core/error.h"
#include "desirepath/core/nearest_name.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/queries/disclosed_states.h"
#include "desirepath/queries/student_groups.h"
#include "desirepath/reports/report_parts.h"
#include "desirepath/reports/report_words.h"

namespace desirepath::inline reports {

namespace {
using MakePart = ReportPart(const ReportContext&);
}  // namespace

// In the files of what they are about: report_states.cpp, report_students.cpp ...
MakePart data_part, states_part, flows_part, typicality_part, prerequisites_part, plans_part, delays_part, courses_part,
    calibration_part, evaluation_part, card_part;

namespace {

struct SectionEntry {
  std::string_view name;
  MakePart* make;                                // null: made of the others
  std::array<std::string_view, 2> figures = {};  // that it may have; empty: none
};

/// The sections there are: one plain list.
std::span<const SectionEntry> section_list() {
  static constexpr std::array<SectionEntry, 12> entries = {
      {{"summary", nullptr},
       {"data", data_part, {"enrollments", "courses-per-student"}},
       {"states", states_part, {"state-grid"}},
       {"flows", flows_part, {"sankey", "sankey-paths"}},
       {"typicality", typicality_part, {"coursework", "typicality"}},
       {"prerequisites", prerequisites_part, {"prerequisites"}},
       {"plans", plans_part},
       {"delays", delays_part, {"delays"}},
       {"courses", courses_part},
       {"calibration", calibration_part, {"calibration"}},
       {"evaluation", evaluation_part, {"error_by_k", "table_1"}},
       {"card", card_part}}};
  return entries;
}

void check_sections(const std::vector<std::string>& wanted) {
  const std::vector<std::string> known = report_sections();
  for (const std::string& name : wanted) {
    if (std::ranges::find(known, name) != known.end()) continue;
    throw OptionError(concat(setting_name("sections"), ": no section '", name, "'", did_you_mean(name, known),
                             "; there are: ", join(known, ", ")));
  }
}

/// Whether a course may be named: of all students and of these.
std::vector<std::uint8_t> find_disclosed_courses(const Cohort& all, const DisclosedCohort& disclosed_of_all,
                                                 const Cohort& students, const Disclosure& disclosure) {
  std::set<std::string> disclosed;
  for (const DisclosedCohort::CourseCount& entry : disclosed_of_all.courses)
    disclosed.insert(all.schema().course(entry.course).name);
  const Schema& schema = students.schema();
  std::vector<std::uint8_t> disclosed_courses(static_cast<std::size_t>(schema.course_count()), 0);
  for (const CohortSummary::CourseCount& entry : summarise(students).popular) {
    const bool is_disclosed =
        disclosed.contains(schema.course(entry.course).name) && disclosure.rests(static_cast<double>(entry.students));
    disclosed_courses[static_cast<std::size_t>(entry.course)] = is_disclosed ? 1 : 0;
  }
  return disclosed_courses;
}

PageSection summary_section(std::vector<Paragraph> points) {
  constexpr std::size_t most = 11;
  points.resize(std::min(points.size(), most));
  points.emplace_back(sentence_of(words::summary_last));
  PageSection section{"summary", words::summary_title};
  section.finding = sentence_of(words::summary_finding);
  section.points = std::move(points);
  return section;
}

}  // namespace

void ReportSettings::declare(SettingVisitor& visit) {
  visit(Setting("title", "heading of the page"), title);
  visit(Setting("sections", concat("only these: ", join(report_sections(), ", "))).taking("A,B,C"), sections);
  visit(
      Setting("width",
              "what a ribbon of the flow diagram is as wide as: flow, its students, or probability, for who is in the "
              "state it comes from"),
      width);
  visit(Setting("highlight",
                "the path to follow in the flow diagram: its states, one a period from the first on, such as 0,2 (the "
                "two most frequent paths that end differently)")
            .taking("STATE,STATE"),
        highlight);
  visit(Setting("by", "student attribute of COHORT, or entry: groups that are compared").taking("COLUMN"), by);
  visit(Setting("students", "students looked at for answers, drawn where there are more").at_least(100).taking("N"),
        students);
  names.declare(visit);
  chance.declare(visit);
  disclosure.declare(visit);
}

ReportContext::ReportContext(const ReportInput& its_input, const ReportSettings& its_settings)
    : input(its_input),
      settings(its_settings),
      disclosure(its_settings.disclosure),
      disclosed(disclose_cohort(its_input.cohort, its_settings.disclosure)),
      disclosed_to_states(find_disclosed_courses(input.cohort, disclosed, input.states.students, disclosure)),
      disclosed_to_answers(input.answers == nullptr
                               ? std::vector<std::uint8_t>()
                               : find_disclosed_courses(input.cohort, disclosed, input.answers->students, disclosure)),
      state_names(input.states.model().hidden_states() == nullptr
                      ? StateNames()
                      : short_state_names(input.states.stored, its_settings.names, disclosed_to_states, disclosure)),
      prerequisites(ask_for_pairs(*this)) {}

const AskedModel* ReportContext::answering() const {
  if (input.answers != nullptr) return input.answers;
  return states() == nullptr ? &input.states : nullptr;
}

bool is_headline(std::string_view name) {
  return std::ranges::find(words::no_headline, name) == words::no_headline.end();
}

std::vector<std::string> report_sections() {
  std::vector<std::string> names;
  for (const SectionEntry& entry : section_list())
    names.emplace_back(entry.name);
  return names;
}

Page make_report(const ReportInput& input, const ReportSettings& settings) {
  check_sections(settings.sections);
  if (!settings.by.empty()) groups_of(input.cohort, settings.by);
  const ReportContext context(input, settings);
  const auto is_wanted = [&](std::string_view name) {
    return settings.sections.empty() || std::ranges::find(settings.sections, name) != settings.sections.end();
  };
  Page page;
  page.title = settings.title.empty() ? words::title : settings.title;
  page.subtitle = input.subtitle.empty() ? Paragraph(sentence_of(words::subtitle)) : input.subtitle;
  page.headline = {{"headline_students", with_separators(context.disclosed.students), words::students},
                   {"headline_courses", with_separators(context.disclosed.courses_taken()), words::courses},
                   {"headline_enrollments", with_separators(context.disclosed.enrollments), words::enrollments},
                   {"headline_periods", std::to_string(input.cohort.schema().period_count()), words::periods}};
  page.footer = sentence_of(words::footer, {std::to_string(context.disclosure.least())});
  std::vector<Paragraph> points, missing;
  std::optional<PageSection> card;
  const auto list = section_list();
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i].make == nullptr || !is_wanted(list[i].name)) continue;
    if (input.progress)
      input.progress({concat("report: ", list[i].name), static_cast<double>(i) / static_cast<double>(list.size())});
    ReportPart part = list[i].make(context);
    std::ranges::move(part.points, std::back_inserter(points));
    if (!part.left_out.empty()) missing.push_back(std::move(part.left_out));
    if (part.section) page.sections.push_back(std::move(*part.section));
  }
  if (!missing.empty()) {
    PageSection section{"missing", words::missing_title};
    section.finding = sentence_of(words::missing_finding);
    section.notes = std::move(missing);
    const bool ends_with_card = !page.sections.empty() && page.sections.back().id == "card";
    page.sections.insert(page.sections.end() - (ends_with_card ? 1 : 0), std::move(section));
  }
  if (is_wanted("summary")) page.sections.insert(page.sections.begin(), summary_section(std::move(points)));
  return page;
}

std::vector<std::string> report_figures() {
  std::vector<std::string> names;
  for (const SectionEntry& entry : section_list()) {
    for (const std::string_view figure : entry.figures) {
      if (!figure.empty()) names.emplace_back(figure);
    }
  }
  return names;
}

std::vector<Figure> figures_of(const Page& page) {
  std::vector<Figure> figures;
  for (const PageSection& section : page.sections) {
    for (const PageFigure& entry : section.figures)
      figures.push_back(entry.figure);
  }
  return figures;
}

}  // namespace desirepath::inline reports
