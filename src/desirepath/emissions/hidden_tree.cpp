#include "desirepath/emissions/hidden_tree.h"

#include <algorithm>
#include <array>

#include "desirepath/core/text.h"
#include "desirepath/emissions/hidden_tree_passes.h"
#include "desirepath/emissions/hidden_tree_row.h"
#include "desirepath/emissions/kept_plans.h"

namespace desirepath::inline emissions {

HiddenTreeEmission::HiddenTreeEmission(std::vector<std::shared_ptr<const HiddenTree>> trees, Retakes retakes)
    : trees_(std::move(trees)), retakes_(retakes) {}

std::unique_ptr<HiddenTreeEmission> HiddenTreeEmission::load(const ArchiveReader& archive, const std::string& prefix) {
  std::vector<std::shared_ptr<const HiddenTree>> trees;
  const std::vector<std::uint8_t> never = archive.read<std::uint8_t>(prefix + ".without_retakes", {1});
  for (std::size_t k = 0; archive.has(concat(prefix, ".tree.", k, ".parents")); ++k) {
    trees.push_back(
        std::make_shared<const HiddenTree>(HiddenTreeParameters::load(archive, concat(prefix, ".tree.", k))));
    const HiddenTree &first = *trees.front(), &last = *trees.back();
    if (last.course_count() != first.course_count() || last.period_count() != first.period_count())
      archive.refuse("damaged: hidden trees of other courses or periods");
  }
  if (trees.empty()) archive.refuse("damaged: no hidden tree");
  return std::make_unique<HiddenTreeEmission>(std::move(trees), never[0] != 0 ? Retakes::never : Retakes::learned);
}

const BaselineMessages& HiddenTreeEmission::baseline(std::size_t state, TimingCode code) const {
  const std::lock_guard lock(baseline_mutex_);
  std::unique_ptr<BaselineMessages>& messages = baseline_[{state, code}];
  if (!messages) messages = std::make_unique<BaselineMessages>(*trees_[state], code);
  return *messages;
}

std::span<const LikelihoodKind> HiddenTreeEmission::likelihood_kinds() const {
  static constexpr std::array kinds = {LikelihoodKind::mass};
  return kinds;
}

RowScores HiddenTreeEmission::score(const StepRows& rows, LikelihoodKind, Precision, const Executor& executor) const {
  const TimingRows& timings = timings_of(rows, shape(), retakes_);
  RowScores scores{RowMatrix(rows.row_count(), state_count()), {}};
  // Rows that are only scored are so once: no plan is worth keeping for that.
  const KeptPlans& plans = plans_of(timings);
  for (std::size_t k = 0; k < trees_.size(); ++k)
    scores.log_likelihood.col(static_cast<Index>(k)) =
        HiddenTreePasses(timings, plans.find(trees_[k]->shape())).score(*trees_[k], executor);
  return scores;
}

namespace {

class HiddenTreeGiven : public GivenPattern {
 public:
  HiddenTreeGiven(const HiddenTreeEmission& emission, const UnknownBits& unknown)
      : emission_(emission), unknown_(unknown), pattern_(unknown, emission.shape(), emission.retakes()) {}

  void marginals(std::span<const Id> taken, std::span<const Id> asked, Eigen::Ref<RowMatrix> out) const override {
    const Id courses = emission_.shape().courses;
    for (std::size_t k = 0; k < emission_.trees().size(); ++k) {
      const HiddenTree& tree = *emission_.trees()[k];
      const Row row(*this, k, taken);
      const RowMatrix posterior = row.way->posterior();
      RowMatrix taking;  // courses by periods; a course is done when it is first asked about
      Vector mass(tree.state_count());
      std::vector<bool> is_done(static_cast<std::size_t>(courses), false);
      for (std::size_t i = 0; i < asked.size(); ++i) {
        double& answer = out(static_cast<Index>(k), static_cast<Index>(i));
        if (!unknown_.contains(asked[i])) {
          answer = std::ranges::binary_search(taken, asked[i]) ? 1 : 0;
          continue;
        }
        const Id c = asked[i] % courses, period = asked[i] / courses;
        if (taking.size() == 0) taking.resize(courses, tree.period_count());
        if (!is_done[static_cast<std::size_t>(c)]) {
          const Eigen::Map<const Vector> own(row.own_of(c), tree.state_count());
          mass = posterior.row(c).head(tree.state_count()).transpose().cwiseQuotient(own);
          find_taking(tree, row.code(c), c, mass, taking.row(c).data());
          is_done[static_cast<std::size_t>(c)] = true;
        }
        answer = taking(c, period);
      }
    }
  }

