#include "support/textbook_hidden_tree.h"

#include <cmath>
#include <string>
#include <vector>

namespace desirepath::test {

EvidenceBatch odd_students(std::int64_t count, const StepShape& shape, RandomStream stream) {
  const Id periods = shape.periods, courses = shape.courses;
  std::vector<std::string> ids;
  std::vector<Presence> presence;
  BinaryMatrixBuilder taken(shape.course_bits()), exceptions(shape.course_bits());
  for (std::int64_t s = 0; s < count; ++s) {
    ids.push_back("s" + std::to_string(s));
    for (Id t = 0; t < periods; ++t) {
      const double kind = stream.uniform();
      const bool known = s == 0 || t == 0 || kind < 0.7;
      presence.push_back(known ? Presence::present : Presence::unknown);
      for (Id c = 0; c < courses; ++c) {
        const Id bit = t * courses + c;
        const bool takes = s != 0 && (c == 4 && t == 0 ? true : stream.uniform() < 0.18);
        const bool odd = s != 0 && s % 5 == 0 && stream.uniform() < 0.1;  // against its period
        if (known ? takes && !odd : takes && odd) taken.add(bit);
        if (known ? odd : odd && !takes) exceptions.add(bit);
      }
      taken.finish_row();
      exceptions.finish_row();
    }
  }
  return {periods, courses, ids, presence, std::move(taken).build(), std::move(exceptions).build()};
}

HiddenTreeParameters started_tree(const StepRows& rows, const StepShape& shape, std::span<const double> weights,
                                  const HiddenTreeOptions& options, const RandomStream& stream,
                                  const Executor& executor) {
  const TimingRows timings(rows, shape, options.retakes);
  const StartRows start_rows(rows, timings, weights);
  TreeGround ground(options, shape);
  while (!ground.take(ground.count(start_rows, executor), executor)) {
  }
  HiddenTreeStart start(ground, options, stream);
  while (!start.take(start.count(start_rows, executor))) {
  }
  return start.take_parameters();
}

HiddenTreePasses planned_passes(const TimingRows& timings, const DependencyTree& shape, const Executor& executor) {
  return HiddenTreePasses(timings, std::make_shared<const TreePlan>(shape, timings, RowLanes(timings), executor));
}

DenseTreePass dense_tree_pass(const HiddenTreeParameters& tree, const Eigen::MatrixXi& known,
                              std::span<const TraitValues> possible) {
  const Id courses = tree.courses(), nodes = tree.nodes(), periods = tree.periods(), h = tree.states();
  // e(v) of every course, then of every trait.
  RowMatrix e = RowMatrix::Ones(nodes, tree.timing.cols());
  for (Id i = 0; i < nodes - courses; ++i) {
    for (Id v = 0; v < tree.values(courses + i); ++v)
      e(courses + i, v) = possible[static_cast<std::size_t>(i)] >> v & 1U;
  }
  for (Id c = 0; c < courses; ++c) {
    for (Id v = 0; v <= periods; ++v) {
      for (Id t = 1; t <= periods; ++t) {
        const int bit = known(c, t - 1);
        if (bit == 2) continue;
        const double r = tree.retake(c, t - 1);
        if (v == 0 || t < v)
          e(c, v) *= bit == 0 ? 1 : 0;
        else if (t == v)
          e(c, v) *= bit == 1 ? 1 : 0;
        else
          e(c, v) *= bit == 1 ? r : 1 - r;
      }
    }
  }
  // Parents first.
  std::vector<Id> order;
  for (Id c = 0; c < nodes; ++c) {
    if (tree.parents[static_cast<std::size_t>(c)] < 0) order.push_back(c);
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (Id c = 0; c < nodes; ++c) {
      if (tree.parents[static_cast<std::size_t>(c)] == order[i]) order.push_back(c);
    }
  }
  RowMatrix own(nodes, h), below = RowMatrix::Ones(nodes, h), message(nodes, h);
  Vector scale = Vector::Zero(nodes);
  for (std::size_t i = order.size(); i-- > 0;) {
    const Id c = order[i], parent = tree.parents[static_cast<std::size_t>(c)];
    for (Id z = 0; z < h; ++z)
      own(c, z) = tree.timing.row(c * h + z).dot(e.row(c));
    below.row(c).array() *= own.row(c).array();
    const double peak = below.row(c).maxCoeff();
    below.row(c) /= peak;
    scale[c] += std::log(peak);
    if (parent < 0) continue;
    for (Id z = 0; z < h; ++z)
      message(c, z) = tree.transition.row(c * h + z).dot(below.row(c));
    below.row(parent).array() *= message.row(c).array();
    scale[parent] += scale[c];
  }
  DenseTreePass pass;
  const Id root = order.front();
  const double sum = tree.initial.dot(below.row(root).transpose());
  pass.log_probability = scale[root] + std::log(sum);
  pass.posterior.resize(nodes, h);
  pass.counts = HiddenTreeCounts(nodes, h, periods, tree.timing.cols());
  auto pairs = pass.counts.pairs(), timing = pass.counts.timing(), risk = pass.counts.risk(),
       retaken = pass.counts.retaken();
  for (const Id c : order) {
    const Id parent = tree.parents[static_cast<std::size_t>(c)];
    if (parent < 0) {
      pass.posterior.row(c) = tree.initial.transpose().cwiseProduct(below.row(c)) / sum;
      continue;
    }
    for (Id above = 0; above < h; ++above) {
      for (Id z = 0; z < h; ++z)
        pairs(c * h + above, z) =
            pass.posterior(parent, above) * tree.transition(c * h + above, z) * below(c, z) / message(c, above);
    }
    pass.posterior.row(c) = pairs.middleRows(c * h, h).colwise().sum();
  }
  pass.counts.root() = pass.posterior.row(root);
  pass.timing = RowMatrix::Zero(nodes, tree.timing.cols());
  for (Id c = 0; c < nodes; ++c) {
    for (Id z = 0; z < h; ++z) {
      for (Id v = 0; v < tree.values(c); ++v) {
        const double mass = pass.posterior(c, z) * tree.timing(c * h + z, v) * e(c, v) / own(c, z);
        timing(c * h + z, v) = mass;
        pass.timing(c, v) += mass;
      }
    }
    for (Id t = 1; t <= periods && c < courses; ++t) {
      if (known(c, t - 1) == 2) continue;
      for (Id v = 1; v < t; ++v) {
        risk(c, t - 1) += pass.timing(c, v);
        if (known(c, t - 1) == 1) retaken(c, t - 1) += pass.timing(c, v);
      }
    }
  }
  return pass;
}

HiddenTreeParameters dense_tree_step(const HiddenTreeParameters& before, const HiddenTreeCounts& counts, double link,
                                     double timing, double retake) {
  const Id courses = before.courses(), periods = before.periods(), h = before.states();
  HiddenTreeParameters next = before;
  const double total = counts.root().sum();
  for (Id z = 0; z < h; ++z)
    next.initial[z] = (counts.root()(0, z) + link * h * before.centres.states[z]) / (total + link * h);
  for (Id c = 0; c < before.nodes(); ++c) {
    for (Id z = 0; z < h; ++z) {
      const Index row = c * h + z;
      for (Id to = 0; to < h && before.parents[static_cast<std::size_t>(c)] >= 0; ++to)
        next.transition(row, to) = (counts.pairs()(row, to) + link * h * before.centres.states[to]) /
                                   (counts.pairs().row(row).sum() + link * h);
      for (Id v = 0; v < before.values(c); ++v)
        next.timing(row, v) = (counts.timing()(row, v) + timing * before.centres.timing(c, v)) /
                              (counts.timing().row(row).sum() + timing);
    }
    for (Id t = 1; t < periods && c < courses; ++t)
      next.retake(c, t) = (counts.retaken()(c, t) + retake * before.centres.retake[t]) / (counts.risk()(c, t) + retake);
  }
  return next;
}

double dense_tree_log_prior(const HiddenTreeParameters& tree, double link, double timing, double retake) {
  const Id courses = tree.courses(), periods = tree.periods(), h = tree.states();
  double sum = 0;
  for (Id z = 0; z < h; ++z)
    sum += link * h * tree.centres.states[z] * std::log(tree.initial[z]);
  for (Id c = 0; c < tree.nodes(); ++c) {
    for (Id z = 0; z < h; ++z) {
      for (Id to = 0; to < h && tree.parents[static_cast<std::size_t>(c)] >= 0; ++to)
        sum += link * h * tree.centres.states[to] * std::log(tree.transition(c * h + z, to));
      for (Id v = 0; v < tree.values(c); ++v)
        sum += timing * tree.centres.timing(c, v) * std::log(tree.timing(c * h + z, v));
    }
    for (Id t = 1; t < periods && c < courses; ++t)
      sum += retake * (tree.centres.retake[t] * std::log(tree.retake(c, t)) +
                       (1 - tree.centres.retake[t]) * std::log(1 - tree.retake(c, t)));
  }
  return sum;
}

}  // namespace desirepath::test
