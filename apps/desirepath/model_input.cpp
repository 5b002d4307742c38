#include "model_input.h"

#include <algorithm>

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"
#include "desirepath/ingest/evidence_table.h"

namespace desirepath::app {

Cohort open_aligned_cohort(const std::string& path, const Model& model, bool ignore_unseen,
                           const RawTableArguments& table, Console& console) {
  Aligned aligned = align_to(open_cohort(path, table, console), model.schema(),
                             ignore_unseen ? UnseenCourses::ignore : UnseenCourses::refuse);
  warn_of_ignored(aligned, "the model does not know", console);
  return std::move(aligned.cohort);
}

void warn_of_ignored(const Aligned& aligned, const std::string& why, const Console& console) {
  if (aligned.ignored_courses == 0) return;
  console.warn(concat(counted(aligned.ignored_enrollments, "enrollment", "enrollments"), " in ",
                      counted(aligned.ignored_courses, "course", "courses"), " ", why, " are left out"));
}

EvidenceBatch open_evidence(const std::string& path, const Model& model) {
  return evidence_from_table(model.schema(), read_small_table(path));
}

LikelihoodKind choose_kind(const std::string& name, const Model& model) {
  std::vector<std::string> names;
  for (const LikelihoodKind kind : model.likelihood_kinds()) {
    if (name.empty() || name_of(kind) == name) return kind;
    names.emplace_back(name_of(kind));
  }
  throw OptionError(concat("--likelihood ", name, ": this model has ", join(names, ", ")));
}

}  // namespace desirepath::app
