#include "desirepath/queries/state_groups.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <nlohmann/json.hpp>

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"

namespace desirepath::inline queries {

Interval share_interval(std::int64_t count, std::int64_t of) {
  constexpr double z = 1.959963984540054;
  const auto n = static_cast<double>(of);
  const double p = static_cast<double>(count) / n, spread = z * z / n;
  const double centre = (p + spread / 2) / (1 + spread);
  const double half = z * std::sqrt(p * (1 - p) / n + spread / (4 * n)) / (1 + spread);
  return {std::max(0.0, centre - half), std::min(1.0, centre + half)};
}

std::vector<std::vector<std::uint8_t>> hidden_cells(const std::vector<std::vector<std::int64_t>>& counts,
                                                    std::int64_t least) {
  const std::size_t rows = counts.size(), columns = rows > 0 ? counts.front().size() : 0;
  std::vector<std::vector<std::uint8_t>> hidden(rows, std::vector<std::uint8_t>(columns, 0));
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c)
      hidden[r][c] = counts[r][c] > 0 && counts[r][c] < least ? 1 : 0;
  }
  // One line of cells, a row or a column: hides the smallest that is shown where its hidden ones are too few or too
  // small.
  const auto complete = [&](std::size_t length, const auto& cell) {
    std::int64_t sum = 0;
    std::size_t found = 0;
    std::optional<std::size_t> next;
    for (std::size_t i = 0; i < length; ++i) {
      const auto [r, c] = cell(i);
      if (hidden[r][c] != 0) {
        sum += counts[r][c];
        ++found;
      } else if (!next || counts[r][c] < counts[cell(*next).first][cell(*next).second]) {
        next = i;
      }
    }
    if (found == 0 || (found > 1 && sum >= least) || !next) return false;
    const auto [r, c] = cell(*next);
    hidden[r][c] = 1;
    return true;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t r = 0; r < rows; ++r)
      changed |= complete(columns, [&](std::size_t i) { return std::pair{r, i}; });
    for (std::size_t c = 0; c < columns; ++c)
      changed |= complete(rows, [&](std::size_t i) { return std::pair{i, c}; });
  }
  return hidden;
}

std::vector<StateGroupCell> states_by_group(const StateFlows& flows, const std::vector<std::vector<Id>>& paths,
                                            const StudentGroups& groups, std::int64_t min_cell) {
  std::vector<std::int64_t> size(groups.names.size(), 0);
  for (const Id group : groups.of_student) {
    if (group >= 0) ++size[static_cast<std::size_t>(group)];
  }
  std::vector<std::size_t> large;
  for (std::size_t g = 0; g < size.size(); ++g) {
    if (size[g] >= min_cell) large.push_back(g);
  }
  std::vector<StateGroupCell> cells;
  for (std::size_t first = 0; first < flows.nodes.size();) {
    const Id step = flows.nodes[first].step;
    std::size_t last = first;
    while (last < flows.nodes.size() && flows.nodes[last].step == step)
      ++last;
    std::vector<std::vector<std::int64_t>> counts(last - first, std::vector<std::int64_t>(large.size(), 0));
    for (std::size_t n = first; n < last; ++n) {
      const std::vector<Id>& states = flows.nodes[n].states;
      for (std::size_t s = 0; s < paths.size(); ++s) {
        if (std::ranges::find(states, paths[s][static_cast<std::size_t>(step)]) == states.end()) continue;
        const auto group = std::ranges::find(large, static_cast<std::size_t>(groups.of_student[s]));
        if (group != large.end()) ++counts[n - first][static_cast<std::size_t>(group - large.begin())];
      }
    }
    const auto hidden = hidden_cells(counts, min_cell);
    for (std::size_t n = first; n < last; ++n) {
      for (std::size_t g = 0; g < large.size(); ++g)
        cells.push_back({n, groups.names[large[g]], hidden[n - first][g] != 0, counts[n - first][g], size[large[g]],
                         static_cast<std::int64_t>(std::llround(flows.nodes[n].students))});
    }
    first = last;
  }
  return cells;
}

