#include "desirepath/simulation/synthetic_truth.h"

#include <nlohmann/json.hpp>

#include "desirepath/core/version.h"
#include "desirepath/simulation/synthetic_calendar_truth.h"

namespace desirepath::inline simulation {

namespace {

using Json = nlohmann::ordered_json;

Json names_of(const SyntheticCatalog& catalog, const std::vector<Id>& courses) {
  Json names = Json::array();
  for (const Id course : courses)
    names.push_back(catalog.course(course).name);
  return names;
}

/// An archetype is a major with one of its concentrations.
Json majors(const SyntheticCatalog& catalog, const SyntheticSummary& summary) {
  Json list = Json::array();
  std::size_t archetype = 0;
  for (const SyntheticSubject& subject : catalog.subjects) {
    Json core = Json::array();
    for (const std::vector<Id>* part : {&subject.support, &subject.core}) {
      for (const Id course : *part) {
        core.push_back({{"course", catalog.course(course).name}, {"period", catalog.course(course).usual_period}});
      }
    }
    Json concentrations = Json::array();
    for (std::size_t i = 0; i < subject.concentrations.size(); ++i) {
      const SyntheticConcentration& concentration = subject.concentrations[i];
      const bool is_held = archetype + i < summary.archetypes.size();
      concentrations.push_back({{"concentration", concentration.name},
                                {"share", concentration.weight},
                                {"students", is_held ? summary.archetypes[archetype + i] : 0},
                                {"courses", names_of(catalog, concentration.courses)}});
    }
    list.push_back({{"major", subject.name},
                    {"school", catalog.schools[static_cast<std::size_t>(subject.school)]},
                    {"appeal", subject.appeal},
                    {"core", std::move(core)},
                    {"concentrations", std::move(concentrations)}});
    archetype += 4;
  }
  return list;
}

Json prerequisites(const SyntheticCatalog& catalog) {
  Json listed = Json::array();
  Json tacit = Json::array();
  for (const SyntheticCourse& course : catalog.courses) {
    for (const Id earlier : course.prerequisites) {
      listed.push_back({{"prerequisite", catalog.course(earlier).name}, {"course", course.name}});
    }
    if (course.tacit_prerequisite >= 0) {
      tacit.push_back({{"prerequisite", catalog.course(course.tacit_prerequisite).name},
                       {"course", course.name},
                       {"strength", course.tacit_strength}});
    }
  }
  return {{"listed", std::move(listed)}, {"tacit", std::move(tacit)}};
}

Json renamed_course(const SyntheticCatalog& catalog) {
  if (!catalog.renamed) return nullptr;
  return {{"old", catalog.renamed->old_name},
          {"new", catalog.course(catalog.renamed->course).name},
          {"first_year_of_new", catalog.renamed->first_year}};
}

Json scheduling_conflict(const SyntheticCatalog& catalog, const SyntheticRates& rates) {
  if (!catalog.conflict) return nullptr;
  return {{"course", catalog.course(catalog.conflict->course).name},
          {"group", {{"column", "residence"}, {"value", "commuter"}}},
          {"usual_period", catalog.conflict->usual_period},
          {"earliest_period_of_group", catalog.conflict->usual_period + catalog.conflict->delay},
          {"share_of_group", rates.conflict_share_of_group}};
}

Json detours(const SyntheticCatalog& catalog, const SyntheticRates& rates) {
  Json list = Json::array();
  for (const SyntheticDetour& detour : catalog.detours) {
    Json steps = Json::array();
    for (const DetourStep& step : detour.steps) {
      steps.push_back({{"course", catalog.course(step.course).name}, {"period", step.period}});
    }
    list.push_back({{"detour", detour.name}, {"courses", std::move(steps)}});
  }
  list[0]["share_natural_sciences_and_health"] = rates.premedical_sciences;
  list[0]["share_other_majors"] = rates.premedical;
  list[1]["share"] = rates.prelaw;
  return {{"paths", std::move(list)},
          {"given_up_after_period_1", rates.detour_given_up},
          {"depth_delay_periods", rates.detour_depth_delay},
          {"last_concentration_extra", rates.detour_last_concentration}};
}

Json unexpected_company(const SyntheticCatalog& catalog, const SyntheticRates& rates) {
  Json list = Json::array();
  const auto part = [&](Id subject_id, Id concentration_id) -> Json {
    const SyntheticSubject& subject = catalog.subject(subject_id);
    const auto& concentration = subject.concentrations[static_cast<std::size_t>(concentration_id)];
    return {{"subject", subject.name},
            {"concentration", concentration.name},
            {"courses", names_of(catalog, concentration.courses)}};
  };
  for (const UnexpectedCompany& company : catalog.companies) {
    list.push_back({{"of", part(company.subject, company.concentration)},
                    {"with", part(company.companion_subject, company.companion_concentration)},
                    {"share_of_concentration", rates.company_share}});
  }
  return list;
}

Json drift(const SyntheticCatalog& catalog) {
  Json list = Json::array();
  for (const SyntheticSubject& subject : catalog.subjects) {
    list.push_back({{"subject", subject.name}, {"last_to_first_cohort", subject.growth}});
  }
  return list;
}

Json groups(const SyntheticRates& rates) {
  return {{"residence",
           {{"values", {"campus", "commuter"}},
            {"commuter_share", rates.commuter_share},
            {"commuter_courses_a_year", rates.commuter_load},
            {"commuter_drop_out_factor", rates.drop_out_commuter},
            {"commuter_business_major_factor", rates.commuter_business_tilt},
            {"summer", {{"campus", rates.summer_campus}, {"commuter", rates.summer_commuter}}},
            {"part_time", {{"campus", rates.part_time_campus}, {"commuter", rates.part_time_commuter}}}}},
          {"first_generation",
           {{"values", {"yes", "no"}},
            {"share", {{"campus", rates.first_generation_campus}, {"commuter", rates.first_generation_commuter}}},
            {"ambition", rates.ambition_first_generation},
            {"drop_out_factor", rates.drop_out_first_generation},
            {"health_major_factor", rates.first_generation_health_tilt}}}};
}

/// All of them under the names they have in SyntheticRates.
Json rates_of(const SyntheticRates& rates) {
  Json list = Json::object();
  for (const NamedRate& rate : all_rates())
    list[std::string(rate.name)] = rates.*rate.value;
  list["drop_out"] = rates.drop_out;
  list["detour_depth_delay"] = rates.detour_depth_delay;
  list["conflict_delay"] = rates.conflict_delay;
  return list;
}

Json realised(const SyntheticCatalog& catalog, const SyntheticSummary& summary) {
  Json detour_counts = Json::object();
  for (std::size_t i = 0; i < catalog.detours.size(); ++i)
    detour_counts[catalog.detours[i].name] = summary.detours.at(i);
  return {{"students", summary.students},
          {"enrollments", summary.enrollments},
          {"commuters", summary.commuters},
          {"first_generation", summary.first_generation},
          {"part_time", summary.part_time},
          {"late_entrants", summary.late_entrants},
          {"enthusiasts", summary.enthusiasts},
          {"switches", summary.switches},
          {"second_majors", summary.second_majors},
          {"companies", summary.companies},
          {"detours", std::move(detour_counts)},
          {"students_at_risk_by_period", summary.at_risk},
          {"drop_outs_by_period", summary.drop_outs},
          {"leaves_of_absence", summary.leaves_of_absence},
          {"reduced_years", summary.reduced_years},
          {"summer_rows", summary.summer_rows},
          {"withdrawals", summary.withdrawals},
          {"failures", summary.failures},
          {"repeats", summary.repeats},
          {"commuters_in_conflict", summary.commuters_in_conflict}};
}

}  // namespace

std::string synthetic_truth(const SyntheticUniversity& university, const SyntheticSummary& summary,
                            const std::string& enrollments_digest) {
  const SyntheticOptions& options = university.options();
  const SyntheticCatalog& catalog = university.catalog();
  Json truth = {
      {"schema", "desirepath.synthetic_truth.1"},
      {"version", version},
      {"options",
       {{"students", options.students},
        {"courses", options.courses},
        {"periods", options.periods},
        {"seed", options.seed},
        {"cohorts", options.cohorts},
        {"first_year", options.first_year}}},
      {"enrollments_digest", enrollments_digest},
      {"schools", catalog.schools},
      {"majors", majors(catalog, summary)},
      {"prerequisites", prerequisites(catalog)},
      {"renamed_course", renamed_course(catalog)},
      {"scheduling_conflict", scheduling_conflict(catalog, options.rates)},
      {"detours", detours(catalog, options.rates)},
      {"unexpected_company", unexpected_company(catalog, options.rates)},
      {"drift", drift(catalog)},
      {"groups", groups(options.rates)},
      {"general_courses",
       {{"writing", catalog.course(catalog.writing_course).name},
        {"quantitative", names_of(catalog, catalog.quantitative_courses)}}},
      {"rates", rates_of(options.rates)},
      {"realised", realised(catalog, summary)},
  };
  if (options.edition >= 2) {
    truth["options"]["edition"] = options.edition;
    std::vector<Id> courses;
    for (Id course = 0; course < static_cast<Id>(catalog.courses.size()); ++course) {
      if (catalog.is_taken_again(course, options)) courses.push_back(course);
    }
    truth["taken_again"] = {{"courses", names_of(catalog, courses)}, {"chance_next_year", options.rates.taken_again}};
  }
  if (options.has_calendar()) {
    truth["options"].erase("cohorts");
    truth["options"]["years"] = options.calendar_years();
    // In their place stand the calendar's own.
    truth.erase("drift");
    for (const char* rate : {"drop_out", "drop_out_commuter", "drop_out_first_generation", "leave_of_absence"})
      truth["rates"].erase(rate);
    truth["groups"]["residence"]["commuter_drop_out_factor"] = options.calendar.leaving_commuter;
    truth["groups"]["first_generation"]["drop_out_factor"] = options.calendar.leaving_first_generation;
    truth["calendar"] = calendar_truth(university, summary);
  }
  return truth.dump(1) + "\n";
}

}  // namespace desirepath::inline simulation
