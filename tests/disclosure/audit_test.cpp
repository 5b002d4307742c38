// The whole output of each verb, as its JSON has it, turned against it: for every small number behind it both nobody
// and enough must remain possible from all that is told.
#include <cmath>
#include <cstdlib>
#include <map>
#include <numeric>
#include <regex>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "disclosure/puzzle.h"
#include "support/example_cohorts.h"
#include "support/fits.h"

#include "desirepath/core/error.h"
#include "desirepath/models/model_file.h"
#include "desirepath/queries/pathways.h"
#include "desirepath/queries/query.h"
#include "desirepath/queries/student_groups.h"
#include "desirepath/reports/cohort_description.h"
#include "desirepath/transcripts/cohort_summary.h"

namespace desirepath::audit_test {
namespace {

using test::Puzzle;
using Json = nlohmann::ordered_json;
constexpr double few = 10;

int rounds() {
  const char* asked = std::getenv("DESIREPATH_AUDITS");
  return asked != nullptr ? std::atoi(asked) : 60;
}

bool is_small(double count) {
  return count > 0 && count < few;
}

void expect_hidden(Puzzle& puzzle, const Puzzle::Terms& terms, const std::string& what) {
  EXPECT_LE(puzzle.least(terms), 0) << what;
  EXPECT_GE(puzzle.largest(terms, 1000), few) << what;
}

/// Courses of very different popularity in three subjects, students of groups of very different sizes.
Cohort uneven_cohort(int round, Id periods) {
  RandomStream stream = RandomStream(42).child(static_cast<std::uint64_t>(round));
  const auto students = static_cast<std::int64_t>(round % 5 == 4 ? 600 + stream.below(900)
                                                                 : 15 + stream.below(round % 3 == 0 ? 40 : 250));
  const Id courses = 4 + static_cast<Id>(stream.below(6));
  std::vector<EnrollmentStatus> status = test::random_cohort({.students = students,
                                                              .courses = courses,
                                                              .periods = periods,
                                                              .taken = 0,
                                                              .unknown = stream.below(2) == 0 ? 0.0 : 0.05,
                                                              .left = stream.below(2) == 0 ? 0.0 : 0.05},
                                                             stream.child("presence"))
                                             .parts()
                                             .status;
  // Those who are not enrolled have every reason there is.
  const bool has_calendar = stream.below(3) > 0;
  for (std::int64_t s = 0; has_calendar && s < students; ++s) {
    using enum EnrollmentStatus;
    const std::span<EnrollmentStatus> own =
        std::span(status).subspan(static_cast<std::size_t>(s * periods), static_cast<std::size_t>(periods));
    const double kind = stream.uniform();
    if (kind < 0.05) own.front() = unknown;
    const auto first = std::ranges::find(own, enrolled);
    const auto last = std::ranges::find(own.rbegin(), own.rend(), enrolled).base();
    if (first == own.end()) continue;
    for (auto here = own.begin(); here != own.end(); ++here) {
      if (*here == enrolled) continue;
      const bool is_over = kind < 0.8 || here + 1 != own.end();
      *here = here < first  ? before_entry
              : here < last ? away
              : !is_over    ? not_yet
              : kind < 0.1  ? away  // and there again after these periods
              : kind < 0.3  ? finished
                            : left;
    }
    if (kind < 0.1) std::replace(last, own.end(), left, away);
  }
  std::vector<Course> list = test::small_schema(courses, periods).courses();
  std::vector<double> share;
  for (std::size_t c = 0; c < list.size(); ++c) {
    list[c].subject = std::string(1, static_cast<char>('A' + static_cast<int>(stream.below(3))));
    const double kind = stream.uniform();
    share.push_back(kind < 0.3 ? 0.02 : kind < 0.4 ? 0.98 : stream.uniform());
  }
  test::CohortMaker made(Schema(list, test::small_schema(courses, periods).periods()));
  Attribute home{"home", {"far", "near", "rare", "rarer"}, {}};
  for (std::int64_t s = 0; s < students; ++s) {
    made.add_student();
    const double lean = 0.5 + stream.uniform();
    for (Id t = 0; t < periods; ++t) {
      made.set(t, status[static_cast<std::size_t>(s * periods + t)]);
      for (Id c = 0; c < courses; ++c) {
        if (stream.uniform() < std::min(0.99, share[static_cast<std::size_t>(c)] * lean)) made.take(t, c);
      }
    }
    const double where = stream.uniform();
    home.codes.push_back(where < 0.6 ? 0 : where < 0.9 ? 1 : where < 0.96 ? 2 : 3);
  }
  return test::changed(made.build(), [&](CohortParts& parts) { parts.attributes = {home}; });
}

StoredModel fitted(const Cohort& cohort, const char* model, int states) {
  FitOptions options(model);
  options.set("states", states).set("iterations", 5).set("restarts", 1);
  return test::fitted(cohort, options, 1);
}

/// What a query says of a model and a cohort, as JSON; nothing where it is refused for privacy.
Json ask(const std::string& name, const StoredModel& stored, const Cohort& cohort, const SettingValues& settings) {
  const Executor executor(1);
  for (const Query& query : query_catalog()) {
    if (query.name != name) continue;
    try {
      return query.ask({stored, &cohort, nullptr, settings, false, false, RandomStream(1), executor}).to_json();
    } catch (const PrivacyError&) {
      return {};
    }
  }
  throw Error("no query " + name);
}

/// Students of each course; of each group of them.
std::vector<double> takers_of(const Cohort& cohort, const std::vector<std::int64_t>& students) {
  std::vector<double> takers(static_cast<std::size_t>(cohort.schema().course_count()), 0);
  for (const std::int64_t s : students) {
    std::set<Id> own;
    for (const Id bit : cohort.bits(s))
      own.insert(cohort.schema().course_of(bit));
    for (const Id c : own)
      ++takers[static_cast<std::size_t>(c)];
  }
  return takers;
}
std::vector<std::int64_t> all_of(const Cohort& cohort) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(cohort.student_count()));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

TEST(Audit, Describe) {
  int hidden = 0, withheld = 0;
  for (int round = 0; round < rounds(); ++round) {
    const Cohort cohort = uneven_cohort(round, 3);
    const Schema& schema = cohort.schema();
    const CohortSummary summary = summarise(cohort);
    const std::string where = "cohort " + std::to_string(round);
    if (const auto none = summary.course_counts.front(); cohort.student_count() - none < 10) {
      EXPECT_THROW(describe_cohort(cohort, Disclosure()), PrivacyError);
      continue;
    }
    const Json disclosed = describe_cohort(cohort, Disclosure()).answer.to_json();
    const auto n = static_cast<double>(cohort.student_count());
    {
      // Courses: takers and enrollments, with the groups' totals.
      Puzzle puzzle;
      std::vector<int> takers, taken;
      std::map<std::string, std::size_t> number;
      for (Id c = 0; c < schema.course_count(); ++c) {
        takers.push_back(puzzle.unknown());
        taken.push_back(puzzle.unknown());
        number[schema.course(c).name] = static_cast<std::size_t>(c);
        puzzle.know({{taken.back(), 1}, {takers.back(), -1}}, 0, 1e6);
        puzzle.know({{taken.back(), -1}, {takers.back(), 3}}, 0, 1e6);
        puzzle.know({{takers.back(), 1}}, 0, n);
      }
      for (const auto& row : disclosed["popular_courses"]) {
        if (!row["students"].is_null())
          puzzle.know({{takers[number.at(row["course"])], 1}}, row["students"].get<double>());
      }
      std::map<std::string, double> groups;
      for (const auto& row : disclosed["enrollments_by_time"]) {
        for (const auto& [name, value] : row.items()) {
          if (value.is_number()) groups[name] += value.get<double>();
        }
      }
      Puzzle::Terms other;
      for (const std::string& subject : std::set<std::string>(summary.groups.begin(), summary.groups.end())) {
        Puzzle::Terms terms;
        for (Id c = 0; c < schema.course_count(); ++c) {
          if (schema.course(c).subject == subject) terms.emplace_back(taken[static_cast<std::size_t>(c)], 1);
        }
        if (groups.contains(subject))
          puzzle.know(terms, groups[subject]);
        else
          other.insert(other.end(), terms.begin(), terms.end());
      }
      if (groups.contains("other")) puzzle.know(other, groups["other"]);
      for (const CohortSummary::CourseCount& entry : summary.popular) {
        const Puzzle::Terms terms = {{takers[static_cast<std::size_t>(entry.course)], 1}};
        if (is_small(static_cast<double>(entry.students))) {
          expect_hidden(puzzle, terms, where + " course " + schema.course(entry.course).name + disclosed.dump());
          ++hidden;
        }
        const bool is_listed = std::ranges::any_of(disclosed["popular_courses"], [&](const Json& row) {
          return row["course"] == schema.course(entry.course).name;
        });
        if (is_listed &&
            is_small(n - static_cast<double>(entry.students))) {  // that they are few is told, not how many
          EXPECT_GE(puzzle.largest(terms, n), n) << where;
          EXPECT_LT(puzzle.least(terms), n - 1) << where;
        }
      }
    }
    {
      // Courses per student: bins, sum, deviation.
      Puzzle puzzle;
      std::vector<int> students;
      const int most = 3 * schema.course_count();
      Puzzle::Terms all, sum, squares;
      for (int v = 0; v <= most; ++v) {
        students.push_back(puzzle.unknown());
        all.emplace_back(students.back(), 1);
        sum.emplace_back(students.back(), v);
        squares.emplace_back(students.back(), v * v);
      }
      puzzle.know(all, n);
      puzzle.know(sum, disclosed["enrollments"].get<double>());
      const Json& spread = disclosed["courses_per_student"];
      const double mean = spread["mean"], sd = spread["sd"].is_null() ? 0 : spread["sd"].get<double>();
      const auto second = [&](double deviation) {
        return n * (std::max(0.0, deviation) * std::max(0.0, deviation) + mean * mean);
      };
      // To a tenth, or to a half, or to a whole: as its digits show.
      const double digit = std::abs(std::remainder(sd, 1)) < 1e-9     ? 1
                           : std::abs(std::remainder(sd, 0.5)) < 1e-9 ? 0.5
                                                                      : 0.1;
      if (sd > 0) puzzle.know(squares, second(sd - digit / 2) - 1e-6, second(sd + digit / 2) + 1e-6);
      withheld += disclosed["students_by_courses"].empty() ? 1 : 0;
      for (const auto& row : disclosed["students_by_courses"]) {
        const std::string label = row["courses"];
        const int first = std::stoi(label);
        const std::size_t dash = label.find('-');
        const int last = label.back() == '+'         ? most
                         : dash == std::string::npos ? first
                                                     : std::stoi(label.substr(dash + 1));
        Puzzle::Terms bin;
        for (int v = first; v <= std::min(last, most); ++v)
          bin.emplace_back(students[static_cast<std::size_t>(v)], 1);
        puzzle.know(bin, row["students"].get<double>());
      }
      for (std::size_t v = 0; v < summary.course_counts.size(); ++v) {
        if (disclosed["students_by_courses"].empty() || !is_small(static_cast<double>(summary.course_counts[v])))
          continue;
        expect_hidden(puzzle, {{students[v], 1}},
                      where + " courses per student " + std::to_string(v) + disclosed.dump());
        ++hidden;
      }
    }
    {
      // Periods: who is enrolled, and why not who is not. Whoever has come, or gone, stays so.
      using enum EnrollmentStatus;
      Puzzle puzzle;
      std::vector<std::map<EnrollmentStatus, int>> count;
      for (std::size_t t = 0; t < 3; ++t) {
        count.emplace_back();
        Puzzle::Terms all, rest;
        const Json& row = disclosed["periods"][t];
        const bool merged = row.contains("not enrolled") || row.contains("otherwise not enrolled");
        for (const EnrollmentStatus status : all_statuses) {
          const int unknown_count = count[t][status] = puzzle.unknown();
          all.emplace_back(unknown_count, 1);
          const std::string name(words_for(status));
          if (!row.contains(name)) {
            rest.emplace_back(unknown_count, 1);
            if (!merged) puzzle.know({{unknown_count, 1}}, 0);
          } else if (row[name].is_number()) {
            puzzle.know({{unknown_count, 1}}, row[name].get<double>());
          }
        }
        puzzle.know(all, n);
        for (const char* name : {"not enrolled", "otherwise not enrolled"}) {
          if (row.contains(name) && row[name].is_number()) puzzle.know(rest, row[name].get<double>());
        }
        EXPECT_EQ(row["enrolled"].is_null(), row["courses per student"].is_null());
        if (t == 0) continue;
        puzzle.know({{count[t - 1][before_entry], 1}, {count[t][before_entry], -1}}, 0, n);
        puzzle.know({{count[t][left], 1},
                     {count[t][finished], 1},
                     {count[t][not_yet], 1},
                     {count[t - 1][left], -1},
                     {count[t - 1][finished], -1},
                     {count[t - 1][not_yet], -1}},
                    0, n);
      }
      for (std::size_t t = 0; t < 3; ++t) {
        const CohortSummary::Period& period = summary.periods[t];
        const std::string place = where + " period " + period.label + disclosed["periods"].dump();
        for (const EnrollmentStatus status : all_statuses) {
          if (!is_small(static_cast<double>(period.students[status]))) continue;
          expect_hidden(puzzle, {{count[t][status], 1}}, place + std::string(words_for(status)));
          ++hidden;
        }
        for (const EnrollmentStatus status : {left, finished, before_entry, not_yet}) {
          const std::int64_t before = t == 0 ? 0 : summary.periods[t - 1].students[status];
          const std::int64_t more = period.students[status] - before;
          if (t == 0 || !is_small(std::abs(static_cast<double>(more)))) continue;
          const double sign = more > 0 ? 1 : -1;
          // Shifted, since a puzzle's unknowns are none or more.
          const int change = puzzle.unknown();
          puzzle.know({{change, 1}, {count[t][status], -sign}, {count[t - 1][status], sign}}, n);
          const std::string what = place + " change of " + std::string(words_for(status));
          EXPECT_LE(puzzle.least({{change, 1}}), n) << what;
          EXPECT_GE(puzzle.largest({{change, 1}}, 2 * n + 1000), n + few) << what;
        }
      }
    }
  }
  EXPECT_GT(hidden, rounds());
  EXPECT_LT(withheld, rounds() / 2);
}

/// What everybody knows of who was enrolled when: first before entry, then enrolled or away, then gone, then not yet.
bool is_possible(const std::vector<Id>& path, Id states) {
  static const std::regex pattern("[BU]*|[BU]*[SU]([AU]*[SU])*([AU]*|([LU]*|[FU]*)[NU]*)");
  static constexpr std::string_view letters = "USLFBAN";  // of the statuses
  std::string word;
  for (const Id place : path)
    word += place < states ? 'S' : letters[static_cast<std::size_t>(place - states)];
  return std::regex_match(word, pattern);
}

/// Unknown students in every (path of places, group).
struct PathPuzzle {
  Puzzle puzzle;
  std::size_t groups;
  std::vector<std::vector<Id>> paths;
  std::vector<int> cells;

