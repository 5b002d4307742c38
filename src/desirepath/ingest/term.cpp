#include "desirepath/ingest/term.h"

#include <algorithm>
#include <array>

#include "desirepath/core/text.h"

namespace desirepath::inline ingest {

namespace {

using namespace std::string_view_literals;

struct Season {
  std::string_view word;  // lower case
  int order;              // within the academic year
  /// The calendar year beside it is the academic year's first: fall opens one, the rest fall into the year after it.
  bool opens_year() const { return order == 1; }
  bool is_summer() const { return order == 5; }
};
constexpr auto seasons =
    std::to_array<Season>({{"fall", 1}, {"autumn", 1}, {"aut", 1},     {"fa", 1},         {"f", 1},      {"au", 1},
                           {"ht", 1},   {"wise", 1},   {"ws", 1},      {"michaelmas", 1}, {"winter", 2}, {"win", 2},
                           {"wi", 2},   {"w", 2},      {"january", 2}, {"lent", 2},       {"hilary", 2}, {"spring", 3},
                           {"spr", 3},  {"sp", 3},     {"s", 3},       {"vt", 3},         {"easter", 3}, {"trinity", 3},
                           {"may", 4},  {"sose", 3},   {"ss", 3},      {"summer", 5},     {"sum", 5},    {"su", 5}});

/// Words that say nothing about when.
constexpr std::array fillers = {"term"sv, "semester"sv, "quarter"sv,  "ay"sv,
                                "year"sv, "sem"sv,      "academic"sv, "session"sv};

struct Piece {
  std::string text;
  bool digits;
};

/// Runs of digits and runs of letters; everything else parts them.
std::vector<Piece> pieces_of(std::string_view label) {
  std::vector<Piece> pieces;
  bool joined = false;
  for (const char c : lower_case(label)) {
    const bool digit = c >= '0' && c <= '9';
    const bool letter = c >= 'a' && c <= 'z';
    if (!digit && !letter) {
      joined = false;
      continue;
    }
    if (!joined || pieces.empty() || pieces.back().digits != digit) pieces.push_back({"", digit});
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

/// A code as a number that sorts like the codes do: digits by value, letters by place.
int code_order(std::string_view code) {
  int order = 0;
  for (const char c : code.substr(0, 3))
    order = order * 36 + (c >= '0' && c <= '9' ? c - '0' : c - 'a' + 10);
  return order;
}

std::optional<Term> parse_century_year_term(std::string_view label) {
  const bool four_digits = label.size() == 4 && std::ranges::all_of(label, [](char c) { return c >= '0' && c <= '9'; });
  if (!four_digits || label[0] > '3') return std::nullopt;
  const int year = (label[0] <= '1' ? 1900 : 2000) + (label[1] - '0') * 10 + (label[2] - '0');
  const int code = label[3] - '0';
  return Term{code >= 7 ? year : year - 1, code >= 7 ? code : code + 10, code == 5 || code == 6};
}

}  // namespace

std::optional<Term> TermRules::parse(std::string_view label) const {
  label = trimmed(label);
  if (const auto found = house_codes_.find(std::string(label)); found != house_codes_.end()) return found->second;
  if (!house_codes_.empty()) return std::nullopt;
  if (coding_ == TermCoding::century_year_term) return parse_century_year_term(label);

  std::optional<int> year;
  bool two_years = false;
  const Season* season = nullptr;
  std::string code;
  for (const Piece& piece : pieces_of(label)) {
    if (!piece.digits) {
      if (std::ranges::find(fillers, piece.text) != fillers.end()) continue;
      const auto known = std::ranges::find(seasons, piece.text, &Season::word);
      if (known != seasons.end() && season == nullptr) {
        season = &*known;
      } else if (code.empty() && piece.text.size() == 1) {
        code = piece.text;  // 2013J
      } else {
        return std::nullopt;
      }
      continue;
    }
    if (piece.text.size() > 8) return std::nullopt;
    const int number = std::stoi(piece.text);
    if (!year && piece.text.size() >= 4) {
      const int first = std::stoi(piece.text.substr(0, 4));
      if (!is_year(first)) return std::nullopt;
      year = first;
      const std::string rest = piece.text.substr(4);  // 201830
      if (rest.size() == 4 && std::stoi(rest) == first + 1) {
        two_years = true;  // 20182019
      } else if (!rest.empty()) {
        code = rest;
      }
    } else if (year && !two_years && piece.text.size() != 1 &&
               (number == *year + 1 || (piece.text.size() == 2 && number == (*year + 1) % 100))) {
      two_years = true;  // 2018/19, 2018-2019
    } else if (!year && piece.text.size() == 2 && season != nullptr) {
      year = two_digit_year(number);  // F18
    } else if (code.empty() && year) {
      code = piece.text;
    } else {
      return std::nullopt;
    }
  }
  if (!year) return std::nullopt;
  if (season != nullptr) {
    const bool names_first_year = two_years || season->opens_year();
    const int within = code.empty() ? 0 : std::min(code_order(code), 999);
    return Term{names_first_year ? *year : *year - 1, season->order * 1000 + within, season->is_summer()};
  }
  const bool summer = !code.empty() && std::ranges::find(summer_codes_, code) != summer_codes_.end();
  return Term{*year, code_order(code), summer};
}

}  // namespace desirepath::inline ingest
