#include "desirepath/ingest/workbook.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <pugixml.hpp>
#include <zip.h>

#include "desirepath/core/error.h"
#include "desirepath/core/nearest_name.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/ingest/column_names.h"

namespace desirepath::inline ingest {

namespace {

constexpr std::size_t most_bytes = std::size_t{1} << 30;  // of a part, unpacked
// Sheets pack to a tenth, seldom to a fiftieth. What packs further and is large was made to fill the memory.
constexpr std::size_t most_times = 100, harmless_bytes = std::size_t{32} << 20;
constexpr std::size_t most_sheet_columns = 16'384;  // that Excel has

/// The parts of a zip file.
class ZipParts {
 public:
  explicit ZipParts(std::string file) : file_(std::move(file)) {
    int error = 0;
    zip_ = zip_open(file_.c_str(), ZIP_RDONLY, &error);
    if (zip_ == nullptr) throw damaged();
  }
  ~ZipParts() { zip_discard(zip_); }
  ZipParts(const ZipParts&) = delete;
  ZipParts& operator=(const ZipParts&) = delete;

  bool has(const std::string& name) const { return zip_name_locate(zip_, name.c_str(), 0) >= 0; }

  std::string read(const std::string& name) const {
    zip_stat_t stated{};
    zip_stat_init(&stated);
    if (zip_stat(zip_, name.c_str(), 0, &stated) != 0) throw damaged();
    constexpr zip_uint64_t both = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE;
    if ((stated.valid & both) != both) throw damaged();
    const std::size_t most =
        std::min(most_bytes, std::max(harmless_bytes, most_times * static_cast<std::size_t>(stated.comp_size)));
    if (stated.size > most) refuse_size(most);
    const std::unique_ptr<zip_file_t, int (*)(zip_file_t*)> part(zip_fopen(zip_, name.c_str(), 0), zip_fclose);
    if (!part) throw damaged();
    std::string bytes;
    // What is stated may be wrong: it is counted again.
    while (true) {
      const std::size_t before = bytes.size();
      bytes.resize(before + (std::size_t{1} << 20));
      const zip_int64_t got = zip_fread(part.get(), bytes.data() + before, bytes.size() - before);
      if (got < 0) throw damaged();
      bytes.resize(before + static_cast<std::size_t>(got));
      if (got == 0) return bytes;
      if (bytes.size() > most) refuse_size(most);
    }
  }

  InputError damaged() const {
    return InputError(concat(file_,
                             ": the workbook cannot be read (damaged, cut short or locked by a password); copy it "
                             "again, or save the sheet as CSV (UTF-8) and give that file"));
  }

 private:
  [[noreturn]] void refuse_size(std::size_t most) const {
    throw InputError(concat(file_, ": a part of the workbook holds over ", as_bytes_text(static_cast<double>(most)),
                            " unpacked",
                            most < most_bytes ? concat(", more than ", most_times, " times its packed size") : "",
                            "; save the sheet as CSV (UTF-8) and give that file"));
  }

