#include "desirepath/ingest/rejects.h"

#include <algorithm>

#include "desirepath/core/table.h"
#include "desirepath/core/text.h"

namespace desirepath::inline ingest {

namespace {
constexpr std::size_t most_kept = 5'000'000;
}

void RejectLog::add(std::size_t source, std::int64_t record, std::string column, const std::string& reason) {
  ++count_;
  ++by_reason_[reason];
  if (kept_.size() < most_kept) kept_.push_back({source, record, std::move(column), reason});
}

std::vector<std::pair<std::string, std::int64_t>> RejectLog::by_reason() const {
  std::vector<std::pair<std::string, std::int64_t>> reasons(by_reason_.begin(), by_reason_.end());
  std::ranges::stable_sort(reasons, std::ranges::greater(), &std::pair<std::string, std::int64_t>::second);
  return reasons;
}

void RejectLog::write(const std::filesystem::path& path, const std::vector<std::string>& sources,
                      Overwrite overwrite) const {
  AtomicFile file(path, overwrite, FileAccess::owner);
  file.write("file,record,column,reason\n");
  std::vector<const Reject*> order;
  for (const Reject& reject : kept_)
    order.push_back(&reject);
  std::ranges::stable_sort(order, {}, &Reject::place);
  for (const Reject* reject : order) {
    file.write(concat(csv_field(sources[reject->source]), ",", reject->record, ",", csv_field(reject->column), ",",
                      csv_field(reject->reason), "\n"));
  }
  file.commit();
}

}  // namespace desirepath::inline ingest
