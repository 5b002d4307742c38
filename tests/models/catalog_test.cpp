// The doors of the catalog: a family of emissions and a model without hidden states, each added by one entry; settings
// that make the round trip through a record.
#include "desirepath/models/catalog.h"

#include <array>
#include <cmath>

#include <nlohmann/json.hpp>

#include "support/example_cohorts.h"
#include "support/fits.h"
#include "support/support.h"
#include "support/worlds.h"

#include "desirepath/core/error.h"
#include "desirepath/models/model_file.h"
#include "desirepath/queries/query.h"

namespace desirepath::catalog_test {
namespace {

/// A family of its own: in each state every course is taken with the same probability.
class CoinEmission : public Emission {
 public:
  CoinEmission(RowMatrix heads, Id bits) : heads_(std::move(heads)), bits_(bits) {}  // 1 by states
  double heads(Id state) const { return heads_(0, state); }

  std::string_view family() const override { return "coin"; }
  Id state_count() const override { return static_cast<Id>(heads_.cols()); }
  Id bit_count() const override { return bits_; }
  std::span<const LikelihoodKind> likelihood_kinds() const override {
    static constexpr std::array kinds = {LikelihoodKind::mass};
    return kinds;
  }
  RowScores score(const StepRows& rows, LikelihoodKind, Precision, const Executor&) const override {
    RowScores scores{RowMatrix(rows.row_count(), state_count()), {}};
    for (std::int64_t row = 0; row < rows.row_count(); ++row) {
      const auto taken = static_cast<double>(rows.taken(row).size());
      const double known = bits_ - static_cast<double>(rows.unknown(rows.pattern_of(row)).bits.size());
      for (Id k = 0; k < state_count(); ++k)
        scores.log_likelihood(row, k) = taken * std::log(heads(k)) + (known - taken) * std::log1p(-heads(k));
    }
    return scores;
  }
  std::unique_ptr<GivenPattern> given(const UnknownBits& unknown) const override {
    return std::make_unique<Given>(*this, unknown);
  }
  RowMatrix bit_probabilities() const override { return heads_.replicate(bits_, 1); }
  std::int64_t parameter_count() const override { return heads_.size(); }
  std::unique_ptr<Emission> reordered(std::span<const Id> order) const override {
    return std::make_unique<CoinEmission>(heads_(Eigen::all, std::vector<Id>(order.begin(), order.end())), bits_);
  }
  void save(ArchiveWriter& archive, const std::string& prefix) const override {
    archive.add(prefix + ".heads", heads_);
    archive.add(prefix + ".bits", std::vector<std::int32_t>{bits_});
  }
  std::int64_t byte_count() const override { return 8 * heads_.size(); }

 private:
  class Given : public GivenPattern {
   public:
    Given(const CoinEmission& coin, const UnknownBits& unknown) : coin_(coin), unknown_(unknown) {}
    void marginals(std::span<const Id> taken, std::span<const Id> asked, Eigen::Ref<RowMatrix> out) const override {
      for (std::size_t i = 0; i < asked.size(); ++i) {
        for (Id k = 0; k < coin_.state_count(); ++k)
          out(k, static_cast<Index>(i)) = unknown_.contains(asked[i])                   ? coin_.heads(k)
                                          : std::ranges::binary_search(taken, asked[i]) ? 1
                                                                                        : 0;
      }
    }
    void complete(std::span<const Id> taken, Id state, RandomStream& stream, std::vector<Id>& result) const override {
      result.assign(taken.begin(), taken.end());
      for (const Id bit : unknown_.bits) {
        if (stream.bernoulli(coin_.heads(state))) result.push_back(bit);
      }
      std::ranges::sort(result);
    }

   private:
    const CoinEmission& coin_;
    const UnknownBits& unknown_;
  };

