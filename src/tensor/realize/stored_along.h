// What a look stores beside what it was asked for: values that it computes anyway, that something else still refers to,
// and that a later look would compute again.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "tenon/array.h"
#include "tensor/realize/pending.h"
#include "tensor/record/cell.h"

namespace tenon::tensors {

/// Which values those are is learnt. A look remembers what it computed without storing it. Where a later look computes
/// such a value again, for operations that are new, the place of the earlier look stores that operation's values from
/// then on: in a loop, from the second step on. A value that nobody asks for again costs nothing.
///
///   for (...) { x = f(x); x.sum().item(); }      step 1 runs f; step 2 runs f twice, and stores x; step 3 runs f once
class StoredAlong {
 public:
  /// Of a look from `place` at `values`, which `cells` get, and which Pending has as its roots. The handles that are
  /// looked at have forgotten what they saw.
  StoredAlong(const Pending& pending, const std::vector<Value>& values, const std::vector<std::shared_ptr<Cell>>& cells,
              std::string_view place);

  /// What is to be stored beside the values, each once.
  const std::vector<Edge>& edges() const { return edges_; }

  /// The look has run: remember what it computed. `results` are the elements of its values, then those of edges().
  void finish(const std::vector<Array>& results) const;

 private:
  void find_references(const std::vector<Value>& values, const std::vector<std::shared_ptr<Cell>>& cells);
  void learn() const;

  const Pending& pending_;
  uint64_t place_;
  std::vector<bool> referred_;  // entries that something beside this look refers to, or to what is computed from them
  std::vector<Edge> edges_;
  std::vector<size_t> kept_roots_;
};

}  // namespace tenon::tensors
