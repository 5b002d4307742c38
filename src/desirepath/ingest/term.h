// Term labels as universities write them, put in order and into academic years.
//
//   2018 Fall, Fall 2018, FA2018, 18/FA    a season and the calendar year: fall opens an academic year, what follows
//   WiSe 2018/19, 2018-19 Spring           belongs to it; two years name the academic year itself
//   2018-12, 201812, 2018-12-01, Dec 2018  a month: in the academic year that has begun by then
//   2018-1, 2018/2, 201830, 19881, 2013J   the academic year and a code; codes sort within the year
//   T1 2019, Sem 1 2018, 2018-19 T2        the same
//   1189, 2187                             PeopleSoft's century, year and term
//   2018                                   an academic year as one term
//
// What some of them mean their neighbours decide (term_labels.h): 201810 is a month beside 201801 and 201808, a code
// beside 201820 and 201830.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace desirepath::inline ingest {

struct Term {
  std::int32_t academic_year = 0;  // the calendar year in which it begins
  std::int32_t order = 0;          // within the academic year
  bool summer = false;
  bool whole_year = false;  // named by its year alone beside finer terms: it begins with the first of them
  /// Sorts as the terms follow each other.
  std::int64_t key() const { return std::int64_t{academic_year} * 100'000 + order; }
  bool operator==(const Term&) const = default;
};

enum class TermCoding {
  labels,            // as above
  century_year_term  // PeopleSoft's 2187: 2018, last digit 0-4 winter and spring, 5-6 summer, 7-9 fall
};

/// What a label says by itself.
struct TermReading {
  enum class Shape {
    house,     // listed by the user
    year,      // 2018, 2018/19
    pair,      // 2008-09: two years, or a month
    coded,     // the year and a code
    calendar,  // a season, a month or a date
    digits     // four that are no year: PeopleSoft's
  };
  Shape shape = Shape::year;
  Term house;
  int year = 0;
  bool two_years = false;
  int month = 0;  // of a season: a usual one
  bool opens_year = false;
  bool summer = false;
  bool quarter = false;  // the code is one of four quarters of the calendar year
  std::string code;
  /// Sorts as the terms follow each other, among labels that go together.
  std::int64_t rough_key() const;
};

/// How labels that could be read in two ways are read.
struct TermChoice {
  bool months = false;         // 2008-12 and 200812 are December
  bool century_codes = false;  // 2012 is the year 2001, term 2
};
TermChoice choose_reading(const std::vector<TermReading>& readings);

class TermRules {
 public:
  static constexpr int usual_start = 8;  // August

  /// house_codes: labels with a meaning of their own; summer_codes: codes behind the year that mean summer;
  /// year_starts: the month in which an academic year begins.
  TermRules(std::map<std::string, Term> house_codes, std::vector<std::string> summer_codes, TermCoding coding,
            std::optional<int> year_starts = {})
      : house_codes_(std::move(house_codes)),
        summer_codes_(std::move(summer_codes)),
        coding_(coding),
        year_starts_(year_starts) {}
  TermRules() = default;

  /// Nothing when the label cannot be understood.
  std::optional<TermReading> read(std::string_view label) const;
  Term term_of(const TermReading& reading, const TermChoice& choice) const;
  /// Of a label that has no neighbours.
  std::optional<Term> parse(std::string_view label) const;

 private:
  bool is_summer_code(std::string_view code) const;
  Term in_month(const TermReading& reading, int month) const;

  std::map<std::string, Term> house_codes_;
  std::vector<std::string> summer_codes_;
  TermCoding coding_ = TermCoding::labels;
  std::optional<int> year_starts_;
};

}  // namespace desirepath::inline ingest
