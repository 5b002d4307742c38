// The bytes of an input file, unpacked: plain, gzip or zstd, told apart by content and not by name.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace desirepath::inline ingest {

enum class FileKind { text, gzip, zstd, parquet, duckdb, workbook, archive, foreign };

struct FileKindInfo {
  FileKind kind = FileKind::text;
  std::string name;    // "CSV", "Parquet" ..., for messages
  std::string remedy;  // for foreign kinds: what to do about it
};

/// Looks at the first bytes. Throws FileError when the file cannot be read, InputError when it is empty.
FileKindInfo detect_file_kind(const std::filesystem::path& path);
/// What bytes that begin like this are when they are no table: kind foreign, or text when nothing speaks against one.
FileKindInfo kind_of_unpacked(std::string_view begin);

class ByteSource {
 public:
  ByteSource() = default;
  virtual ~ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  /// Fills the front of the buffer; 0 only at the end. Throws InputError when packed data is cut short or damaged.
  virtual std::size_t read(std::span<char> buffer) = 0;
  /// Share of the file read so far, 0 .. 1.
  virtual double fraction() const = 0;
};

/// kind: text, gzip or zstd.
std::unique_ptr<ByteSource> open_bytes(const std::filesystem::path& path, FileKind kind);
/// Of a text in memory.
std::unique_ptr<ByteSource> bytes_of_text(std::string text);

}  // namespace desirepath::inline ingest
