#include "desirepath/queries/state_groups.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <nlohmann/json.hpp>

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/disclosure/disclosure.h"
#include "desirepath/queries/node_groups.h"
#include "desirepath/queries/pathways.h"

namespace desirepath::inline queries {

ShareOf::ShareOf(std::int64_t count, std::int64_t whole)
    : share(static_cast<double>(count) / static_cast<double>(whole)) {
  const Interval interval = share_interval(share, static_cast<double>(whole));
  low = interval.low;
  high = interval.high;
}

std::optional<ShareOf> StateGroupCell::of_group() const {
  return hidden || !has_share ? std::nullopt : std::optional(ShareOf(students, group_students));
}

std::optional<ShareOf> StateGroupCell::of_state() const {
  return hidden ? std::nullopt : std::optional(ShareOf(students, state_students));
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
      cells.back().period = flows.periods[step];
      cells.back().state = node.states.size() == 1 ? std::to_string(node.states.front()) : "other";
      cells.back().name = node.name;
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

Table cell_table(std::vector<StateGroupCell> cells, const std::string& by, double most_q) {
  using Row = StateGroupCell;
  using Part = std::optional<ShareOf> (Row::*)() const;
  const auto value = [](Part part, double ShareOf::*wanted) {
    return [=](const Row& row) {
      const std::optional<ShareOf> found = (row.*part)();
      return found ? std::optional((*found).*wanted) : std::nullopt;
    };
  };
  const auto words = [](const std::optional<ShareOf>& part) {
    return !part ? std::string("-")
                 : concat(fixed(100 * part->share, 1), " % (", fixed(100 * part->low, 1), " to ",
                          fixed(100 * part->high, 1), ")");
  };
  const auto compared = [](const Row& row) { return value_if(row.q.has_value(), compared_word(row.is_more ? 1 : -1)); };
  const auto group_words = [=](const Row& row) {
    if (row.of_group()) return words(row.of_group());
    return row.hidden && row.q ? concat("withheld (", *compared(row), " than others)") : std::string("withheld");
  };
  const auto rounded = [](const std::optional<double>& q) { return q ? std::optional(rounded_chance(*q)) : q; };
  const Look share_for_programs = share(3, {.shown = Shown::to_programs});
  return {std::move(cells),
          {{"period", &Row::period},
           {"state", &Row::state, {.shown = Shown::to_programs}},
           {"name", &Row::name, {.title = "state"}},
           {"group", &Row::group, {.title = by}},
           {"students", [](const Row& row) { return value_if(!row.hidden, row.students); }, {.unit = "students"}},
           {"enrolled",
            [](const Row& row) { return value_if(row.has_share && row.is_of_enrolled, row.group_students); },
            {.unit = "students"}},
           {"share", value(&Row::of_group, &ShareOf::share), share_for_programs},
           {"low", value(&Row::of_group, &ShareOf::low), share_for_programs},
           {"high", value(&Row::of_group, &ShareOf::high), share_for_programs},
           {"of_state", value(&Row::of_state, &ShareOf::share), share_for_programs},
           {"of_state_low", value(&Row::of_state, &ShareOf::low), share_for_programs},
           {"of_state_high", value(&Row::of_state, &ShareOf::high), share_for_programs},
           {"of those enrolled", group_words, {.shown = Shown::to_people}},
           {"of the state", [=](const Row& row) { return words(row.of_state()); }, {.shown = Shown::to_people}},
           {"q", [=](const Row& row) { return rounded(row.q); }, {.decimals = 4, .shown = Shown::to_programs}},
           {"listed_q",
            [=](const Row& row) { return rounded(row.q && *row.q <= most_q ? row.q : std::nullopt); },
            {.title = "q", .decimals = 4, .shown = Shown::to_people}},
           {"compared", compared, {.shown = Shown::to_programs}}}};
}

}  // namespace

Answer answer_state_groups(const QueryInput& input, const std::string& by, const StateNameSettings& names,
                           const ChanceSettings& chance, const Disclosure& disclosure) {
  if (input.cohort == nullptr)
    throw OptionError(concat(setting_name("by"), " needs a COHORT: the model knows no groups"));
  const Model& model = input.model();
  disclosure.require(input.cohort->student_count());
  const StudentGroups groups = groups_of(*input.cohort, by);
  const auto paths = enrolled_paths(*model.hidden_states(), *input.cohort, input.executor);
  const StateFlows flows = flows_of(count_paths(paths), model, disclosure, given_names(model, names));
  const LabelNull null{label_strata(*input.cohort, by), input.stream.child("labels"), input.executor};
  const StateGroups compared = states_by_group(flows, paths, groups, disclosure, null);
  const FindingCount found = compared.chance.cut(chance.q);
  const Table cells = cell_table(compared.cells, by, chance.q);
  Answer answer;
  answer.set({{"by", by}, {"students", std::ssize(paths)}});
  answer.add("periods", step_table(flows));
  answer.set("min_cell", disclosure.least());
  set_findings(answer, found);
  answer.add("rows", cells);
  answer.choose("rows");
  answer.show(cells);
  answer.say(chance_words(found, "difference", "differences"));
  answer.note("the most likely states of ", counted(std::ssize(paths), "student", "students"),
              " in the periods in which they were enrolled, small groups merged; 95 % intervals; withheld: cells "
              "of ",
              disclosure.few(), ", and those that would tell of them");
  answer.note(enrolled_words(flows));
  answer.note("q: where the group differs from all others by more than chance (", setting_name("q"), " ",
              shortest(chance.q), "), against labels permuted among students of the same entry year");
  if (!flows.exact_sizes) {
    answer.note(
        "how many are in a state is withheld, as in 'pathways', and so are all shares: they would tell of the few who "
        "leave it");
  }
  std::vector<std::string> of_all;
  for (const StateGroupCell& cell : compared.cells) {
    if (!cell.is_of_enrolled && (of_all.empty() || of_all.back() != cell.period)) of_all.push_back(cell.period);
  }
  if (!of_all.empty()) {
    answer.note("period ", join(of_all, ", "),
                ": the students who were not enrolled cannot be shown apart; shares are of all students of a "
                "group");
  }
  return answer;
}

}  // namespace desirepath::inline queries
