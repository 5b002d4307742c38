#include "desirepath/ingest/grades.h"

#include <algorithm>

#include "desirepath/core/text.h"
#include "desirepath/ingest/decimal.h"

namespace desirepath::inline ingest {

std::string_view name_of(GradeMeaning meaning) {
  static constexpr std::array<std::string_view, 3> names = {"taken", "failed", "withdrawn"};
  return names[static_cast<std::size_t>(meaning)];
}

namespace {

/// One writing for all: "Not_Passed", "not-passed *" and "not passed" are one grade.
std::string plain_grade(std::string_view grade) {
  std::string plain = lower_case(trimmed(grade));
  while (!plain.empty() && (plain.back() == '*' || plain.back() == '#'))
    plain.pop_back();
  // A sign behind a word stays; what parts words is a space.
  for (std::size_t i = 0; i + 1 < plain.size(); ++i) {
    if (plain[i] == '_' || plain[i] == '-') plain[i] = ' ';
  }
  return std::string(trimmed(plain));
}

/// "f+" and "f-" are f.
std::string without_sign(std::string grade) {
  if (grade.size() == 2 && (grade[1] == '+' || grade[1] == '-')) grade.pop_back();
  return grade;
}

std::set<std::string> grade_set(const std::vector<std::string>& given, std::initializer_list<const char*> usual) {
  if (given.empty()) return {usual.begin(), usual.end()};
  std::set<std::string> grades;
  for (const std::string& grade : given)
    grades.insert(plain_grade(grade));
  return grades;
}

}  // namespace

GradeRules::GradeRules(const std::vector<std::string>& failing, const std::vector<std::string>& withdrawn,
                       std::optional<PassMark> pass_mark)
    : failing_(grade_set(failing, {"f",
                                   "fx",
                                   "fail",
                                   "failed",
                                   "failing",
                                   "failure",
                                   "nc",
                                   "np",
                                   "u",
                                   "e",
                                   "wf",
                                   "i",
                                   "inc",
                                   "incomplete",
                                   "no credit",
                                   "no pass",
                                   "not pass",
                                   "not passed",
                                   "unsat",
                                   "unsatisfactory",
                                   "insufficient",
                                   "below c",
                                   "below d",
                                   "below pass",
                                   "0",
                                   "nicht bestanden",
                                   "ungenügend",
                                   "ajourné",
                                   "échec"})),
      withdrawn_(grade_set(withdrawn, {"w", "wd", "wdr", "wp", "withdrawn", "withdraw", "withdrew", "withdrawal", "dr",
                                       "drop", "dropped", "abandon", "abandoned"})),
      pass_mark_(pass_mark) {}

GradeMeaning GradeRules::meaning_of(std::string_view grade) const {
  const std::string plain = plain_grade(grade), letter = without_sign(plain);
  if (withdrawn_.contains(plain)) return GradeMeaning::withdrawn;
  if (failing_.contains(plain)) return GradeMeaning::failed;
  if (const auto number = decimal_in(trimmed(grade)); number && pass_mark_)
    return pass_mark_->passes(*number) ? GradeMeaning::taken : GradeMeaning::failed;
  return failing_.contains(letter) ? GradeMeaning::failed : GradeMeaning::taken;
}

void GradeTally::Count::note(std::uint32_t student) {
  ++rows;
  if (is_shown()) return;
  const auto known = std::span(students).first(student_count);
  if (std::ranges::find(known, student) == known.end()) students.at(student_count++) = student;
}

void GradeTally::Count::take_in(const Count& part, std::span<const std::uint32_t> numbers) {
  const std::int64_t all = rows + part.rows;
  for (std::uint32_t s = 0; s < part.student_count; ++s)
    note(numbers[part.students.at(s)]);
  rows = all;
}

GradeMeaning GradeTally::count(std::string_view grade, std::uint32_t student) {
  ++rows_;
  const std::uint32_t number = grades_.number_of(grade);
  if (number == counts_.size()) {
    counts_.emplace_back();
    counts_.back().meaning = rules_.meaning_of(grade);
    counts_.back().number = decimal_in(grade);
  }
  Count& count = counts_[number];
  count.note(student);
  return count.meaning;
}

void GradeTally::take_in(const GradeTally& part, std::span<const std::uint32_t> students) {
  rows_ += part.rows_;
  beyond_.take_in(part.beyond_, students);
  for (std::uint32_t g = 0; g < part.counts_.size(); ++g) {
    const Count& count = part.counts_[g];
    const std::string_view grade = part.grades_.text(g);
    const bool is_known = grades_.contains(grade);
    if (!is_known && grades_.size() >= most_grades) {
      beyond_.take_in(count, students);
      continue;
    }
    const std::uint32_t number = grades_.number_of(grade);
    if (number == counts_.size()) {
      counts_.emplace_back();
      counts_.back().meaning = count.meaning;
      counts_.back().number = count.number;
    }
    counts_[number].take_in(count, students);
  }
}

std::int64_t GradeTally::rows_of(GradeMeaning meaning) const {
  std::int64_t rows = 0;
  for (const Count& count : counts_)
    rows += count.meaning == meaning ? count.rows : 0;
  return rows;
}

std::int64_t GradeTally::unmarked_numbers() const {
  if (rules_.has_pass_mark()) return 0;
  std::int64_t rows = 0;
  for (const Count& count : counts_)
    rows += count.number && count.meaning == GradeMeaning::taken ? count.rows : 0;
  return rows;
}

GradeTally::Line GradeTally::pooled(std::span<const Count* const> pool, std::string name) {
  std::set<std::uint32_t> students;
  std::int64_t rows = 0;
  for (const Count* count : pool) {
    rows += count->rows;
    students.insert(count->students.begin(), count->students.begin() + count->student_count);
  }
  const bool is_shown = students.size() >= least_students;
  return {std::move(name), is_shown ? std::optional(rows) : std::nullopt, std::string(name_of(pool.front()->meaning))};
}

Table GradeTally::table() const {
  constexpr std::size_t most_lines = 30;
  constexpr std::ptrdiff_t most_numbers = 25;
  std::vector<std::uint32_t> order(counts_.size());
  for (std::uint32_t g = 0; g < order.size(); ++g)
    order[g] = g;
  std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
    return counts_[a].rows != counts_[b].rows ? counts_[a].rows > counts_[b].rows
                                              : natural_less(grades_.text(a), grades_.text(b));
  });
  const bool pools_numbers =
      std::ranges::count_if(counts_, [](const Count& count) { return count.number.has_value(); }) > most_numbers;
  std::vector<Line> lines;
  std::array<std::vector<const Count*>, 3> numbers, others;
  for (const std::uint32_t g : order) {
    const Count& count = counts_[g];
    const auto meaning = static_cast<std::size_t>(count.meaning);
    if (pools_numbers && count.number)
      numbers.at(meaning).push_back(&count);
    else if (!count.is_shown() || lines.size() >= most_lines)
      others.at(meaning).push_back(&count);
    else
      lines.push_back({std::string(grades_.text(g)), count.rows, std::string(name_of(count.meaning))});
  }
  for (std::vector<const Count*>& pool : numbers) {
    if (pool.empty()) continue;
    // The middle half rests on many students; the ends would each be somebody's grade.
    std::ranges::sort(pool, {}, [](const Count* count) { return *count->number; });
    std::int64_t all = 0, seen = 0;
    for (const Count* count : pool)
      all += count->rows;
    std::string name = "numbers";
    const auto at_share = [&](double share) {
      seen = 0;
      for (const Count* count : pool) {
        seen += count->rows;
        if (static_cast<double>(seen) >= share * static_cast<double>(all)) return *count->number;
      }
      return *pool.back()->number;
    };
    if (all >= 40) name += concat(", half of them ", shortest(at_share(0.25)), " to ", shortest(at_share(0.75)));
    lines.push_back(pooled(pool, std::move(name)));
  }
  for (const std::vector<const Count*>& pool : others) {
    if (!pool.empty()) lines.push_back(pooled(pool, counted(std::ssize(pool), "other grade", "other grades")));
  }
  if (beyond_.is_shown()) lines.push_back({"further grades", beyond_.rows, "each by itself"});
  return {std::move(lines), {{"grade", &Line::grade}, {"rows", &Line::rows}, {"counts as", &Line::counts_as}}};
}

}  // namespace desirepath::inline ingest
