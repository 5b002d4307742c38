#include "support/textbook_em.h"

#include <cmath>
#include <functional>

namespace desirepath::test {

namespace {

struct Tables {
  std::vector<Id> parent;  // shared, or of this state
  Vector root;             // p(bit) where it has no parent
  Vector given[2];         // p(bit | parent = v)
};

double log_emission(const Tables& t, const Eigen::RowVectorXd& value, const Eigen::RowVectorXd& known) {
  double sum = 0;
  for (Index j = 0; j < value.size(); ++j) {
    if (known[j] == 0) continue;
    const Id parent = t.parent[static_cast<std::size_t>(j)];
    const double p = parent < 0 ? t.root[j] : t.given[value[parent] > 0.5 ? 1 : 0][j];
    sum += std::log(value[j] > 0.5 ? p : 1 - p);
  }
  return sum;
}

/// Chow-Liu by Kruskal on sorted edges: another algorithm than the library's.
std::vector<Id> chow_liu(const Matrix& information) {
  const Index bits = information.rows();
  struct Edge {
    double weight;
    Index i, j;
  };
  std::vector<Edge> edges;
  for (Index i = 0; i < bits; ++i) {
    for (Index j = i + 1; j < bits; ++j)
      edges.push_back({information(i, j), i, j});
  }
  std::stable_sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.weight > b.weight; });
  std::vector<Index> root(static_cast<std::size_t>(bits));
  for (Index i = 0; i < bits; ++i)
    root[static_cast<std::size_t>(i)] = i;
  const std::function<Index(Index)> find = [&](Index i) {
    return root[static_cast<std::size_t>(i)] == i ? i : find(root[static_cast<std::size_t>(i)]);
  };
  std::vector<std::vector<Index>> neighbours(static_cast<std::size_t>(bits));
  for (const Edge& edge : edges) {
    if (find(edge.i) == find(edge.j)) continue;
    root[static_cast<std::size_t>(find(edge.i))] = find(edge.j);
    neighbours[static_cast<std::size_t>(edge.i)].push_back(edge.j);
    neighbours[static_cast<std::size_t>(edge.j)].push_back(edge.i);
  }
  std::vector<Id> parent(static_cast<std::size_t>(bits), -1);
  std::vector<bool> seen(static_cast<std::size_t>(bits), false);
  std::vector<Index> queue = {0};
  seen[0] = true;
  for (std::size_t q = 0; q < queue.size(); ++q) {
    for (const Index next : neighbours[static_cast<std::size_t>(queue[q])]) {
      if (seen[static_cast<std::size_t>(next)]) continue;
      seen[static_cast<std::size_t>(next)] = true;
      parent[static_cast<std::size_t>(next)] = static_cast<Id>(queue[q]);
      queue.push_back(next);
    }
  }
  return parent;
}

class DiscreteFamily : public TextbookFamily {
 public:
  explicit DiscreteFamily(const TextbookOptions& options) : options_(options) {}