  void complete(std::span<const Id> taken, Id state, RandomStream& stream, std::vector<Id>& result) const override {
    result.assign(taken.begin(), taken.end());
    const auto k = static_cast<std::size_t>(state);
    const HiddenTree& tree = *emission_.trees()[k];
    const Row row(*this, k, taken);
    std::vector<Id> states;
    row.way->draw(stream, states);
    const Id courses = emission_.shape().courses, periods = emission_.shape().periods;
    std::vector<double> weights(static_cast<std::size_t>(periods) + 1);
    for (Id c = 0; c < courses; ++c) {
      timing_weights(row.code(c), tree.retake(c), weights);
      const double* shares = tree.timing(c) + states[static_cast<std::size_t>(c)];
      for (Id v = 0; v <= periods; ++v)
        weights[static_cast<std::size_t>(v)] *= shares[v * tree.stride()];
      const auto first = static_cast<Id>(stream.categorical(weights));
      if (first == 0) continue;
      for (Id t = first - 1; t < periods; ++t) {
        const Id bit = t * courses + c;
        if (!unknown_.contains(bit)) continue;
        if (t + 1 == first || stream.bernoulli(tree.retake(c)[static_cast<std::size_t>(t)])) result.push_back(bit);
      }
    }
    std::ranges::sort(result);
  }

 private:
  /// What a row knows, and its way through one tree.
  struct Row {
    Row(const HiddenTreeGiven& given, std::size_t state, std::span<const Id> taken)
        : tree(*given.emission_.trees()[state]), baseline(given.emission_.baseline(state, given.pattern_.baseline())) {
      std::vector<CourseTiming> changed;
      given.pattern_.changes(taken, changed);
      own.resize(std::ssize(changed), tree.stride());
      for (const CourseTiming& known : changed) {
        double* likelihood = own.row(std::ssize(changes)).data();
        tree.own(known, likelihood);
        changes.push_back({known, likelihood});
      }
      way.emplace(tree, baseline, changes);
    }
    /// The change of a course; null: there is none.
    const TreeChange* change(Id course) const {
      const auto found =
          std::ranges::lower_bound(changes, course, {}, [](const TreeChange& change) { return change.known.course; });
      return found != changes.end() && found->known.course == course ? &*found : nullptr;
    }
    TimingCode code(Id course) const {
      const TreeChange* found = change(course);
      return found != nullptr ? found->known.code : baseline.code;
    }
    const double* own_of(Id course) const {
      const TreeChange* found = change(course);
      return found != nullptr ? found->own : baseline.own.row(course).data();
    }

    const HiddenTree& tree;
    const BaselineMessages& baseline;
    RowMatrix own;
    std::vector<TreeChange> changes;
    std::optional<HiddenTreeRow> way;
  };

  /// P(bit = 1) of a course in every period, were it unknown: first enrollment there, or before and taken again.
  /// mass: posterior over the likelihood of what is known, by z.
  static void find_taking(const HiddenTree& tree, TimingCode code, Id course, const Vector& mass, double* taking) {
    double weights[most_timing_periods + 1];
    const auto retake = tree.retake(course);
    timing_weights(code, retake, {weights, retake.size() + 1});
    double before = 0;
    for (std::size_t t = 0; t < retake.size(); ++t) {
      const Eigen::Map<const Vector> shares(tree.timing(course) + static_cast<Index>(t + 1) * tree.stride(),
                                            mass.size());
      const double first = weights[t + 1] > 0 ? weights[t + 1] * mass.dot(shares) : 0;
      taking[t] = std::min(1.0, first + retake[t] * before);
      before += first;
    }
  }

