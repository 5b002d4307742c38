#include "desirepath/core/archive.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <charconv>
#include <cstring>
#include <fstream>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "desirepath/core/digest.h"
#include "desirepath/core/error.h"
#include "desirepath/core/text.h"
#include "desirepath/core/version.h"

namespace desirepath::inline core {

static_assert(std::endian::native == std::endian::little, "archives are written as they lie in memory");

namespace {

using nlohmann::json;

constexpr std::size_t length_size = 8;
constexpr std::size_t largest_header = 100'000'000;  // the limit of the safetensors format
constexpr std::string_view metadata_key = "__metadata__";
constexpr std::string_view digest_begin = "\"digest\":\"";
constexpr std::size_t digest_digits = 32;

struct ElementTypeName {
  ElementType type;
  std::string_view name;
  std::size_t size;
};
constexpr std::array<ElementTypeName, 5> element_types = {{{ElementType::F64, "F64", 8},
                                                           {ElementType::I64, "I64", 8},
                                                           {ElementType::I32, "I32", 4},
                                                           {ElementType::I16, "I16", 2},
                                                           {ElementType::U8, "U8", 1}}};

const ElementTypeName& describe(ElementType type) {
  return *std::ranges::find(element_types, type, &ElementTypeName::type);
}

std::array<std::byte, length_size> length_bytes(std::size_t length) {
  std::array<std::byte, length_size> bytes;
  const std::uint64_t value = length;
  std::memcpy(bytes.data(), &value, length_size);
  return bytes;
}

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Where the digest's digits stand in the header: the only place that names it, or nothing.
std::optional<std::size_t> digest_position(std::string_view header) {
  const std::size_t at = header.find(digest_begin);
  if (at == std::string_view::npos || header.find(digest_begin, at + 1) != std::string_view::npos) return std::nullopt;
  const std::size_t digits = at + digest_begin.size();
  if (digits + digest_digits >= header.size() || header[digits + digest_digits] != '"') return std::nullopt;
  return digits;
}

}  // namespace

ArchiveWriter::ArchiveWriter(std::string kind, int format_version) {
  set("format", "desirepath");
  set("format_version", std::to_string(format_version));
  set("kind", std::move(kind));
  set("program_version", version);
}

void ArchiveWriter::add_array(const std::string& name, ElementType type, std::span<const std::byte> bytes,
                              std::vector<std::int64_t> shape, std::shared_ptr<const void> owner) {
  std::size_t expected = describe(type).size;
  for (const std::int64_t extent : shape)
    expected *= static_cast<std::size_t>(extent);
  assert(expected == bytes.size());
  arrays_.push_back({name, type, bytes, std::move(shape), std::move(owner)});
}

namespace {

std::span<const std::byte> bytes_of(const double* values, Index count) {
  return std::as_bytes(std::span(values, static_cast<std::size_t>(count)));
}

}  // namespace

void ArchiveWriter::add(const std::string& name, Vector values) {
  const auto owned = std::make_shared<const Vector>(std::move(values));
  add_array(name, ElementType::F64, bytes_of(owned->data(), owned->size()), {owned->size()}, owned);
}

void ArchiveWriter::add(const std::string& name, RowMatrix matrix) {
  const auto owned = std::make_shared<const RowMatrix>(std::move(matrix));
  add_array(name, ElementType::F64, bytes_of(owned->data(), owned->size()), {owned->rows(), owned->cols()}, owned);
}

void ArchiveWriter::add_columns(const std::string& name, Matrix matrix) {
  const auto owned = std::make_shared<const Matrix>(std::move(matrix));
  add_array(name, ElementType::F64, bytes_of(owned->data(), owned->size()), {owned->cols(), owned->rows()}, owned);
}

void ArchiveWriter::add(const std::string& name, const BinaryMatrix& matrix, const std::string& columns) {
  add_array(name + ".row_begin", ElementType::I64, std::as_bytes(matrix.row_begin()), {matrix.row_count() + 1},
            matrix.owner());
  add_array(concat(name, ".", columns), ElementType::I32, std::as_bytes(matrix.columns()), {matrix.one_count()},
            matrix.owner());
}

void ArchiveWriter::add_texts(const std::string& name, std::span<const std::string> texts) {
  std::vector<std::int64_t> offsets = {0};
  std::vector<std::uint8_t> bytes;
  offsets.reserve(texts.size() + 1);
  for (const std::string& text : texts) {
    bytes.insert(bytes.end(), text.begin(), text.end());
    offsets.push_back(static_cast<std::int64_t>(bytes.size()));
  }
  add(name + ".offsets", std::move(offsets));
  add(name + ".bytes", std::move(bytes));
}

std::string ArchiveWriter::header(std::vector<const Array*>& order) const {
  for (const Array& array : arrays_)
    order.push_back(&array);
  // Wide elements first, so that every array lies aligned.
  std::ranges::stable_sort(order, [](const Array* a, const Array* b) {
    const std::size_t size_a = describe(a->type).size, size_b = describe(b->type).size;
    return size_a != size_b ? size_a > size_b : a->name < b->name;
  });
  json entries = json::object();
  json metadata = metadata_;
  metadata["digest"] = std::string(digest_digits, '0');
  entries[std::string(metadata_key)] = metadata;
  std::size_t offset = 0;
  for (const Array* array : order) {
    entries[array->name] = {{"dtype", describe(array->type).name},
                            {"shape", array->shape},
                            {"data_offsets", {offset, offset + array->bytes.size()}}};
    offset += array->bytes.size();
  }
  std::string text = entries.dump(-1, ' ', false, json::error_handler_t::replace);  // names of files may be any bytes
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const auto digits = digest_position(text);
  if (!digits) throw ArchiveError("archive header: a value looks like the digest's key");
  DigestBuilder digest;
  digest.add(length_bytes(text.size()));
  digest.add(text);
  for (const Array* array : order)
    digest.add(array->bytes);
  text.replace(*digits, digest_digits, digest.finish().hex());
  return text;
}

void ArchiveWriter::write(const std::filesystem::path& path, Overwrite overwrite, FileAccess access) const {
  AtomicFile file(path, overwrite, access);
  write(file);
  file.commit();
}

void ArchiveWriter::write(AtomicFile& file) const {
  std::vector<const Array*> order;
  const std::string text = header(order);
  file.write(length_bytes(text.size()));
  file.write(text);
  for (const Array* array : order)
    file.write(array->bytes);
}

std::vector<std::byte> ArchiveWriter::bytes() const {
  std::vector<const Array*> order;
  const std::string text = header(order);
  std::vector<std::byte> bytes;
  const auto append = [&](std::span<const std::byte> piece) { bytes.insert(bytes.end(), piece.begin(), piece.end()); };
  append(length_bytes(text.size()));
  append(std::as_bytes(std::span(text)));
  for (const Array* array : order)
    append(array->bytes);
  return bytes;
}

ArchiveReader ArchiveReader::open(const std::filesystem::path& path) {
  // Of what is no archive there is no need to read more than the beginning, however large it is.
  std::error_code ignored;
  if (std::filesystem::is_regular_file(path, ignored) && std::ifstream(path).good() && !looks_like_archive(path))
    throw ArchiveError(concat(path.string(), ": not a desirepath file"));
  return {read_file(path), path.string()};
}

ArchiveReader ArchiveReader::from_bytes(std::vector<std::byte> bytes, std::string name) {
  return {std::move(bytes), std::move(name)};
}

bool ArchiveReader::looks_like_archive(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;  // what a pipe gives, it gives once
  std::ifstream file(path, std::ios::binary);
  std::array<char, length_size + 2> begin{};
  if (!file.read(begin.data(), begin.size())) return false;
  std::uint64_t length = 0;
  std::memcpy(&length, begin.data(), length_size);
  // A text file would have a header length in the quintillions.
  return length <= largest_header && begin[length_size] == '{' && begin[length_size + 1] == '"';
}

std::string ArchiveReader::kind_of(const std::filesystem::path& path) {
  if (!looks_like_archive(path)) return {};
  std::ifstream file(path, std::ios::binary);
  std::uint64_t length = 0;
  file.read(reinterpret_cast<char*>(&length), length_size);
  std::string header(static_cast<std::size_t>(length), ' ');
  file.read(header.data(), std::ssize(header));
  // Inside a value the quotes would stand behind backslashes.
  static constexpr std::string_view key = "\"kind\":\"";
  const std::size_t at = header.find(key);
  if (at == std::string::npos) return {};
  return header.substr(at + key.size(), header.find('"', at + key.size()) - at - key.size());
}

void ArchiveReader::refuse(const std::string& reason) const {
  const bool damaged = reason.starts_with("damaged");
  throw ArchiveError(concat(name_, ": ", reason, damaged ? "; copy it again or make it anew" : ""));
}

ArchiveReader::ArchiveReader(std::vector<std::byte> bytes, std::string name)
    : bytes_(std::move(bytes)), name_(std::move(name)) {
  if (bytes_.size() < length_size + 2) refuse("not a desirepath file (too short)");
  std::uint64_t header_size = 0;
  std::memcpy(&header_size, bytes_.data(), length_size);
  if (header_size > largest_header) refuse("not a desirepath file (no header)");
  if (header_size > bytes_.size() - length_size) refuse("damaged: the file ends inside its header");
  data_begin_ = length_size + static_cast<std::size_t>(header_size);
  const std::string_view text = as_text(std::span(bytes_).subspan(length_size, header_size));

  if (is_nested_too_deep(text)) refuse("not a desirepath file (the header nests too deep)");
  const json header = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!header.is_object()) refuse("not a desirepath file (the header is not JSON)");
  const auto metadata = header.find(metadata_key);
  if (metadata == header.end() || !metadata->is_object()) refuse("not a desirepath file (no metadata)");
  for (const auto& [key, value] : metadata->items()) {
    if (!value.is_string()) refuse("damaged: metadata that is not text");
    metadata_[key] = value.get<std::string>();
    if (is_nested_too_deep(metadata_[key])) refuse(concat("damaged: metadata '", key, "' nests too deep"));
  }
  if (!has_metadata("format") || metadata_["format"] != "desirepath") refuse("not a desirepath file");
  const std::string& version_text = this->metadata("format_version");
  int file_version = 0;
  const auto parsed = std::from_chars(version_text.data(), version_text.data() + version_text.size(), file_version);
  if (parsed.ec != std::errc() || parsed.ptr != version_text.data() + version_text.size() || file_version < 1) {
    refuse("damaged: no format version");
  }
  if (file_version > archive_format_version) {
    refuse(concat("written by a newer desirepath (format ", file_version, ", this one reads up to ",
                  archive_format_version, "); update to read it"));
  }

