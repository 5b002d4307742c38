// Archives changed where they are read: the container stays whole and the digest is right, so that what is hostile
// reaches the loaders behind it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "support/example_cohorts.h"

#include "desirepath/core/archive.h"
#include "desirepath/core/digest.h"

namespace desirepath::test {

using Bytes = std::vector<std::byte>;

/// Courses known, unknown and left: every branch of the models.
inline Cohort fuzz_cohort() {
  return random_cohort({.students = 16, .courses = 3, .periods = 2, .left = 0.2}, RandomStream(7));
}

class Mutant {
 public:
  explicit Mutant(std::span<const std::byte> bytes) {
    std::uint64_t length = 0;
    if (bytes.size() < 8) return;
    std::memcpy(&length, bytes.data(), 8);
    if (length > bytes.size() - 8) return;
    const auto* text = reinterpret_cast<const char*>(bytes.data()) + 8;
    header_ = nlohmann::json::parse(text, text + length, nullptr, false);
    if (!header_.is_object() || !header_.contains("__metadata__")) return;
    for (const auto& [name, entry] : header_.items()) {
      if (name == "__metadata__") continue;
      const auto begin = entry.value("data_offsets", std::vector<std::size_t>{0, 0});
      if (begin.size() != 2 || begin[0] > begin[1] || 8 + length + begin[1] > bytes.size()) return;
      const auto piece = bytes.subspan(8 + length + begin[0], begin[1] - begin[0]);
      arrays_.push_back({name,
                         entry.value("dtype", ""),
                         entry.value("shape", std::vector<std::int64_t>{}),
                         {piece.begin(), piece.end()}});
    }
    whole_ = true;
  }
  bool is_whole() const { return whole_; }

