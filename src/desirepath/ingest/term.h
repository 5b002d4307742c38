// Term labels as universities write them, put in order and into academic years.
//
//   2018 Fall, Fall 2018, FA2018, F18      a season and the calendar year: fall opens an academic year, what follows
//   WiSe 2018/19, 2018-19 Spring           belongs to it; two years name the academic year itself
//   2018-1, 2018/2, 201830, 19881, 2013J   the academic year and a code; codes sort within the year
//   2018                                   an academic year as one term
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
  /// Sorts as the terms follow each other.
  std::int64_t key() const { return std::int64_t{academic_year} * 100'000 + order; }
  bool operator==(const Term&) const = default;
};

enum class TermCoding {
  labels,            // as above
  century_year_term  // PeopleSoft's 2187: 2018, last digit 0-4 winter and spring, 5-6 summer, 7-9 fall
};

class TermRules {
 public:
  /// house_codes: labels with a meaning of their own; summer_codes: codes behind the year that mean summer.
  TermRules(std::map<std::string, Term> house_codes, std::vector<std::string> summer_codes, TermCoding coding)
      : house_codes_(std::move(house_codes)), summer_codes_(std::move(summer_codes)), coding_(coding) {}
  TermRules() = default;

  /// Nothing when the label cannot be understood.
  std::optional<Term> parse(std::string_view label) const;

 private:
  std::map<std::string, Term> house_codes_;
  std::vector<std::string> summer_codes_;
  TermCoding coding_ = TermCoding::labels;
};

}  // namespace desirepath::inline ingest
