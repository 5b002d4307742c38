// Rows that could not be used: where and why, never what was in them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "desirepath/core/atomic_file.h"

namespace desirepath::inline ingest {

struct Reject {
  std::size_t source = 0;   // index into the list of files
  std::int64_t record = 0;  // 1 = the first record of the file (its header)
  std::string column;       // empty: the row as a whole
  std::string reason;
  std::pair<std::size_t, std::int64_t> place() const { return {source, record}; }
};

class RejectLog {
 public:
  void add(std::size_t source, std::int64_t record, std::string column, const std::string& reason);
  std::int64_t count() const { return count_; }
  /// Reason and number of rows, the most frequent first.
  std::vector<std::pair<std::string, std::int64_t>> by_reason() const;
  /// The first ones; by_reason() counts all.
  const std::vector<Reject>& kept() const { return kept_; }
  /// CSV `file,record,column,reason`, in the order of the input.
  void write(const std::filesystem::path& path, const std::vector<std::string>& sources, Overwrite overwrite) const;

 private:
  std::int64_t count_ = 0;
  std::map<std::string, std::int64_t> by_reason_;
  std::vector<Reject> kept_;
};

}  // namespace desirepath::inline ingest
