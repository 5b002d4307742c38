#include "desirepath/queries/student_scores.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include <nlohmann/json.hpp>

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"

namespace desirepath::inline queries {

StudentScores score_students(const Model& model, const EvidenceBatch& evidence, LikelihoodKind kind,
                             const Compute& compute, const std::vector<double>& weights, Precision precision) {
  return summarize_scores(model.log_likelihood(evidence, kind, compute, precision), kind, weights);
}

StudentScores summarize_scores(const Estimates& estimates, LikelihoodKind kind, const std::vector<double>& weights) {
  StudentScores score;
  score.kind = kind;
  const Index students = estimates.value.rows();
  const auto weight_of = [&](Index s) { return weights.empty() ? 1 : weights[static_cast<std::size_t>(s)]; };
  double count = 0, sum = 0, squares = 0, error = 0;
  for (Index s = 0; s < students; ++s) {
    const double value = estimates.value(s, 0), weight = weight_of(s);
    score.log_likelihood.push_back(value);
    if (!estimates.is_exact()) score.standard_error.push_back(estimates.standard_error(s, 0));
    if (!(weight > 0)) continue;
    if (!std::isfinite(value)) {
      ++score.impossible;
      continue;
    }
    count += weight;
    sum += weight * value;
    if (!estimates.is_exact()) error += weight * estimates.standard_error(s, 0);
  }
  if (!(count > 0)) return score;
  score.mean_of_possible = sum / count;
  for (Index s = 0; s < students; ++s) {
    const double distance = estimates.value(s, 0) - score.mean_of_possible;
    if (std::isfinite(distance)) squares += weight_of(s) * distance * distance;
  }
  const double spread = count > 1 ? squares / (count - 1) / count : 0;
  // Students are independent; errors of their estimates, a common bias or common draws, are not.
  score.standard_error_of_mean = std::hypot(std::sqrt(spread), error / count);
  return score;
}

namespace {

struct ScoreSettings {
  std::optional<std::string> likelihood;
  Precision precision = Precision::quick;
  bool leave_one_out = false;
  std::string weights;

  void declare(SettingVisitor& visit) {
    visit(Setting("likelihood", "mass, density or lower_bound (mass where the model has it)").taking("KIND"),
          likelihood);
    visit(Setting("precision",
                  "where a likelihood has no closed form: a quick approximation; sampled with a standard error, ten "
                  "times slower and more; or fitted, of whole covariances their fit by 8 factors, a hundred times "
                  "faster and nats too low"),
          precision);
    visit(Setting("leave-one-out",
                  "each student by a model of all others: one EM step from the model towards the one trained without "
                  "the student, not all the way. COHORT is the one the model was trained on; for the emission "
                  "bernoulli (tree, gaussian and probit have none yet)"),
          leave_one_out);
    visit(Setting("weights", "student attribute that weighs each student in the mean").taking("COLUMN"), weights);
  }
};

LikelihoodKind choose_kind(const std::optional<std::string>& name, const Model& model) {
  std::vector<std::string> names;
  for (const LikelihoodKind kind : model.likelihood_kinds()) {
    if (!name || name_of(kind) == *name) return kind;
    names.emplace_back(name_of(kind));
  }
  throw OptionError(concat(setting_name("likelihood"), " ", *name, ": this model has ", join(names, ", ")));
}

/// Share of the students at or under each one's value, in percent.
std::vector<double> percentiles(const std::vector<double>& values) {
  std::vector<double> sorted = values;
  std::ranges::sort(sorted);
  std::vector<double> result;
  for (const double value : values) {
    const auto at_or_under = std::ranges::upper_bound(sorted, value) - sorted.begin();
    result.push_back(100 * static_cast<double>(at_or_under) / static_cast<double>(sorted.size()));
  }
  return result;
}

class ScoreAnswer : public Answer {
 public:
  ScoreAnswer(std::vector<std::string> students, StudentScores scores, std::optional<StudentScores> with_student,
              std::string note)
      : students_(std::move(students)),
        scores_(std::move(scores)),
        with_student_(std::move(with_student)),
        note_(std::move(note)) {}

