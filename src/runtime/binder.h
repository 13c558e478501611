// From the arrays of a call to the sizes of names.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "kernel/program.h"
#include "shape/constraint_set.h"

namespace tenon::runtime {

/// Binds as the interpreter does, with the same errors in the same order: number of inputs, dtypes, ranks, sizes,
/// `known`, constraints.
class Binder {
 public:
  /// The program must outlive it.
  Binder(const Program& program, ConstraintSet constraints);

  /// Names from inputs, `known` and constraints; all constraints hold.
  Bindings bind(std::span<const Array> inputs, const Bindings& known) const;

  /// The same for inputs that are not there yet, whose sizes follow from `bindings`; also fills the key that key()
  /// gives for such inputs.
  Bindings bind_ahead(const Bindings& bindings, std::vector<int64_t>& key) const;

  /// A key that decides what bind() gives: the sizes of all inputs, then those of `known` that inputs do not show.
  /// False when bind() would find the call wrong before it looks at constraints.
  bool key(std::span<const Array> inputs, const Bindings& known, std::vector<int64_t>& key) const;

 private:
  struct Position {
    size_t input = 0;
    size_t axis = 0;
  };

  std::vector<ConcreteInput> describe(std::span<const Array> inputs) const;
  Bindings constrained(Bindings bindings, const Bindings& known) const;

  const Program& program_;
  ConstraintSet constraints_;
  std::map<std::string, Position, std::less<>> shown_;  // names that are an axis of an input
};

}  // namespace tenon::runtime
