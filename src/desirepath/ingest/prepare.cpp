#include "desirepath/ingest/prepare.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/ingest/cohort_assembly.h"
#include "desirepath/ingest/source.h"

namespace desirepath::inline ingest {

namespace {

Preparation prepare_collection(RowCollection collection, const TableOptions& options, const Executor& executor) {
  Preparation made;
  made.report = PrepareReport::of_reading(collection, options);
  if (made.report.rows_in == 0) {
    made.failure = concat(made.report.sources.front().file, ": it names columns but has no row");
    return made;
  }
  if (const auto bad = made.report.too_many_rejected(options.max_bad)) {
    made.failure = *bad + "; 'desirepath check' lists the reasons";
    return made;
  }
  if (!collection.question.empty()) {
    made.failure = concat(made.report.sources.front().file, ": ", collection.question);
    return made;
  }
  const SiftedRows sifted = apply_rules(collection, options, executor);
  made.report.count_fates(collection, sifted, options);
  made.failure = nothing_left(collection, sifted, options);
  if (!made.failure.empty()) return made;
  CohortParts parts = assemble_cohort(collection, sifted, options);
  made.report.note_statuses(parts, sifted.calendar.note());
  Answer report;
  made.report.tell(report);
  parts.provenance = render_settings(report.to_json().dump(-1, ' ', false, nlohmann::json::error_handler_t::replace),
                                     "--");  // a file holds no marks
  made.cohort.emplace(std::move(parts));
  return made;
}

Prepared with_cohort(Preparation made) {
  if (!made.cohort) throw InputError(made.failure);
  return {std::move(*made.cohort), std::move(made.report)};
}

}  // namespace

Preparation prepare_tables(const std::vector<std::string>& sources, const TableOptions& options,
                           const Executor& executor, const ProgressSink& progress) {
  options.validate();
  return prepare_collection(collect_rows(expand_sources(sources), options, executor, progress), options, executor);
}

Preparation check_tables(const std::vector<std::string>& sources, TableOptions options, const Executor& executor,
                         const ProgressSink& progress) {
  const double max_bad = std::exchange(options.max_bad, 1);
  Preparation check = prepare_tables(sources, options, executor, progress);
  check.is_check = true;
  check.failure = check.report.too_many_rejected(max_bad).value_or(check.failure);
  return check;
}

Prepared prepare_cohort(const std::vector<std::string>& sources, const TableOptions& options, const Executor& executor,
                        const ProgressSink& progress) {
  return with_cohort(prepare_tables(sources, options, executor, progress));
}

Prepared prepare_rows(TableInMemory table, const TableOptions& options, const Executor& executor,
                      const ProgressSink& progress) {
  options.validate();
  return with_cohort(
      prepare_collection(collect_rows(std::move(table), options, executor, progress), options, executor));
}

}  // namespace desirepath::inline ingest
