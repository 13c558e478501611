// Which tensors may be updated where they lie.
#pragma once

#include <memory>
#include <vector>

#include "tenon/executable.h"
#include "tensor/realize/pending.h"
#include "tensor/realize/programs.h"
#include "tensor/record/cell.h"

namespace tenon::tensors {

/// The leaves whose elements nobody can ask for once the cells of a realisation have got theirs, so that new elements
/// may take their memory. References decide: an operation, or a leaf, that has more of them than the realisation itself
/// accounts for is held by somebody else, and with it all that it is computed from.
class Donation {
 public:
  /// `aliases`: of each value that is computed, the leaf whose memory it would take, or -1.
  Donation(const std::vector<std::shared_ptr<Cell>>& cells, const std::vector<Value>& values, const Pending& pending,
           const std::vector<int>& aliases, const Program& program);

  /// Run the program. After an Error, or when the run is cancelled, the elements of every leaf are what they were: once
  /// memory of a leaf is written, the run is not cancelled any more.
  std::vector<Array> run(const Executable& executable, std::vector<Array> inputs, RunOptions options) const;

 private:
  std::vector<int> leaf_of_output_;  // that it takes the memory of, or -1
  int first_write_ = -1;             // the step from which on memory of a leaf is written; -1: none is
};

}  // namespace tenon::tensors