  /// `emitting`: states that enrolled students can be in, the first of them.
  PathPuzzle(Id steps, Id emitting, Id states, std::size_t its_groups, bool whole = true)
      : groups(its_groups), paths(1) {
    for (Id t = 0; t < steps; ++t) {
      std::vector<std::vector<Id>> longer;
      for (const std::vector<Id>& path : paths) {
        for (Id place = 0; place < place_count(states); ++place) {
          const bool is_none = place == place_of(EnrollmentStatus::enrolled, states);
          if (is_none || (place >= emitting && place < states)) continue;
          longer.push_back(path);
          longer.back().push_back(place);
        }
      }
      paths = std::move(longer);
    }
    if (whole) std::erase_if(paths, [&](const std::vector<Id>& path) { return !is_possible(path, states); });
    for (std::size_t i = 0; i < paths.size() * groups; ++i)
      cells.push_back(puzzle.unknown());
  }
  template <class Fits>
  Puzzle::Terms sum(const Fits& fits) const {
    Puzzle::Terms terms;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (fits(paths[i / groups], i % groups)) terms.emplace_back(cells[i], 1);
    }
    return terms;
  }
};

TEST(Audit, PathwaysAndStatesByGroup) {
  int hidden = 0, refused = 0, disclosed_flows = 0, disclosed_cells = 0, exact = 0, disclosed_enrolled = 0,
      compared_without_sizes = 0;
  for (int round = 0; round < rounds(); ++round) {
    const Id steps = round % 2 == 0 ? 2 : 3;
    const int states = 3 + round % 2;
    const Cohort cohort = uneven_cohort(round, steps);
    const StoredModel stored = fitted(cohort, "cmm+bernoulli", states);
    const std::string where = "cohort " + std::to_string(round);
    const Executor executor(1);
    const HiddenStates& hidden_states = *stored.model->hidden_states();
    const Id all_states = hidden_states.state_count();
    const Id emitting = all_states - (hidden_states.has_left_state() ? 1 : 0);
    const auto most_likely = hidden_states.paths(EvidenceBatch::of(cohort), executor);
    std::vector<std::vector<Id>> paths;
    for (std::int64_t s = 0; s < cohort.student_count(); ++s) {
      paths.emplace_back();
      for (Id t = 0; t < steps; ++t) {
        paths.back().push_back(cohort.enrolled(s, t)
                                   ? most_likely[static_cast<std::size_t>(s)][static_cast<std::size_t>(t)]
                                   : place_of(cohort.status(s, t), all_states));
      }
      ASSERT_TRUE(is_possible(paths.back(), all_states));
    }
    const Attribute& home = cohort.attribute("home");
    const auto group_of = [&](std::size_t s) { return static_cast<std::size_t>(home.codes[s]); };
    const Json flows = ask("pathways", stored, cohort, {});
    const Json by = ask("pathways", stored, cohort, {{"by", std::string("home")}, {"q", 1.0}});
    const Json cells = ask("states", stored, cohort, {{"by", std::string("home")}});
    ASSERT_FALSE(flows.is_null());
    refused += by.is_null() ? 1 : 0;

    std::vector<std::vector<Id>> node_states;
    std::vector<Id> node_step;
    std::vector<bool> is_enrolled;  // or may be
    const auto read_nodes = [&](const Json& nodes) {
      node_states.clear();
      node_step.clear();
      is_enrolled.clear();
      for (const auto& node : nodes) {
        node_states.push_back(node["states"].get<std::vector<Id>>());
        is_enrolled.push_back(!node_states.back().empty());
        node_step.push_back(cohort.schema().require_period(node["period"].get<std::string>()));
        for (const auto& name : node.value("not_enrolled", Json::array())) {
          const auto status = std::ranges::find(all_statuses, name.get<std::string>(),
                                                [](EnrollmentStatus one) { return std::string(name_of(one)); });
          node_states.back().push_back(place_of(*status, all_states));
        }
      }
    };
    read_nodes(flows["nodes"]);
    const auto in_node = [&](const std::vector<Id>& path, std::size_t n) {
      return std::ranges::find(node_states[n], path[static_cast<std::size_t>(node_step[n])]) != node_states[n].end();
    };
    const auto count = [&](const auto& fits) {
      double sum = 0;
      for (std::size_t s = 0; s < paths.size(); ++s)
        sum += fits(paths[s], group_of(s)) ? 1 : 0;
      return sum;
    };
    // Flows and paths, without groups.
    {
      PathPuzzle unknown(steps, emitting, all_states, 1);
      Puzzle& puzzle = unknown.puzzle;
      puzzle.know(unknown.sum([](const auto&, std::size_t) { return true; }), static_cast<double>(paths.size()));
      exact += flows["node_sizes"] == "exact" ? 1 : 0;
      for (std::size_t n = 0; n < node_states.size(); ++n) {
        const double size = flows["nodes"][n]["students"];
        const bool is_exact = flows["node_sizes"] == "exact" || flows["nodes"][n].value("exact", false);
        puzzle.know(unknown.sum([&](const auto& path, std::size_t) { return in_node(path, n); }), size,
                    is_exact ? size : 1e6);
        EXPECT_LE(size, count([&](const auto& path, std::size_t) { return in_node(path, n); }));
      }
      // Every student is in one node of each step.
      for (const std::vector<Id>& path : paths) {
        for (Id step = 0; step < steps; ++step) {
          int nodes = 0;
          for (std::size_t n = 0; n < node_states.size(); ++n)
            nodes += node_step[n] == step && in_node(path, n) ? 1 : 0;
          EXPECT_EQ(nodes, 1) << where;
        }
      }
      for (Id step = 0; step < steps; ++step) {
        const Json& disclosed = flows["periods"][static_cast<std::size_t>(step)];
        const auto enrolled = [&](const std::vector<Id>& path, std::size_t) {
          return path[static_cast<std::size_t>(step)] < all_states;
        };
        const double real = count(enrolled), said = disclosed["enrolled"];
        EXPECT_LE(said, real) << where;
        EXPECT_TRUE(said == real || !disclosed["exact"].get<bool>()) << where;
        disclosed_enrolled += disclosed["exact"].get<bool>() ? 1 : 0;
        puzzle.know(unknown.sum(enrolled), said, disclosed["exact"].get<bool>() ? said : 1e6);
        const auto others = [&](const std::vector<Id>& path, std::size_t g) { return !enrolled(path, g); };
        if (is_small(real)) expect_hidden(puzzle, unknown.sum(enrolled), where + " enrolled " + flows.dump());
        if (is_small(count(others))) expect_hidden(puzzle, unknown.sum(others), where + " not " + flows.dump());
      }
      for (const auto& link : flows["links"]) {
        const std::size_t from = link["source"], to = link["target"];
        puzzle.know(
            unknown.sum([&](const auto& path, std::size_t) { return in_node(path, from) && in_node(path, to); }),
            link["students"].get<double>());
        ++disclosed_flows;
      }
      for (const auto& path : flows["paths"]) {
        const auto through = path["nodes"].get<std::vector<std::size_t>>();
        puzzle.know(unknown.sum([&](const auto& own, std::size_t) {
          return std::ranges::all_of(through, [&](std::size_t n) { return in_node(own, n); });
        }),
                    path["students"].get<double>());
      }
      for (Id step = 0; step < steps; ++step) {
        for (Id k = 0; k < place_count(all_states); ++k) {
          const auto fits = [&](const std::vector<Id>& path, std::size_t) {
            return path[static_cast<std::size_t>(step)] == k;
          };
          if (!is_small(count(fits))) continue;
          expect_hidden(puzzle, unknown.sum(fits), where + " state");
          ++hidden;
        }
      }
      for (std::size_t from = 0; from < node_states.size(); ++from) {
        for (std::size_t to = 0; to < node_states.size(); ++to) {
          if (node_step[to] != node_step[from] + 1) continue;
          const auto fits = [&](const std::vector<Id>& path, std::size_t) {
            return in_node(path, from) && in_node(path, to);
          };
          if (!is_small(count(fits))) continue;
          expect_hidden(puzzle, unknown.sum(fits),
                        where + " flow " + std::to_string(from) + "-" + std::to_string(to) + " of " +
                            std::to_string(count(fits)) + flows.dump());
          ++hidden;
        }
      }
    }
    // Groups refine the flows: what is told of these is the same with and without them, and shares of groups are told
    // only where the sizes of nodes are.
    if (!by.is_null()) {
      for (const char* part : {"nodes", "links", "paths", "periods", "node_sizes", "withheld_students"})
        EXPECT_EQ(by[part], flows[part]) << where << part;
    }
    if (cells.is_null() || by.is_null()) continue;
    if (flows["node_sizes"] != "exact") {
      for (const Json* rows : {&cells["rows"], &by["groups"]}) {
        for (const auto& row : *rows) {
          for (const char* number :
               {"students", "enrolled", "share", "others", "difference", "low", "high", "of_state"})
            EXPECT_TRUE(!row.contains(number) || row[number].is_null()) << where << number;
        }
      }
      ++compared_without_sizes;
      continue;
    }
    for (Id step = 0; step < steps; ++step) {
      PathPuzzle groups(1, emitting, all_states, home.values.size(), false);
      const auto named = [&](const std::string& name) {
        // "other" stands for all groups that have no name of their own.
        std::set<std::string> names;
        for (const auto& row : cells["rows"])
          names.insert(row["group"].get<std::string>());
        std::set<std::size_t> numbers;
        for (std::size_t g = 0; g < home.values.size(); ++g) {
          if (home.values[g] == name || (name == "other" && !names.contains(home.values[g]))) numbers.insert(g);
        }
        return numbers;
      };
      const auto at_step = [&](std::size_t n, const std::vector<Id>& path) {
        return std::ranges::find(node_states[n], path.front()) != node_states[n].end();
      };
      const auto real = [&](const auto& fits) {
        double sum = 0;
        for (std::size_t s = 0; s < paths.size(); ++s)
          sum += fits(std::vector<Id>{paths[s][static_cast<std::size_t>(step)]}, group_of(s)) ? 1 : 0;
        return sum;
      };
      std::set<std::string> names;
      for (const auto& row : cells["rows"])
        names.insert(row["group"].get<std::string>());
      for (std::size_t n = 0; n < node_states.size(); ++n) {
        if (node_step[n] != step) continue;
        groups.puzzle.know(groups.sum([&](const auto& path, std::size_t) { return at_step(n, path); }),
                           by["nodes"][n]["students"].get<double>());
        for (const auto& row : cells["rows"]) {
          if (!is_enrolled[n]) continue;
          if (row["state"] != (node_states[n].size() == 1 ? std::to_string(node_states[n].front()) : "other") ||
              cohort.schema().require_period(row["period"].get<std::string>()) != step)
            continue;
          const auto members = named(row["group"]);
          if (!row["enrolled"].is_null()) {
            const auto enrolled = [&](const std::vector<Id>& path, std::size_t g) {
              bool is_in = false;
              for (std::size_t m = 0; m < node_states.size(); ++m)
                is_in = is_in || (node_step[m] == step && is_enrolled[m] && at_step(m, path));
              return is_in && members.contains(g);
            };
            groups.puzzle.know(groups.sum(enrolled), row["enrolled"].get<double>());
            EXPECT_EQ(row["enrolled"].get<double>(), real(enrolled)) << where;
          }
          if (row["students"].is_null()) continue;
          groups.puzzle.know(
              groups.sum([&](const auto& path, std::size_t g) { return at_step(n, path) && members.contains(g); }),
              row["students"].get<double>());
          ++disclosed_cells;
        }
      }
      for (const std::string& name : names) {  // their sizes follow from the shares
        const auto members = named(name);
        const auto fits = [&](const std::vector<Id>&, std::size_t g) { return members.contains(g); };
        groups.puzzle.know(groups.sum(fits), real(fits));
      }
      for (std::size_t g = 0; g < home.values.size(); ++g) {
        const auto own = [&](const std::vector<Id>&, std::size_t other) { return other == g; };
        if (is_small(real(own))) expect_hidden(groups.puzzle, groups.sum(own), where + " group " + home.values[g]);
        for (std::size_t n = 0; n < node_states.size(); ++n) {
          if (node_step[n] != step) continue;
          const auto fits = [&](const std::vector<Id>& path, std::size_t other) {
            return other == g && at_step(n, path);
          };
          if (!is_small(real(fits))) continue;
          expect_hidden(groups.puzzle, groups.sum(fits), where + " state by group " + cells.dump());
          ++hidden;
        }
      }
    }
  }
  EXPECT_GT(hidden, rounds());
  EXPECT_GT(disclosed_flows, rounds());
  EXPECT_GT(disclosed_cells, rounds());
  EXPECT_GT(disclosed_enrolled, rounds() / 2);
  EXPECT_LT(refused, rounds());
  EXPECT_GT(exact, rounds() / 20);
  EXPECT_GT(compared_without_sizes, rounds() / 4);
  EXPECT_LT(exact, rounds());
}

