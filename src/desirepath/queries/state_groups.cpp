#include "desirepath/queries/state_groups.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <nlohmann/json.hpp>

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/disclosure/disclosure.h"
#include "desirepath/queries/enrolled_steps.h"
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

StateGroups states_by_group(const StateFlows& flows, const std::vector<std::vector<Id>>& paths,
                            const StudentGroups& groups, const Disclosure& disclosure, const LabelNull& null) {
  const NodeGroups counted = count_groups(flows, paths, groups, disclosure);
  std::vector<StateGroupCell> cells;
  std::vector<GroupDifferences::Cell> disclosed;
  std::vector<std::size_t> judged;
  for (std::size_t n = 0; n < flows.nodes.size(); ++n) {
    const PathNode& node = flows.nodes[n];
    if (node.kind == NodeKind::not_enrolled) continue;
    const auto step = static_cast<std::size_t>(node.step);
    const std::vector<double>& enrolled = counted.enrolled[step];
    const double in_all = std::accumulate(counted.counts[n].begin(), counted.counts[n].end(), 0.0);
    const double all = std::accumulate(enrolled.begin(), enrolled.end(), 0.0);
    for (std::size_t g = 0; g < counted.sizes.size(); ++g) {
      const double inside = counted.counts[n][g], size = enrolled[g];
      cells.push_back({n, counted.groups.names[g], counted.hidden[n][g] != 0,
                       node.kind == NodeKind::states && counted.shares[step] != StepShares::none &&
                           counted.hidden_enrolled[step][g] == 0 && counted.enrolled[step][g] > 0,
                       counted.shares[step] == StepShares::of_enrolled, std::llround(counted.counts[n][g]),
                       std::llround(counted.enrolled[step][g]), std::llround(node.students)});
      cells.back().is_more = inside * (all - size) > (in_all - inside) * size;
      const bool rests = std::ranges::all_of(
          std::initializer_list<double>{inside, size - inside, in_all - inside, all - size - (in_all - inside)},
          [&](double count) { return disclosure.rests(count); });
      const bool is_judged = flows.exact_sizes ? !cells.back().hidden : rests && node.kind == NodeKind::states;
      if (!is_judged) continue;
      judged.push_back(cells.size() - 1);
      disclosed.push_back({n, g});
    }
  }
  auto chance = node_differences(flows, paths, counted.groups, null.strata).chance(disclosed, null);
  for (std::size_t i = 0; i < judged.size(); ++i)
    cells[judged[i]].q = chance.q[i];
  return {std::move(cells), std::move(chance.findings)};
}

namespace {

/// Who is in each state.
class StateGroupsAnswer : public Answer {
 public:
  StateGroupsAnswer(const QueryInput& input, std::string by, const StateNameSettings& names,
                    const ChanceSettings& chance, const Disclosure& disclosure)
      : schema_(input.model().schema()),
        states_(*input.model().hidden_states()),
        by_(std::move(by)),
        most_q_(chance.q),
        disclosure_(disclosure) {
    if (input.cohort == nullptr)
      throw OptionError(concat(setting_name("by"), " needs a COHORT: the model knows no groups"));
    disclosure.require(input.cohort->student_count());
    const StudentGroups groups = groups_of(*input.cohort, by_);
    const auto paths = enrolled_paths(states_, *input.cohort, input.executor);
    flows_ = flows_of(count_paths(paths), input.model(), disclosure_, given_names(input.model(), names));
    const LabelNull null{label_strata(*input.cohort, by_), RandomStream(input.seed).child("labels"), input.executor};
    StateGroups compared = states_by_group(flows_, paths, groups, disclosure_, null);
    cells_ = std::move(compared.cells);
    found_ = compared.chance.cut(most_q_);
    students_ = std::ssize(paths);
  }

