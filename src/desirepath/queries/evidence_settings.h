// What is known of the students a question is about, as people say it: a table of evidence, a cohort or some of its
// students, single courses.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "desirepath/queries/query.h"

namespace desirepath::inline queries {

struct EvidenceSettings {
  std::vector<std::string> took, not_taken, given, student, known_periods;

  void declare(SettingVisitor& visit);
};

/// Of the evidence table, else the cohort, else one student of whom nothing is known; then the single courses and what
/// is given of attributes and outcomes, for every student. Where only some periods are known, no outcome is; where
/// traits are asked about, neither they nor outcomes are, unless they are given. Throws OptionError for an unknown
/// student or period, InputError for a course that is not there and for courses that contradict each other or the
/// record.
EvidenceBatch what_is_known(const QueryInput& input, const EvidenceSettings& settings,
                            std::span<const Id> asked_traits = {});

/// The bit "COURSE@PERIOD" names; of a model of one period "COURSE" does. Throws InputError that names the nearest.
Id parse_bit(const Schema& schema, const std::string& text);
/// The periods named; throws InputError.
std::vector<Id> parse_periods(const Schema& schema, const std::vector<std::string>& names);

/// Students of whom nothing is known, numbered from 1.
EvidenceBatch nothing_known(const Schema& schema, std::int64_t students);
/// p(bit = 1) of every bit before anything is known.
Vector usual_shares(const Model& model, const Executor& executor);
/// All that is known of a student, under the same name.
void add_student(EvidenceBuilder& rows, const EvidenceBatch& from, std::int64_t student);

/// Throws InputError where a student's evidence has probability 0 under the model.
void require_possible(const Model& model, const EvidenceBatch& evidence, const Executor& executor);

}  // namespace desirepath::inline queries