namespace {

/// Who is in each state.
class StateGroupsAnswer : public Answer {
 public:
  StateGroupsAnswer(const QueryInput& input, std::string by, const StateNameSettings& names, const MinCell& min_cell)
      : schema_(input.model().schema()),
        states_(*input.model().hidden_states()),
        by_(std::move(by)),
        min_cell_(min_cell.count) {
    if (input.cohort == nullptr)
      throw OptionError(concat(setting_name("by"), " needs a COHORT: the model knows no groups"));
    min_cell.require(input.cohort->student_count());
    const StudentGroups groups = groups_of(*input.cohort, by_);
    const auto paths = states_.paths(EvidenceBatch::of(*input.cohort), input.compute);
    flows_ = flows_of(count_paths(paths), input.model(), min_cell_, given_names(input.model(), names));
    cells_ = states_by_group(flows_, paths, groups, min_cell_);
    if (cells_.empty())
      throw PrivacyError(concat(setting_name("by"), " ", by_, ": no group has ", min_cell_, " students"));
    students_ = std::ssize(paths);
  }

  nlohmann::ordered_json to_json() const override {
    return {{"by", by_}, {"students", students_}, {"min_cell", min_cell_}, {"rows", table().to_json()}};
  }
  Table table() const override {
    Table rows({{"period"},
                {"state"},
                {"name"},
                {"group"},
                {"students"},
                {"share", 3},
                {"low", 3},
                {"high", 3},
                {"of_state", 3},
                {"of_state_low", 3},
                {"of_state_high", 3}});
    for (const StateGroupCell& cell : cells_) {
      const PathNode& node = flows_.nodes[cell.node];
      std::vector<Cell> row = {period_of(states_, schema_, node.step),
                               node.states.size() == 1 ? std::to_string(node.states.front()) : "other", node.name,
                               cell.group};
      if (cell.hidden) {
        row.resize(rows.columns().size());
      } else {
        const Interval share = share_interval(cell.students, cell.group_students);
        const Interval of_state = share_interval(cell.students, cell.state_students);
        row.insert(row.end(), {cell.students, cell.share(), share.low, share.high, cell.share_of_state(), of_state.low,
                               of_state.high});
      }
      rows.add_row(std::move(row));
    }
    return rows;
  }
  void print(std::ostream& out) const override {
    Table rows({{"period"}, {"state"}, {by_}, {"students"}, {"of the group"}, {"of the state"}});
    const auto words = [](double share, const Interval& interval) {
      return concat(fixed(100 * share, 1), " % (", fixed(100 * interval.low, 1), " to ", fixed(100 * interval.high, 1),
                    ")");
    };
    for (const StateGroupCell& cell : cells_) {
      const PathNode& node = flows_.nodes[cell.node];
      std::vector<Cell> row = {period_of(states_, schema_, node.step), node.name, cell.group};
      if (cell.hidden)
        row.insert(row.end(), {Cell(), std::string("withheld"), Cell()});
      else
        row.insert(row.end(), {cell.students, words(cell.share(), share_interval(cell.students, cell.group_students)),
                               words(cell.share_of_state(), share_interval(cell.students, cell.state_students))});
      rows.add_row(std::move(row));
    }
    rows.print_text(out);
  }
  std::vector<std::string> notes() const override {
    return {concat("the most likely states of ", counted(students_, "student", "students"), ", groups of ", min_cell_,
                   " or more; 95 % intervals; withheld: cells of fewer than ", min_cell_,
                   ", and those that would tell of them")};
  }

 private:
  const Schema& schema_;
  const HiddenStates& states_;
  std::string by_;
  std::int64_t min_cell_, students_ = 0;
  StateFlows flows_;
  std::vector<StateGroupCell> cells_;
};

}  // namespace

std::unique_ptr<Answer> answer_state_groups(const QueryInput& input, const std::string& by,
                                            const StateNameSettings& names, const MinCell& min_cell) {
  return std::make_unique<StateGroupsAnswer>(input, by, names, min_cell);
}

}  // namespace desirepath::inline queries
