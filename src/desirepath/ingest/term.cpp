#include "desirepath/ingest/term.h"

#include <algorithm>
#include <array>
#include <utility>

#include "desirepath/core/text.h"

namespace desirepath::inline ingest {

namespace {

using namespace std::string_view_literals;

struct Season {
  std::string_view word;  // lower case, without accents
  int month;              // it usually begins in
  bool opens_year = false;
  bool summer = false;
};
constexpr auto seasons = std::to_array<Season>({
    {"fall", 9, true},
    {"autumn", 9, true},
    {"aut", 9, true},
    {"fa", 9, true},
    {"f", 9, true},
    {"au", 9, true},
    {"ht", 9, true},
    {"hs", 9, true},
    {"herbst", 9, true},
    {"herbstsemester", 9, true},
    {"automne", 9, true},
    {"otono", 9, true},
    {"wise", 10, true},
    {"ws", 10, true},
    {"michaelmas", 10, true},
    {"wintersemester", 10, true},
    {"winter", 1},
    {"win", 1},
    {"wi", 1},
    {"w", 1},
    {"lent", 1},
    {"hilary", 1},
    {"hiver", 1},
    {"vt", 2},
    {"spring", 3},
    {"spr", 3},
    {"sp", 3},
    {"s", 3},
    {"fs", 3},
    {"printemps", 3},
    {"fruhjahr", 3},
    {"fruhling", 3},
    {"fruhjahrssemester", 3},
    {"primavera", 3},
    {"easter", 4},
    {"trinity", 4},
    {"sose", 4},
    {"ss", 4},
    {"sommersemester", 4},
    {"sommer", 4},
    {"summer", 6, false, true},
    {"sum", 6, false, true},
    {"su", 6, false, true},
    {"ete", 6, false, true},
    {"verano", 6, false, true},
});

/// The first three letters of a month, of those that no season has; and French and German ones that begin otherwise.
constexpr auto months = std::to_array<std::pair<std::string_view, int>>(
    {{"jan", 1},  {"feb", 2},  {"fev", 2},  {"mar", 3},  {"apr", 4},  {"avr", 4},  {"may", 5},
     {"mai", 5},  {"jun", 6},  {"jul", 7},  {"aug", 8},  {"sep", 9},  {"oct", 10}, {"okt", 10},
     {"nov", 11}, {"dec", 12}, {"dez", 12}, {"juin", 6}, {"juil", 7}, {"aout", 8}, {"marz", 3}});

/// Words that say nothing about when.
constexpr std::array fillers = {"term"sv,        "semester"sv,
                                "quarter"sv,     "ay"sv,
                                "year"sv,        "sem"sv,
                                "academic"sv,    "session"sv,
                                "trimester"sv,   "trimestre"sv,
                                "semestre"sv,    "tri"sv,
                                "annee"sv,       "universitaire"sv,
                                "studienjahr"sv, "st"sv,
                                "nd"sv,          "rd"sv,
                                "th"sv,          "er"sv,
                                "eme"sv,         "period"sv,
                                "block"sv,       "studienhalbjahr"sv};

constexpr auto number_words = std::to_array<std::pair<std::string_view, std::string_view>>(
    {{"first", "1"}, {"second", "2"}, {"third", "3"}, {"fourth", "4"}, {"ii", "2"}, {"iii", "3"}, {"iv", "4"}});

struct Piece {
  std::string text;
  bool digits;
  bool joined;  // to the piece before it
};

/// Small letters without accents, as far as Latin-1 has them.
std::string folded(std::string_view label) {
  static constexpr std::string_view base = "aaaaaaaceeeeiiiidnooooo*ouuuuyts";  // of U+00C0 .. U+00DF
  std::string plain;
  const std::string lower = lower_case(label);
  for (std::size_t i = 0; i < lower.size(); ++i) {
    const bool latin = lower[i] == '\xC3' && i + 1 < lower.size() && (lower[i + 1] & 0xC0) == 0x80;
    plain += latin ? base[static_cast<unsigned char>(lower[++i]) & 0x1FU] : lower[i];
  }
  return plain;
}

/// Runs of digits and runs of letters; everything else parts them.
std::vector<Piece> pieces_of(std::string_view label) {
  std::vector<Piece> pieces;
  bool joined = false;
  for (const char c : folded(label)) {
    const bool digit = c >= '0' && c <= '9';
    const bool letter = c >= 'a' && c <= 'z';
    if (!digit && !letter) {
      joined = false;
      continue;
    }
    if (!joined || pieces.empty() || pieces.back().digits != digit) pieces.push_back({"", digit, joined});
    pieces.back().text += c;
    joined = true;
  }
  return pieces;
}

bool is_year(int number) {
  return number >= 1900 && number <= 2099;
}
int two_digit_year(int number) {
  return number < 70 ? 2000 + number : 1900 + number;
}
bool all_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

/// A code as a number that sorts like the codes do: digits by value, letters by place.
int code_order(std::string_view code) {
  int order = 0;
  for (const char c : code.substr(0, 3))
    order = order * 36 + (c >= '0' && c <= '9' ? c - '0' : c - 'a' + 10);
  return order;
}

int month_in(std::string_view word) {
  for (const auto& [name, month] : months) {
    if (word == name || (word.size() > 3 && word.starts_with(name) && word.size() <= 9)) return month;
  }
  return 0;
}

/// 2018-09-03, 2018-09-03 00:00:00, 20180903.
std::optional<TermReading> read_date(std::string_view label) {
  const bool dashed = label.size() >= 10 && label[4] == '-' && label[7] == '-' &&
                      (label.size() == 10 || label[10] == 'T' || label[10] == ' ');
  const std::string digits =
      dashed ? concat(label.substr(0, 4), label.substr(5, 2), label.substr(8, 2)) : std::string(label);
  if (digits.size() != 8 || !all_digits(digits)) return std::nullopt;
  const int year = std::stoi(digits.substr(0, 4)), month = std::stoi(digits.substr(4, 2)),
            day = std::stoi(digits.substr(6, 2));
  if (!is_year(year) || month < 1 || month > 12 || day < 1 || day > 31) return std::nullopt;
  TermReading reading;
  reading.shape = TermReading::Shape::calendar;
  reading.year = year;
  reading.month = month;
  return reading;
}

/// Century, year, term. The century is the year's first digit (2187), or counts from 1900 (1189).
Term century_term(int number) {
  const int century = number / 1000, short_year = number / 10 % 100, code = number % 10;
  const int year = (century >= 2 || (century == 1 && short_year < 50) ? 2000 : 1900) + short_year;
  return Term{code >= 7 ? year : year - 1, code >= 7 ? code : code + 10, code == 5 || code == 6};
}

/// Piece by piece.
class LabelReader {
 public:
  std::optional<TermReading> read(std::string_view label) {
    const std::vector<Piece> pieces = pieces_of(label);
    for (std::size_t p = 0; p < pieces.size(); ++p) {
      const bool before_digit =
          p + 1 < pieces.size() && pieces[p + 1].digits && pieces[p + 1].joined && pieces[p + 1].text.size() == 1;
      const bool good = pieces[p].digits ? read_number(pieces[p].text) : read_word(pieces[p].text, before_digit);
      if (!good) return std::nullopt;
    }
    if (short_number_ >= 0) {  // a number of two digits before anything told what it is
      if (reading_.year != 0 || !timed_) return std::nullopt;
      reading_.year = two_digit_year(short_number_);
    }
    if (reading_.year == 0) return std::nullopt;
    using enum TermReading::Shape;
    reading_.shape = timed_ ? calendar : maybe_month_ ? pair : reading_.code.empty() ? year : coded;
    if (reading_.shape == pair && !reading_.code.empty()) reading_.shape = coded;
    return reading_;
  }

