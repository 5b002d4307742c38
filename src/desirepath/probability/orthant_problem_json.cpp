#include "desirepath/probability/orthant_problem_json.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include <nlohmann/json.hpp>

#include "desirepath/core/atomic_file.h"
#include "desirepath/core/error.h"
#include "desirepath/core/text.h"

namespace desirepath::inline probability {

namespace {

using nlohmann::json;

constexpr std::array<const char*, 4> models = {"Lambda", "Sigma", "rho", "neighbour_corr"};

SourcePosition position_of(std::size_t byte, std::string_view text, const std::string& source) {
  SourcePosition position{source, 1, 1};
  for (std::size_t i = 0; i + 1 < byte && i < text.size(); ++i) {
    ++position.column;
    if (text[i] == '\n') {
      ++position.line;
      position.column = 1;
    }
  }
  return position;
}

/// The fields of one case; every complaint names the source and the field.
class Reader {
 public:
  Reader(const json& object, const std::string& source) : object_(object), source_(source) {}

  [[noreturn]] void fail(const std::string& message) const { throw InputError(SourcePosition{source_}, message); }

  bool has(const char* field) const { return object_.contains(field); }

  const json& at(const char* field) const {
    if (!has(field)) fail(concat("field '", field, "' is missing"));
    return object_.at(field);
  }

  double number(const char* field) const { return as_number(at(field), field); }

  Index count(const char* field) const {
    const json& value = at(field);
    if (!value.is_number_integer() || value.get<std::int64_t>() < 0) {
      fail(concat("field '", field, "' is ", value.dump(), "; a whole number is needed"));
    }
    return static_cast<Index>(value.get<std::int64_t>());
  }

  std::string text(const char* field) const {
    return has(field) && object_.at(field).is_string() ? object_.at(field).get<std::string>() : "";
  }

  /// An array of numbers, rows one after the other or each an array of its own.
  std::vector<double> numbers(const char* field) const {
    const json& array = at(field);
    if (!array.is_array()) fail(concat("field '", field, "' must be an array of numbers"));
    std::vector<double> values;
    for (const json& element : array) {
      if (element.is_array()) {
        for (const json& inner : element)
          values.push_back(as_number(inner, field));
      } else {
        values.push_back(as_number(element, field));
      }
    }
    return values;
  }

  Vector vector(const char* field, Index size) const {
    const std::vector<double> values = numbers(field);
    check_length(field, values.size(), size, concat("the ", size, " courses of x"));
    return Eigen::Map<const Vector>(values.data(), size);
  }

  RowMatrix matrix(const char* field, Index rows, Index columns) const {
    const std::vector<double> values = numbers(field);
    check_length(field, values.size(), rows * columns, concat(rows, " by ", columns));
    return Eigen::Map<const RowMatrix>(values.data(), rows, columns);
  }

 private:
  double as_number(const json& value, const char* field) const {
    if (!value.is_number()) fail(concat("field '", field, "' holds ", value.dump(), " where a number is needed"));
    const auto number = value.get<double>();
    if (!std::isfinite(number)) fail(concat("field '", field, "' holds a number that is not finite"));
    return number;
  }

  void check_length(const char* field, std::size_t found, Index expected, const std::string& why) const {
    if (static_cast<Index>(found) != expected) {
      fail(concat("field '", field, "' has ", found, " numbers; ", expected, " are needed (", why, ")"));
    }
  }

