// Hidden course trees: a committee of trees, each learned from all students from its own shape and start, with equal
// weights. As a model it is a chain of one step whose states are the trees, so given evidence the members weigh by how
// well each explains it; but a tree is no kind of student. docs/models/hidden_tree.md.
#pragma once

#include "desirepath/models/training.h"

namespace desirepath::inline models {

/// The catalog's entry.
ModelEntry committee_entry();

}  // namespace desirepath::inline models