 private:
  bool read_word(const std::string& word, bool before_digit) {
    if (std::ranges::find(fillers, word) != fillers.end()) return true;
    if (before_digit && (word == "t" || word == "q" || word == "s" || word == "p")) {
      reading_.quarter = word == "q";  // T1, Q2, S1: the digit is the code
      return true;
    }
    const auto numbered = std::ranges::find(number_words, word, &std::pair<std::string_view, std::string_view>::first);
    if (numbered != number_words.end() && reading_.code.empty()) {
      reading_.code = numbered->second;
      return true;
    }
    const auto season = std::ranges::find(seasons, word, &Season::word);
    if (season != seasons.end() && !timed_) {
      timed_ = true;
      reading_.month = season->month;
      reading_.opens_year = season->opens_year;
      reading_.summer = season->summer;
      return true;
    }
    if (const int month = month_in(word); month > 0 && !timed_) {
      timed_ = true;
      reading_.month = month;
      return true;
    }
    if (!reading_.code.empty() || word.size() != 1) return false;
    reading_.code = word;  // 2013J
    return true;
  }

  bool read_number(const std::string& text) {
    if (text.size() > 8) return false;
    const int number = std::stoi(text);
    const bool has_year = reading_.year != 0;
    if (!has_year && text.size() >= 4) {
      const int first = std::stoi(text.substr(0, 4));
      if (!is_year(first)) return false;
      reading_.year = first;
      const std::string rest = text.substr(4);  // 201830
      if (rest.size() == 4 && std::stoi(rest) == first + 1)
        reading_.two_years = true;  // 20182019
      else if (!rest.empty() && reading_.code.empty())
        reading_.code = rest;
      else if (!rest.empty())
        return false;
      return true;
    }
    const int before = has_year ? reading_.year : short_number_;
    const bool follows = before >= 0 && !reading_.two_years && text.size() != 1 &&
                         (number == before + 1 || (text.size() == 2 && number == (before + 1) % 100));
    if (follows) {  // 2018/19, 2018-2019, 18/19
      if (!has_year) reading_.year = two_digit_year(std::exchange(short_number_, -1));
      reading_.two_years = true;
      maybe_month_ = has_year && text.size() == 2 && number >= 1 && number <= 12;
      return true;
    }
    if (!has_year && text.size() == 2 && short_number_ < 0) {
      short_number_ = number;  // 18/FA, F18
      return true;
    }
    if (!reading_.code.empty() || (!has_year && text.size() != 1)) return false;
    reading_.code = text;
    return true;
  }

