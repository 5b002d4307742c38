// The term labels of an input, understood together.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "desirepath/ingest/string_interner.h"
#include "desirepath/ingest/term.h"

namespace desirepath::inline ingest {

/// What a label was met as.
struct LabelUse {
  bool selected_row = false;  // the term of a row that counts: such labels decide together how all are read
  bool other_row = false;     // the term of a row that a condition leaves out
  bool entry = false;         // a term of entry, or the one with which the data end

  LabelUse operator|(const LabelUse& other) const {
    return {selected_row || other.selected_row, other_row || other.other_row, entry || other.entry};
  }
  bool in_rows() const { return selected_row || other_row; }
};

class TermLabels {
 public:
  /// Labels are read by the rules of their file.
  void begin_file(TermRules rules);
  /// Number of the label, or -1 where it is not understood.
  std::int32_t number_of(std::string_view label, LabelUse use = {.selected_row = true});
  /// Sorts labels as their terms follow each other.
  std::int64_t rough_key(std::int32_t number) const { return labels_[static_cast<std::size_t>(number)].rough_key; }

  /// The earlier of the two, or of those that are (-1: none); of equals the first.
  void keep_earlier(std::int32_t& known, std::int32_t number) const {
    if (known < 0 || rough_key(number) < rough_key(known)) known = number;
  }
  /// What a part met of the file being read: by its number of each label the number here.
  std::vector<std::int32_t> take_in(const TermLabels& part);

  struct Understood {
    std::vector<Term> terms;               // different ones
    std::vector<std::string> names;        // of each term, for people
    std::vector<std::int32_t> of_label;    // by number of the label: its term, or -1 where it does not fit the others
    std::vector<std::string> misfits;      // these labels
    std::vector<std::string> others;       // the first of those they do not fit
    std::vector<std::string> not_in_file;  // labels that the list of house codes lacks and that speak for themselves
    std::string note;                      // how the labels are read, for people
    bool may_be_named = true;              // so many different labels may be another column: students' ids
  };
  Understood understand() const;

 private:
  struct Label {
    std::string text;
    TermReading reading;
    std::size_t rules;
    std::int64_t rough_key;
    LabelUse use;
  };

  std::vector<TermRules> rules_;  // of each file
  StringInterner texts_;          // of the file being read
  std::vector<std::int32_t> numbers_;
  std::vector<Label> labels_;
};

/// 'a', 'b' and 3 more.
std::string quoted_list(const std::vector<std::string>& labels);

}  // namespace desirepath::inline ingest