  void change(std::mt19937& draw) {
    const auto below = [&](std::size_t count) {
      return std::uniform_int_distribution<std::size_t>(0, count - 1)(draw);
    };
    nlohmann::json& metadata = header_["__metadata__"];
    if (arrays_.empty() || below(3) == 0) {
      auto value = metadata.begin();
      std::advance(value, static_cast<std::ptrdiff_t>(below(metadata.size())));
      if (value->is_string()) *value = changed_text(value->get<std::string>(), draw);
      return;
    }
    Array& array = arrays_[below(arrays_.size())];
    switch (below(8)) {
      case 0: {  // another shape, with as many bytes as it says
        if (array.shape.empty()) return;
        std::int64_t& extent = array.shape[below(array.shape.size())];
        extent = std::max<std::int64_t>(0, std::array<std::int64_t, 5>{extent + 1, extent - 1, 0, 1, 40}[below(5)]);
        std::size_t size = width(array);
        for (const std::int64_t count : array.shape)
          size *= static_cast<std::size_t>(count);
        if (size < 100'000) array.bytes.resize(size);
        return;
      }
      case 1:
        if (below(4) == 0)
          array.name += "0";
        else
          std::swap(array.bytes, arrays_[below(arrays_.size())].bytes);
        return;
      case 2:
        if (array.shape.size() == 2) std::swap(array.shape[0], array.shape[1]);
        return;
      case 3:
        if (below(4) == 0) arrays_.erase(arrays_.begin() + static_cast<std::ptrdiff_t>(below(arrays_.size())));
        return;
      default: {
        const std::size_t size = width(array), count = array.bytes.size() / size;
        if (count == 0) return;
        const std::size_t first = below(count), last = below(6) == 0 ? count : first + 1;
        const std::uint64_t bits = special(array, draw);
        for (std::size_t i = first; i < last; ++i)
          std::memcpy(array.bytes.data() + i * size, &bits, size);
      }
    }
  }

  Bytes bytes() const {
    nlohmann::json header;
    header["__metadata__"] = header_["__metadata__"];
    header["__metadata__"]["digest"] = std::string(32, '0');
    std::size_t offset = 0;
    for (const Array& array : arrays_) {
      header[array.name] = {
          {"dtype", array.type}, {"shape", array.shape}, {"data_offsets", {offset, offset + array.bytes.size()}}};
      offset += array.bytes.size();
    }
    std::string text = header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    std::string all(8, '\0');
    const std::uint64_t length = text.size();
    std::memcpy(all.data(), &length, 8);
    all += text;
    for (const Array& array : arrays_)
      all.append(reinterpret_cast<const char*>(array.bytes.data()), array.bytes.size());
    const std::string key = "\"digest\":\"";
    const std::size_t at = all.find(key) + key.size();
    all.replace(at, 32, digest_of(std::as_bytes(std::span(all))).hex());
    const auto view = std::as_bytes(std::span(all));
    return {view.begin(), view.end()};
  }

 private:
  struct Array {
    std::string name, type;
    std::vector<std::int64_t> shape;
    Bytes bytes;
  };
  static std::size_t width(const Array& array) { return array.type == "U8" ? 1 : array.type == "I32" ? 4 : 8; }

  static std::uint64_t special(const Array& array, std::mt19937& draw) {
    static constexpr std::array<double, 20> reals = {0.0,    -0.0, 1.0,   -1.0, 0.5,   2.0,     1e-300,
                                                     1e-12,  1e-9, 1e9,   1e12, 1e100, 1.7e308, -1e300,
                                                     5e-324, 1e-8, 0.999, -5.0, 40.0,  -1e12};
    static constexpr std::array<std::int64_t, 14> wholes = {
        0, 1, -1, 2, 3, 7, 100, 255, -2, 2147483647, -2147483648LL, 1LL << 40, INT64_MAX, INT64_MIN};
    const std::size_t pick = draw();
    if (array.type != "F64") return static_cast<std::uint64_t>(wholes[pick % wholes.size()]);
    if (pick % 23 == 0) return std::bit_cast<std::uint64_t>(std::numeric_limits<double>::quiet_NaN());
    if (pick % 23 == 1) return std::bit_cast<std::uint64_t>(std::numeric_limits<double>::infinity());
    return std::bit_cast<std::uint64_t>(reals[pick % reals.size()]);
  }

  static std::string changed_text(std::string text, std::mt19937& draw) {
    static const std::array<std::string, 16> pieces = {
        "-1",   "0",        "1e300", "99999999999", "2147483647",          "null",
        "true", "\"\"",     "[]",    "{}",          std::string(200, '['), "18446744073709551615",
        "x",    "\x1b[31m", "yes",   "no"};
    if (text.empty()) return pieces[draw() % pieces.size()];
    const std::size_t at = draw() % text.size();
    switch (draw() % 4) {
      case 0:
        return text.substr(0, at);
      case 1:
        return pieces[draw() % pieces.size()];
      case 2:
        text[at] = static_cast<char>(32 + draw() % 95);
        return text;
      default: {  // a whole number of the text becomes another
        const std::size_t begin = text.find_first_of("0123456789tf", at);
        if (begin == std::string::npos) return text;
        std::size_t end = text.find_first_not_of("0123456789.e-+truefals", begin);
        if (end == std::string::npos) end = text.size();
        return text.replace(begin, end - begin, pieces[draw() % pieces.size()]);
      }
    }
  }

  nlohmann::json header_;
  std::vector<Array> arrays_;
  bool whole_ = false;
};

/// Of an archive another; of anything else one of the seeds. What libFuzzer asks of a mutator.
inline std::size_t mutate_archive(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed,
                                  const std::vector<Bytes>& seeds) {
  std::mt19937 draw(seed);
  Mutant mutant(std::as_bytes(std::span(data, size)));
  // Mutants of mutants are mostly refused at the first fault: most begin from what is sound.
  if (!mutant.is_whole() || draw() % 4 != 0) mutant = Mutant(seeds[draw() % seeds.size()]);
  for (std::size_t changes = 1 + draw() % 3; changes > 0; --changes)
    mutant.change(draw);
  const Bytes bytes = mutant.bytes();
  if (bytes.size() > most) return size;
  std::memcpy(data, bytes.data(), bytes.size());
  return bytes.size();
}

/// Ends the process where a number is none: an answer may not hold such.
inline void require_numbers(const RowMatrix& values) {
  if (values.hasNaN()) __builtin_trap();
}

}  // namespace desirepath::test
