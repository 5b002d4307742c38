// Pathways drawn from the model: whole ones, or what is not known of given students.
#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/queries/evidence_settings.h"

namespace desirepath::inline queries {

namespace {

constexpr std::int64_t drawn_at_once = 8192;
constexpr std::int64_t listed_pathways = 5;

struct SampleSettings {
  EvidenceSettings known;
  std::int64_t count = 5;
  bool no_repeats = false;
  Conditioning method = Conditioning::linear;

  void declare(SettingVisitor& visit) {
    visit(Setting("count", "pathways drawn, of each given student").at_least(1).taking("N"), count);
    known.declare(visit);
    visit(Setting("no-repeats", "an enrollment drawn in a course already taken is left out; says how many were"),
          no_repeats);
    visit(Setting("method", "how Gaussian models take what is known: linear or exact"), method);
  }
};

class SampleAnswer : public Answer {
 public:
  SampleAnswer(const QueryInput& input, EvidenceBatch known, bool conditional, std::int64_t draws)
      : schema_(input.model().schema()),
        model_(input.model().name()),
        known_(std::move(known)),
        conditional_(conditional),
        draws_(draws) {}

  void add(const EvidenceBatch& drawn, std::int64_t student, std::int64_t draw, std::int64_t row, bool no_repeats) {
    std::set<Id> had;
    for (Id t = 0; t < schema_.period_count(); ++t) {
      if (drawn.presence(row, t) == Presence::left) continue;
      bool any = false;
      for (const Id bit : drawn.taken(row, t)) {
        const bool repeat = !had.insert(schema_.course_of(bit)).second;
        ++enrollments_;
        repeats_ += repeat ? 1 : 0;
        // What is known stays.
        if (repeat && no_repeats && PeriodEvidence::of(known_, student, t).known(bit) != true) {
          ++removed_;
          continue;
        }
        rows_.push_back({student, draw, t, schema_.course_of(bit)});
        any = true;
      }
      if (!any) rows_.push_back({student, draw, t, -1});  // there, and took nothing
    }
  }

  nlohmann::ordered_json to_json() const override {
    nlohmann::ordered_json json;
    json["model"] = model_;
    json["pathways"] = conditional_ ? known_.student_count() * draws_ : draws_;
    json["enrollments"] = enrollments_ - removed_;
    json["repeats"] = enrollments_ > 0 ? static_cast<double>(repeats_) / static_cast<double>(enrollments_) : 0;
    json["removed_repeats"] = removed_;
    json["rows"] = table().to_json();
    return json;
  }

  Table table() const override {
    std::vector<TableColumn> columns = {{"student"}, {"period"}, {"course"}};
    if (conditional_) columns.push_back({"draw"});
    Table all(std::move(columns));
    for (const Row& row : rows_) {
      std::vector<Cell> cells = {student_of(row), schema_.period(row.period), course_of(row)};
      if (conditional_) cells.emplace_back(row.draw + 1);
      all.add_row(std::move(cells));
    }
    return all;
  }
  void print_csv(std::ostream& out) const override {
    out << "student,period,course" << (conditional_ ? ",draw" : "") << '\n';
    for (const Row& row : rows_) {
      out << csv_field(student_of(row)) << ',' << csv_field(schema_.period(row.period)) << ','
          << csv_field(course_of(row));
      if (conditional_) out << ',' << row.draw + 1;
      out << '\n';
    }
  }