  const std::size_t data_size = bytes_.size() - data_begin_;
  std::vector<std::pair<std::size_t, std::size_t>> ranges;
  for (const auto& [key, value] : header.items()) {
    if (key == metadata_key) continue;
    const auto bad = [&] { refuse("damaged: header entry of an array"); };
    if (!value.is_object() || !value.contains("dtype") || !value.contains("shape") || !value.contains("data_offsets")) {
      bad();
    }
    const json& dtype = value["dtype"];
    const json& shape = value["shape"];
    const json& offsets = value["data_offsets"];
    if (!dtype.is_string() || !shape.is_array() || !offsets.is_array() || offsets.size() != 2) bad();
    const auto type = std::ranges::find(element_types, dtype.get<std::string>(), &ElementTypeName::name);
    if (type == element_types.end()) bad();
    ArrayInfo array{type->type, {}, 0, 0};
    std::size_t size = type->size;
    for (const json& extent : shape) {
      if (!extent.is_number_unsigned()) bad();
      const auto count = extent.get<std::uint64_t>();
      if (count > bytes_.size() || (count > 0 && size > bytes_.size() / count)) bad();
      size *= static_cast<std::size_t>(count);
      array.shape.push_back(static_cast<std::int64_t>(count));
    }
    if (!offsets[0].is_number_unsigned() || !offsets[1].is_number_unsigned()) bad();
    array.begin = offsets[0].get<std::size_t>();
    array.end = offsets[1].get<std::size_t>();
    if (array.begin > array.end) bad();
    if (array.end > data_size) refuse("damaged: the file ends inside its data");
    if (array.end - array.begin != size) bad();
    ranges.emplace_back(array.begin, array.end);
    arrays_.emplace(key, std::move(array));
  }
  std::ranges::sort(ranges);
  std::size_t covered = 0;
  for (const auto& [begin, end] : ranges) {
    if (begin != covered) refuse("damaged: arrays overlap or leave a gap");
    covered = end;
  }
  if (covered != data_size) refuse("damaged: bytes that belong to no array");

