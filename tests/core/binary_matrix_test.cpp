#include "desirepath/core/binary_matrix.h"

#include <set>

#include "support/support.h"

#include "desirepath/core/error.h"

namespace desirepath::binary_matrix_test {
namespace {

TEST(BinaryMatrix, HoldsRowsOfOnes) {
  BinaryMatrixBuilder builder(5);
  builder.add(3);
  builder.add(1);
  builder.add(3);
  builder.finish_row();
  builder.finish_row();
  builder.add(4);
  builder.finish_row();
  const BinaryMatrix matrix = std::move(builder).build();
  EXPECT_EQ(matrix.row_count(), 3);
  EXPECT_EQ(matrix.one_count(), 3);
  EXPECT_EQ(std::vector<Id>(matrix.row(0).begin(), matrix.row(0).end()), (std::vector<Id>{1, 3}));
  EXPECT_TRUE(matrix.row(1).empty());
  EXPECT_EQ(matrix.rows(0, 3).size(), 3U);
}

TEST(BinaryMatrix, RefusesWhatIsNoPattern) {
  EXPECT_THROW(BinaryMatrix({}, {}, 3), InputError);
  EXPECT_THROW(BinaryMatrix({0, 2}, {1}, 3), InputError);
  EXPECT_THROW(BinaryMatrix({0, 2, 1, 2}, {0, 1}, 3), InputError);
  EXPECT_THROW(BinaryMatrix({0, 2}, {1, 1}, 3), InputError);
  EXPECT_THROW(BinaryMatrix({0, 1}, {3}, 3), InputError);
  EXPECT_THROW(BinaryMatrix({0, 1}, {-1}, 3), InputError);
}

TEST(BinaryMatrixProperty, RowsAreSortedSets) {
  test::expect_property("each row is the set of what was added", [] {
    const auto rows = *rc::gen::container<std::vector<std::vector<int>>>(
        rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 20)));
    BinaryMatrixBuilder builder(20);
    for (const auto& row : rows) {
      for (const int column : row)
        builder.add(column);
      builder.finish_row();
    }
    const BinaryMatrix matrix = std::move(builder).build();
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const std::set<Id> expected(rows[r].begin(), rows[r].end());
      const auto row = matrix.row(static_cast<std::int64_t>(r));
      RC_ASSERT(std::vector<Id>(row.begin(), row.end()) == std::vector<Id>(expected.begin(), expected.end()));
    }
  });
}

}  // namespace
}  // namespace desirepath::binary_matrix_test
