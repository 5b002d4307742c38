// One input file, opened, with its columns given their meaning.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "desirepath/ingest/presets.h"
#include "desirepath/ingest/rejects.h"
#include "desirepath/ingest/row_source.h"
#include "desirepath/ingest/table_options.h"

namespace desirepath::inline ingest {

class ByteSource;

/// Files behind names and patterns (*, ?, [..]), sorted, each once. Throws FileError when a pattern matches nothing.
std::vector<std::string> expand_sources(const std::vector<std::string>& patterns);

/// A file's rows; for each role the column of the rows that holds it.
struct MappedSource {
  std::unique_ptr<RowSource> rows;
  std::string preset;  // the form it was read as
  TermCoding term_coding = TermCoding::labels;
  std::vector<std::string> summer_codes;  // that the form itself implies
  std::optional<std::size_t> student, period, term, course, grade, units, label, subject, school, entry, finished;
  bool computes_course = false;             // by an expression, which gives none where a part of it is missing
  std::optional<std::size_t> keep;          // the --where condition, "true" or not
  std::optional<std::size_t> not_a_number;  // names a column that had to be a number for an expression and was not
  struct AttributeColumn {
    std::string name;
    std::size_t column;
  };
  std::vector<AttributeColumn> attributes;
  std::vector<std::pair<std::string, std::size_t>> roles;  // each with its column
  std::vector<std::string> mapping;                        // "student = EMPLID", for people
  std::vector<std::string> notes;                          // how the table was taken apart
};

/// number: of the file in the reject log. threads: that a database may use.
MappedSource open_source(const std::string& path, std::size_t number, const TableOptions& options, int threads,
                         RejectLog& rejects);
/// The same for rows in memory; name: in messages, in the place of a file's.
MappedSource map_source(std::unique_ptr<RowSource> rows, const std::string& name, const TableOptions& options);

/// A small table read whole: course lists, term codes, labels ... Throws InputError at the first bad record.
struct SmallTable {
  std::string file;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
  std::vector<std::int64_t> records;

  std::optional<std::size_t> find(std::string_view column) const;
  /// Throws InputError that names the columns there are.
  std::size_t require(std::string_view column) const;
};
SmallTable read_small_table(const std::string& path);
SmallTable read_small_table(std::unique_ptr<ByteSource> bytes, const std::string& file);

}  // namespace desirepath::inline ingest
