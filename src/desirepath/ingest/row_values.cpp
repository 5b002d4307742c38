// What rows say of students and courses beside the enrollment.
#include <algorithm>

#include "desirepath/ingest/row_collection.h"

namespace desirepath::inline ingest {

void CourseText::add(std::uint32_t course, std::string_view text) {
  if (!text.empty()) add(course, text, 1);
}

void CourseText::add(std::uint32_t course, std::string_view text, std::int64_t count) {
  if (course >= counts_.size()) counts_.resize(course + 1);
  auto& list = counts_[course];
  const std::uint32_t number = texts_.number_of(text);
  const auto known = std::ranges::find(list, number, &std::pair<std::uint32_t, std::int64_t>::first);
  if (known == list.end())
    list.emplace_back(number, count);
  else
    known->second += count;
}

void CourseText::take_in(const CourseText& part, const std::vector<std::uint32_t>& courses) {
  for (std::size_t c = 0; c < part.counts_.size(); ++c) {
    for (const auto& [number, count] : part.counts_[c])
      add(courses[c], part.texts_.text(number), count);
  }
}

void AttributeColumn::note(std::uint32_t student, std::string_view text, std::int64_t time) {
  keep(student, {time, values.number_of(text)});
  drop_if_needless();
}

void AttributeColumn::take_in(const AttributeColumn& part, const std::vector<std::uint32_t>& students) {
  if (dropped) return;
  varies = varies || part.varies;
  dropped = part.dropped;
  std::vector<std::uint32_t> number;
  for (std::uint32_t v = 0; v < part.values.size(); ++v)
    number.push_back(values.number_of(part.values.text(v)));
  for (std::size_t s = 0; s < part.of_student.size(); ++s) {
    const Value& value = part.of_student[s];
    if (value.value != StringInterner::none) keep(students[s], {value.time, number[value.value]});
  }
  drop_if_needless();
}

void AttributeColumn::keep(std::uint32_t student, const Value& value) {
  if (student >= of_student.size()) of_student.resize(student + 1);
  Value& known = of_student[student];
  if (known.value == value.value) {
    known.time = std::max(known.time, value.time);
    return;
  }
  varies = varies || known.value != StringInterner::none;
  if (value.time >= known.time) known = value;  // rows come in the order of the file, whatever thread has read them
}

void AttributeColumn::drop_if_needless() {
  if (dropped || (varies && values.size() > most_varying_values)) *this = {name, {}, {}, varies, /*dropped=*/true};
}

std::string CourseText::of(std::uint32_t course) const {
  if (course >= counts_.size()) return "";
  std::string best;
  std::int64_t best_count = 0;
  for (const auto& [value, count] : counts_[course]) {
    const std::string_view text = texts_.text(value);
    if (count > best_count || (count == best_count && text < best)) {
      best = text;
      best_count = count;
    }
  }
  return best;
}

}  // namespace desirepath::inline ingest