  TermReading reading_;
  bool timed_ = false;        // by a season or a month
  bool maybe_month_ = false;  // the second year could be one
  int short_number_ = -1;
};

/// Codes sort by it as their terms follow each other, whether they are months or not.
int rough_order(std::string_view code) {
  return code.size() <= 4 && all_digits(code) ? std::stoi(std::string(code)) : 10'000 + code_order(code);
}

/// The month that a code of one or two digits would be, or 0.
int month_of_code(const TermReading& reading) {
  if (reading.shape == TermReading::Shape::pair) return (reading.year + 1) % 100;
  const bool short_digits = reading.code.size() <= 2 && all_digits(reading.code);
  const int number = short_digits ? std::stoi(reading.code) : 0;
  return number <= 12 && !reading.two_years ? number : 0;
}

}  // namespace

std::int64_t TermReading::rough_key() const {
  switch (shape) {
    case Shape::house:
      return house.key();
    case Shape::calendar:
      return std::int64_t{two_years && !opens_year && month < TermRules::usual_start ? year + 1 : year} * 100'000 +
             std::int64_t{month} * 1000 + std::min(code_order(code), 999);
    default:
      return std::int64_t{year} * 100'000 + (shape == Shape::pair ? month_of_code(*this) : rough_order(code));
  }
}

TermChoice choose_reading(const std::vector<TermReading>& readings) {
  using enum TermReading::Shape;
  TermChoice choice;
  bool may_be_months = true, has_two_digits = false, all_pairs = true, all_tens = true;
  int latest = 0;
  for (const TermReading& reading : readings) {
    choice.century_codes = choice.century_codes || reading.shape == digits;
    if (reading.shape != coded && reading.shape != pair) continue;
    const int month = month_of_code(reading);
    may_be_months = may_be_months && month > 0 && !reading.quarter;
    has_two_digits = has_two_digits || reading.shape == pair || reading.code.size() == 2;
    all_pairs = all_pairs && reading.shape == pair;
    all_tens = all_tens && month == 10;  // Banner's 201810, by itself
    latest = std::max(latest, month);
  }
  // Terms of a year are seldom more than six: what counts beyond counts months.
  choice.months = may_be_months && has_two_digits && !all_pairs && !all_tens && latest >= 7;
  return choice;
}

std::optional<TermReading> TermRules::read(std::string_view label) const {
  label = trimmed(label);
  TermReading reading;
  if (const auto found = house_codes_.find(std::string(label)); found != house_codes_.end()) {
    reading.shape = TermReading::Shape::house;
    reading.house = found->second;
    return reading;
  }
  const bool four_digits = label.size() == 4 && all_digits(label);
  const int number = four_digits ? std::stoi(std::string(label)) : 0;
  if (coding_ == TermCoding::century_year_term && (!four_digits || label[0] > '2')) return std::nullopt;
  if (four_digits) {
    const bool forced = coding_ == TermCoding::century_year_term;
    if (!forced && !is_year(number) && (label[0] > '2' || label[0] == '0')) return std::nullopt;
    reading.shape = is_year(number) && !forced ? TermReading::Shape::year : TermReading::Shape::digits;
    reading.year = number;
    return reading;
  }
  if (auto date = read_date(label)) return date;
  return LabelReader().read(label);
}

bool TermRules::is_summer_code(std::string_view code) const {
  return !code.empty() && std::ranges::any_of(summer_codes_, [&](const std::string& summer) {
    return summer == code || (code.size() == 2 && code[0] == '0' && summer == code.substr(1));
  });
}

Term TermRules::in_month(const TermReading& reading, int month) const {
  const int start = year_starts_.value_or(usual_start);
  // What opens the year does so in whichever month of its second half that is.
  const bool begun = (reading.opens_year && start > 6) || month >= start;
  const int place = reading.opens_year && start > month && start > 6 ? 0 : (month - start + 12) % 12;
  const int within = std::min(code_order(reading.code), 999);
  return {reading.two_years || begun ? reading.year : reading.year - 1, place * 1000 + within,
          reading.summer || is_summer_code(std::to_string(month))};
}

Term TermRules::term_of(const TermReading& reading, const TermChoice& choice) const {
  using enum TermReading::Shape;
  switch (reading.shape) {
    case house:
      return reading.house;
    case digits:
      return century_term(reading.year);
    case calendar:
      return in_month(reading, reading.month);
    case year:
      if (choice.century_codes && !reading.two_years) return century_term(reading.year);
      break;
    case pair:
    case coded:
      if (reading.quarter && year_starts_ && reading.code.size() == 1 && reading.code[0] >= '1' &&
          reading.code[0] <= '4')
        return in_month(reading, 3 * (reading.code[0] - '1') + 1);
      if (!choice.months) break;
      TermReading plain = reading;
      plain.code.clear();
      plain.two_years = false;
      return in_month(plain, month_of_code(reading));
  }
  return {reading.year, code_order(reading.code), is_summer_code(reading.code)};
}

std::optional<Term> TermRules::parse(std::string_view label) const {
  const auto reading = read(label);
  if (!reading) return std::nullopt;
  return term_of(*reading, choose_reading({*reading}));
}

}  // namespace desirepath::inline ingest
