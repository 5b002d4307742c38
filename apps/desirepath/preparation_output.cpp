#include "preparation_output.h"

#include <ostream>

#include <nlohmann/json.hpp>

#include "desirepath/core/text.h"

namespace desirepath::app {

void print_preparation(const PrepareReport& report, std::ostream& out) {
  for (const auto& source : report.sources) {
    out << source.file << ": " << source.description << ", " << counted(source.rows, "row", "rows") << '\n';
    out << "  read as: " << (source.format.empty() ? "mapped by hand" : source.format) << " ("
        << join(source.mapping, ", ") << ")\n";
  }
  for (const std::string& note : report.notes)
    out << "note: " << note << '\n';
  out << "\nrows in " << with_separators(report.rows_in) << " = kept " << with_separators(report.rows_kept)
      << " + filtered " << with_separators(report.rows_filtered()) << " + rejected "
      << with_separators(report.rows_rejected()) << '\n';
  if (!report.stages.empty()) {
    Table stages({{"after"}, {"rows"}, {"students"}, {"courses"}});
    for (const Stage& stage : report.stages)
      stages.add_row({stage.filter, stage.rows, stage.students, stage.courses});
    out << '\n';
    stages.print_text(out);
  }
  if (!report.rejected.empty()) {
    Table reasons({{"rejected because"}, {"rows"}, {"first at"}});
    for (const Counted& reason : report.rejected) {
      std::string first;
      for (const Reject& reject : report.rejects.kept()) {
        if (reject.reason != reason.what) continue;
        first = concat(report.sources.size() > 1 ? report.sources[reject.source].file + ", " : "", "record ",
                       with_separators(reject.record));
        if (!reject.column.empty()) first += concat(", column ", reject.column);
        break;
      }
      reasons.add_row({reason.what, reason.count, first});
    }
    out << '\n';
    reasons.print_text(out);
  }
}

nlohmann::ordered_json preparation_json(const PrepareReport& report, const Cohort* cohort) {
  nlohmann::ordered_json json;
  if (cohort != nullptr) {
    json["students"] = cohort->student_count();
    json["courses"] = cohort->schema().course_count();
    json["periods"] = cohort->schema().period_count();
    json["enrollments"] = cohort->enrollments().one_count();
    json["fingerprint"] = cohort->fingerprint();
  }
  json.update(report.to_json());
  return json;
}

}  // namespace desirepath::app
