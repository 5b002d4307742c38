// Sums that learning is made of. Whoever holds statistics of different students (blocks, threads, processes, devices)
// adds them up number by number and needs to know nothing else about them.
#pragma once

#include <span>
#include <vector>

#include "desirepath/core/types.h"

namespace desirepath::inline compute {

/// Tables of numbers, as plain values.
class Statistics {
 public:
  /// Adds a table; the first is table 0.
  void add(RowMatrix table) { tables_.push_back(std::move(table)); }
  std::size_t table_count() const { return tables_.size(); }
  RowMatrix& table(std::size_t number) { return tables_[number]; }
  const RowMatrix& table(std::size_t number) const { return tables_[number]; }

  /// All numbers, table by table.
  std::vector<std::span<double>> numbers();
  /// Adds the numbers of others; the tables must have the same shapes.
  void merge(const Statistics& others);

 private:
  std::vector<RowMatrix> tables_;
};

/// Others who learn the same model at the same time, each from students of its own. Every one of them comes to the same
/// parameters, because all add up the same statistics in the same order.
class Peers {
 public:
  virtual ~Peers() = default;
  virtual int count() const = 0;
  /// Of whoever asks, from 0.
  virtual int number() const = 0;
  /// Replaces these numbers by their sums over all peers, in an order of the peers that is always the same. Everybody
  /// calls it with as many numbers, and gets the same bits.
  virtual void add_up(std::span<double> numbers) const = 0;
};

}  // namespace desirepath::inline compute