  nlohmann::ordered_json to_json() const override {
    nlohmann::ordered_json json;
    json["students"] = students_.size();
    json["mean_log_likelihood"] = scores_.mean();  // null where one is impossible
    json["standard_error"] = scores_.standard_error_of_mean;
    json["likelihood_kind"] = std::string(name_of(scores_.kind));
    if (with_student_) {
      json["leave_one_out"] = left_out;
      json["mean_with_student"] = with_student_->mean();
    }
    json["impossible_students"] = scores_.impossible;
    if (!note_.empty()) json["note"] = note_;
    if (scores_.impossible > 0) {
      json["mean_of_possible_students"] = scores_.mean_of_possible;
      json["reason"] = "some students' evidence has probability 0 under the model";
    }
    return json;
  }

  Table table() const override {
    const std::vector<double> percentile = percentiles(scores_.log_likelihood);
    std::vector<TableColumn> columns = {{"student"}, {"log_likelihood"}, {"percentile"}};
    if (!scores_.standard_error.empty()) columns.push_back({"standard_error"});
    if (with_student_) columns.push_back({"with_student"});
    Table rows(std::move(columns));
    for (std::size_t s = 0; s < percentile.size(); ++s) {
      std::vector<Cell> row = {students_[s], scores_.log_likelihood[s], percentile[s]};
      if (!scores_.standard_error.empty()) row.emplace_back(scores_.standard_error[s]);
      if (with_student_) row.emplace_back(with_student_->log_likelihood[s]);
      rows.add_row(std::move(row));
    }
    return rows;
  }

  void print(std::ostream& out) const override {
    std::vector<double> sorted = scores_.log_likelihood;
    std::ranges::sort(sorted);
    const auto at = [&](double share) {
      return sorted.empty() ? 0.0 : sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))];
    };
    out << counted(static_cast<std::int64_t>(students_.size()), "student", "students") << ", mean log-likelihood ("
        << name_of(scores_.kind) << ") " << (scores_.impossible > 0 ? "of those that are possible " : "")
        << fixed(scores_.mean_of_possible, 4) << ", standard error " << fixed(scores_.standard_error_of_mean, 4)
        << "\n";
    Table quantiles({{"least typical of"}, {"log_likelihood", 3}});
    for (const auto& [name, share] :
         {std::pair<const char*, double>{"1 in 100", 0.01}, {"1 in 10", 0.1}, {"half", 0.5}, {"9 in 10", 0.9}})
      quantiles.add_row({std::string(name), at(share)});
    quantiles.print_text(out, "  ");
    if (with_student_) {
      out << "each student left out (" << left_out << "); with the student the mean is "
          << fixed(with_student_->mean_of_possible, 4) << '\n';
    }
    out << setting_name("csv") << " lists every student\n";
  }

  std::vector<std::string> notes() const override {
    return note_.empty() ? std::vector<std::string>() : std::vector<std::string>{note_};
  }
  std::vector<std::string> warnings() const override {
    if (scores_.impossible == 0) return {};
    return {concat(counted(scores_.impossible, "student is", "students are"),
                   " impossible under the model (probability 0, shown empty): there is no mean over all")};
  }

 private:
  static constexpr const char* left_out = "one EM step towards the optimum without the student";
  std::vector<std::string> students_;
  StudentScores scores_;
  std::optional<StudentScores> with_student_;
  std::string note_;
};

std::unique_ptr<Answer> answer_score(const QueryInput& input) {
  const auto settings = input.read<ScoreSettings>();
  const Model& model = input.model();
  const LikelihoodKind kind = choose_kind(settings.likelihood, model);
  const std::vector<double> weights =
      settings.weights.empty() ? std::vector<double>() : student_weights(*input.cohort, settings.weights);
  const EvidenceBatch evidence = EvidenceBatch::of(*input.cohort);
  StudentScores scores = score_students(model, evidence, kind, input.compute, weights, settings.precision);
  std::optional<StudentScores> with_student;
  if (settings.leave_one_out) {
    with_student = std::move(scores);
    scores = summarize_scores({leave_one_out(input.stored, *input.cohort, input.compute), {}}, kind, weights);
  }
  return std::make_unique<ScoreAnswer>(input.cohort->students(), std::move(scores), std::move(with_student),
                                       model.likelihood_note(evidence, kind, input.compute, settings.precision));
}

}  // namespace

Query score_query() {
  return {"score",
          "log-likelihood and typicality of each student",
          {"desirepath score all.desirepath all.cohort --csv", "desirepath score all.desirepath new.csv --json",
           "desirepath score all.desirepath all.cohort --leave-one-out"},
          CohortUse::required,
          "a cohort file or a raw table",
          declaration_of<ScoreSettings>(),
          answer_score};
}

}  // namespace desirepath::inline queries
