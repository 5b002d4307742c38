#include "desirepath/ingest/evidence_table.h"

#include "desirepath/core/error.h"

namespace desirepath::inline ingest {

EvidenceBatch evidence_from_table(const Schema& schema, const SmallTable& table) {
  const std::size_t student = table.require("student"), period = table.require("period"),
                    course = table.require("course"), taken = table.require("taken");
  std::vector<EvidenceRow> rows;
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    const auto& cells = table.rows[r];
    EvidenceRow row{cells[student], cells[period], cells[course], std::nullopt, table.records[r]};
    if (cells[taken] == "1" || cells[taken] == "0") {
      row.taken = cells[taken] == "1";
    } else if (!cells[taken].empty()) {
      throw InputError({table.file, table.records[r], static_cast<std::int64_t>(taken) + 1},
                       "taken must be 1, 0 or empty");
    }
    rows.push_back(std::move(row));
  }
  return evidence_from_rows(schema, rows, table.file);
}

}  // namespace desirepath::inline ingest