TEST(Audit, DelaysPrerequisitesTotalsAndPortraits) {
  int hidden = 0, disclosed_delays = 0, disclosed_pairs = 0, disclosed_courses = 0, disclosed_totals = 0,
      disclosed_subjects = 0;
  for (int round = 0; round < rounds(); ++round) {
    const Cohort cohort = uneven_cohort(round, 3);
    const Schema& schema = cohort.schema();
    const StoredModel stored = fitted(cohort, "nb", 2);
    const std::string where = "cohort " + std::to_string(round);
    const Attribute& home = cohort.attribute("home");
    // Delays: students of each (course, group) there in two periods, all of them.
    const Json delays =
        ask("delays", stored, cohort, {{"by", std::string("home")}, {"q", 1.0}, {"students", std::int64_t{5000}}});
    if (!delays.is_null()) {
      std::vector<std::int64_t> seen;
      for (const std::int64_t s : all_of(cohort)) {
        int there = 0;
        for (Id t = 0; t < 3; ++t)
          there += cohort.enrolled(s, t) ? 1 : 0;
        if (there >= 2) seen.push_back(s);
      }
      const StudentGroups groups = disclosed_groups(groups_of(cohort, "home"), Disclosure());
      const std::set<std::string> names(groups.names.begin(), groups.names.end());
      const std::vector<double> takers = takers_of(cohort, seen);
      for (Id c = 0; c < schema.course_count(); ++c) {
        Puzzle puzzle;
        std::vector<int> unknown;
        Puzzle::Terms all;
        std::vector<double> real(home.values.size(), 0);
        for (std::size_t g = 0; g < home.values.size(); ++g) {
          unknown.push_back(puzzle.unknown());
          all.emplace_back(unknown.back(), 1);
          std::vector<std::int64_t> members;
          for (const std::int64_t s : seen) {
            if (static_cast<std::size_t>(home.codes[static_cast<std::size_t>(s)]) == g) members.push_back(s);
          }
          real[g] = takers_of(cohort, members)[static_cast<std::size_t>(c)];
        }
        bool disclosed = false;
        for (const auto& row : delays["delays"]) {
          if (row["course"] != schema.course(c).name) continue;
          disclosed = true;
          if (row["students"].is_null()) continue;
          const std::string group = row["group"];
          Puzzle::Terms terms;
          for (std::size_t g = 0; g < home.values.size(); ++g) {
            if (home.values[g] == group || (group == "other" && !names.contains(home.values[g])))
              terms.emplace_back(unknown[g], 1);
          }
          puzzle.know(terms, row["students"].get<double>());
          puzzle.know(all, row["students"].get<double>() + row["others"].get<double>());
          ++disclosed_delays;
        }
        if (!disclosed) continue;
        for (std::size_t g = 0; g < home.values.size(); ++g) {
          if (!is_small(real[g])) continue;
          expect_hidden(puzzle, {{unknown[g], 1}}, where + " delays " + delays["delays"].dump());
          ++hidden;
        }
        EXPECT_GE(takers[static_cast<std::size_t>(c)], few) << where;
      }
    }
    // Prerequisites: of the takers, those who had the other before, and those who had not.
    const Json pairs =
        ask("prerequisites", stored, cohort, {{"students", std::int64_t{20}}, {"q", 1.0}, {"least-direct", 0.0}});
    for (const auto& row : pairs["pairs"]) {
      if (row["students"].is_null()) continue;
      const double had = row["students"], coverage = row["coverage"];
      EXPECT_FALSE(is_small(had)) << where;
      // In whole percent: so many may not have had it at most.
      EXPECT_TRUE(coverage == 1 || had / (coverage - 0.005) - had >= few) << where << row;
      ++disclosed_pairs;
    }
    for (const auto& node : pairs["nodes"]) {
      const Id course = schema.require_course(node["course"].get<std::string>());
      EXPECT_GE(takers_of(cohort, all_of(cohort))[static_cast<std::size_t>(course)], few);
      ++disclosed_courses;
    }
    // Totals.
    const Json totals = ask("infer", stored, cohort,
                            {{"total", true},
                             {"known-periods", std::vector<std::string>{"1"}},
                             {"period", std::vector<std::string>{"2", "3"}}});
    for (const auto& row : totals["courses"]) {
      EXPECT_FALSE(is_small(row["expected"].get<double>() - 1e-6)) << where;
      EXPECT_FALSE(is_small(static_cast<double>(cohort.student_count()) - row["expected"].get<double>())) << where;
      ++disclosed_totals;
    }
    // Portraits: enrollments of each subject, of who is most and least typical.
    const Json score = ask("score", stored, cohort, {{"contrast", 0.4}});
    for (const char* name : {"most_typical", "least_typical"}) {
      if (!score.contains(name)) continue;
      const double n = score[name]["students"];
      EXPECT_GE(n, few);
      for (const auto& row : score[name]["most_taken"]) {
        const double took = std::round(row["share"].get<double>() * n);
        EXPECT_FALSE(is_small(took)) << where;
        EXPECT_FALSE(is_small(n - took)) << where;
        ++hidden;
      }
      // Without its name a subject may be anything: those told by name have enough enrollments.
      const Json subjects = score[name].value("courses_by_subject", Json::object());
      for (const auto& [subject, mean] : subjects.items()) {
        if (mean.is_null()) continue;  // withheld
        EXPECT_FALSE(is_small(std::round(mean.get<double>() * n))) << where << subject;
        ++disclosed_subjects;
      }
    }
  }
  EXPECT_GT(hidden, rounds());
  // Each of these tells enough for the checks above to mean something.
  EXPECT_GT(disclosed_delays, rounds() / 10);
  EXPECT_GT(disclosed_pairs, rounds() / 20);
  EXPECT_GT(disclosed_courses, rounds() / 10);
  EXPECT_GT(disclosed_totals, rounds() / 10);
  EXPECT_GT(disclosed_subjects, rounds() / 10);
}

}  // namespace
}  // namespace desirepath::audit_test