  RowMatrix heads_;
  Id bits_;
};

struct CoinOptions {
  double bias = 1;
  void declare(SettingVisitor& visit) { visit(Setting("bias", "tosses added to each side").at_least(0), bias); }
};

class CoinLearner : public EmissionLearner {
 public:
  CoinLearner(const CoinOptions& options, Id bits) : bias_(options.bias), bits_(bits) {}
  std::string_view family() const override { return "coin"; }
  std::unique_ptr<EmissionStep> first_step(const RowSurvey&, Id, const RandomStream&) const override {
    const auto count = [](const StepRows& rows, const RowMatrix& responsibilities, const Executor&) {
      RowMatrix tosses = RowMatrix::Zero(2, responsibilities.cols());  // heads, and all
      for (std::int64_t row = 0; row < rows.row_count(); ++row) {
        tosses.row(0) += static_cast<double>(rows.taken(row).size()) * responsibilities.row(row);
        tosses.row(1) += static_cast<double>(rows.bit_count() - std::ssize(rows.unknown(rows.pattern_of(row)).bits)) *
                         responsibilities.row(row);
      }
      Statistics sums;
      sums.add(std::move(tosses));
      return sums;
    };
    const auto maximise = [bias = bias_, bits = bits_](Statistics sums, const Executor&) {
      const RowMatrix& tosses = sums.table(0);
      return std::make_unique<CoinEmission>((tosses.row(0).array() + bias) / (tosses.row(1).array() + 2 * bias), bits);
    };
    return one_round(count, maximise);
  }
  std::unique_ptr<EmissionStep> step(const RowSurvey& survey, const Emission&) const override {
    return first_step(survey, 0, RandomStream(0));
  }
  double log_prior(const RowSurvey&, const Emission& emission) const override {
    const auto& coin = dynamic_cast<const CoinEmission&>(emission);
    double sum = 0;
    for (Id k = 0; k < coin.state_count(); ++k)
      sum += std::log(coin.heads(k)) + std::log1p(-coin.heads(k));
    return bias_ * sum;
  }
  bool needs_previous(const RowSurvey&) const override { return false; }
  double memory_estimate(Id, Id states, int) const override { return 8.0 * states; }
  double work_estimate(const StepRows& rows, Id states) const override {
    return static_cast<double>(rows.row_count()) * states;
  }

