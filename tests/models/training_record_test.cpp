#include <nlohmann/json.hpp>

#include "support/example_cohorts.h"
#include "support/fits.h"
#include "support/support.h"

#include "desirepath/core/error.h"

namespace desirepath::training_record_test {
namespace {

using Json = nlohmann::ordered_json;

/// Of a chain of three periods, with all that a record may say.
struct Recorded {
  Cohort cohort = test::random_cohort({.students = 60, .courses = 4, .periods = 3}, RandomStream(5)).with_min_cell(7);
  FitOptions options =
      FitOptions("cmm+bernoulli").set("states", std::int64_t{2}).set("restarts", std::int64_t{2}).set("iterations", 3);
  TrainingRecord record;
  std::string file;
  FitResult fit;

  Recorded() {
    const Executor executor(2);
    TrainingContext context{executor};
    context.transitions = {{"1", 0, 1, 0.25, 1}, {"", 1, 1, 0.5, 2}};
    fit = fit_model(cohort, options, context);
    fit.state_behind = {{1.5, 2}};
    record = training_record({cohort, options, context}, fit);
    file = record.text;
  }
};

void expect_as_fitted(const TrainingRecord& record, const Recorded& made) {
  EXPECT_EQ(record.text, made.file);
  EXPECT_EQ(record.trained_with().describe(), made.options.describe());
  EXPECT_EQ(record.data_fingerprint, made.cohort.fingerprint());
  EXPECT_EQ(record.min_cell, 7);
  EXPECT_FALSE(record.published);
  EXPECT_FALSE(record.between_years);  // a cohort without a calendar
  EXPECT_EQ(record.students, 60);
  EXPECT_EQ(record.iterations, made.fit.iterations);
  EXPECT_EQ(record.trees, std::nullopt);
  EXPECT_EQ(record.log_likelihood, made.fit.log_likelihood);
  EXPECT_EQ(record.converged, made.fit.converged);
  EXPECT_EQ(record.warnings.size(), made.fit.warnings.size());
  EXPECT_EQ(record.state_students, made.fit.state_students);
  EXPECT_EQ(record.state_behind, made.fit.state_behind);
  ASSERT_EQ(record.transitions.size(), 2U);
  EXPECT_EQ(record.transitions[1].period, "");
  EXPECT_EQ(record.transitions[0].to, 1);
  EXPECT_EQ(record.transitions[0].probability, 0.25);
  ASSERT_FALSE(record.described.empty());
  EXPECT_EQ(record.described.front(), std::pair(std::string("model"), std::string("cmm")));
}

// What the training was given in place of a setting is no value of it.
TEST(TrainingRecord, AStartFromLabelsOrAModelIsNoSetting) {
  const Recorded made;
  for (const char* start : {start_from_labels, start_from_model}) {
    Json json = Json::parse(made.file);
    json["options"]["start"] = start;
    const TrainingRecord record = TrainingRecord::read(json.dump());
    EXPECT_EQ(record.trained_with().describe(), made.options.describe());
    EXPECT_NE(std::ranges::find(record.described, std::pair(std::string("start"), std::string(start))),
              record.described.end());
  }
}

TEST(TrainingRecord, SaysOfAFitWhatItsFileSays) {
  const Recorded made;
  expect_as_fitted(made.record, made);
  const auto bytes = test::bytes_of_model(*made.fit.model, made.record);
  expect_as_fitted(load_model(ArchiveReader::from_bytes(bytes, "file")).training, made);
}

TEST(TrainingRecord, KnowsTheYearsOfTheTraining) {
  const TrainingRecord record =
      TrainingRecord::read(R"({"between_years":{"spread":0.125,"forecasts":21,"last_entry":2019},"published":true})");
  ASSERT_TRUE(record.between_years);
  EXPECT_EQ(record.between_years->share, 0.125);
  EXPECT_EQ(record.between_years->forecasts, 21);
  EXPECT_EQ(record.between_years->last_entry, 2019);
  EXPECT_TRUE(record.published);
}

TEST(TrainingRecord, MaySayNothing) {
  const TrainingRecord record = TrainingRecord::read("{}");
  EXPECT_FALSE(record.options || record.students || record.min_cell || record.log_likelihood || record.converged);
  EXPECT_THROW(record.trained_with(), ArchiveError);
  // Students who are impossible under the model have no likelihood to write.
  EXPECT_FALSE(TrainingRecord::read(R"({"result":{"log_likelihood":null}})").log_likelihood);
}

TEST(TrainingRecord, IsRefusedWhereItIsNone) {
  const Recorded made;
  const Json whole = Json::parse(made.file);
  const auto refused = [&](const char* path, const Json& value) {
    Json damaged = whole;
    damaged[Json::json_pointer(path)] = value;
    TrainingRecord record;
    record.text = damaged.dump();
    const auto bytes = test::bytes_of_model(*made.fit.model, record);
    const std::string message =
        test::message_of<ArchiveError>([&] { load_model(ArchiveReader::from_bytes(bytes, "some.desirepath")); });
    EXPECT_TRUE(message.starts_with("some.desirepath: damaged")) << path << ": " << message;
  };
  refused("/options", 3);
  refused("/options/model", "no such model");
  refused("/options/seed", -1);
  refused("/options/states", 0);
  refused("/options/transitions", Json::parse(R"([["1", 0, 1.5, 0.2]])"));
  refused("/data_fingerprint", 12);
  refused("/min_cell", 1);  // fewer than any cohort may be prepared for
  refused("/min_cell", 1e300);
  refused("/published", "yes");
  refused("/between_years", Json::parse(R"({"spread":-1,"forecasts":20,"last_entry":1})"));
  refused("/between_years", Json::parse(R"({"spread":0.1,"forecasts":0,"last_entry":1})"));
  refused("/result", Json::array());
  refused("/result/students", -1);
  refused("/result/students", 0.5);
  refused("/result/trees", 0);
  refused("/result/log_likelihood", "high");
  refused("/result/converged", 1);
  refused("/result/warnings", Json::parse("[1]"));
  refused("/result/state_students", Json::parse("[[-1]]"));
  refused("/result/state_behind", Json::parse(R"([["x"]])"));
}

}  // namespace
}  // namespace desirepath::training_record_test