  void maximise(const DenseRows& rows, const Matrix& weight) override {
    const Id states = options_.states;
    const Index bits = rows.value.cols();
    const double a = options_.pseudocount;
    const bool tree = options_.family == "tree";
    tables_.assign(static_cast<std::size_t>(states), {});
    std::vector<Matrix> together;
    std::vector<Vector> known;
    for (Id k = 0; k < states; ++k) {
      together.emplace_back(rows.value.transpose() * weight.col(k).asDiagonal() * rows.value);
      known.emplace_back(rows.known.transpose() * weight.col(k));
    }
    Matrix shared = Matrix::Zero(bits, bits);
    std::vector<Matrix> information(static_cast<std::size_t>(states), Matrix::Zero(bits, bits));
    for (Id k = 0; k < states && tree; ++k) {
      const Matrix& n = together[static_cast<std::size_t>(k)];
      const double total = known[static_cast<std::size_t>(k)][0] + 4 * a;
      for (Index i = 0; i < bits; ++i) {
        for (Index j = i + 1; j < bits; ++j) {
          double mi = 0;
          for (const int u : {0, 1}) {
            for (const int v : {0, 1}) {
              const double n11 = n(i, j), ni = n(i, i), nj = n(j, j);
              const double cell =
                  u == 1 ? (v == 1 ? n11 : ni - n11) : (v == 1 ? nj - n11 : total - 4 * a - ni - nj + n11);
              const double p = (cell + a) / total;
              const double pi = ((u == 1 ? ni : total - 4 * a - ni) + 2 * a) / total,
                           pj = ((v == 1 ? nj : total - 4 * a - nj) + 2 * a) / total;
              if (p > 0) mi += p * std::log(p / (pi * pj));
            }
          }
          information[static_cast<std::size_t>(k)](i, j) = mi;
          shared(i, j) += total * mi;
        }
      }
    }
    for (Id k = 0; k < states; ++k) {
      Tables& t = tables_[static_cast<std::size_t>(k)];
      const Matrix& n = together[static_cast<std::size_t>(k)];
      t.parent.assign(static_cast<std::size_t>(bits), -1);
      if (tree) t.parent = chow_liu(options_.shared_tree ? shared : information[static_cast<std::size_t>(k)]);
      t.root.resize(bits);
      t.given[0].setZero(bits);
      t.given[1].setZero(bits);
      for (Index j = 0; j < bits; ++j) {
        const double total = known[static_cast<std::size_t>(k)][j];
        t.root[j] = tree ? (n(j, j) + 2 * a) / (total + 4 * a) : (n(j, j) + a) / (total + 2 * a);
        const Id p = t.parent[static_cast<std::size_t>(j)];
        if (p < 0) continue;
        t.given[1][j] = (n(p, j) + a) / (n(p, p) + 2 * a);
        t.given[0][j] = (n(j, j) - n(p, j) + a) / (total - n(p, p) + 2 * a);
      }
    }
  }

  double log_emission(const Eigen::RowVectorXd& value, const Eigen::RowVectorXd& known, Id state) const override {
    return test::log_emission(tables_[static_cast<std::size_t>(state)], value, known);
  }

 private:
  TextbookOptions options_;
  std::vector<Tables> tables_;
};

}  // namespace

std::unique_ptr<TextbookFamily> discrete_family(const TextbookOptions& options) {
  return std::make_unique<DiscreteFamily>(options);
}

