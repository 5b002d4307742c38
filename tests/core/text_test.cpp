#include "desirepath/core/text.h"

#include <algorithm>
#include <cmath>

#include "support/support.h"

#include "desirepath/core/nearest_name.h"
#include "desirepath/core/printable.h"

namespace desirepath::text_test {
namespace {

TEST(Text, NumbersAsPeopleReadThem) {
  EXPECT_EQ(with_separators(0), "0");
  EXPECT_EQ(with_separators(999), "999");
  EXPECT_EQ(with_separators(-1234567), "-1,234,567");
  EXPECT_EQ(counted(1, "student", "students"), "1 student");
  EXPECT_EQ(counted(2000, "student", "students"), "2,000 students");
  EXPECT_EQ(fixed(-0.001, 2), "0.00");
  EXPECT_EQ(fixed(2.5, 1), "2.5");
  EXPECT_EQ(as_bytes_text(3.5 * 1024 * 1024), "3.5 MiB");
  EXPECT_EQ(as_duration(80), "1 min 20 s");
  EXPECT_EQ(as_duration(7300), "2 h 1 min");
}

TEST(Text, PiecesOfText) {
  EXPECT_EQ(trimmed("  a b \r\n"), "a b");
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(join({"a", "b"}, ", "), "a, b");
}

TEST(Text, KnowsUtf8) {
  EXPECT_TRUE(is_valid_utf8("Ästhetik 数学 😀"));
  EXPECT_FALSE(is_valid_utf8("\xC4sthetik"));       // Latin-1
  EXPECT_FALSE(is_valid_utf8("\xC0\xAF"));          // overlong
  EXPECT_FALSE(is_valid_utf8("\xED\xA0\x80"));      // surrogate
  EXPECT_FALSE(is_valid_utf8("\xF5\x80\x80\x80"));  // beyond Unicode
  EXPECT_FALSE(is_valid_utf8("\xE2\x82"));          // cut off
}

TEST(NearestName, FindsTheOneThatWasMeant) {
  const std::vector<std::string> verbs = {"describe", "prepare", "simulate", "score"};
  EXPECT_EQ(nearest_name("descibe", verbs), "describe");
  EXPECT_EQ(nearest_name("PREPARE", verbs), "prepare");
  EXPECT_EQ(nearest_name("socre", verbs), "score");
  EXPECT_EQ(nearest_name("zzz", verbs), std::nullopt);
  EXPECT_EQ(edit_distance("ab", "ba"), 1);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
}

TEST(TextProperty, ShortestReadsBack) {
  test::expect_property("shortest(x) parses to x", [](double x) {
    RC_PRE(std::isfinite(x));
    RC_ASSERT(std::stod(shortest(x)) == x);
  });
}

TEST(Text, NumbersAreWholeTexts) {
  EXPECT_EQ(number_in<int>("12"), 12);
  EXPECT_EQ(number_in<double>("-1.5e3"), -1500);
  for (const char* text : {"", " 1", "1 ", "1.5", "x", "99999999999"})
    EXPECT_EQ(number_in<int>(text), std::nullopt) << text;
}

TEST(Text, NaturalOrder) {
  std::vector<std::string> texts = {"b", "10", "a", "9", "010", ""};
  std::ranges::sort(texts, natural_less);
  EXPECT_EQ(texts, (std::vector<std::string>{"9", "10", "", "010", "a", "b"}));
}

TEST(Text, PrintableOnATerminal) {
  EXPECT_EQ(printable("Algèbre 1\tα\n"), "Algèbre 1\tα\n");
  EXPECT_EQ(printable("\x1b[31m\r\x7f"), "\\x1b[31m\\x0d\\x7f");
  EXPECT_EQ(printable("a\xE2\x80\xAE"
                      "b\xC2\x9B"),
            "a\\u{202e}b\\u{009b}");
  EXPECT_EQ(printable("\xFF\xC3"), "\\xff\\xc3");
}

}  // namespace
}  // namespace desirepath::text_test