  const auto digits = digest_position(text);
  if (!digits || !has_metadata("digest") || text.substr(*digits, digest_digits) != metadata_["digest"]) {
    refuse("damaged: no digest");
  }
  DigestBuilder digest;
  const std::span<const std::byte> all(bytes_);
  digest.add(all.first(length_size + *digits));
  digest.add(std::string(digest_digits, '0'));
  digest.add(all.subspan(length_size + *digits + digest_digits));
  if (digest.finish().hex() != metadata_["digest"]) refuse("damaged: the digest does not fit the contents");
}

void ArchiveReader::require_kind(std::string_view kind) const {
  if (this->kind() != kind) refuse(concat("this is a ", this->kind(), " file, a ", kind, " is needed"));
}

const std::string& ArchiveReader::metadata(const std::string& key) const {
  const auto found = metadata_.find(key);
  if (found == metadata_.end()) refuse(concat("damaged: no metadata '", key, "'"));
  return found->second;
}

const ArchiveReader::ArrayInfo& ArchiveReader::info(const std::string& name) const {
  const auto found = arrays_.find(name);
  if (found == arrays_.end()) refuse(concat("damaged: no array '", name, "'"));
  return found->second;
}

const ArchiveReader::ArrayInfo& ArchiveReader::typed(const std::string& name, ElementType type) const {
  const ArrayInfo& array = info(name);
  if (array.type != type) refuse(concat("damaged: array '", name, "' is not of type ", describe(type).name));
  return array;
}