  nlohmann::ordered_json to_json() const override {
    return {{"by", by_},
            {"students", students_},
            {"periods", step_json(flows_, states_, schema_)},
            {"min_cell", disclosure_.least()},
            {"findings", found_.findings},
            {"by_chance", rounded_chance(found_.by_chance)},
            {"rows", table().to_json()}};
  }
  Table table() const override {
    Table rows({{"period"},
                {"state"},
                {"name"},
                {"group"},
                {"students"},
                {"enrolled"},
                {"share", 3},
                {"low", 3},
                {"high", 3},
                {"of_state", 3},
                {"of_state_low", 3},
                {"of_state_high", 3},
                {"q", 4},
                {"compared"}});
    for (const StateGroupCell& cell : cells_) {
      const PathNode& node = flows_.nodes[cell.node];
      std::vector<Cell> row = {period_of(states_, schema_, node.step),
                               node.states.size() == 1 ? std::to_string(node.states.front()) : "other", node.name,
                               cell.group};
      row.resize(rows.columns().size());
      if (cell.has_share && cell.is_of_enrolled) row[5] = cell.group_students;
      if (!cell.hidden) {
        row[4] = cell.students;
        if (cell.has_share) {
          const Interval share = share_interval(cell.students, cell.group_students);
          row[6] = cell.share(), row[7] = share.low, row[8] = share.high;
        }
        const Interval of_state = share_interval(cell.students, cell.state_students);
        row[9] = cell.share_of_state(), row[10] = of_state.low, row[11] = of_state.high;
      }
      if (cell.q) row[12] = rounded_chance(*cell.q), row[13] = std::string(compared_word(cell.is_more ? 1 : -1));
      rows.add_row(std::move(row));
    }
    return rows;
  }
  void print(std::ostream& out) const override {
    Table rows(
        {{"period"}, {"state"}, {by_}, {"students"}, {"enrolled"}, {"of those enrolled"}, {"of the state"}, {"q", 4}});
    const auto words = [](double share, const Interval& interval) {
      return concat(fixed(100 * share, 1), " % (", fixed(100 * interval.low, 1), " to ", fixed(100 * interval.high, 1),
                    ")");
    };
    for (const StateGroupCell& cell : cells_) {
      const PathNode& node = flows_.nodes[cell.node];
      std::vector<Cell> row = {period_of(states_, schema_, node.step), node.name, cell.group};
      row.insert(row.end(), {cell.hidden ? Cell() : Cell(cell.students),
                             cell.has_share && cell.is_of_enrolled ? Cell(cell.group_students) : Cell(),
                             std::string("withheld"), Cell(), Cell()});
      if (!cell.hidden) {
        if (cell.has_share) row[5] = words(cell.share(), share_interval(cell.students, cell.group_students));
        row[6] = words(cell.share_of_state(), share_interval(cell.students, cell.state_students));
      } else if (cell.q) {
        row[5] = concat("withheld (", compared_word(cell.is_more ? 1 : -1), " than others)");
      }
      if (cell.q && *cell.q <= most_q_) row[7] = rounded_chance(*cell.q);
      rows.add_row(std::move(row));
    }
    rows.print_text(out);
    out << chance_words(found_, "difference", "differences") << '\n';
  }
  std::vector<std::string> notes() const override {
    std::vector<std::string> lines = {
        concat("the most likely states of ", counted(students_, "student", "students"),
               " in the periods in which they were enrolled, small groups merged; 95 % intervals; withheld: cells of ",
               disclosure_.few(), ", and those that would tell of them"),
        enrolled_words(flows_, states_, schema_)};
    lines.push_back(concat("q: where the group differs from all others by more than chance (", setting_name("q"), " ",
                           shortest(most_q_), "), against labels permuted among students of the same entry year"));
    if (!flows_.exact_sizes) {
      lines.emplace_back(
          "how many are in a state is withheld, as in 'pathways', and so are all shares: they would tell of the few "
          "who "
          "leave it");
    }
    std::vector<std::string> of_all;
    for (const StateGroupCell& cell : cells_) {
      const std::string period = period_of(states_, schema_, flows_.nodes[cell.node].step);
      if (!cell.is_of_enrolled && (of_all.empty() || of_all.back() != period)) of_all.push_back(period);
    }
    if (!of_all.empty()) {
      lines.push_back(
          concat("period ", join(of_all, ", "),
                 ": the students who were not enrolled cannot be shown apart; shares are of all students of "
                 "a group"));
    }
    return lines;
  }

 private:
  const Schema& schema_;
  const HiddenStates& states_;
  std::string by_;
  double most_q_;
  Disclosure disclosure_;
  std::int64_t students_ = 0;
  StateFlows flows_;
  std::vector<StateGroupCell> cells_;
  FindingCount found_;
};

}  // namespace

std::unique_ptr<Answer> answer_state_groups(const QueryInput& input, const std::string& by,
                                            const StateNameSettings& names, const ChanceSettings& chance,
                                            const Disclosure& disclosure) {
  return std::make_unique<StateGroupsAnswer>(input, by, names, chance, disclosure);
}

}  // namespace desirepath::inline queries