  const json& object_;
  const std::string& source_;
};

std::vector<std::uint8_t> read_signs(const Reader& reader) {
  const json& array = reader.at("x");
  if (!array.is_array()) reader.fail("field 'x' must be an array of 0 and 1");
  std::vector<std::uint8_t> taken;
  for (const json& element : array) {
    if (element == json(0)) {
      taken.push_back(0);
    } else if (element == json(1)) {
      taken.push_back(1);
    } else {
      reader.fail(concat("field 'x' holds ", element.dump(), " at place ", taken.size(), "; it must be 0 or 1"));
    }
  }
  if (taken.empty()) reader.fail("field 'x' is empty: there are no courses");
  return taken;
}

OrthantCovariance read_covariance(const Reader& reader, Index size) {
  if (reader.has("Lambda")) {
    Index factors = 0;
    if (reader.has("q")) {
      factors = reader.count("q");
    } else {
      factors = static_cast<Index>(reader.numbers("Lambda").size()) / size;
    }
    return FactorCovariance{reader.matrix("Lambda", size, factors), reader.vector("D", size)};
  }
  if (reader.has("Sigma")) return FullCovariance{reader.matrix("Sigma", size, size)};
  if (reader.has("rho")) return Equicorrelation{reader.number("rho")};
  return NeighbourCorrelation{reader.number("neighbour_corr")};
}

}  // namespace

OrthantCase parse_orthant_case(std::string_view text, const std::string& source) {
  if (is_nested_too_deep(text)) throw InputError(SourcePosition{source}, "this is JSON nested too deep for a case");
  json object;
  try {
    object = json::parse(text);
  } catch (const json::parse_error& error) {
    throw InputError(position_of(error.byte, text, source), "this is not JSON here");
  } catch (const json::exception&) {
    throw InputError(SourcePosition{source}, "this is JSON with a number out of range or text that is not UTF-8");
  }
  const Reader reader(object, source);
  if (!object.is_object()) reader.fail("a case is a JSON object; this is another kind of value");

  OrthantCase read;
  read.name = reader.text("name");
  read.family = reader.text("family");
  OrthantProblem& problem = read.problem;
  problem.taken = read_signs(reader);
  const auto size = static_cast<Index>(problem.taken.size());
  if (reader.has("d") && reader.count("d") != size) {
    reader.fail(concat("field 'd' is ", reader.count("d"), " but x has ", size, " courses"));
  }
  const auto given = std::count_if(models.begin(), models.end(), [&](const char* model) { return reader.has(model); });
  if (given != 1) {
    reader.fail(concat(given == 0 ? "no model" : "more than one model",
                       ": exactly one of 'Lambda' (with 'D'), 'Sigma', 'rho', 'neighbour_corr' is needed"));
  }
  if (reader.has("mu")) {
    problem.mean = reader.vector("mu", size);
  } else if (reader.has("mean")) {
    problem.mean = Vector::Constant(size, reader.number("mean"));
  } else {
    reader.fail("no mean: 'mu' (one number a course) or 'mean' (one for all) is needed");
  }
  problem.covariance = read_covariance(reader, size);
  if (reader.has("log_p")) read.log_p = reader.number("log_p");
  if (reader.has("log_p_err")) read.log_p_err = reader.number("log_p_err");
  try {
    problem.validate();
  } catch (const InputError& error) {
    reader.fail(error.what());
  }
  return read;
}

OrthantCase read_orthant_case(const std::filesystem::path& path) {
  return parse_orthant_case(read_text_file(path), path.string());
}

Answer answer_orthant(const OrthantProblem& problem, const std::string& source, const OrthantOptions& options,
                      const RandomStream& stream, const Executor& executor) {
  const auto begin = std::chrono::steady_clock::now();
  OrthantEstimate found;
  try {
    found = estimate_orthant(problem, options, stream, executor);
  } catch (const InputError& error) {
    throw InputError(SourcePosition{source}, error.what());
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const std::int64_t courses = problem.course_count();
  const auto note = found.note.empty() ? std::nullopt : std::optional(found.note);
  using Row = OrthantEstimate;
  Answer answer;
  answer.add_row("orthant",
                 {std::vector{found},
                  {{"log_probability", &Row::log_probability, {.decimals = 5}},
                   {"standard_error", &Row::standard_error, {.decimals = 5}},
                   {"upper_bound", &Row::log_upper_bound, {.decimals = 5, .may_lack = true}},
                   {"estimator", [](const Row& row) { return to_string(row.estimator); }},
                   {"samples", &Row::samples, {.unit = "points"}},
                   {"scrambles", &Row::scrambles, {.shown = Shown::in_json}},
                   {"courses", [=](const Row&) { return courses; }, {.shown = Shown::in_json}},
                   {"seconds", [=](const Row&) { return seconds; }, {.unit = "s", .shown = Shown::in_json}},
                   {"note", [=](const Row&) { return note; }, {.shown = Shown::in_json, .may_lack = true}}}});
  const std::string error = found.standard_error && std::isfinite(*found.standard_error)
                                ? concat(", standard error ", fixed(*found.standard_error, 5))
                                : "";
  const std::string bound =
      found.log_upper_bound ? concat(", certainly at most ", fixed(*found.log_upper_bound, 5)) : "";
  answer.say("log-probability ", fixed(found.log_probability, 5), error, bound);
  answer.say(counted(courses, "course", "courses"), ", ", courses_taken(problem).size(), " taken; estimator ",
             to_string(found.estimator),
             found.samples > 0 ? concat(", ", found.scrambles, " x ", with_separators(found.samples), " points") : "",
             ", ", as_duration(seconds));
  if (note) answer.warn(*note);
  return answer;
}

}  // namespace desirepath::inline probability
