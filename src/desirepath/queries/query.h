// A question of a model (and students): what it is called, its settings, and how it is answered.
//
// Every query is a function of its input to an Answer. Front ends go through the catalog and name none.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "desirepath/core/answer.h"
#include "desirepath/core/progress.h"
#include "desirepath/core/random_stream.h"
#include "desirepath/core/settings.h"
#include "desirepath/models/model_file.h"

namespace desirepath::inline queries {

/// What a query is asked with.
struct QueryInput {
  const StoredModel& stored;
  const Cohort* cohort = nullptr;        // through the model's schema; null: none was given
  const EvidenceBatch* given = nullptr;  // what a table of evidence says; null: none was given
  const SettingValues& settings;
  bool students_wanted = false;  // student by student, where the query knows both
  bool for_people = true;        // words, not JSON or CSV: the most telling part is enough
  RandomStream stream;           // what is drawn
  const Executor& executor;
  ProgressSink progress = {};

  const Model& model() const { return *stored.model; }
  template <class Settings>
  Settings read() const {
    auto read = settings_from<Settings>(settings);
    if constexpr (requires { read.disclosure; }) read.disclosure = read.disclosure.bound_to(min_cell());
    return read;
  }
  /// The bound of the students asked about, or, where nobody is, of those the model was trained on.
  std::optional<std::int64_t> min_cell() const;
};

enum class CohortUse { none, optional, required };

struct Query {
  std::string name;
  std::string what;
  std::vector<std::string> examples;  // runnable as they stand
  CohortUse cohort = CohortUse::required;
  std::string cohort_help;
  SettingDeclaration settings;
  std::function<Answer(const QueryInput&)> ask;
  bool takes_evidence = false;  // a table of it, in place of a cohort
};

/// The queries there are.
std::span<const Query> query_catalog();

/// The hidden states; throws OptionError that names a model that has them.
const HiddenStates& require_states(const Model& model, std::string_view query);

}  // namespace desirepath::inline queries
