// What is to be computed: the recorded operations between values that are wanted and elements that are known.
#pragma once

#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "ir/node.h"
#include "passes/rewriting/rewrite.h"
#include "tenon/array.h"

namespace tenon::tensors {

/// Where a value is: an entry, and which of its outputs.
struct Edge {
  int entry = 0;
  int output = 0;
  friend bool operator==(const Edge&, const Edge&) = default;
};

/// A leaf, whose elements are known, or an operation. It holds its node.
struct Entry {
  Value value;  // of a leaf; of an operation its first output
  bool leaf = false;
  std::vector<Edge> operands = {};
};

/// Entries, operands before users, in an order that the structure alone decides: two graphs that differ in nothing but
/// which leaves they have, and in stand-ins, have equal entries one by one.
class Pending {
 public:
  /// All that `roots` need. A walk stops where elements are known.
  explicit Pending(std::span<const Value> roots) { add(roots); }
  /// The same structure on inputs of its own, called x0, x1, ...
  Pending on_own_inputs() const;
  /// ... with other shapes of leaves and other fields of operations, asked for in the order of the entries.
  Pending remade(const std::function<Shape(const Shape&)>& shape, const std::function<Op(const Op&)>& op) const;
  /// ... with other values in place of the leaves, by their number and new shape.
  using LeafMaker = std::function<Value(size_t leaf, const Shape& shape)>;
  Pending remade(const std::function<Shape(const Shape&)>& shape, const std::function<Op(const Op&)>& op,
                 const LeafMaker& leaf) const;

  const std::vector<Entry>& entries() const { return entries_; }
  const std::vector<Edge>& roots() const { return roots_; }
  /// Which entries are leaves, in order.
  const std::vector<int>& leaves() const { return leaves_; }
  const Value& leaf(size_t i) const { return entries_[static_cast<size_t>(leaves_[i])].value; }
  Value at(const Edge& edge) const;
  /// Where a value is; entry -1 for one that is not among those of this.
  Edge find(const Value& resolved) const;
  /// A constant of one element becomes a leaf: programs get it as an input.
  void open_number(size_t entry);
  /// One more of what the entries compute is wanted.
  void add_root(const Edge& edge) { roots_.push_back(edge); }

  /// The most operations, one upon the other.
  int depth() const;
  uint64_t hash() const;
  /// Of what is the same at other sizes: kinds, edges, dtypes and ranks.
  uint64_t skeleton_hash() const;
  friend bool operator==(const Pending& a, const Pending& b);

 private:
  Pending() = default;
  void add(std::span<const Value> roots);
  void visit(const Value& root);

  std::vector<Entry> entries_;
  std::vector<Edge> roots_;
  std::vector<int> leaves_;
  std::unordered_map<const Node*, int> operations_;
  std::unordered_map<Value, int> known_;
};

/// The elements of a leaf of a Pending.
const Array& elements_of(const Value& leaf);

}  // namespace tenon::tensors
