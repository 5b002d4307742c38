#include "desirepath/ingest/byte_source.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "desirepath/core/archive.h"
#include "desirepath/core/error.h"
#include "desirepath/core/text.h"

namespace desirepath::inline ingest {

namespace {

constexpr std::size_t packed_block = std::size_t{1} << 18;

/// What was read of a pipe to recognise it: it gives its bytes once.
struct OpenedPipe {
  int descriptor = -1;
  std::string begin;
};

/// Of the whole process, since a pipe is: from put_back() to the next who opens its path, on any thread.
class OpenedPipes {
 public:
  static OpenedPipes& all() {
    static OpenedPipes pipes;
    return pipes;
  }
  std::optional<OpenedPipe> take(const std::string& path) {
    const std::lock_guard lock(mutex_);
    auto found = by_path_.extract(path);
    return found.empty() ? std::nullopt : std::optional(std::move(found.mapped()));
  }
  void put(const std::string& path, OpenedPipe pipe) {
    const std::lock_guard lock(mutex_);
    OpenedPipe& here = by_path_[path];
    if (here.descriptor >= 0) ::close(here.descriptor);
    here = std::move(pipe);
  }

 private:
  std::mutex mutex_;
  std::map<std::string, OpenedPipe> by_path_;
};

class FileBytes : public ByteSource {
 public:
  explicit FileBytes(const std::filesystem::path& path) : path_(path.string()) {
    if (std::optional<OpenedPipe> pipe = OpenedPipes::all().take(path_)) {
      descriptor_ = pipe->descriptor;
      begin_ = std::move(pipe->begin);
      is_pipe_ = true;
      return;
    }
    descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat status {};
    if (descriptor_ < 0 || ::fstat(descriptor_, &status) != 0) fail();
    if (S_ISDIR(status.st_mode)) {
      ::close(descriptor_);
      throw FileError(
          concat("cannot read ", path_, ": it is a folder; name a file or a pattern like '", path_, "/*.csv'"));
    }
    is_pipe_ = !S_ISREG(status.st_mode);
    is_device_ = S_ISBLK(status.st_mode) || (S_ISCHR(status.st_mode) && ::isatty(descriptor_) == 0);
    size_ = static_cast<double>(status.st_size);
  }
  ~FileBytes() override {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  /// To be read from the beginning by the next who opens the path.
  void put_back(std::string begin) {
    if (is_device_) throw FileError(concat("cannot read ", path_, ": it is a device, not a file"));
    if (is_pipe_) OpenedPipes::all().put(path_, {std::exchange(descriptor_, -1), std::move(begin)});
  }

  std::size_t read(std::span<char> buffer) override {
    if (!begin_.empty()) {
      const std::size_t count = begin_.copy(buffer.data(), buffer.size());
      begin_.erase(0, count);
      return count;
    }
    while (true) {
      const ssize_t got = ::read(descriptor_, buffer.data(), buffer.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail();
      done_ += static_cast<double>(got);
      return static_cast<std::size_t>(got);
    }
  }
  double fraction() const override { return size_ > 0 ? std::min(1.0, done_ / size_) : 1; }
  const std::string& path() const { return path_; }

 private:
  [[noreturn]] void fail() const {
    throw FileError(concat("cannot read ", path_, ": ", std::generic_category().message(errno)));
  }

  std::string path_;
  int descriptor_ = -1;
  std::string begin_;
  bool is_pipe_ = false, is_device_ = false;
  double size_ = 0;
  double done_ = 0;
};

/// What gzip and zstd share: a packed block that is refilled from the file.
class PackedBytes : public ByteSource {
 public:
  explicit PackedBytes(const std::filesystem::path& path) : file_(path), packed_(packed_block) {}
  double fraction() const override { return file_.fraction(); }

 protected:
  /// Empty only at the end of the file.
  std::span<char> packed() {
    if (begin_ == end_) {
      begin_ = 0;
      end_ = file_.read(packed_);
    }
    return std::span(packed_).subspan(begin_, end_ - begin_);
  }
  void consume(std::size_t count) { begin_ += count; }
  [[noreturn]] void cut_short(std::string_view format) const {
    throw InputError(
        concat(file_.path(), ": the ", format, " data ends too early: the file is cut short; copy it again"));
  }
  [[noreturn]] void damaged(std::string_view format) const {
    throw InputError(concat(file_.path(), ": the ", format, " data is damaged; copy it again"));
  }

 private:
  FileBytes file_;
  std::vector<char> packed_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

class GzipBytes : public PackedBytes {
 public:
  explicit GzipBytes(const std::filesystem::path& path) : PackedBytes(path) {
    if (inflateInit2(&stream_, 16 + MAX_WBITS) != Z_OK) throw Error("no memory to unpack gzip");
  }
  ~GzipBytes() override { inflateEnd(&stream_); }

  std::size_t read(std::span<char> buffer) override {
    stream_.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream_.avail_out = static_cast<uInt>(std::min<std::size_t>(buffer.size(), 1U << 30));
    const uInt wanted = stream_.avail_out;
    while (stream_.avail_out == wanted) {
      const std::span<char> input = packed();
      if (input.empty()) {
        if (inside_member_) cut_short("gzip");
        return 0;
      }
      stream_.next_in = reinterpret_cast<Bytef*>(input.data());
      stream_.avail_in = static_cast<uInt>(input.size());
      if (!inside_member_) {
        // Members may follow each other; padding of zeros at the end is allowed.
        if (members_ > 0 && input[0] == 0) {
          consume(1);
          continue;
        }
        inflateReset(&stream_);
        inside_member_ = true;
      }
      const int result = inflate(&stream_, Z_NO_FLUSH);
      consume(input.size() - stream_.avail_in);
      if (result == Z_STREAM_END) {
        inside_member_ = false;
        ++members_;
      } else if (result != Z_OK && result != Z_BUF_ERROR) {
        damaged("gzip");
      }
    }
    return wanted - stream_.avail_out;
  }

 private:
  z_stream stream_{};
  bool inside_member_ = false;
  int members_ = 0;
};

class ZstdBytes : public PackedBytes {
 public:
  explicit ZstdBytes(const std::filesystem::path& path) : PackedBytes(path), stream_(ZSTD_createDStream()) {
    if (stream_ == nullptr) throw Error("no memory to unpack zstd");
    ZSTD_DCtx_setParameter(stream_, ZSTD_d_windowLogMax, 31);
  }
  ~ZstdBytes() override { ZSTD_freeDStream(stream_); }

  std::size_t read(std::span<char> buffer) override {
    ZSTD_outBuffer output{buffer.data(), buffer.size(), 0};
    while (output.pos == 0) {
      const std::span<char> input = packed();
      if (input.empty() && !inside_frame_) return 0;
      ZSTD_inBuffer in{input.data(), input.size(), 0};
      const std::size_t hint = ZSTD_decompressStream(stream_, &output, &in);
      if (ZSTD_isError(hint)) damaged("zstd");
      consume(in.pos);
      if (input.empty() && output.pos == 0) cut_short("zstd");
      inside_frame_ = hint != 0;
    }
    return output.pos;
  }

 private:
  ZSTD_DStream* stream_;
  bool inside_frame_ = false;
};

struct Signature {
  std::size_t at;
  std::string_view bytes;
  FileKind kind;
  std::string_view name;
  std::string_view remedy;
};

constexpr std::string_view save_as_csv = "save it as CSV (UTF-8) there and give that file";
constexpr std::string_view from_r = "write it as CSV in R: write.csv(x, \"table.csv\", row.names = FALSE)";
constexpr std::string_view from_spss =
    "write it as CSV in SPSS: File > Save As > CSV, or SAVE TRANSLATE OUTFILE='table.csv' /TYPE=CSV /FIELDNAMES";
constexpr std::string_view from_stata = "write it as CSV in Stata: export delimited using table.csv";
constexpr std::string_view from_sas = "write it as CSV in SAS: proc export data=x outfile='table.csv' dbms=csv; run;";
using namespace std::string_view_literals;
constexpr std::array signatures = {
    Signature{0, "\x1f\x8b"sv, FileKind::gzip, "gzip", ""},
    Signature{0, "\x28\xb5\x2f\xfd"sv, FileKind::zstd, "zstd", ""},
    Signature{0, "PAR1"sv, FileKind::parquet, "Parquet", ""},
    Signature{8, "DUCK"sv, FileKind::duckdb, "DuckDB", ""},
    Signature{0, "PK\x03\x04"sv, FileKind::workbook, "an Excel workbook (.xlsx)", ""},
    Signature{0, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"sv, FileKind::foreign, "an old Excel workbook (.xls)", save_as_csv},
    Signature{0, "%PDF"sv, FileKind::foreign, "a PDF", "ask for the table itself, as CSV"},
    Signature{0, "BZh"sv, FileKind::foreign, "bzip2 data", "unpack it (bunzip2) and give the result"},
    Signature{0, "\3757zXZ\0"sv, FileKind::foreign, "xz data", "unpack it (unxz) and give the result"},
    Signature{0, "7z\xbc\xaf\x27\x1c"sv, FileKind::foreign, "a 7-zip archive", "unpack it and give the result"},
    Signature{0, "SQLite format 3\0"sv, FileKind::foreign, "an SQLite database", "export the table as CSV"},
    Signature{0, "$FL2"sv, FileKind::foreign, "an SPSS file (.sav)", from_spss},
    Signature{0, "$FL3"sv, FileKind::foreign, "an SPSS file (.sav)", from_spss},
    Signature{0, "<stata_dta>"sv, FileKind::foreign, "a Stata file (.dta)", from_stata},
    Signature{84, "SAS FILE"sv, FileKind::foreign, "a SAS data set", from_sas},
    Signature{0, "RDX2"sv, FileKind::foreign, "an R data file (.rda)", from_r},
    Signature{0, "RDX3"sv, FileKind::foreign, "an R data file (.rda)", from_r},
    Signature{0, "RDA2\n"sv, FileKind::foreign, "an R data file (.rda)", from_r},
    Signature{0, "RDA3\n"sv, FileKind::foreign, "an R data file (.rda)", from_r},
    Signature{0, "X\n\0\0\0\2"sv, FileKind::foreign, "an R object (.rds)", from_r},
    Signature{0, "X\n\0\0\0\3"sv, FileKind::foreign, "an R object (.rds)", from_r},
    Signature{0, "A\n2\n"sv, FileKind::foreign, "an R object (.rds)", from_r},
    Signature{0, "A\n3\n"sv, FileKind::foreign, "an R object (.rds)", from_r},
    Signature{0, "\x71\2\1\0"sv, FileKind::foreign, "a Stata file (.dta)", from_stata},
    Signature{0, "\x72\2\1\0"sv, FileKind::foreign, "a Stata file (.dta)", from_stata},
    Signature{0, "\x73\2\1\0"sv, FileKind::foreign, "a Stata file (.dta)", from_stata},
    Signature{257, "ustar"sv, FileKind::foreign, "a tar archive", "unpack it (tar -xf) and give the files in it"},
    Signature{0, "ARROW1"sv, FileKind::foreign, "an Arrow/Feather file", "write it as Parquet or CSV"},
    Signature{0, "\177ELF"sv, FileKind::foreign, "a program", "give a table"},
    Signature{0, "\x89PNG"sv, FileKind::foreign, "a picture", "give a table"},
    Signature{0, "\xff\xd8\xff"sv, FileKind::foreign, "a picture", "give a table"},
};
constexpr std::size_t longest_signature = 512;

FileKindInfo kind_by_signature(std::string_view begin) {
  for (const Signature& signature : signatures) {
    if (begin.size() >= signature.at && begin.substr(signature.at).starts_with(signature.bytes)) {
      return {signature.kind, std::string(signature.name), std::string(signature.remedy)};
    }
  }
  return {FileKind::text, "text", ""};
}

/// Text that is no table: a log-in page saved under the name of the extract is the usual one.
FileKindInfo kind_of_text(std::string_view begin) {
  if (begin.starts_with("\xEF\xBB\xBF")) begin.remove_prefix(3);
  const std::string head = lower_case(trimmed(begin));
  const auto starts_with_any = [&](std::initializer_list<std::string_view> openings) {
    return std::ranges::any_of(openings, [&](std::string_view opening) { return head.starts_with(opening); });
  };
  if (starts_with_any({"<!doctype html", "<html"}))
    return {FileKind::foreign, "a web page", "fetch the table again: this may be a log-in page in its place"};
  if (starts_with_any({"<?xml"})) return {FileKind::foreign, "XML", std::string(save_as_csv)};
  if (starts_with_any({"{\\rtf"})) return {FileKind::foreign, "a text document (RTF)", std::string(save_as_csv)};
  const bool bracket = starts_with_any({"{", "["});
  const std::string_view inside = trimmed(std::string_view(head).substr(bracket ? 1 : 0));
  if (bracket && (inside.starts_with("\"") || inside.starts_with("{")))
    return {FileKind::foreign, "JSON", "write it as CSV or Parquet"};
  return {FileKind::text, "text", ""};
}

}  // namespace

FileKindInfo kind_of_unpacked(std::string_view begin) {
  FileKindInfo kind = kind_by_signature(begin.substr(0, longest_signature));
  if (kind.kind == FileKind::foreign) return kind;
  if (kind.kind != FileKind::text) return {FileKind::foreign, kind.name + " data", "unpack it and give the result"};
  return kind_of_text(begin.substr(0, longest_signature));
}

FileKindInfo detect_file_kind(const std::filesystem::path& path) {
  FileBytes file(path);
  std::array<char, longest_signature> begin{};
  std::size_t size = 0;
  while (size < begin.size()) {
    const std::size_t got = file.read(std::span(begin).subspan(size));
    if (got == 0) break;
    size += got;
  }
  if (size == 0) throw InputError(concat(path.string(), ": the file is empty"));
  const std::string_view head(begin.data(), size);
  file.put_back(std::string(head));
  FileKindInfo kind = kind_by_signature(head);
  if (kind.kind != FileKind::text) return kind;
  if (ArchiveReader::looks_like_archive(path)) return {FileKind::archive, "a desirepath file", ""};
  return kind_of_text(head);
}

std::unique_ptr<ByteSource> open_bytes(const std::filesystem::path& path, FileKind kind) {
  if (kind == FileKind::gzip) return std::make_unique<GzipBytes>(path);
  if (kind == FileKind::zstd) return std::make_unique<ZstdBytes>(path);
  return std::make_unique<FileBytes>(path);
}

namespace {

class TextBytes : public ByteSource {
 public:
  explicit TextBytes(std::string text) : text_(std::move(text)) {}
  std::size_t read(std::span<char> buffer) override {
    const std::size_t count = text_.copy(buffer.data(), buffer.size(), done_);
    done_ += count;
    return count;
  }
  double fraction() const override {
    return text_.empty() ? 1 : static_cast<double>(done_) / static_cast<double>(text_.size());
  }

 private:
  std::string text_;
  std::size_t done_ = 0;
};

}  // namespace

std::unique_ptr<ByteSource> bytes_of_text(std::string text) {
  return std::make_unique<TextBytes>(std::move(text));
}

}  // namespace desirepath::inline ingest
