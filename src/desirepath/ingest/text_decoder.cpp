#include "desirepath/ingest/text_decoder.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include <iconv.h>

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"

namespace desirepath::inline ingest {

namespace {

constexpr std::size_t decoded_block_size = std::size_t{1} << 22;
constexpr std::size_t smallest_read = std::size_t{1} << 14;
constexpr std::string_view windows_1252 = "Windows-1252";
using namespace std::string_view_literals;

/// Length of a UTF-8 sequence that the end of the text cuts off (0 when it ends cleanly).
std::size_t cut_off_tail(std::string_view text) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, text.size()); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if (byte < 0x80) return 0;
    if (byte >= 0xC0) return back < (byte >= 0xF0 ? 4U : byte >= 0xE0 ? 3U : 2U) ? back : 0;
  }
  return 0;
}

/// How many stretches of non-ASCII bytes are valid UTF-8, and how many are not.
std::pair<int, int> count_utf8(std::string_view text) {
  int valid = 0, invalid = 0;
  std::size_t i = 0;
  while (i < text.size()) {
    if (static_cast<unsigned char>(text[i]) < 0x80) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < text.size() && static_cast<unsigned char>(text[end]) >= 0x80)
      ++end;
    ++(is_valid_utf8(text.substr(i, end - i)) ? valid : invalid);
    i = end;
  }
  return {valid, invalid};
}

}  // namespace

TextDecoder::TextDecoder(std::unique_ptr<ByteSource> bytes, std::string file, const std::string& encoding)
    : bytes_(std::move(bytes)), file_(std::move(file)) {
  if (!encoding.empty()) {
    encoding_ = encoding;
    detected_ = true;
    const std::string lower = lower_case(encoding);
    if (lower == "utf-8" || lower == "utf8") {
      encoding_ = "UTF-8";
      ascii_so_far_ = false;
    } else {
      start_conversion(encoding);
    }
  }
}

TextDecoder::~TextDecoder() {
  if (converter_ != nullptr) iconv_close(converter_);
}

void TextDecoder::start_conversion(const std::string& encoding) {
  const iconv_t converter = iconv_open("UTF-8", encoding.c_str());
  if (converter == reinterpret_cast<iconv_t>(-1)) {  // NOLINT(performance-no-int-to-ptr): iconv's own convention
    throw OptionError(concat("unknown encoding '", encoding, "' (try utf-8, utf-16, latin-1, windows-1252)"));
  }
  converter_ = converter;
  encoding_ = encoding;
}

void TextDecoder::detect(const std::string& sample) {
  detected_ = true;
  const std::string_view text(sample);
  const FileKindInfo kind = kind_of_unpacked(text);
  if (kind.kind == FileKind::foreign) throw InputError(concat(file_, ": this holds ", kind.name, "; ", kind.remedy));
  struct Mark {
    std::string_view bytes, encoding;
  };
  static constexpr std::array marks = {Mark{"\xFF\xFE\0\0"sv, "UTF-32LE"}, Mark{"\0\0\xFE\xFF"sv, "UTF-32BE"},
                                       Mark{"\xFF\xFE"sv, "UTF-16LE"}, Mark{"\xFE\xFF"sv, "UTF-16BE"}};
  for (const Mark& mark : marks) {
    if (text.starts_with(mark.bytes)) {
      raw_.erase(0, mark.bytes.size());
      start_conversion(std::string(mark.encoding));
      return;
    }
  }
  if (text.starts_with("\xEF\xBB\xBF")) {
    raw_.erase(0, 3);
    encoding_ = "UTF-8";
    ascii_so_far_ = false;
    return;
  }
  const std::string_view head = text.substr(0, std::min<std::size_t>(text.size(), 4096));
  std::size_t even_zeros = 0, odd_zeros = 0;
  for (std::size_t i = 0; i < head.size(); ++i)
    (i % 2 == 0 ? even_zeros : odd_zeros) += head[i] == '\0' ? 1 : 0;
  const std::size_t many = head.size() / 2 * 7 / 10;
  if (head.size() >= 4 && odd_zeros >= many && even_zeros <= head.size() / 20) return start_conversion("UTF-16LE");
  if (head.size() >= 4 && even_zeros >= many && odd_zeros <= head.size() / 20) return start_conversion("UTF-16BE");
  if (even_zeros + odd_zeros > 0)
    throw InputError(concat(file_, ": not a text file (it holds zero bytes); give CSV or Parquet"));
  const auto controls = std::ranges::count_if(head, [](char c) {
    return static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n' && c != '\r' && c != '\f';
  });
  if (static_cast<std::size_t>(controls) > head.size() / 50) {
    throw InputError(concat(file_, ": not a text file; give CSV or Parquet"));
  }
}

void TextDecoder::convert(std::string& text) {
  char* in = raw_.data();
  std::size_t in_left = raw_.size();
  std::array<char, 1 << 16> out;
  while (in_left > 0) {
    char* target = out.data();
    std::size_t room = out.size();
    const std::size_t result = iconv(converter_, &in, &in_left, &target, &room);
    text.append(out.data(), out.size() - room);
    if (result != static_cast<std::size_t>(-1) || errno == E2BIG) continue;
    if (errno == EINVAL && !finished_) break;  // a character the block cuts off
    const auto byte = static_cast<unsigned char>(*in);
    if (encoding_ == windows_1252 && byte >= 0x80 && byte < 0xA0) {
      // The five holes of Windows-1252 are control characters, as browsers read them.
      text += '\xC2';
      text += static_cast<char>(byte);
    } else {
      text += '\xFF';
    }
    const std::size_t skipped = std::min<std::size_t>(in_left, encoding_.starts_with("UTF-16") ? 2 : 1);
    in += skipped;
    in_left -= skipped;
  }
  raw_.erase(0, raw_.size() - in_left);
}

bool TextDecoder::append_block(std::string& text) {
  while (true) {
    if (finished_ && raw_.empty()) return false;
    if (!finished_) {
      // Whole blocks, however small the pieces that arrive: detection then sees the same sample every time.
      std::size_t filled = raw_.size();
      const std::size_t full = filled + decoded_block_size;
      while (filled < full) {
        // Grown as it fills: a small table does not pay for a whole block.
        if (filled == raw_.size()) raw_.resize(std::min(full, std::max(2 * filled, smallest_read)));
        const std::size_t got = bytes_->read(std::span(raw_).subspan(filled));
        if (got == 0) {
          finished_ = true;
          break;
        }
        filled += got;
      }
      raw_.resize(filled);
    }
    if (!detected_) detect(raw_);
    if (converter_ == nullptr && ascii_so_far_ && encoding_.empty() && !is_ascii(raw_)) {
      ascii_so_far_ = false;
      const auto [valid, invalid] = count_utf8(raw_);
      if (invalid > valid) {
        start_conversion(std::string(windows_1252));
      } else {
        encoding_ = "UTF-8";
      }
    }
    const std::size_t before = text.size();
    if (converter_ != nullptr) {
      convert(text);
    } else {
      const std::size_t tail = finished_ ? 0 : cut_off_tail(raw_);
      text.append(raw_, 0, raw_.size() - tail);
      raw_.erase(0, raw_.size() - tail);
    }
    if (text.size() > before) return true;
    if (finished_) return false;
  }
}

}  // namespace desirepath::inline ingest
