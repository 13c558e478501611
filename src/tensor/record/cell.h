// What tensors are made of: cells, and handles that see cells through views.
#pragma once

#include <cstdint>
#include <memory>
#include <source_location>
#include <vector>

#include "ir/kinds.h"
#include "tenon/array.h"
#include "tenon/graph.h"
#include "tenon/tensor.h"

namespace tenon::tensors {

/// One storage. Its content is a value of a graph; writing replaces the value.
struct Cell : std::enable_shared_from_this<Cell> {
  Cell();
  ~Cell();
  Cell(const Cell&) = delete;
  Cell& operator=(const Cell&) = delete;

  uint64_t id;                         // cells count in the order in which they were made
  Value value;                         // the content
  uint64_t version = 0;                // moved on by every write
  bool written = false;                // in place, since it was last realised
  bool tracked = false;                // gradients flow through `value`
  std::vector<Value> remembered = {};  // values that it had, whose elements stand in the table of known ones
  bool wants_gradient = false;
  int depth = 0;      // recorded operations, one upon the other, that are not computed yet
  Value origin = {};  // the leaf it was when it was last realised: whose memory a later value may take over
  Tensor gradient = {};
  uint64_t checked;  // the generation of what is kept (kept.h) that `value` follows from
};

/// A tensor: a cell, and the views through which it is seen.
struct Handle {
  std::shared_ptr<Cell> cell;
  std::vector<View> path = {};
  bool detached = false;  // passes no gradients on, whatever the cell does

  /// The cell's value seen through the path.
  const Value& value();

 private:
  Value seen_ = {};
  uint64_t seen_version_ = 0;
  friend struct Access;
};

/// What the sources of this folder see of a tensor.
struct Access {
  /// Error for a tensor that is none.
  static Handle& handle(const Tensor& tensor);
  static const std::shared_ptr<Handle>& pointer(const Tensor& tensor) { return tensor.handle_; }
  /// Nothing is left of what the handle has seen: before references to nodes are counted.
  static void forget(Handle& handle) { handle.seen_ = {}; }
  /// The handle sees this; else it would find out when asked.
  static void set_seen(Handle& handle, const Value& value);
};

/// A tensor with a cell of its own.
Tensor new_tensor(Value value, bool tracked, int depth);

/// The elements of a value that is no leaf but was computed, and whose graph gradients still need; null where none are.
const Array* known_elements(const Value& value);
/// Remember those of the cell's value, for as long as gradients may need the graph behind it: until forget(), or the
/// end of the cell. A later value of the cell is computed from them.
void remember(Cell& cell, Array array);
void forget(Cell& cell);
/// `value` becomes the content.
void set_value(Cell& cell, Value value);

/// The cell has a write that is not computed yet, or no longer.
void set_written(Cell& cell, bool written);
/// The cells that have one, in the order in which they were made.
std::vector<std::shared_ptr<Cell>> written_cells();

/// Whether gradients flow through what the tensor holds.
bool is_tracked(const Tensor& tensor);

}  // namespace tenon::tensors
