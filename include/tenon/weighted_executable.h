// Programs for graphs whose weights are inputs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tenon/compile.h"
#include "tenon/executable.h"
#include "tenon/graph.h"

namespace tenon {

/// A graph some of whose inputs are weights: they may change, but stay the same for many runs. Inputs that products
/// read and that have stayed are constants of a version of the program, laid out and folded as those of a model's file
/// are. As soon as they change, a general program serves, until they have stayed for long enough again; versions that
/// did not serve long make the next one wait twice as long. Versions count against set_weight_budget()
/// (tenon/realizations.h).
///
/// A handle; copies share programs. Thread-safe.
class WeightedExecutable {
 public:
  /// Nothing is compiled yet. `expected`: inputs, by number, that the first run takes for weights without waiting.
  explicit WeightedExecutable(Graph graph, std::vector<size_t> expected = {}, CompileOptions options = {});

  struct Chosen {
    Executable executable;  ///< takes all inputs, also those that are constants of it, which it does not read
    int weights = 0;        ///< how many those are
    bool compiled = false;  ///< for this call
  };
  /// What the next run has to use. `contents` has a number for each input that says what is in it: as long as the
  /// number is the same, so are the elements. 0: nothing is known. `elements` gives an input as an array, whose memory
  /// a version may keep as its own; it is called where a version is compiled. Error: the graph cannot be compiled.
  Chosen choose(std::span<const uint64_t> contents, const std::function<Array(size_t)>& elements) const;

  /// Inputs with this number will not come again: versions for them go.
  void forget(uint64_t contents) const;

  const Graph& graph() const;

 private:
  struct State;
  struct Version;
  std::shared_ptr<State> state_;
};

}  // namespace tenon
