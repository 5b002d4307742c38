// The text of an input file as UTF-8, whatever it was written in.
//
// A byte-order mark decides; without one UTF-16 shows by its zeros, UTF-8 by being valid. A file that has been plain
// ASCII so far and then breaks UTF-8's rules is Windows-1252 (which holds Latin-1) from there on: before, both agree.
#pragma once

#include <memory>
#include <string>

#include "desirepath/ingest/byte_source.h"

namespace desirepath::inline ingest {

class TextDecoder {
 public:
  /// encoding: empty = detect, else a name iconv knows. Throws OptionError for one it does not, InputError for a file
  /// that is not text.
  TextDecoder(std::unique_ptr<ByteSource> bytes, std::string file, const std::string& encoding);
  ~TextDecoder();
  TextDecoder(const TextDecoder&) = delete;
  TextDecoder& operator=(const TextDecoder&) = delete;

  /// Appends a block of text; false at the end. What cannot be decoded becomes the byte 0xFF, which is never valid
  /// UTF-8, so that the row it stands in is rejected and not guessed at.
  bool append_block(std::string& text);
  /// "UTF-8", "UTF-16LE", "Windows-1252" ...: as far as read.
  std::string encoding() const { return encoding_.empty() ? "UTF-8" : encoding_; }
  double fraction() const { return bytes_->fraction(); }

 private:
  void detect(const std::string& sample);
  void start_conversion(const std::string& encoding);
  void convert(std::string& text);

  std::unique_ptr<ByteSource> bytes_;
  std::string file_;
  std::string encoding_;
  std::string raw_;  // read, not decoded yet
  bool finished_ = false;
  bool ascii_so_far_ = true;  // nothing seen yet that tells UTF-8 from Windows-1252
  bool detected_ = false;
  void* converter_ = nullptr;  // iconv_t; null: the text is UTF-8 as it stands
};

}  // namespace desirepath::inline ingest
