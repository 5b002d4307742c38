#include "desirepath/emissions/hidden_tree.h"

#include <algorithm>
#include <array>

#include "desirepath/core/text.h"
#include "desirepath/emissions/hidden_tree_passes.h"
#include "desirepath/emissions/hidden_tree_row.h"
#include "desirepath/emissions/kept_plans.h"

namespace desirepath::inline emissions {

HiddenTreeEmission::HiddenTreeEmission(std::vector<std::shared_ptr<const HiddenTree>> trees, Retakes retakes)
    : trees_(std::move(trees)), shape_(trees_.front()->parameters().shape()), retakes_(retakes) {}

std::unique_ptr<HiddenTreeEmission> HiddenTreeEmission::load(const ArchiveReader& archive, const std::string& prefix) {
  std::vector<std::shared_ptr<const HiddenTree>> trees;
  const std::vector<std::uint8_t> never = archive.read<std::uint8_t>(prefix + ".without_retakes", {1});
  for (std::size_t k = 0; archive.has(concat(prefix, ".tree.", k, ".parents")); ++k) {
    trees.push_back(
        std::make_shared<const HiddenTree>(HiddenTreeParameters::load(archive, concat(prefix, ".tree.", k))));
    if (trees.back()->parameters().shape() != trees.front()->parameters().shape())
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
    const StepShape& shape = emission_.shape();
    for (std::size_t k = 0; k < emission_.trees().size(); ++k) {
      Row row(*this, k, taken, 0);
      // By period: the row of somebody still enrolled in it, where that is not known.
      std::map<Id, Row> enrolled;
      for (std::size_t i = 0; i < asked.size(); ++i) {
        double& answer = out(static_cast<Index>(k), static_cast<Index>(i));
        if (!unknown_.contains(asked[i])) {
          answer = std::ranges::binary_search(taken, asked[i]) ? 1 : 0;
        } else if (asked[i] >= shape.course_bits()) {
          answer = row.trait_probability(asked[i]);
        } else {
          const Id period = asked[i] / shape.courses;
          if (row.is_enrolled(period)) {
            answer = row.taken_probability(asked[i]);
          } else if (!row.may_be_enrolled(period)) {
            answer = 0;
          } else {
            Row& there = enrolled.try_emplace(period, *this, k, taken, period).first->second;
            answer = std::min(1.0, std::exp(there.way->log_probability() - row.way->log_probability())) *
                     there.taken_probability(asked[i]);
          }
        }
      }
    }
  }

  void complete(std::span<const Id> taken, Id state, RandomStream& stream, std::vector<Id>& result) const override {
    result.assign(taken.begin(), taken.end());
    const auto k = static_cast<std::size_t>(state);
    const HiddenTree& tree = *emission_.trees()[k];
    const StepShape& shape = emission_.shape();
    const Row row(*this, k, taken, 0);
    std::vector<Id> states;
    row.way->draw(stream, states);
    std::vector<double> weights(static_cast<std::size_t>(tree.width()));
    const auto draw_value = [&](Id node) {
      tree.weights(row.known(node), weights);
      const double* shares = tree.timing(node) + states[static_cast<std::size_t>(node)];
      for (std::size_t v = 0; v < weights.size(); ++v)
        weights[v] *= shares[static_cast<Index>(v) * tree.stride()];
      return static_cast<Id>(stream.categorical(weights));
    };
    Id periods = shape.periods;  // until the student leaves
    std::vector<Id> values;
    for (Id i = 0; i < shape.trait_count(); ++i) {
      values.push_back(draw_value(shape.courses + i));
      if (i == shape.departure) periods = values.back() + 1;
    }
    for (Id c = 0; c < shape.courses; ++c) {
      const Id first = draw_value(c);
      if (first == 0) continue;
      for (Id t = first - 1; t < periods; ++t) {
        const Id bit = t * shape.courses + c;
        if (!unknown_.contains(bit)) continue;
        if (t + 1 == first || stream.bernoulli(tree.retake(c)[static_cast<std::size_t>(t)])) result.push_back(bit);
      }
    }
    for (Id i = 0; i < shape.trait_count(); ++i) {
      const Id bit = shape.trait_bit(i) + values[static_cast<std::size_t>(i)];
      if (unknown_.contains(bit)) result.push_back(bit);
    }
    std::ranges::sort(result);
  }

 private:
  /// What a row knows, and its way through one tree.
  struct Row {
    /// enrolled: only those who left in this period, from 0, or later; 0: all.
    Row(const HiddenTreeGiven& given, std::size_t state, std::span<const Id> taken, Id enrolled)
        : shape(given.emission_.shape()),
          tree(*given.emission_.trees()[state]),
          baseline(given.emission_.baseline(state, given.pattern_.baseline())) {
      std::vector<CourseTiming> changed;
      given.pattern_.changes(taken, changed);
      if (enrolled > 0) {
        CourseTiming departure = departure_in(changed);
        departure.code &= ~((TimingCode{1} << enrolled) - 1);
        std::erase_if(changed, [&](const CourseTiming& known) { return known.course == departure.course; });
        changed.insert(std::ranges::upper_bound(changed, departure.course, {}, &CourseTiming::course), departure);
      }
      own.resize(std::ssize(changed), tree.stride());
      for (const CourseTiming& known : changed) {
        double* likelihood = own.row(std::ssize(changes)).data();
        tree.own(known, likelihood);
        changes.push_back({known, likelihood});
      }
      way.emplace(tree, baseline, changes);
      if (shape.departure >= 0) departure_code = departure_in(changed).code;
    }
    Row(const Row&) = delete;
    Row& operator=(const Row&) = delete;

    /// The change of a node; null: there is none.
    const TreeChange* change(Id node) const {
      const auto found =
          std::ranges::lower_bound(changes, node, {}, [](const TreeChange& change) { return change.known.course; });
      return found != changes.end() && found->known.course == node ? &*found : nullptr;
    }
    CourseTiming known(Id node) const {
      const TreeChange* found = change(node);
      return found != nullptr ? found->known : tree.unmentioned(node, baseline.code);
    }
    const double* own_of(Id node) const {
      const TreeChange* found = change(node);
      return found != nullptr ? found->own : baseline.own.row(node).data();
    }
    /// Whether it is certain that the student has not left before the period, and whether that can be.
    bool is_enrolled(Id period) const { return (departure_code & ((TimingCode{1} << period) - 1)) == 0; }
    bool may_be_enrolled(Id period) const { return (departure_code >> period) != 0; }

    /// P of an unknown bit of a course, as if the student were enrolled. A course is done when it is first asked about.
    double taken_probability(Id bit) {
      const Id c = bit % shape.courses;
      if (taking_.size() == 0) {
        taking_.resize(shape.courses, shape.periods);
        is_done_.assign(static_cast<std::size_t>(shape.courses), false);
      }
      if (!is_done_[static_cast<std::size_t>(c)]) {
        const Eigen::Map<const Vector> likelihood(own_of(c), tree.state_count());
        const Vector mass = posterior().row(c).head(tree.state_count()).transpose().cwiseQuotient(likelihood);
        find_taking(tree, known(c).code, c, mass, taking_.row(c).data());
        is_done_[static_cast<std::size_t>(c)] = true;
      }
      return taking_(c, bit / shape.courses);
    }
    /// P of a possible value of a trait.
    double trait_probability(Id bit) {
      Id trait = 0;
      while (bit >= shape.trait_bit(trait + 1))
        ++trait;
      const Id node = shape.courses + trait, value = bit - shape.trait_bit(trait);
      double sum = 0;
      const double *likelihood = own_of(node), *shares = tree.timing(node);
      for (Index z = 0; z < tree.state_count(); ++z)
        sum += posterior()(node, z) / likelihood[z] * shares[value * tree.stride() + z];
      return std::min(1.0, sum);
    }

    const StepShape& shape;
    const HiddenTree& tree;
    const BaselineMessages& baseline;
    RowMatrix own;
    std::vector<TreeChange> changes;
    std::optional<HiddenTreeRow> way;
    TimingCode departure_code = 0;  // possible last periods; 0: the tree does not know when students leave

   private:
    /// Draws need none.
    const RowMatrix& posterior() {
      if (posterior_.size() == 0) posterior_ = way->posterior();
      return posterior_;
    }
    CourseTiming departure_in(std::span<const CourseTiming> changed) const {
      const Id node = shape.courses + shape.departure;
      const auto found = std::ranges::find(changed, node, &CourseTiming::course);
      return found != changed.end() ? *found : CourseTiming{node, anything_possible(shape.periods)};
    }

    RowMatrix posterior_;
    RowMatrix taking_;  // courses by periods
    std::vector<bool> is_done_;
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
    for (Id i = 0; i < shape().trait_count(); ++i) {
      const Id values = shape().trait_values[static_cast<std::size_t>(i)];
      result.col(k).segment(shape().trait_bit(i), values) = shares.row(courses + i).head(values).transpose();
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
      if (parent < 0 || parent >= tree->course_count()) continue;
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
    const std::int64_t h = tree->state_count(), nodes = tree->node_count(), courses = tree->course_count(),
                       periods = tree->period_count();
    count += (h - 1) + (nodes - 1) * h * (h - 1) + courses * h * periods;
    for (const Id values : shape().trait_values)
      count += h * (values - 1);
    if (retakes_ == Retakes::learned) count += courses * (periods - 1);
  }
  return count;
}

std::unique_ptr<Emission> HiddenTreeEmission::joined(std::span<const std::shared_ptr<const Emission>> all) const {
  std::vector<std::shared_ptr<const HiddenTree>> trees;
  for (const auto& emission : all) {
    const auto* other = dynamic_cast<const HiddenTreeEmission*>(emission.get());
    if (other == nullptr || other->retakes_ != retakes_ || !other->fits(shape())) return nullptr;
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
