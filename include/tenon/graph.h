// Graphs: what every front end makes and every pass rewrites.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/bindings.h"
#include "tenon/constraint.h"
#include "tenon/shape.h"

namespace tenon {

struct Node;  // src/ir/node.h
class ConstraintSet;

/// One output of a node. A small counted handle: copying is cheap, and a node lives as long as somebody holds it.
/// Nodes are immutable and interned: building the same operation on the same operands twice gives the same node.
class Value {
 public:
  Value() = default;
  Value(const Node* node, int output);
  Value(const Value& other);
  Value(Value&& other) noexcept;
  Value& operator=(Value other) noexcept;
  ~Value();

  explicit operator bool() const { return node_ != nullptr; }
  const Node& node() const { return *node_; }
  int output() const { return output_; }

  const Shape& shape() const;
  Dtype dtype() const { return shape().dtype(); }
  int rank() const { return shape().rank(); }
  const Extent& extent(int axis) const { return shape().extent(axis); }
  /// What an input is called; empty for what is computed.
  std::string_view name() const;

  friend bool operator==(const Value&, const Value&) = default;

 private:
  const Node* node_ = nullptr;
  int output_ = 0;
};

/// A parameter of a graph. Each call makes a new one, whatever its name. A -1 in `shape` becomes a fresh axis name made
/// from the input's name and the position (`x.0`).
Value input(std::string name, const Shape& shape);

struct Output {
  std::string name;
  Value value;
  int aliases = -1;  // the index of the input whose memory this output takes over (state that is updated in place)
};

/// A function from inputs to outputs: a value, immutable once made, cheap to copy.
/// Making one checks it: every input that is reached is listed, names are unique, and no two constraints that the
/// operators need contradict each other.
class Graph {
 public:
  /// No graph; only good for assigning to.
  Graph() = default;
  /// `relations` are constraints that the user states, beyond those that the operators imply.
  Graph(std::string name, std::vector<Value> inputs, std::vector<Output> outputs,
        std::vector<Constraint> relations = {});
  /// A graph called `main`.
  Graph(std::vector<Value> inputs, std::vector<Output> outputs)
      : Graph("main", std::move(inputs), std::move(outputs)) {}

  const std::string& name() const;
  const std::vector<Value>& inputs() const;
  const std::vector<Output>& outputs() const;
  /// The input, or what the output of that name gives; an Error that lists the names there are.
  const Value& input(std::string_view name) const;
  const Value& output(std::string_view name) const;
  const std::vector<Constraint>& relations() const;

  /// Every node that the outputs need and every input, operands before users.
  const std::vector<const Node*>& nodes() const;

  /// All that must hold at a binding: the relations, and what operators need, those inside called bodies included;
  /// proven ones dropped.
  const ConstraintSet& constraints() const;

  /// The same function: same structure, whatever the identity of its inputs and barriers.
  friend bool operator==(const Graph& a, const Graph& b);
  /// Equal graphs have equal hashes; the same in every process.
  uint64_t hash() const;

 private:
  struct Data;
  std::shared_ptr<const Data> data_;
};

/// Several graphs that belong together (a prefill and a decode step, say). Names are unique.
struct GraphSet {
  std::vector<Graph> graphs;

  /// The graph of that name; an Error that lists the names there are.
  const Graph& at(std::string_view name) const;
};

/// While it lives, nodes built on this thread remember `place` (the name of a node of an imported model, a source line)
/// and errors mention it. Inner places hide outer ones.
class Place {
 public:
  explicit Place(std::string place);
  ~Place();
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

 private:
  std::string previous_;
};

}  // namespace tenon

template <>
struct std::hash<tenon::Value> {
  size_t operator()(const tenon::Value& value) const noexcept {
    return std::hash<const void*>()(value ? &value.node() : nullptr) * 31 + static_cast<size_t>(value.output());
  }
};
