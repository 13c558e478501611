// Nodes: immutable, counted, interned in a weak table, so that equal subgraphs are one node.
#pragma once

#include <atomic>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "ir/kinds.h"

namespace tenon {

/// Made by intern() alone and never changed afterwards; held through Value. Safe to share between threads.
struct Node {
  Op op;
  std::vector<Value> inputs;
  std::vector<Shape> shapes;            // one for each output
  std::vector<Constraint> constraints;  // what must hold at a binding for this node to mean something
  std::string place;                    // side data: where the first builder of this node stood
  uint64_t hash = 0;
  mutable std::atomic<uint32_t> references = 0;

  /// The kind if it is `Kind`, else null: `if (const auto* map = node.as<Map>())`.
  template <class Kind>
  const Kind* as() const {
    return std::get_if<Kind>(&op);
  }
};

/// The node with this operation, these inputs and shapes: an existing one where there is one. Thread-safe.
/// Meaning is checked by the caller (ops/make.h).
Value intern(Op op, std::vector<Value> inputs, std::vector<Shape> shapes, std::vector<Constraint> constraints);

/// How many nodes are alive in the process, for leak tests.
size_t live_node_count();

/// "contract", "relu": what the text form calls the operation.
std::string_view op_name(const Op& op);
const KindInfo& kind_info(const Op& op);

class DataAxisScope;

/// What building code on this thread runs under; set by Place, UnifyNames and DataAxisScope.
struct BuildContext {
  std::string place;
  bool unify_names = false;
  DataAxisScope* data_axes = nullptr;
};
BuildContext& build_context();

/// While it lives, names made on this thread for axes that data decide count from 1, so that one text or file gives one
/// graph, and what binds them is listed.
class DataAxisScope {
 public:
  DataAxisScope();
  ~DataAxisScope();
  DataAxisScope(const DataAxisScope&) = delete;
  DataAxisScope& operator=(const DataAxisScope&) = delete;

  std::vector<Value> made;
  std::set<std::string, std::less<>> taken;  // names that are not made
  uint64_t count = 0;

 private:
  DataAxisScope* previous_;
};

/// `nonzero_1`: a name for an axis that data decide. Outside of a scope the process counts.
std::string fresh_data_axis(std::string_view stem);

}  // namespace tenon
