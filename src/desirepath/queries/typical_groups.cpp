#include <algorithm>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "desirepath/queries/typicality.h"

namespace desirepath::inline queries {

std::string usual_major(const Cohort& cohort) {
  const auto& attributes = cohort.attributes();
  return std::ranges::find(attributes, "major", &Attribute::name) != attributes.end() ? "major" : "";
}

std::string subject_of(const Course& course) {
  return !course.subject.empty() ? course.subject : course.school;
}

bool has_subjects(const Schema& schema) {
  return std::ranges::any_of(schema.courses(), [](const Course& course) { return !subject_of(course).empty(); });
}

namespace {

std::string subject_name(const std::string& subject) {
  return subject.empty() ? "no subject" : subject;
}

}  // namespace

std::optional<double> GroupPortrait::courses_in(const std::string& subject) const {
  const auto found = std::ranges::find(by_subject, subject, &std::pair<std::string, double>::first);
  if (found != by_subject.end()) return found->second;
  return others > 0 ? std::nullopt : std::optional<double>(0);
}

nlohmann::ordered_json GroupPortrait::to_json() const {
  nlohmann::ordered_json json;
  json["students"] = students;
  json["courses"] = courses;
  if (has_subjects) json["subjects"] = subjects;
  json["courses_in_major"] = in_major ? nlohmann::ordered_json(*in_major) : nlohmann::ordered_json();
  for (const auto& [subject, count] : by_subject)
    json["courses_by_subject"][subject] = count;
  if (others > 0) json["courses_by_subject"]["others"] = others;
  for (const std::string& subject : withheld)
    json["courses_by_subject"].emplace(subject, nullptr);
  json["most_taken"] = nlohmann::ordered_json::array();
  for (const auto& [course, share] : most_taken)
    json["most_taken"].push_back({{"course", course.name}, {"share", share}});
  return json;
}

std::optional<GroupPortrait> portray(const Cohort& cohort, const std::vector<std::int64_t>& students,
                                     const std::string& major, const Disclosure& disclosure) {
  constexpr std::size_t most_listed = 10;
  const Schema& schema = cohort.schema();
  const bool by_subject = has_subjects(schema);
  const Attribute* majors = major.empty() ? nullptr : &cohort.attribute(major);
  GroupPortrait portrait;
  portrait.students = std::ssize(students);
  portrait.has_subjects = by_subject;
  const double count = std::max<double>(1, static_cast<double>(students.size()));
  std::map<std::string, std::pair<double, std::int64_t>> subjects;  // enrollments, students
  std::vector<std::int64_t> takers(static_cast<std::size_t>(schema.course_count()), 0);
  double in_major = 0, with_major = 0, taking_any = 0;
  for (const std::int64_t s : students) {
    std::set<std::string> own;
    std::set<Id> courses;
    const Id code = majors == nullptr ? -1 : majors->codes[static_cast<std::size_t>(s)];
    with_major += code >= 0 ? 1 : 0;
    for (const Id bit : cohort.bits(s)) {
      const Course& course = schema.course(schema.course_of(bit));
      portrait.courses += 1 / count;
      if (by_subject) subjects[subject_of(course)].first += 1;
      if (by_subject) own.insert(subject_of(course));
      courses.insert(schema.course_of(bit));
      if (code < 0) continue;
      const std::string& value = majors->values[static_cast<std::size_t>(code)];
      in_major += value == course.subject || value == course.school || value == course.concentration ? 1 : 0;
    }
    portrait.subjects += static_cast<double>(own.size() - own.count("")) / count;
    taking_any += courses.empty() ? 0 : 1;
    for (const std::string& subject : own)
      ++subjects[subject].second;
    for (const Id course : courses)
      ++takers[static_cast<std::size_t>(course)];
  }
  if (!disclosure.allows(taking_any)) return std::nullopt;
  if (disclosure.rests(with_major) && disclosure.allows(with_major, count)) portrait.in_major = in_major / with_major;
  std::vector<double> behind;
  for (const auto& [subject, cell] : subjects)
    behind.push_back(static_cast<double>(cell.second));
  const Hidden hidden = disclosure.hide_overlapping(behind);
  std::size_t at = 0;
  for (const auto& [subject, cell] : subjects) {
    if (hidden[at++] == 0)
      portrait.by_subject.emplace_back(subject_name(subject), cell.first / count);
    else
      portrait.others += cell.first / count;
  }
  std::ranges::stable_sort(portrait.by_subject, std::ranges::greater(), &std::pair<std::string, double>::second);
  std::set<std::string> known;
  for (Id course = 0; course < schema.course_count(); ++course) {
    known.insert(subject_name(subject_of(schema.course(course))));
    const auto taking = static_cast<double>(takers[static_cast<std::size_t>(course)]);
    if (disclosure.rests(taking))
      portrait.most_taken.emplace_back(named(schema.course(course)), disclosure.all_but_few(taking, count) / count);
  }
  for (const std::string& subject : known) {
    if (!portrait.courses_in(subject)) portrait.withheld.push_back(subject);
  }
  std::ranges::stable_sort(portrait.most_taken, std::ranges::greater(), &std::pair<Named, double>::second);
  portrait.most_taken.resize(std::min(portrait.most_taken.size(), most_listed));
  return portrait;
}

std::vector<Surprise> find_surprises(const Model& model, const EvidenceBatch& evidence, std::int64_t student,
                                     const Vector& usual, const Executor& executor) {
  constexpr double most_do = 0.5;
  const Schema& schema = model.schema();
  std::vector<Surprise> found;
  std::vector<Id> bits;
  for (Id t = 0; t < schema.period_count(); ++t) {
    const PeriodEvidence period = PeriodEvidence::of(evidence, student, t);
    if (period.presence == Presence::left) continue;
    for (Id c = 0; c < schema.course_count(); ++c) {
      const Id bit = schema.bit(t, c);
      const std::optional<bool> known = period.known(bit);
      if (!known || (!*known && usual[bit] < most_do)) continue;
      bits.push_back(bit);
      found.push_back({bit, *known, 0});
    }
  }
  if (bits.empty()) return found;
  EvidenceBuilder each(evidence);
  for (const Id bit : bits) {
    each.begin_student(evidence, student);
    for (Id t = 0; t < schema.period_count(); ++t) {
      PeriodEvidence period = PeriodEvidence::of(evidence, student, t);
      if (t == schema.period_of(bit)) period.set(bit, std::nullopt);
      each.add(period);
    }
  }
  const RowMatrix given_rest = model.marginals(std::move(each).build(), bits, executor).value;
  for (std::size_t i = 0; i < bits.size(); ++i) {
    const double p = given_rest(static_cast<Index>(i), static_cast<Index>(i));
    found[i].probability = found[i].taken ? p : 1 - p;
  }
  std::ranges::stable_sort(found, {}, &Surprise::probability);
  return found;
}

}  // namespace desirepath::inline queries