  std::string file_;
  zip_t* zip_ = nullptr;
};

/// Names without the prefix that some programs write: x:row.
std::string_view local_name(const pugi::xml_node& node) {
  const std::string_view name = node.name();
  return name.substr(name.find(':') + 1);
}
pugi::xml_node child(const pugi::xml_node& node, std::string_view name) {
  return node.find_child([&](const pugi::xml_node& found) { return local_name(found) == name; });
}

/// The text of an <si> or <is>: one run, or several, and no phonetic hints.
std::string text_in(const pugi::xml_node& node) {
  std::string text;
  for (const pugi::xml_node& part : node.children()) {
    if (local_name(part) == "t") text += part.text().get();
    if (local_name(part) == "r") text += child(part, "t").text().get();
  }
  return text;
}

bool is_date_format(std::string_view code) {
  bool quoted = false, bracket = false;
  for (const char c : lower_case(code)) {
    if (c == '"') quoted = !quoted;
    if (c == '[') bracket = true;
    if (c == ']') bracket = false;
    if (!quoted && !bracket && (c == 'y' || c == 'd')) return true;
  }
  return false;
}

/// Day 1 is the first of January 1900, and a 29th of February 1900 that never was is counted.
std::string as_date(double serial, bool from_1904) {
  using namespace std::chrono;
  const auto whole = static_cast<int>(std::floor(serial));
  const sys_days day = from_1904 ? sys_days(year(1904) / 1 / 1) + days(whole)
                                 : sys_days(year(1899) / 12 / 30) + days(whole < 60 ? whole + 1 : whole);
  const year_month_day date(day);
  const auto two = [](unsigned number) { return concat(number < 10 ? "0" : "", number); };
  return concat(static_cast<int>(date.year()), "-", two(static_cast<unsigned>(date.month())), "-",
                two(static_cast<unsigned>(date.day())));
}

/// Column of a reference like AB12, counted from 0.
std::optional<std::size_t> column_of(std::string_view reference) {
  std::size_t column = 0;
  for (const char c : reference) {
    if (c < 'A' || c > 'Z') break;
    column = column * 26 + static_cast<std::size_t>(c - 'A' + 1);
    if (column > most_sheet_columns) return std::nullopt;
  }
  return column == 0 ? std::nullopt : std::optional(column - 1);
}

class WorkbookRows : public RowSource {
 public:
  WorkbookRows(const std::filesystem::path& path, const std::string& sheet, std::size_t source, RejectLog& rejects)
      : file_(path.string()), source_(source), rejects_(rejects) {
    const ZipParts parts(file_);
    if (!parts.has("xl/workbook.xml"))
      throw InputError(concat(file_, ": this is a zip file and no Excel workbook; unpack it and give the table in it"));
    const std::string part = part_of_sheet(parts, sheet);
    read_strings(parts);
    read_styles(parts);
    load(parts, part, sheet_);
    row_ = child(child(sheet_.document_element(), "sheetData"), "row");
    std::vector<std::string> header;
    for (; row_ && header.empty(); row_ = row_.next_sibling()) {
      header = cells_of(row_);
      record_ = record_of(row_);
    }
    if (header.empty())
      throw InputError(concat(file_, ": there is no header line in the sheet; the first line must name the columns"));
    columns_ = column_names(header, file_, record_);
  }

  const std::vector<std::string>& columns() const override { return columns_; }
  std::string description() const override {
    return concat("Excel workbook, sheet '", name_, "', ", columns_.size(), " columns");
  }
  double fraction() const override { return row_ ? 0.5 : 1; }

  bool next(RowBatch& batch) override {
    constexpr std::size_t most_rows = 4096;
    batch.clear();
    batch.column_count = columns_.size();
    texts_.clear();
    for (; row_ && batch.row_count() < most_rows; row_ = row_.next_sibling()) {
      if (local_name(row_) != "row") continue;
      std::vector<std::string> cells = cells_of(row_);
      record_ = record_of(row_);
      if (cells.empty()) continue;
      if (cells.size() > columns_.size()) {
        rejects_.add(source_, record_, "", "too many fields");
        continue;
      }
      cells.resize(columns_.size());
      const auto bad = std::ranges::find_if(cells, [](const std::string& cell) { return !is_valid_utf8(cell); });
      if (bad != cells.end()) {
        rejects_.add(source_, record_, columns_[static_cast<std::size_t>(bad - cells.begin())], "not valid UTF-8");
        continue;
      }
      for (std::string& cell : cells)
        batch.cells.push_back(texts_.emplace_back(std::move(cell)));
      batch.records.push_back(record_);
    }
    return batch.row_count() > 0;
  }

 private:
  void load(const ZipParts& parts, const std::string& name, pugi::xml_document& document) const {
    const std::string text = parts.read(name);
    const pugi::xml_parse_result result =
        document.load_buffer(text.data(), text.size(), pugi::parse_default | pugi::parse_ws_pcdata);
    if (!result) throw parts.damaged();
  }

  std::string part_of_sheet(const ZipParts& parts, const std::string& wanted) {
    pugi::xml_document workbook, relations;
    load(parts, "xl/workbook.xml", workbook);
    load(parts, "xl/_rels/workbook.xml.rels", relations);
    const pugi::xml_node root = workbook.document_element();
    const std::string_view epoch = child(root, "workbookPr").attribute("date1904").value();
    from_1904_ = epoch == "1" || epoch == "true";
    std::vector<std::string> names;
    std::string id;
    for (const pugi::xml_node& sheet : child(root, "sheets").children()) {
      const std::string name = sheet.attribute("name").value();
      names.push_back(name);
      if (!id.empty() || (!wanted.empty() && name != wanted)) continue;
      name_ = name;
      for (const pugi::xml_attribute& attribute : sheet.attributes()) {
        if (std::string_view(attribute.name()).ends_with(":id")) id = attribute.value();
      }
    }
    if (names.empty()) throw parts.damaged();
    if (id.empty() && !wanted.empty()) {
      throw OptionError(concat(file_, ": no sheet '", wanted, "'", did_you_mean(wanted, names),
                               "; there are: ", join(names, ", "), " (", setting_name("table"), ")"));
    }
    for (const pugi::xml_node& relation : relations.document_element().children()) {
      if (id != relation.attribute("Id").value()) continue;
      const std::string target = relation.attribute("Target").value();
      return target.starts_with("/") ? target.substr(1) : "xl/" + target;
    }
    throw parts.damaged();
  }

