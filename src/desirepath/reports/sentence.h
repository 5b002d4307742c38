// A sentence of a page with its id and with what was filled in, so that a program that shares nothing with this one can
// hold every number of a page against the rows it comes from (tests/end_to_end/truth_test.py).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace desirepath::inline reports {

/// What is always said; {0}, {1} ... stand for what is filled in.
struct Pattern {
  std::string_view id;
  std::string_view text;
  /// Whether it is what a model answers. What is counted, and shares and flows of enrolled students, never is.
  bool is_estimate = false;
};
inline constexpr bool estimate = true;

struct Sentence {
  std::string id;
  std::string text;
  std::vector<std::string> values = {};  // as they stand in the text, without the marks of direction
  bool is_estimate = false;

  /// Appends a clause.
  void add(std::string_view text_of_clause, const std::vector<std::string>& its_values = {});
};

/// What stands together on the page.
struct Paragraph {
  std::vector<Sentence> sentences;

  Paragraph() = default;
  Paragraph(Sentence sentence);  // NOLINT(google-explicit-constructor): one sentence is a paragraph

  bool empty() const { return sentences.empty(); }
  /// With spaces between the sentences.
  std::string text() const;
};

/// The text with its places filled in; what is not ASCII stands apart in its own direction.
std::string filled(std::string_view text, const std::vector<std::string>& values);
Sentence sentence_of(const Pattern& pattern, std::vector<std::string> values = {});

}  // namespace desirepath::inline reports
