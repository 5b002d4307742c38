// The paper's inference task (4.2): a middle period from the others, for the courses most often taken in it.
#pragma once

#include <vector>

#include "desirepath/disclosure/disclosure.h"
#include "desirepath/models/model.h"
#include "desirepath/queries/chance.h"

namespace desirepath::inline queries {

struct InferenceTask {
  Id period = 1;            // the one asked for
  std::vector<Id> known;    // the periods given; empty: the first and the last
  std::size_t courses = 5;  // most common in that period among the training students
};

/// Answers of about the same probability, and how often they came true.
struct CalibrationBin {
  double predicted = 0;  // mean
  double observed = 0;   // share
  std::int64_t answers = 0;
  std::vector<std::int64_t> students = {};  // whose answers they are, each once, ascending

  /// Of the share, as if answers were independent.
  Interval interval() const { return share_interval(observed, static_cast<double>(answers)); }
};
Table calibration_table(std::vector<CalibrationBin> bins, int decimals);

struct InferenceScore {
  double accuracy = 0;          // share of (student, common course) answered right at 1/2
  double most_frequent = 0;     // the same by always giving the more frequent answer of training
  double cross_entropy = 0;     // nats a student, all courses of the period
  double marginal_entropy = 0;  // the same by training shares alone
  /// The least probability of an answer that counts in both: half a student in those that trained and one more, so that
  /// a share of 0 is not infinitely wrong. Say it where they are shown.
  double least_probability = 0;
  std::int64_t students = 0;            // present in all the periods of the task
  std::vector<double> student_entropy;  // cross-entropy of each
  std::vector<CalibrationBin> bins;     // ten of equal width, over all courses of the period
};

/// Neighbouring bins together until each has the answers of enough different students and tells of no few that came
/// true, or did not. None where all of them together do not.
std::vector<CalibrationBin> merge_calibration_bins(const std::vector<CalibrationBin>& bins,
                                                   const Disclosure& disclosure);

/// `training` says what is common; `students` are asked about.
InferenceScore infer_period(const Model& model, const Cohort& training, const Cohort& students,
                            const InferenceTask& task, const Executor& executor,
                            Conditioning conditioning = Conditioning::linear);

}  // namespace desirepath::inline queries
