// What can be worked out from what is shown, by integer programming: the attacker's side of the disclosure step.
#pragma once

#include <utility>
#include <vector>

#include <glpk.h>

namespace desirepath::test {

/// Whole numbers of 0 or more, and sums of them that are known.
class Puzzle {
 public:
  using Terms = std::vector<std::pair<int, double>>;  // unknown, times

  explicit Puzzle(bool whole = true) : problem_(glp_create_prob()), whole_(whole) {}
  Puzzle(const Puzzle&) = delete;
  Puzzle& operator=(const Puzzle&) = delete;
  Puzzle(Puzzle&&) = delete;
  Puzzle& operator=(Puzzle&&) = delete;
  ~Puzzle() { glp_delete_prob(problem_); }

  int unknown() {
    const int number = glp_add_cols(problem_, 1);
    glp_set_col_bnds(problem_, number, GLP_LO, 0, 0);
    glp_set_col_kind(problem_, number, whole_ ? GLP_IV : GLP_CV);
    return number;
  }
  void know(const Terms& terms, double low, double high) {
    std::vector<int> index = {0};
    std::vector<double> value = {0};
    // One entry an unknown.
    std::vector<double> sum(static_cast<std::size_t>(glp_get_num_cols(problem_)) + 1, 0);
    for (const auto& [number, times] : terms)
      sum[static_cast<std::size_t>(number)] += times;
    for (std::size_t i = 1; i < sum.size(); ++i) {
      if (sum[i] == 0) continue;
      index.push_back(static_cast<int>(i));
      value.push_back(sum[i]);
    }
    const int row = glp_add_rows(problem_, 1);
    glp_set_row_bnds(problem_, row, low == high ? GLP_FX : GLP_DB, low, high);
    glp_set_mat_row(problem_, row, static_cast<int>(index.size()) - 1, index.data(), value.data());
  }
  void know(const Terms& terms, double value) { know(terms, value, value); }

  /// The least and the largest that the sum can be; `most` is as far as it is searched.
  double least(const Terms& terms) { return solve(terms, GLP_MIN); }
  double largest(const Terms& terms, double most) {
    // Unbounded sums are as large as anybody may ask.
    know(terms, 0, most);
    const double found = solve(terms, GLP_MAX);
    const int row = glp_get_num_rows(problem_);
    const int rows[] = {0, row};
    glp_del_rows(problem_, 1, rows);
    return found;
  }

 private:
  double solve(const Terms& terms, int direction) {
    glp_set_obj_dir(problem_, direction);
    for (int i = 1; i <= glp_get_num_cols(problem_); ++i)
      glp_set_obj_coef(problem_, i, 0);
    for (const auto& [number, times] : terms)
      glp_set_obj_coef(problem_, number, glp_get_obj_coef(problem_, number) + times);
    glp_std_basis(problem_);
    glp_smcp linear;
    glp_init_smcp(&linear);
    linear.msg_lev = GLP_MSG_OFF;
    linear.presolve = GLP_ON;
    const int failed = glp_simplex(problem_, &linear);
    if (failed != 0 || glp_get_status(problem_) != GLP_OPT) return -1;
    if (!whole_) return glp_get_obj_val(problem_);
    linear.presolve = GLP_OFF;
    glp_simplex(problem_, &linear);
    glp_iocp integer;
    glp_init_iocp(&integer);
    integer.msg_lev = GLP_MSG_OFF;
    integer.tm_lim = 2000;
    if (glp_intopt(problem_, &integer) != 0) return -1;
    return glp_mip_obj_val(problem_);
  }

  glp_prob* problem_;
  bool whole_;
};

}  // namespace desirepath::test
