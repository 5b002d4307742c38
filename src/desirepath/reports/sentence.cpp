#include "desirepath/reports/sentence.h"

#include <cctype>

#include "desirepath/core/printable.h"
#include "desirepath/core/text.h"

namespace desirepath::inline reports {

namespace {

/// A name of another script keeps its own direction and leaves the sentence's alone (U+2068, U+2069).
std::string isolated(const std::string& value) {
  return is_ascii(value) ? value : concat("\u2068", without_turns(value), "\u2069");
}

}  // namespace

std::string filled(std::string_view text, const std::vector<std::string>& values) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_place = text[i] == '{' && i + 2 < text.size() && text[i + 2] == '}' &&
                          std::isdigit(static_cast<unsigned char>(text[i + 1])) != 0;
    if (!is_place) {
      result += text[i];
      continue;
    }
    const auto number = static_cast<std::size_t>(text[i + 1] - '0');
    if (number < values.size()) result += isolated(values[number]);
    i += 2;
  }
  return result;
}

Sentence sentence_of(const Pattern& pattern, std::vector<std::string> values) {
  std::string text = filled(pattern.text, values);
  return {std::string(pattern.id), std::move(text), std::move(values), pattern.is_estimate};
}

void Sentence::add(std::string_view text_of_clause, const std::vector<std::string>& its_values) {
  text += filled(text_of_clause, its_values);
  values.insert(values.end(), its_values.begin(), its_values.end());
}

Paragraph::Paragraph(Sentence sentence) {
  sentences.push_back(std::move(sentence));
}

std::string Paragraph::text() const {
  std::string all;
  for (const Sentence& sentence : sentences)
    all += concat(all.empty() ? "" : " ", sentence.text);
  return all;
}

}  // namespace desirepath::inline reports
