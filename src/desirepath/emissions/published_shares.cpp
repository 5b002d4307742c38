// Shares of courses to hand out, in states and along trees.
#include <algorithm>
#include <cmath>
#include <functional>

#include "desirepath/emissions/bernoulli.h"
#include "desirepath/emissions/published_numbers.h"
#include "desirepath/emissions/tree.h"

namespace desirepath::inline emissions {

namespace {

constexpr double nobody = 1e-9;

/// What is asked of a row and a bit: whether the bit belongs to the table, by what the row has taken.
struct RowView {
  std::vector<std::uint8_t> taken;  // by bit
  const UnknownBits* unknown = nullptr;

  bool knows(Id bit) const { return !unknown->contains(bit); }
  bool takes(Id bit) const { return taken[static_cast<std::size_t>(bit)] != 0; }
};
using InTable = std::function<bool(const RowView& row, Id bit)>;

void for_each_row(const StepRows& rows, const std::function<void(std::int64_t row, const RowView& view)>& body) {
  RowView view{std::vector<std::uint8_t>(static_cast<std::size_t>(rows.bit_count()), 0)};
  for (std::int64_t row = 0; row < rows.row_count(); ++row) {
    view.unknown = &rows.unknown(rows.pattern_of(row));
    for (const Id bit : rows.taken(row))
      view.taken[static_cast<std::size_t>(bit)] = 1;
    body(row, view);
    for (const Id bit : rows.taken(row))
      view.taken[static_cast<std::size_t>(bit)] = 0;
  }
}

/// One table of shares: bits by states. A student counts once in a step; how many students there are at least is the
/// most of any one step.
struct ShareCells {
  RowMatrix taken, known;           // over all steps
  RowMatrix takers, others, there;  // students at least
  Vector all_takers, all_others;    // in all states together
};

ShareCells count_shares(const StepRows& rows, const StepWeights& weights, const InTable& in_table) {
  const Index bits = rows.bit_count(), states = weights.front().cols();
  ShareCells cells;
  for (RowMatrix* sums : {&cells.taken, &cells.known, &cells.takers, &cells.others, &cells.there})
    *sums = RowMatrix::Zero(bits, states);
  cells.all_takers = cells.all_others = Vector::Zero(bits);
  for (const RowMatrix& step : weights) {
    RowMatrix taken = RowMatrix::Zero(bits, states), known = taken;
    for_each_row(rows, [&](std::int64_t row, const RowView& view) {
      for (Id bit = 0; bit < bits; ++bit) {
        if (!in_table(view, bit)) continue;
        known.row(bit) += step.row(row);
        if (view.takes(bit)) taken.row(bit) += step.row(row);
      }
    });
    const RowMatrix others = (known - taken).cwiseMax(0);
    cells.taken += taken;
    cells.known += known;
    cells.takers = cells.takers.cwiseMax(taken);
    cells.others = cells.others.cwiseMax(others);
    cells.there = cells.there.cwiseMax(known);
    cells.all_takers = cells.all_takers.cwiseMax(taken.rowwise().sum());
    cells.all_others = cells.all_others.cwiseMax(others.rowwise().sum());
  }
  return cells;
}

/// Students at least, by state, of whom one of the marked cells tells that they took the bit (or did not).
Vector students_of(const StepRows& rows, const StepWeights& weights, const InTable& in_table,
                   const std::vector<std::vector<std::uint8_t>>& marked, bool took) {
  Vector most = Vector::Zero(std::ssize(marked));
  for (const RowMatrix& step : weights) {
    Vector here = Vector::Zero(most.size());
    for_each_row(rows, [&](std::int64_t row, const RowView& view) {
      for (std::size_t k = 0; k < marked.size(); ++k) {
        const double weight = step.rows() == 0 ? 0 : step(row, static_cast<Index>(k));
        if (!(weight > 0)) continue;
        bool any = false;
        for (Id bit = 0; bit < rows.bit_count() && !any; ++bit)
          any = marked[k][static_cast<std::size_t>(bit)] != 0 && view.takes(bit) == took && in_table(view, bit);
        if (any) here[static_cast<Index>(k)] += weight;
      }
    });
    most = most.cwiseMax(here);
  }
  return most;
}

/// What all students do with each bit, nothing of it resting on few: bits of few takers have what they have together,
/// those of which few are known the mean of all bits. shares: the model's, for what nobody or everybody does.
Vector usual_by_bit(const StepRows& rows, const StepWeights& weights, const InTable& in_table, const ShareCells& cells,
                    const RowMatrix& shares, double least) {
  StepWeights all;
  for (const RowMatrix& step : weights)
    all.push_back(step.rowwise().sum());
  const Vector taken = cells.taken.rowwise().sum(), known = cells.known.rowwise().sum();
  Vector usual(taken.size());
  const Vector there = cells.there.rowwise().sum();
  for (Index bit = 0; bit < usual.size(); ++bit) {
    const bool is_settled = taken[bit] <= nobody || known[bit] - taken[bit] <= nobody;
    usual[bit] = !(known[bit] > 0) ? 0.5
                 : is_settled      ? shares.row(bit).dot(cells.known.row(bit)) / known[bit]
                                   : taken[bit] / known[bit];
  }
  for (const bool took : {true, false}) {
    const Vector& few_of = took ? cells.all_takers : cells.all_others;
    std::vector<std::vector<std::uint8_t>> marked(1, std::vector<std::uint8_t>(static_cast<std::size_t>(usual.size())));
    double sum = 0, among = 0;
    for (Index bit = 0; bit < usual.size(); ++bit) {
      const double count = took ? taken[bit] : known[bit] - taken[bit];
      if (few_of[bit] >= least || count <= nobody) continue;
      marked.front()[static_cast<std::size_t>(bit)] = 1;
      sum += count;
      among += known[bit];
    }
    if (!(among > 0)) continue;
    const double students = students_of(rows, all, in_table, marked, took)[0];
    for (Index bit = 0; bit < usual.size(); ++bit) {
      if (marked.front()[static_cast<std::size_t>(bit)] == 0) continue;
      const double share = students >= least ? sum / among : std::min(0.5, standing_for_few(least) / known[bit]);
      usual[bit] = took ? share : 1 - share;
    }
  }
  double sum = 0, bits = 0;
  for (Index bit = 0; bit < usual.size(); ++bit) {
    if (there[bit] < least) continue;
    sum += usual[bit];
    ++bits;
  }
  for (Index bit = 0; bit < usual.size(); ++bit) {
    if (there[bit] < least) usual[bit] = bits > 0 ? sum / bits : 0.5;
  }
  return usual;
}

/// shares: as the model has them, bits by states; usual: the same size, what few are drawn to.
RowMatrix published_shares(const StepRows& rows, const StepWeights& weights, const InTable& in_table,
                           const ShareCells& cells, const RowMatrix& shares, const RowMatrix& usual, double least) {
  const Index bits = shares.rows(), states = shares.cols();
  RowMatrix published = shares;
  using Marks = std::vector<std::vector<std::uint8_t>>;
  Marks rare(static_cast<std::size_t>(states), std::vector<std::uint8_t>(static_cast<std::size_t>(bits))),
      common = rare;
  // What nobody did, or everybody, tells of nobody.
  const auto is_settled = [&](Index bit) { return cells.all_takers[bit] <= nobody || cells.all_others[bit] <= nobody; };
  for (Index bit = 0; bit < bits; ++bit) {
    for (Index k = 0; k < states; ++k) {
      const bool few_took = cells.takers(bit, k) < least, few_did_not = cells.others(bit, k) < least;
      if (is_settled(bit) && cells.there(bit, k) >= least) continue;
      const auto at = static_cast<std::size_t>(bit), state = static_cast<std::size_t>(k);
      if (few_took && few_did_not)
        published(bit, k) = usual(bit, k);
      else if (few_took)
        rare[state][at] = 1;
      else if (few_did_not)
        common[state][at] = 1;
    }
  }
  for (const bool took : {true, false}) {
    const Marks& marked = took ? rare : common;
    const Vector students = students_of(rows, weights, in_table, marked, took);
    for (Index k = 0; k < states; ++k) {
      const auto& own = marked[static_cast<std::size_t>(k)];
      const auto usually = [&](Index bit) { return took ? usual(bit, k) : 1 - usual(bit, k); };
      double sum = 0, expected = 0;
      for (Index bit = 0; bit < bits; ++bit) {
        if (own[static_cast<std::size_t>(bit)] == 0) continue;
        sum += took ? cells.taken(bit, k) : cells.known(bit, k) - cells.taken(bit, k);
        expected += usually(bit) * cells.known(bit, k);
      }
      if (!(expected > 0)) continue;
      const double factor = students[k] >= least ? sum / expected : std::min(1.0, standing_for_few(least) / expected);
      for (Index bit = 0; bit < bits; ++bit) {
        if (own[static_cast<std::size_t>(bit)] == 0) continue;
        const double most = std::min(0.5, least / std::max(1.0, cells.there(bit, k)));  // for they are few
        const double share = std::min(most, factor * usually(bit));
        published(bit, k) = took ? share : 1 - share;
      }
    }
  }
  for (Index bit = 0; bit < bits; ++bit) {
    for (Index k = 0; k < states; ++k)
      published(bit, k) = rounded_probability(published(bit, k), std::max(least, cells.there(bit, k)));
  }
  return published;
}

RowMatrix published_margins(const StepRows& rows, const StepWeights& weights, const RowMatrix& shares, double least) {
  const InTable known = [](const RowView& row, Id bit) { return row.knows(bit); };
  const ShareCells cells = count_shares(rows, weights, known);
  const RowMatrix usual = usual_by_bit(rows, weights, known, cells, shares, least).replicate(1, shares.cols());
  return published_shares(rows, weights, known, cells, shares, usual, least);
}

}  // namespace

PublishedEmission BernoulliEmission::published(const StepRows& rows, const StepWeights& weights, double least,
                                               const Executor&) const {
  return {std::make_unique<BernoulliEmission>(published_margins(rows, weights, probability_, least))};
}

PublishedEmission TreeEmission::published(const StepRows& rows, const StepWeights& weights, double least,
                                          const Executor&) const {
  const RowMatrix margins = published_margins(rows, weights, bit_probabilities(), least);
  std::vector<TreeGroup> groups;
  for (const TreeGroup& group : groups_) {
    StepWeights own;
    for (const RowMatrix& step : weights)
      own.push_back(step.middleCols(group.first_state(), group.state_count()));
    const RowMatrix margin = margins.middleCols(group.first_state(), group.state_count());
    const DependencyTree& tree = group.tree();
    RowMatrix tables[2];
    for (const bool parent_taken : {false, true}) {
      const InTable in_table = [&](const RowView& row, Id bit) {
        const Id parent = tree.parent(bit);
        return parent >= 0 && row.knows(bit) && row.knows(parent) && row.takes(parent) == parent_taken;
      };
      RowMatrix& table = tables[parent_taken ? 1 : 0];
      table = published_shares(rows, own, in_table, count_shares(rows, own, in_table),
                               parent_taken ? group.given_taken() : group.given_not_taken(), margin, least);
      for (Id bit = 0; bit < tree.bit_count(); ++bit) {
        if (tree.parent(bit) < 0) table.row(bit) = margin.row(bit);
      }
    }
    groups.emplace_back(tree, group.first_state(), std::move(tables[0]), std::move(tables[1]));
  }
  return {std::make_unique<TreeEmission>(std::move(groups))};
}

}  // namespace desirepath::inline emissions
