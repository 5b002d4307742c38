// The one file format of the program: cohorts, models and checkpoints.
//
// The safetensors container: 8-byte little-endian header length, JSON header, raw little-endian arrays. Any
// safetensors reader opens it. Metadata carries the kind of file, the format version and a digest of every byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "desirepath/core/atomic_file.h"
#include "desirepath/core/binary_matrix.h"

namespace desirepath::inline core {

/// Raised when what is written can no longer be understood by older programs; every past version stays readable.
/// 2: cohorts with terms and the statuses that follow from them; whatever needs nothing new is still written as 1.
inline constexpr int archive_format_version = 2;

/// Element types, by their safetensors names.
enum class ElementType { F64, I64, I32, I16, U8 };

template <class T>
constexpr ElementType element_type_of();
template <>
constexpr ElementType element_type_of<double>() {
  return ElementType::F64;
}
template <>
constexpr ElementType element_type_of<std::int64_t>() {
  return ElementType::I64;
}
template <>
constexpr ElementType element_type_of<std::int32_t>() {
  return ElementType::I32;
}
template <>
constexpr ElementType element_type_of<std::int16_t>() {
  return ElementType::I16;
}
template <>
constexpr ElementType element_type_of<std::uint8_t>() {
  return ElementType::U8;
}

class ArchiveWriter {
 public:
  /// kind: "cohort", "model", "checkpoint"; format_version: the first that has all that will be written.
  explicit ArchiveWriter(std::string kind, int format_version = 1);

  void set(const std::string& key, std::string value) { metadata_[key] = std::move(value); }
  template <class T>
  void add(const std::string& name, std::vector<T> values, std::vector<std::int64_t> shape) {
    auto owned = std::make_shared<const std::vector<T>>(std::move(values));
    add_array(name, element_type_of<T>(), std::as_bytes(std::span(*owned)), std::move(shape), owned);
  }
  template <class T>
  void add(const std::string& name, std::vector<T> values) {
    const auto count = static_cast<std::int64_t>(values.size());
    add(name, std::move(values), {count});
  }
  void add(const std::string& name, Vector values);
  void add(const std::string& name, RowMatrix matrix);
  /// Column by column, as it lies: in the file it is the transpose.
  void add_columns(const std::string& name, Matrix matrix);
  /// NAME.row_begin and NAME.`columns`; shared, not copied.
  void add(const std::string& name, const BinaryMatrix& matrix, const std::string& columns);
  /// Texts as two arrays, NAME.bytes and NAME.offsets.
  void add_texts(const std::string& name, std::span<const std::string> texts);

  /// For the owner alone unless it is to be handed out: what it holds is of students.
  void write(const std::filesystem::path& path, Overwrite overwrite, FileAccess access = FileAccess::owner) const;
  /// The same in two steps; AtomicFile::commit() follows.
  void write(AtomicFile& file) const;
  std::vector<std::byte> bytes() const;

 private:
  struct Array {
    std::string name;
    ElementType type;
    std::span<const std::byte> bytes;
    std::vector<std::int64_t> shape;
    std::shared_ptr<const void> owner;
  };
  void add_array(const std::string& name, ElementType type, std::span<const std::byte> bytes,
                 std::vector<std::int64_t> shape, std::shared_ptr<const void> owner);
  std::string header(std::vector<const Array*>& order) const;

  std::map<std::string, std::string> metadata_;
  std::vector<Array> arrays_;
};

/// A whole archive in memory, checked: structure, version, digest. Throws ArchiveError with the reason.
class ArchiveReader {
 public:
  static ArchiveReader open(const std::filesystem::path& path);
  static ArchiveReader from_bytes(std::vector<std::byte> bytes, std::string name);
  /// "cohort", "model", "checkpoint"; empty when the file is none of them or cannot be read. Reads no more than the
  /// header.
  static std::string kind_of(const std::filesystem::path& path);
  /// Whether a file begins like an archive; false when it cannot be read.
  static bool looks_like_archive(const std::filesystem::path& path);

  const std::string& name() const { return name_; }
  const std::string& kind() const { return metadata("kind"); }
  /// Throws when it is of another kind.
  void require_kind(std::string_view kind) const;
  bool has_metadata(const std::string& key) const { return metadata_.contains(key); }
  const std::string& metadata(const std::string& key) const;

  struct ArrayInfo {
    ElementType type;
    std::vector<std::int64_t> shape;
    std::size_t begin = 0;  // bytes, from the start of the data
    std::size_t end = 0;
  };
  const std::map<std::string, ArrayInfo>& arrays() const { return arrays_; }
  bool has(const std::string& name) const { return arrays_.contains(name); }
  const std::vector<std::int64_t>& shape(const std::string& name) const { return info(name).shape; }
  std::int64_t byte_count() const { return static_cast<std::int64_t>(bytes_.size()); }

  /// A copy of an array's values; throws when it is missing or of another type.
  template <class T>
  std::vector<T> read(const std::string& name) const {
    const ArrayInfo& array = typed(name, element_type_of<T>());
    std::vector<T> values((array.end - array.begin) / sizeof(T));
    copy_to(array, values.data());
    return values;
  }
  /// The same, and the shape must be this one.
  template <class T>
  std::vector<T> read(const std::string& name, const std::vector<std::int64_t>& expected_shape) const {
    require_shape(name, expected_shape);
    return read<T>(name);
  }
  /// A matrix of finite numbers as add(RowMatrix) wrote it; throws where it has another shape than two extents.
  RowMatrix read_matrix(const std::string& name) const;
  RowMatrix read_matrix(const std::string& name, Index rows, Index columns) const;
  /// Finite numbers.
  Vector read_vector(const std::string& name) const;
  /// As add_columns() wrote it.
  Matrix read_columns(const std::string& name) const;
  /// UTF-8.
  std::vector<std::string> read_texts(const std::string& name) const;

  [[noreturn]] void refuse(const std::string& reason) const;

 private:
  ArchiveReader(std::vector<std::byte> bytes, std::string name);
  const ArrayInfo& info(const std::string& name) const;
  const ArrayInfo& typed(const std::string& name, ElementType type) const;
  void require_shape(const std::string& name, const std::vector<std::int64_t>& expected) const;
  void copy_to(const ArrayInfo& array, void* target) const;

  std::vector<std::byte> bytes_;
  std::string name_;
  std::size_t data_begin_ = 0;
  std::map<std::string, std::string> metadata_;
  std::map<std::string, ArrayInfo> arrays_;
};

}  // namespace desirepath::inline core
