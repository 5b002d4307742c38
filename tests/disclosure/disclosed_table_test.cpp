// What is hidden cannot be worked out: by hand, by a fast test over many tables, and by integer programming.
#include "desirepath/disclosure/disclosed_table.h"

#include <map>
#include <numeric>

#include <gtest/gtest.h>

#include "disclosure/puzzle.h"

#include "desirepath/core/error.h"
#include "desirepath/core/random_stream.h"
#include "desirepath/disclosure/disclosed_bins.h"
#include "desirepath/disclosure/disclosed_network.h"

namespace desirepath::safe_table_test {
namespace {

TEST(Disclosure, SmallPartsTakeCompany) {
  const Disclosure disclosure;
  EXPECT_EQ(disclosure.hide({50, 3, 40, 20}), (Hidden{0, 1, 0, 1}));
  EXPECT_EQ(disclosure.hide({50, 6, 7, 20}), (Hidden{0, 1, 1, 0}));
  EXPECT_EQ(disclosure.hide({50, 0, 20}), (Hidden{0, 0, 0}));
  EXPECT_EQ(disclosure.hide({3, 4}), (Hidden{1, 1}));
  // The same students may stand behind both small ones.
  EXPECT_EQ(disclosure.hide_overlapping({50, 6, 7, 20}), (Hidden{0, 1, 1, 1}));
  EXPECT_TRUE(disclosure.allows(0));
  EXPECT_FALSE(disclosure.allows(9.5));
  EXPECT_FALSE(disclosure.allows(95, 100));
  EXPECT_TRUE(disclosure.allows(100, 100));
  EXPECT_FALSE(disclosure.rests(0));
  EXPECT_EQ(disclosure.all_but_few(95, 100), 100);
  EXPECT_EQ(disclosure.all_but_few(90, 100), 90);
}

TEST(Disclosure, SharesThatAreAskedAgainAndAgainAreCoarse) {
  const Disclosure disclosure;
  EXPECT_DOUBLE_EQ(disclosure.coarse_share(57, 110), 0.5);
  EXPECT_DOUBLE_EQ(disclosure.coarse_share(110, 110), 0.9);
  EXPECT_DOUBLE_EQ(disclosure.coarse_share(0, 110), 0);
  EXPECT_EQ(disclosure.coarse_share(14, 14), 0);
  // Whatever the size of the group, a step holds the numbers of nobody and enough, or those of all and all but enough.
  for (int of = 1; of < 300; ++of) {
    std::map<double, std::pair<int, int>> steps;
    for (int students = 0; students <= of; ++students) {
      auto& step = steps.try_emplace(disclosure.coarse_share(students, of), students, students).first->second;
      step.second = students;
    }
    for (const auto& [share, step] : steps) {
      EXPECT_LE(share * of, step.first + 1e-9);
      EXPECT_TRUE(step.second - step.first >= 10 || steps.size() == 1) << of << " " << share;
    }
  }
}

TEST(Disclosure, FewStudentsAreRefusedWithoutSayingHowMany) {
  EXPECT_THROW(Disclosure(4), OptionError);
  try {
    Disclosure().require(7);
    FAIL();
  } catch (const PrivacyError& error) {
    EXPECT_EQ(std::string(error.what()).find('7'), std::string::npos) << error.what();
  }
  Disclosure(5).require(7);
}

CountTable random_table(RandomStream& stream) {
  CountTable counts(1 + stream.below(6), std::vector<double>(1 + stream.below(6)));
  for (auto& row : counts) {
    for (double& count : row)
      count = static_cast<double>(stream.below(stream.below(3) == 0 ? 12 : 80));
  }
  return counts;
}

/// In the graph of hidden cells between rows and columns, a cell on no circle follows from the totals (a bridge).
bool has_bridge(const HiddenTable& hidden) {
  const std::size_t rows = hidden.size(), columns = hidden.front().size();
  std::vector<std::vector<std::size_t>> next(rows + columns);
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) {
      if (hidden[r][c] == 0) continue;
      next[r].push_back(rows + c);
      next[rows + c].push_back(r);
    }
  }
  std::vector<int> entered(next.size(), -1), low(next.size(), 0);
  int time = 0;
  bool found = false;
  const auto visit = [&](const auto& self, std::size_t node, std::size_t from) -> void {
    entered[node] = low[node] = time++;
    for (const std::size_t other : next[node]) {
      if (other == from) continue;
      if (entered[other] >= 0) {
        low[node] = std::min(low[node], entered[other]);
        continue;
      }
      self(self, other, node);
      low[node] = std::min(low[node], low[other]);
      found = found || low[other] > entered[node];
    }
  };
  for (std::size_t node = 0; node < next.size(); ++node) {
    if (entered[node] < 0) visit(visit, node, next.size());
  }
  return found;
}

TEST(DisclosedTable, NoHiddenCellIsABridge) {
  RandomStream stream(5);
  int hidden_tables = 0, refused = 0;
  for (int round = 0; round < 10000; ++round) {
    const CountTable counts = random_table(stream);
    const auto hidden = hide_in_table(counts, Disclosure());
    if (!hidden) {
      ++refused;
      continue;
    }
    bool any = false;
    for (std::size_t r = 0; r < counts.size(); ++r) {
      for (std::size_t c = 0; c < counts[r].size(); ++c) {
        any = any || (*hidden)[r][c] != 0;
        EXPECT_TRUE(counts[r][c] == 0 || counts[r][c] >= 10 || (*hidden)[r][c] != 0);
      }
    }
    hidden_tables += any ? 1 : 0;
    EXPECT_FALSE(has_bridge(*hidden));
  }
  EXPECT_GT(hidden_tables, 5000);
  EXPECT_LT(refused, 4000);
}