 private:
  double bias_;
  Id bits_;
};

EmissionFamily coin_family() {
  return {"coin", "every course by the same coin", declaration_of<CoinOptions>(),
          [](const SettingValues& values, const StepShape& shape) {
            return std::make_unique<CoinLearner>(settings_from<CoinOptions>(values), shape.bits());
          },
          [](const ArchiveReader& archive, const std::string& prefix) {
            return std::make_unique<CoinEmission>(archive.read_matrix(prefix + ".heads"),
                                                  archive.read<std::int32_t>(prefix + ".bits", {1}).front());
          }};
}

const test::EmissionTruth coin_truth = {"coin", "",
                                        [](const StepShape& shape, Id states, RandomStream& stream) {
                                          RowMatrix heads(1, states);
                                          for (double& p : heads.reshaped())
                                            p = 0.1 + 0.8 * stream.uniform();
                                          return std::make_unique<CoinEmission>(heads, shape.bits());
                                        },
                                        [](const Emission& emission, const std::vector<bool>& bits, Id state) {
                                          double probability = 1;
                                          for (const bool bit : bits) {
                                            const double p = dynamic_cast<const CoinEmission&>(emission).heads(state);
                                            probability *= bit ? p : 1 - p;
                                          }
                                          return probability;
                                        }};

Catalog with_coin() {
  Catalog catalog = standard_catalog();
  catalog.emissions.push_back(coin_family());
  return catalog;
}

StoredModel through_a_file(const Model& model, const Catalog& catalog) {
  ArchiveWriter writer("model");
  model.save(writer);
  writer.set("training", "{}");
  return load_model(ArchiveReader::from_bytes(writer.bytes(), "file"), catalog);
}

TEST(Catalog, ANewFamilyGivesAModelForEveryTimeStructure) {
  const Catalog catalog = with_coin();
  const Cohort cohort =
      test::random_cohort({.students = 200, .courses = 4, .periods = 3, .unknown = 0.2}, RandomStream(1));
  for (const char* choice : {"nb+coin", "hmm+coin", "cmm+coin"}) {
    FitOptions options(choice, catalog);
    options.set("states", 2).set("restarts", 2).set("iterations", 30).set("bias", 2.0);
    const FitResult fit = test::fit(cohort, options);
    EXPECT_GT(fit.objective_trace.back(), fit.objective_trace.front());
    EXPECT_EQ(fit.model->name(), choice);
    const StoredModel loaded = through_a_file(*fit.model, catalog);
    const EvidenceBatch evidence = EvidenceBatch::of(cohort);
    EXPECT_EQ(loaded.model->log_likelihood(evidence, LikelihoodKind::mass, Executor(1)).value,
              fit.model->log_likelihood(evidence, LikelihoodKind::mass, Executor(1)).value);
    // The record knows the family's own setting, and reads back to the same options.
    EXPECT_EQ(options.describe()["bias"], 2.0);
    EXPECT_EQ(FitOptions::from_record(options.describe(), catalog).describe(), options.describe());
  }
}

TEST(Catalog, ANewFamilyIsHeldToItsEnumeration) {
  const HiddenChain chain = test::random_chain("cmm", coin_truth, 3, 2, 2, true, RandomStream(2));
  const std::vector<test::World> worlds = test::enumerate_worlds(chain, coin_truth);
  const EvidenceBatch known = test::random_evidence(chain.schema(), 40, true, RandomStream(3));
  const RowMatrix found = chain.log_likelihood(known, LikelihoodKind::mass, Executor(1)).value;
  for (std::int64_t s = 0; s < 40; ++s) {
    double sum = 0;
    for (const test::World& world : worlds)
      sum += test::agrees(world, known, s) ? world.probability : 0;
    EXPECT_NEAR(found(s, 0), std::log(sum), 1e-11);
  }
}

TEST(Catalog, AFamilyOrSettingNobodyKnowsIsAnError) {
  EXPECT_TRUE(test::says(test::message_of<OptionError>([] { FitOptions("nb+coin"); }),
                         {"'coin'", "bernoulli", "tree", "gaussian", "probit", "hidden-tree"}));
  EXPECT_TRUE(test::says(test::message_of<OptionError>([] { FitOptions("nbb"); }),
                         {"'nbb'", "'nb'", "nb", "tan", "gmm", "hmm", "cmm", "hct", "vae"}));
  const Catalog catalog = with_coin();
  const HiddenChain chain = test::random_chain("nb", coin_truth, 3, 2, 2, false, RandomStream(2));
  EXPECT_TRUE(test::says(test::message_of<ArchiveError>([&] { through_a_file(chain, standard_catalog()); }),
                         {"file", "'coin'"}));
}

/// A model without hidden states: every bit by its share.
class SharesModel : public Model {
 public:
  SharesModel(Schema schema, RowMatrix shares) : schema_(std::move(schema)), shares_(std::move(shares)) {}  // 1 by bits
  const Schema& schema() const override { return schema_; }
  std::string name() const override { return "shares"; }
  std::span<const LikelihoodKind> likelihood_kinds() const override {
    static constexpr std::array kinds = {LikelihoodKind::mass};
    return kinds;
  }
  Estimates log_likelihood(const EvidenceBatch& evidence, LikelihoodKind, const Executor&, Precision) const override {
    Estimates result{RowMatrix::Zero(evidence.student_count(), 1), {}};
    for (std::int64_t s = 0; s < evidence.student_count(); ++s) {
      for (Id t = 0; t < schema_.period_count(); ++t) {
        if (evidence.presence(s, t) != Presence::present) continue;
        for (Id c = 0; c < schema_.course_count(); ++c) {
          const Id bit = schema_.bit(t, c);
          const bool taken = std::ranges::binary_search(evidence.taken(s, t), bit);
          result.value(s, 0) += std::log(taken ? shares_(0, bit) : 1 - shares_(0, bit));
        }
      }
    }
    return result;
  }
  Estimates marginals(const EvidenceBatch& evidence, std::span<const Id> asked, const Executor&,
                      Conditioning) const override {
    const std::vector<Id> columns(asked.begin(), asked.end());
    return {shares_(Eigen::all, columns).replicate(evidence.student_count(), 1), {}};
  }
  EvidenceBatch complete(const EvidenceBatch& evidence, const RandomStream&, const Executor&,
                         Conditioning) const override {
    return evidence;
  }
  std::int64_t parameter_count() const override { return shares_.size(); }
  void save(ArchiveWriter& archive) const override {
    archive.set("model", "shares");
    archive.set("schema", schema_.to_json().dump());
    archive.add("shares", shares_);
  }