  void read_strings(const ZipParts& parts) {
    if (!parts.has("xl/sharedStrings.xml")) return;
    pugi::xml_document document;
    load(parts, "xl/sharedStrings.xml", document);
    for (const pugi::xml_node& entry : document.document_element().children())
      strings_.push_back(text_in(entry));
  }

  void read_styles(const ZipParts& parts) {
    if (!parts.has("xl/styles.xml")) return;
    pugi::xml_document document;
    load(parts, "xl/styles.xml", document);
    std::map<int, bool> own;
    for (const pugi::xml_node& format : child(document.document_element(), "numFmts").children())
      own[format.attribute("numFmtId").as_int()] = is_date_format(format.attribute("formatCode").value());
    for (const pugi::xml_node& style : child(document.document_element(), "cellXfs").children()) {
      const int format = style.attribute("numFmtId").as_int();
      const auto known = own.find(format);
      is_date_.push_back(known != own.end() ? known->second : (format >= 14 && format <= 17) || format == 22);
    }
  }

  std::int64_t record_of(const pugi::xml_node& row) const {
    const std::int64_t stated = row.attribute("r").as_llong(0);
    return stated > record_ ? stated : record_ + 1;
  }

  /// Up to the last that is not empty.
  std::vector<std::string> cells_of(const pugi::xml_node& row) const {
    std::vector<std::string> cells;
    std::size_t next = 0;
    for (const pugi::xml_node& cell : row.children()) {
      if (local_name(cell) != "c") continue;
      const std::size_t column = column_of(cell.attribute("r").value()).value_or(next);
      next = column + 1;
      std::string text = text_of(cell);
      if (text.empty() || column >= most_sheet_columns) continue;
      if (column >= cells.size()) cells.resize(column + 1);
      cells[column] = std::move(text);
    }
    return cells;
  }

  std::string text_of(const pugi::xml_node& cell) const {
    const std::string_view type = cell.attribute("t").value();
    if (type == "inlineStr") return std::string(trimmed(text_in(child(cell, "is"))));
    std::string value(trimmed(child(cell, "v").text().get()));
    if (type == "e") return "";  // #N/A, #REF!: what a formula could not tell
    if (type == "s") {
      const auto number = number_in<std::size_t>(value);
      return number && *number < strings_.size() ? std::string(trimmed(strings_[*number])) : "";
    }
    const auto number = number_in<double>(value);
    if (type == "str" || type == "b" || type == "d" || !number || !std::isfinite(*number)) return value;
    const auto style = static_cast<std::size_t>(cell.attribute("s").as_uint(0));
    const bool is_date =
        style < is_date_.size() && is_date_[style] && *number >= 0 && *number < 2'958'466;  // year 9999
    if (is_date) return as_date(*number, from_1904_);
    const bool is_whole = *number == std::floor(*number) && std::abs(*number) < 1e15;
    return is_whole ? std::to_string(static_cast<std::int64_t>(*number)) : shortest(*number);
  }

  std::string file_, name_;
  std::size_t source_;
  RejectLog& rejects_;
  bool from_1904_ = false;
  std::vector<std::string> strings_;
  std::vector<bool> is_date_;  // by style
  pugi::xml_document sheet_;
  pugi::xml_node row_;  // the next
  std::int64_t record_ = 0;
  std::vector<std::string> columns_;
  std::deque<std::string> texts_;  // of the batch; a deque keeps views valid
};

}  // namespace

std::unique_ptr<RowSource> open_workbook(const std::filesystem::path& path, const std::string& sheet,
                                         std::size_t source, RejectLog& rejects) {
  return std::make_unique<WorkbookRows>(path, sheet, source, rejects);
}

}  // namespace desirepath::inline ingest
