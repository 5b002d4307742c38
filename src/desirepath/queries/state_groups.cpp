#include "desirepath/queries/state_groups.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/disclosure/disclosure.h"
#include "desirepath/queries/node_groups.h"

namespace desirepath::inline queries {

Interval share_interval(std::int64_t count, std::int64_t of) {
  constexpr double z = 1.959963984540054;
  const auto n = static_cast<double>(of);
  const double p = static_cast<double>(count) / n, spread = z * z / n;
  const double centre = (p + spread / 2) / (1 + spread);
  const double half = z * std::sqrt(p * (1 - p) / n + spread / (4 * n)) / (1 + spread);
  return {std::max(0.0, centre - half), std::min(1.0, centre + half)};
}

std::vector<StateGroupCell> states_by_group(const StateFlows& flows, const std::vector<std::vector<Id>>& paths,
                                            const StudentGroups& groups, const Disclosure& disclosure) {
  const NodeGroups counted = count_groups(flows, paths, groups, disclosure);
  std::vector<StateGroupCell> cells;
  for (std::size_t n = 0; n < flows.nodes.size(); ++n) {
    for (std::size_t g = 0; g < counted.sizes.size(); ++g)
      cells.push_back({n, counted.groups.names[g], counted.hidden[n][g] != 0, std::llround(counted.counts[n][g]),
                       std::llround(counted.sizes[g]), std::llround(flows.nodes[n].students)});
  }
  return cells;
}

namespace {

/// Who is in each state.
class StateGroupsAnswer : public Answer {
 public:
  StateGroupsAnswer(const QueryInput& input, std::string by, const StateNameSettings& names,
                    const Disclosure& disclosure)
      : schema_(input.model().schema()),
        states_(*input.model().hidden_states()),
        by_(std::move(by)),
        disclosure_(disclosure) {
    if (input.cohort == nullptr)
      throw OptionError(concat(setting_name("by"), " needs a COHORT: the model knows no groups"));
    disclosure.require(input.cohort->student_count());
    const StudentGroups groups = groups_of(*input.cohort, by_);
    const auto paths = states_.paths(EvidenceBatch::of(*input.cohort), input.compute);
    flows_ =
        flows_of(count_paths(paths), input.model(), disclosure_, given_names(input.model(), names), NodeSizes::exact);
    cells_ = states_by_group(flows_, paths, groups, disclosure_);
    students_ = std::ssize(paths);
  }

  nlohmann::ordered_json to_json() const override {
    return {{"by", by_}, {"students", students_}, {"min_cell", disclosure_.least()}, {"rows", table().to_json()}};
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
    return {concat("the most likely states of ", counted(students_, "student", "students"),
                   ", small groups merged; 95 % intervals; withheld: cells of ", disclosure_.few(),
                   ", and those that would tell of them")};
  }

 private:
  const Schema& schema_;
  const HiddenStates& states_;
  std::string by_;
  Disclosure disclosure_;
  std::int64_t students_ = 0;
  StateFlows flows_;
  std::vector<StateGroupCell> cells_;
};

}  // namespace

std::unique_ptr<Answer> answer_state_groups(const QueryInput& input, const std::string& by,
                                            const StateNameSettings& names, const Disclosure& disclosure) {
  return std::make_unique<StateGroupsAnswer>(input, by, names, disclosure);
}

}  // namespace desirepath::inline queries
