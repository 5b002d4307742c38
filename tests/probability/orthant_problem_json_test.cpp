#include "desirepath/probability/orthant_problem_json.h"

#include "support/support.h"

#include "desirepath/core/atomic_file.h"
#include "desirepath/core/error.h"

namespace desirepath::orthant_problem_json_test {
namespace {

TEST(OrthantProblemJson, ReadsEveryModel) {
  const OrthantCase factor = parse_orthant_case(
      R"({"name": "f", "family": "fac", "d": 2, "x": [0, 1], "mu": [-1, 0.5], "q": 1, "Lambda": [0.5, -0.25],
          "D": [1, 2], "log_p": -2.5, "log_p_err": 1e-6, "reference": "made up"})",
      "f.json");
  EXPECT_EQ(factor.name, "f");
  EXPECT_EQ(factor.family, "fac");
  EXPECT_EQ(factor.problem.taken, (std::vector<std::uint8_t>{0, 1}));
  EXPECT_EQ(std::get<FactorCovariance>(factor.problem.covariance).loadings(1, 0), -0.25);
  EXPECT_EQ(std::get<FactorCovariance>(factor.problem.covariance).noise[1], 2);
  EXPECT_EQ(factor.log_p, -2.5);
  EXPECT_EQ(factor.log_p_err, 1e-6);

  const OrthantCase full =
      parse_orthant_case(R"({"x": [0, 1], "mu": [1, 2], "Sigma": [[2, 0.5], [0.5, 1]]})", "c.json");
  EXPECT_EQ(std::get<FullCovariance>(full.problem.covariance).covariance(0, 1), 0.5);
  EXPECT_FALSE(full.log_p.has_value());
  const OrthantCase flat = parse_orthant_case(R"({"x": [0, 1], "mu": [1, 2], "Sigma": [2, 0.5, 0.5, 1]})", "c.json");
  EXPECT_EQ(std::get<FullCovariance>(flat.problem.covariance).covariance,
            std::get<FullCovariance>(full.problem.covariance).covariance);

  const OrthantCase equal = parse_orthant_case(R"({"x": [0, 1, 1], "mean": -0.5, "rho": 0.25})", "c.json");
  EXPECT_EQ(std::get<Equicorrelation>(equal.problem.covariance).correlation, 0.25);
  EXPECT_EQ(equal.problem.mean, Vector::Constant(3, -0.5));
  const OrthantCase chain = parse_orthant_case(R"({"x": [1, 1], "mean": 0, "neighbour_corr": -0.5})", "c.json");
  EXPECT_EQ(std::get<NeighbourCorrelation>(chain.problem.covariance).correlation, -0.5);
  const OrthantCase independent =
      parse_orthant_case(R"({"x": [1, 0], "mu": [0, 0], "q": 0, "Lambda": [], "D": [1, 1]})", "c.json");
  EXPECT_EQ(std::get<FactorCovariance>(independent.problem.covariance).loadings.cols(), 0);
}

TEST(OrthantProblemJson, SaysWhatIsWrongAndWhere) {
  std::vector<std::string> messages;
  const auto refuses = [&](const std::string& text, const std::vector<std::string>& facts) {
    const std::string message = test::message_of<InputError>([&] { parse_orthant_case(text, "case.json"); });
    EXPECT_TRUE(test::says(message, {"case.json"}));
    EXPECT_TRUE(test::says(message, facts));
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_EQ(std::ranges::count(messages, message), 0) << message;  // no two faults are told alike
    messages.push_back(message);
  };
  refuses("{\"x\": [1,\n 0,,]}", {"case.json:2:4"});
  refuses("", {"JSON"});
  refuses("[1, 2]", {"JSON"});
  refuses(R"({"mean": 0, "rho": 0.5})", {"'x'"});
  refuses(R"({"x": 3, "mean": 0, "rho": 0.5})", {"'x'"});
  refuses(R"({"x": [], "mean": 0, "rho": 0.5})", {"'x'"});
  refuses(R"({"x": [0, 2], "mean": 0, "rho": 0.5})", {"'x'", "2", "1"});
  refuses(R"({"x": [0, true], "mean": 0, "rho": 0.5})", {"'x'", "true", "1"});
  refuses(R"({"x": [0, 1], "d": 3, "mean": 0, "rho": 0.5})", {"'d'", "3", "x", "2"});
  refuses(R"({"x": [0, 1], "rho": 0.5})", {"'mu'", "'mean'"});
  refuses(R"({"x": [0, 1], "mean": 0})", {"rho", "neighbour_corr", "Sigma", "Lambda"});
  refuses(R"({"x": [0, 1], "mean": 0, "rho": 0.1, "neighbour_corr": 0.1})",
          {"rho", "neighbour_corr", "Sigma", "Lambda"});
  refuses(R"({"x": [0, 1], "mean": "a", "rho": 0.1})", {"'mean'", "\"a\""});
  refuses(R"({"x": [0, 1], "mean": 0, "rho": null})", {"'rho'", "null"});
  refuses(R"({"x": [0, 1], "mu": [0], "rho": 0.1})", {"'mu'", "1", "2"});
  refuses(R"({"x": [0, 1], "mu": [0, 0], "q": 1, "Lambda": [1, 1, 1], "D": [1, 1]})", {"'Lambda'", "3"});
  refuses(R"({"x": [0, 1], "mu": [0, 0], "q": 1, "Lambda": [1, 1]})", {"'D'"});
  refuses(R"({"x": [0, 1], "mu": [0, 0], "q": -1, "Lambda": [], "D": [1, 1]})", {"'q'", "-1"});
  refuses(R"({"x": [0, 1], "mu": [0, 0], "q": 1, "Lambda": [1, 1], "D": [1, 0]})", {"D[1]", "0"});
  refuses(R"({"x": [0, 1], "mu": [0, 0], "Sigma": [1, 0.5, 0.4, 1]})", {"Sigma", "0.5", "0.4"});
  refuses(R"({"x": [0, 1], "mu": [0, 1e999], "rho": 0.1})", {});
  refuses(R"({"x": [0, 1], "mean": 0, "rho": 1})", {"rho", "1"});
}

TEST(OrthantProblemJson, ReadsFiles) {
  const test::TemporaryFolder folder;
  write_text_file(folder / "case.json", R"({"x": [1, 1], "mean": 0, "rho": 0.5})", Overwrite::refuse);
  EXPECT_EQ(read_orthant_case(folder / "case.json").problem.course_count(), 2);
  EXPECT_THROW(read_orthant_case(folder / "none.json"), FileError);
}

TEST(OrthantProblemJsonProperty, NoTextBringsItDown) {
  test::expect_property("any text is read or refused", [](const std::string& text) {
    try {
      parse_orthant_case(text, "case.json");
    } catch (const InputError&) {
    }
    const std::string nearly = R"({"x": [0, 1], "mean": )" + text + R"(, "rho": 0.5})";
    try {
      parse_orthant_case(nearly, "case.json");
    } catch (const InputError&) {
    }
  });
}

}  // namespace
}  // namespace desirepath::orthant_problem_json_test