TEST(DisclosedTable, WhereNobodyCanBeHidesNothing) {
  // The 4 could be 10 only if 6 were in the empty cell below the 30.
  const CountTable counts = {{4, 30, 0}, {20, 0, 12}};
  ASSERT_TRUE(hide_in_table(counts, Disclosure()).has_value());
  EXPECT_FALSE(hide_in_table(counts, Disclosure(), {{1, 1, 1}, {1, 0, 1}}).has_value());
  // Another column is room enough.
  const auto hidden = hide_in_table({{4, 30, 20}, {20, 0, 40}}, Disclosure(), {{1, 1, 1}, {1, 0, 1}});
  ASSERT_TRUE(hidden.has_value());
  EXPECT_EQ(*hidden, (HiddenTable{{1, 0, 1}, {1, 0, 1}}));
}

TEST(DisclosedTable, WhatIsNeverToldIsKeptHiddenToo) {
  // From 0 and 1 by way of 2 to 3, and from 4 to 3 and 5: how many come by 2 is told unless that tells of the 4 from 0.
  const std::vector<StudentFlow> flows = {
      {0, 2, 4, false, true}, {1, 2, 30, false, true}, {2, 3, 34}, {4, 3, 50}, {4, 5, 50}};
  EXPECT_FALSE(hide_in_network(6, flows, Disclosure()).has_value());  // all who leave 0 come by 2
  std::vector<StudentFlow> wider = flows;
  wider.push_back({0, 6, 20, false, true});
  wider.push_back({1, 6, 20, false, true});
  const auto hidden = hide_in_network(7, wider, Disclosure());
  ASSERT_TRUE(hidden.has_value());
  EXPECT_EQ((*hidden)[2], 0);  // 4 and 30 can change places with 20 and 20
}

TEST(DisclosedTable, NobodyAndEnoughRemainPossible) {
  RandomStream stream(6);
  int checked = 0, refused_rightly = 0;
  for (int round = 0; round < 300; ++round) {
    const CountTable counts = random_table(stream);
    const auto hidden = hide_in_table(counts, Disclosure());
    const std::size_t rows = counts.size(), columns = counts.front().size();
    test::Puzzle puzzle;
    std::vector<std::vector<int>> cell(rows, std::vector<int>(columns));
    for (auto& row : cell) {
      for (int& number : row)
        number = puzzle.unknown();
    }
    for (std::size_t r = 0; r < rows; ++r) {
      test::Puzzle::Terms terms;
      for (const int number : cell[r])
        terms.emplace_back(number, 1);
      puzzle.know(terms, std::accumulate(counts[r].begin(), counts[r].end(), 0.0));
    }
    for (std::size_t c = 0; c < columns; ++c) {
      test::Puzzle::Terms terms;
      double sum = 0;
      for (std::size_t r = 0; r < rows; ++r) {
        terms.emplace_back(cell[r][c], 1);
        sum += counts[r][c];
      }
      puzzle.know(terms, sum);
    }
    if (hidden) {
      for (std::size_t r = 0; r < rows; ++r) {
        for (std::size_t c = 0; c < columns; ++c) {
          if ((*hidden)[r][c] == 0) puzzle.know({{cell[r][c], 1}}, counts[r][c]);
        }
      }
    }
    std::vector<StudentFlow> flows;
    Hidden flat;
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t c = 0; c < columns; ++c) {
        flows.push_back({r, rows + c, counts[r][c]});
        flat.push_back(hidden ? (*hidden)[r][c] : 0);
      }
    }
    bool disclosed = true;
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t c = 0; c < columns; ++c) {
        if (counts[r][c] <= 0 || counts[r][c] >= 10) continue;
        const test::Puzzle::Terms terms = {{cell[r][c], 1}};
        const bool possible = puzzle.least(terms) == 0 && puzzle.largest(terms, 1000) >= 10;
        disclosed = disclosed && possible;
        if (!hidden) continue;
        EXPECT_TRUE(possible) << "round " << round << " cell " << r << "," << c;
        ++checked;
        // The room is what integer programming says.
        EXPECT_EQ(room_above(rows + columns, flows, flat, r * columns + c, 1000),
                  puzzle.largest(terms, 10000) - counts[r][c]);
        EXPECT_EQ(room_below(rows + columns, flows, flat, r * columns + c, 1000), counts[r][c] - puzzle.least(terms));
      }
    }
    // Refused where even the totals alone tell too much.
    if (!hidden) {
      EXPECT_FALSE(disclosed) << round;
      ++refused_rightly;
    }
  }
  EXPECT_GT(checked, 500);
  EXPECT_GT(refused_rightly, 5);
}

TEST(DisclosedBins, TheSumDoesNotTellTheTail) {
  // Twelve in the tail: with all other values told, their sum would say that at most nine stand at 20.
  std::vector<std::int64_t> counts(41, 0);
  for (std::size_t v = 0; v < 20; ++v)
    counts[v] = 50;
  counts[20] = 9;
  counts[31] = 3;
  const Disclosure disclosure;
  EXPECT_EQ(merge_small_bins(counts, 1, disclosure)[19].last, 19);
  const std::vector<DisclosedBin> bins = histogram_beside_sum(counts, 1, disclosure).bins;
  EXPECT_GE(bins.size(), 5U);
  for (const DisclosedBin& bin : bins)
    EXPECT_GE(bin.last - bin.first, 1);
}

}  // namespace
}  // namespace desirepath::safe_table_test