std::vector<double> textbook_trace(const Cohort& cohort, const RowMatrix& labels, const TextbookOptions& options) {
  const Id periods = cohort.schema().period_count(), courses = cohort.schema().course_count();
  const StepLayout layout = StepLayout::of(options.structure, periods);
  const Id steps = layout.step_count(), states = options.states;
  const auto students = cohort.student_count();
  const double b = options.state_pseudocount;
  std::vector<DenseRows> data;
  for (const PeriodRange& range : layout.steps) {
    const Index bits = (range.last - range.first) * courses;
    DenseRows step{Matrix::Zero(students, bits), Matrix::Zero(students, bits)};
    for (std::int64_t s = 0; s < students; ++s) {
      for (Id t = range.first; t < range.last; ++t) {
        if (!cohort.enrolled(s, t)) continue;
        step.known.row(s).segment((t - range.first) * courses, courses).setOnes();
        for (const Id bit : cohort.bits(s, t))
          step.value(s, bit - range.first * courses) = 1;
      }
    }
    data.push_back(std::move(step));
  }
  const auto anything_known = [&](Id t, std::int64_t s) {
    return data[static_cast<std::size_t>(t)].known.row(s).sum() > 0;
  };

  // gamma[t]: students by states; pairs[t]: states by states.
  std::vector<Matrix> gamma(static_cast<std::size_t>(steps), Matrix::Zero(students, states));
  std::vector<Matrix> pairs(static_cast<std::size_t>(steps), Matrix::Zero(states, states));
  Vector first = Vector::Zero(states);
  for (std::int64_t s = 0; s < students; ++s) {
    for (Id t = 0; t < steps; ++t) {
      if (anything_known(t, s)) gamma[static_cast<std::size_t>(t)].row(s) = labels.row(s * steps + t);
      if (t == 0) first += labels.row(s * steps).transpose();
      if (t > 0)
        pairs[static_cast<std::size_t>(t - 1)] += labels.row(s * steps + t - 1).transpose() * labels.row(s * steps + t);
    }
  }

  Vector initial;
  std::vector<Matrix> transitions;
  std::vector<std::unique_ptr<TextbookFamily>> families;  // by pool
  for (std::size_t p = 0; p < layout.pools.size(); ++p)
    families.push_back(
        options.family == "gaussian"
            ? gaussian_family(options, RandomStream(1).child("restart").child(0).child("emissions").child(p))
            : discrete_family(options));
  const auto maximise = [&] {
    initial = (first.array() + b) / (first.sum() + states * b);
    transitions.clear();
    Matrix pooled = Matrix::Zero(states, states);
    for (Id t = 0; t + 1 < steps; ++t)
      pooled += pairs[static_cast<std::size_t>(t)];
    for (Id t = 0; t + 1 < steps; ++t) {
      Matrix counts = options.structure == TimeStructure::tied ? pooled : pairs[static_cast<std::size_t>(t)];
      counts.array() += b;
      for (Id k = 0; k < states; ++k)
        counts.row(k) /= counts.row(k).sum();
      transitions.push_back(counts);
    }
    for (std::size_t p = 0; p < layout.pools.size(); ++p) {
      const auto steps_here = static_cast<Index>(layout.pools[p].size());
      DenseRows rows{Matrix(students * steps_here, data[0].value.cols()),
                     Matrix(students * steps_here, data[0].value.cols())};
      Matrix weight(students * steps_here, states);
      for (Index i = 0; i < steps_here; ++i) {
        const auto t = static_cast<std::size_t>(layout.pools[p][static_cast<std::size_t>(i)]);
        rows.value.middleRows(i * students, students) = data[t].value;
        rows.known.middleRows(i * students, students) = data[t].known;
        weight.middleRows(i * students, students) = gamma[t];
      }
      families[p]->maximise(rows, weight);
    }
  };
  const auto expectation = [&] {
    double log_likelihood = 0;
    first.setZero();
    for (Matrix& g : gamma)
      g.setZero();
    for (Matrix& p : pairs)
      p.setZero();
    std::vector<Id> path(static_cast<std::size_t>(steps));
    for (std::int64_t s = 0; s < students; ++s) {
      Matrix log_emissions = Matrix::Zero(steps, states);
      for (Id t = 0; t < steps; ++t) {
        for (Id k = 0; k < states; ++k) {
          const DenseRows& step = data[static_cast<std::size_t>(t)];
          log_emissions(t, k) =
              families[static_cast<std::size_t>(layout.pool_of[static_cast<std::size_t>(t)])]->log_emission(
                  step.value.row(s), step.known.row(s), k);
        }
      }
      // Every path: joint log-probabilities, shifted by the largest.
      Id count = 1;
      for (Id t = 0; t < steps; ++t)
        count *= states;
      std::vector<double> joint(static_cast<std::size_t>(count));
      double largest = -1e300;
      const auto unfold = [&](Id code) {
        for (Id t = 0; t < steps; ++t) {
          path[static_cast<std::size_t>(t)] = code % states;
          code /= states;
        }
      };
      for (Id code = 0; code < count; ++code) {
        unfold(code);
        double sum = std::log(initial[path[0]]) + log_emissions(0, path[0]);
        for (Id t = 1; t < steps; ++t) {
          sum += std::log(transitions[static_cast<std::size_t>(t - 1)](path[static_cast<std::size_t>(t - 1)],
                                                                       path[static_cast<std::size_t>(t)])) +
                 log_emissions(t, path[static_cast<std::size_t>(t)]);
        }
        joint[static_cast<std::size_t>(code)] = sum;
        largest = std::max(largest, sum);
      }
      double total = 0;
      for (double& j : joint)
        total += j = std::exp(j - largest);
      log_likelihood += largest + std::log(total);
      for (Id code = 0; code < count; ++code) {
        unfold(code);
        const double weight = joint[static_cast<std::size_t>(code)] / total;
        first[path[0]] += weight;
        for (Id t = 0; t < steps; ++t) {
          if (anything_known(t, s)) gamma[static_cast<std::size_t>(t)](s, path[static_cast<std::size_t>(t)]) += weight;
          if (t > 0)
            pairs[static_cast<std::size_t>(t - 1)](path[static_cast<std::size_t>(t - 1)],
                                                   path[static_cast<std::size_t>(t)]) += weight;
        }
      }
    }
    return log_likelihood;
  };
  std::vector<double> trace;
  maximise();
  for (int i = 0; i <= options.iterations; ++i) {
    trace.push_back(expectation());
    maximise();
  }
  return trace;
}

}  // namespace desirepath::test
