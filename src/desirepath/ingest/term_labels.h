// The term labels of an input, understood together.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "desirepath/ingest/string_interner.h"
#include "desirepath/ingest/term.h"

namespace desirepath::inline ingest {

class TermLabels {
 public:
  /// Labels are read by the rules of their file.
  void begin_file(TermRules rules);
  /// Number of the label, or -1 where it is not understood.
  std::int32_t number_of(std::string_view label);
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
  };
  std::vector<TermRules> rules_;  // of each file
  StringInterner texts_;          // of the file being read
  std::vector<std::int32_t> numbers_;
  std::vector<Label> labels_;
};

/// 'a', 'b' and 3 more.
std::string quoted_list(const std::vector<std::string>& labels);

}  // namespace desirepath::inline ingest
