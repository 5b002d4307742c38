#include "support/support.h"

#include <cctype>
#include <cstdlib>

#include <unistd.h>

namespace desirepath::test {

namespace {

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}
bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool begins_word(const std::string& text, std::size_t at) {
  if (at == 0 || !(is_word(text[at]) || text[at] == '-')) return true;
  const char before = text[at - 1];
  if (before == ',') return at < 2 || !is_digit(text[at - 2]);
  return !is_word(before) && before != '-' && before != '.';
}

bool ends_word(const std::string& text, std::size_t end) {
  if (end == text.size() || !is_word(text[end - 1])) return true;
  const char after = text[end];
  if (after == '.' || after == ',') return end + 1 == text.size() || !is_digit(text[end + 1]);
  return !is_word(after) && after != '-';
}

bool has_fact(const std::string& text, const std::string& fact) {
  for (std::size_t at = text.find(fact); at != std::string::npos; at = text.find(fact, at + 1)) {
    if (begins_word(text, at) && ends_word(text, at + fact.size())) return true;
  }
  return false;
}

}  // namespace

testing::AssertionResult says(const std::string& text, const std::vector<std::string>& facts) {
  for (const std::string& fact : facts) {
    if (!has_fact(text, fact)) return testing::AssertionFailure() << "no " << fact << " in: " << text;
  }
  return testing::AssertionSuccess();
}

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "desirepath-test-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace desirepath::test