void ArchiveReader::require_shape(const std::string& name, const std::vector<std::int64_t>& expected) const {
  if (info(name).shape != expected) refuse(concat("damaged: array '", name, "' has another shape"));
}

void ArchiveReader::copy_to(const ArrayInfo& array, void* target) const {
  if (array.end > array.begin) std::memcpy(target, bytes_.data() + data_begin_ + array.begin, array.end - array.begin);
}

RowMatrix ArchiveReader::read_matrix(const std::string& name) const {
  const std::vector<std::int64_t>& extents = shape(name);
  if (extents.size() != 2) refuse(concat("damaged: array '", name, "' is no matrix"));
  const ArrayInfo& array = typed(name, ElementType::F64);
  RowMatrix matrix(extents[0], extents[1]);
  copy_to(array, matrix.data());
  if (!matrix.allFinite()) refuse(concat("damaged: array '", name, "' holds what is no number"));
  return matrix;
}

RowMatrix ArchiveReader::read_matrix(const std::string& name, Index rows, Index columns) const {
  require_shape(name, {rows, columns});
  return read_matrix(name);
}

Vector ArchiveReader::read_vector(const std::string& name) const {
  const std::vector<double> values = read<double>(name);
  Vector vector = Eigen::Map<const Vector>(values.data(), static_cast<Index>(values.size()));
  if (!vector.allFinite()) refuse(concat("damaged: array '", name, "' holds what is no number"));
  return vector;
}

Matrix ArchiveReader::read_columns(const std::string& name) const {
  return read_matrix(name).transpose();
}

std::vector<std::string> ArchiveReader::read_texts(const std::string& name) const {
  const std::vector<std::int64_t> offsets = read<std::int64_t>(name + ".offsets");
  const std::vector<std::uint8_t> bytes = read<std::uint8_t>(name + ".bytes");
  const auto size = static_cast<std::int64_t>(bytes.size());
  if (offsets.empty() || offsets.front() != 0 || offsets.back() != size || !std::ranges::is_sorted(offsets)) {
    refuse(concat("damaged: texts '", name, "'"));
  }
  std::vector<std::string> texts;
  texts.reserve(offsets.size() - 1);
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    texts.emplace_back(bytes.begin() + offsets[i], bytes.begin() + offsets[i + 1]);
    if (!is_valid_utf8(texts.back())) refuse(concat("damaged: texts '", name, "'"));
  }
  return texts;
}

}  // namespace desirepath::inline core