  const HiddenTreeEmission& emission_;
  const UnknownBits& unknown_;
  TimingPattern pattern_;
};

}  // namespace

std::unique_ptr<GivenPattern> HiddenTreeEmission::given(const UnknownBits& unknown) const {
  return std::make_unique<HiddenTreeGiven>(*this, unknown);
}

RowMatrix HiddenTreeEmission::bit_probabilities() const {
  const Id courses = shape().courses;
  RowMatrix result(bit_count(), state_count());
  for (Index k = 0; k < state_count(); ++k) {
    const HiddenTree& tree = *trees_[static_cast<std::size_t>(k)];
    const RowMatrix shares = tree.timing_shares();
    for (Id c = 0; c < courses; ++c) {
      double before = 0;
      for (Id t = 0; t < shape().periods; ++t) {
        result(t * courses + c, k) = shares(c, t + 1) + tree.retake(c)[static_cast<std::size_t>(t)] * before;
        before += shares(c, t + 1);
      }
    }
  }
  return result;
}

std::vector<CourseLink> HiddenTreeEmission::links() const {
  std::map<std::pair<Id, Id>, CourseLink> found;
  const auto count = static_cast<double>(trees_.size());
  for (const auto& tree : trees_) {
    const Vector information = tree->link_information();
    for (Id c = 0; c < tree->course_count(); ++c) {
      const Id parent = tree->shape().parent(c);
      if (parent < 0) continue;
      const auto ends = std::minmax(c, parent);
      CourseLink& link = found.try_emplace(ends, CourseLink{ends.first, ends.second, 0, 0}).first->second;
      link.information += information[c] / count;
      link.share += 1 / count;
    }
  }
  std::vector<CourseLink> links;
  for (const auto& [ends, link] : found)
    links.push_back(link);
  std::ranges::stable_sort(links, std::ranges::greater(), &CourseLink::information);
  return links;
}

std::int64_t HiddenTreeEmission::parameter_count() const {
  std::int64_t count = 0;
  for (const auto& tree : trees_) {
    const std::int64_t h = tree->state_count(), courses = tree->course_count(), periods = tree->period_count();
    count += (h - 1) + (courses - 1) * h * (h - 1) + courses * h * periods;
    if (retakes_ == Retakes::learned) count += courses * (periods - 1);
  }
  return count;
}

std::unique_ptr<Emission> HiddenTreeEmission::joined(std::span<const std::shared_ptr<const Emission>> all) const {
  std::vector<std::shared_ptr<const HiddenTree>> trees;
  for (const auto& emission : all) {
    const auto* other = dynamic_cast<const HiddenTreeEmission*>(emission.get());
    if (other == nullptr || other->retakes_ != retakes_ || !other->fits(shape().periods, shape().courses))
      return nullptr;
    trees.insert(trees.end(), other->trees_.begin(), other->trees_.end());
  }
  return std::make_unique<HiddenTreeEmission>(std::move(trees), retakes_);
}

std::unique_ptr<Emission> HiddenTreeEmission::reordered(std::span<const Id> order) const {
  std::vector<std::shared_ptr<const HiddenTree>> trees;
  for (const Id state : order)
    trees.push_back(trees_[static_cast<std::size_t>(state)]);
  return std::make_unique<HiddenTreeEmission>(std::move(trees), retakes_);
}

void HiddenTreeEmission::save(ArchiveWriter& archive, const std::string& prefix) const {
  archive.add(prefix + ".without_retakes",
              std::vector<std::uint8_t>{retakes_ == Retakes::never ? std::uint8_t{1} : std::uint8_t{0}});
  for (std::size_t k = 0; k < trees_.size(); ++k)
    trees_[k]->parameters().save(archive, concat(prefix, ".tree.", k));
}

std::int64_t HiddenTreeEmission::byte_count() const {
  std::int64_t count = 0;
  for (const auto& tree : trees_)
    count += 8 * (tree->parameters().transition.size() + tree->parameters().timing.size());
  return count;
}

EmissionFamily hidden_tree_family() {
  return {std::string(HiddenTreeEmission::family_name),
          "when courses are first taken, along a tree of hidden variables",
          declaration_of<HiddenTreeOptions>(),
          [](const SettingValues& values, const StepShape& shape) {
            return std::make_unique<HiddenTreeLearner>(settings_from<HiddenTreeOptions>(values), shape);
          },
          HiddenTreeEmission::load,
          /*can_be_published=*/true};
}

}  // namespace desirepath::inline emissions