 private:
  Schema schema_;
  RowMatrix shares_;
};

struct SharesSettings {
  double smoothing = 1;
  void declare(SettingVisitor& visit) { visit(Setting("smoothing", "students added").at_least(0), smoothing); }
};

class SharesTraining : public Training {
 public:
  explicit SharesTraining(const TrainingTask& task)
      : cohort_(task.cohort), settings_(task.options.read<SharesSettings>()) {}
  FitEstimate estimate() const override { return {8.0 * cohort_.schema().bit_count(), 0, cohort_.student_count()}; }
  FitResult run() override {
    RowMatrix shares = RowMatrix::Constant(1, cohort_.schema().bit_count(), settings_.smoothing);
    for (const Id bit : cohort_.enrollments().columns())
      shares(0, bit) += 1;
    shares /= static_cast<double>(cohort_.student_count()) + 2 * settings_.smoothing;
    FitResult result;
    result.model = std::make_unique<SharesModel>(cohort_.schema(), shares);
    result.model_name = "shares";
    result.students = cohort_.student_count();
    result.converged = true;
    return result;
  }

 private:
  const Cohort& cohort_;
  SharesSettings settings_;
};

TEST(Catalog, AModelWithoutStatesIsOneMoreEntry) {
  Catalog catalog = standard_catalog();
  ModelEntry entry;
  entry.name = "shares";
  entry.what = "every course by its share";
  entry.settings = declaration_of<SharesSettings>();
  entry.prepare = [](const TrainingTask& task) { return std::make_unique<SharesTraining>(task); };
  entry.load = [](const ArchiveReader& archive, const Catalog&) {
    return std::make_unique<SharesModel>(
        Schema::from_json(nlohmann::json::parse(archive.metadata("schema"), nullptr, false)),
        archive.read_matrix("shares"));
  };
  catalog.models.push_back(entry);
  const Cohort cohort =
      test::random_cohort({.students = 60, .courses = 4, .periods = 2, .unknown = 0}, RandomStream(5));
  FitOptions options("shares", catalog);
  const FitResult fit = test::fit(cohort, options.set("smoothing", 0.5));
  EXPECT_EQ(fit.answer().to_json().contains("states"), false);
  const StoredModel stored = through_a_file(*fit.model, catalog);
  const Executor executor(1);
  // A query that needs no states answers; one that does names a model that has them.
  for (const Query& query : query_catalog()) {
    const SettingValues none;
    const auto ask = [&] {
      return query.ask({stored, &cohort, nullptr, none, false, true, RandomStream(1), executor});
    };
    if (query.name == "score") {
      EXPECT_EQ(ask().to_json()["students"], 60);
    } else if (query.name == "states") {
      EXPECT_TRUE(test::says(test::message_of<OptionError>(ask), {"states", "shares", "cmm", "nb"}));
    }
  }
  EXPECT_TRUE(test::says(test::message_of<OptionError>([&] { leave_one_out(stored, cohort, executor, catalog); }),
                         {"leave-one-out", "'shares'"}));
}

TEST(Settings, EveryOneMakesTheRoundTripThroughTheRecord) {
  for (const ModelEntry& entry : standard_catalog().models) {
    std::vector<std::string> choices;
    if (entry.default_emission.empty()) choices.push_back(entry.name);
    for (const EmissionFamily& family : standard_catalog().emissions) {
      if (entry.structure || family.name == entry.default_emission) choices.push_back(entry.name + "+" + family.name);
    }
    for (const std::string& choice : choices) {
      FitOptions options(choice);
      for (const Setting& info : options.known()) {
        FitOptions changed = options;
        // A value of its own: never the default.
        SettingValue value;
        switch (info.kind) {
          case SettingKind::flag:
            value = !std::get<bool>(info.standard);
            break;
          case SettingKind::choice:
            value = info.choices.back();
            break;
          case SettingKind::whole:
            value = info.name == "nodes" ? std::int64_t{64} : static_cast<std::int64_t>(std::max(0.0, info.least)) + 3;
            break;
          case SettingKind::real:
            value = 0.375;
            break;
          default:
            value = info.name == "covariance" ? std::string("factor:3") : std::string("some column");
        }
        ASSERT_NE(value, info.standard) << info.name;
        changed.set(info.name, value);
        const nlohmann::ordered_json record = nlohmann::ordered_json::parse(changed.describe().dump());
        const FitOptions read = FitOptions::from_record(record);
        EXPECT_EQ(read.values().at(info.name), value) << info.name;
        EXPECT_EQ(read.describe(), changed.describe()) << info.name;
        EXPECT_NE(read.describe(), options.describe()) << info.name;
        // And from the text a person would write.
        EXPECT_EQ(parse_setting(info, setting_text(value)), value) << info.name;
      }
    }
  }
}

}  // namespace
}  // namespace desirepath::catalog_test