  void print(std::ostream& out) const override {
    std::int64_t listed = 0;
    for (std::size_t at = 0; at < rows_.size() && listed < listed_pathways; ++listed) {
      const std::int64_t student = rows_[at].student, draw = rows_[at].draw;
      out << (conditional_ ? concat(known_.students()[static_cast<std::size_t>(student)], ", possible pathway ")
                           : std::string("pathway "))
          << draw + 1 << '\n';
      while (at < rows_.size() && rows_[at].student == student && rows_[at].draw == draw) {
        const Id period = rows_[at].period;
        std::vector<std::string> names;
        for (;
             at < rows_.size() && rows_[at].student == student && rows_[at].draw == draw && rows_[at].period == period;
             ++at) {
          if (rows_[at].course >= 0) names.push_back(full_name(schema_.course(rows_[at].course)));
        }
        const bool is_known = conditional_ && known_.presence(student, period) == Presence::present;
        out << "  period " << schema_.period(period) << (is_known ? " (known): " : ": ")
            << (names.empty() ? "nothing that is counted" : join(names, ", ")) << '\n';
      }
    }
    const std::int64_t all = conditional_ ? known_.student_count() * draws_ : draws_;
    if (all > listed)
      out << "and " << with_separators(all - listed) << " more: " << setting_name("csv") << " lists all\n";
    out << "drawn from " << model_ << (conditional_ ? ", given what is known of the student\n" : "\n");
  }

  std::vector<std::string> notes() const override {
    if (removed_ == 0) return {};
    return {concat(with_separators(removed_), " of ", with_separators(enrollments_), " enrollments (",
                   fixed(100.0 * static_cast<double>(removed_) / static_cast<double>(enrollments_), 2),
                   " %) were repeats and are left out: loads shrink by as much, and later periods lose more")};
  }

 private:
  struct Row {
    std::int64_t student, draw;
    Id period, course;  // -1: there, and took nothing that is counted
  };
  std::string student_of(const Row& row) const {
    return conditional_ ? known_.students()[static_cast<std::size_t>(row.student)] : std::to_string(row.draw + 1);
  }
  std::string course_of(const Row& row) const {
    return row.course < 0 ? std::string() : schema_.course(row.course).name;
  }

  const Schema& schema_;
  std::string model_;
  EvidenceBatch known_;
  bool conditional_;
  std::int64_t draws_;
  std::vector<Row> rows_;
  std::int64_t enrollments_ = 0, repeats_ = 0, removed_ = 0;
};

std::unique_ptr<Answer> answer_sample(const QueryInput& input) {
  const auto settings = input.read<SampleSettings>();
  const Model& model = input.model();
  const EvidenceBatch known = what_is_known(input, settings.known);
  require_possible(model, known, input.executor);
  const bool conditional = input.cohort != nullptr || input.given != nullptr;
  auto answer = std::make_unique<SampleAnswer>(input, known, conditional, settings.count);
  const std::int64_t all = known.student_count() * settings.count;
  for (std::int64_t first = 0; first < all; first += drawn_at_once) {
    if (input.progress) input.progress({"sample", static_cast<double>(first) / static_cast<double>(all)});
    const std::int64_t last = std::min(all, first + drawn_at_once);
    EvidenceBuilder copies(known);
    for (std::int64_t i = first; i < last; ++i)
      add_student(copies, known, i / settings.count);
    // A block has its own stream, so that any number of draws begins with the same ones.
    const RandomStream stream =
        RandomStream(input.seed).child("sample").child(static_cast<std::uint64_t>(first / drawn_at_once));
    const EvidenceBatch drawn = model.complete(std::move(copies).build(), stream, input.executor, settings.method);
    for (std::int64_t i = first; i < last; ++i)
      answer->add(drawn, i / settings.count, i % settings.count, i - first, settings.no_repeats);
  }
  return answer;
}

}  // namespace

Query sample_query() {
  return {"sample",
          "pathways drawn from the model, whole or completing what is known",
          {"desirepath sample answers.desirepath --count 1000 --csv",
           "desirepath sample answers.desirepath all.cohort --student S00000042 --known-periods 1,2"},
          CohortUse::optional,
          "students to complete: a cohort file or a raw table",
          declaration_of<SampleSettings>(),
          answer_sample,
          /*takes_evidence=*/true};
}

}  // namespace desirepath::inline queries
