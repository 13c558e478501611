// What did it become, and where did the time go? What lazy tensors ran, as `tenon explain` shows a model.
#pragma once

#include <filesystem>
#include <memory>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "tenon/graph.h"
#include "tenon/tensor.h"

namespace tenon {

namespace tensors {
struct Explained;  // src/tensor/realize/explain.cpp
}

/// While one lives, lazy tensors of all threads keep what an explanation shows: operations the line of the user's
/// program that recorded them (of Python and PyTorch; in C++ what a Place says), programs how they were made, and runs
/// how long each step took. Programs that were compiled before are compiled again, so that their steps know lines, too.
/// Recording and running take longer meanwhile.
class Explaining {
 public:
  Explaining();
  ~Explaining();
  Explaining(const Explaining&) = delete;
  Explaining& operator=(const Explaining&) = delete;
};

/// Programs that ran, and for each time that one ran who asked for it and why it was compiled.
class Explanation {
 public:
  explicit Explanation(std::shared_ptr<const tensors::Explained> of) : of_(std::move(of)) {}

  /// What `tenon explain` prints of each program, below who asked for it.
  std::string text() const;
  /// `realizations`, and of `programs` what `tenon explain --json` prints.
  std::string json() const;
  /// A page that needs no network: what ran and why; of each program its graph, steps with their lines, bytes, times,
  /// loops and assembly, the roofline, memory over time and threads through a run.
  std::string html(const std::string& title = "lazy tensors") const;
  void save(const std::filesystem::path& page) const;

  /// The same, and a program that no lazy tensor asked for: `graph`, compiled, and where `inputs` are given run on
  /// them. `reason` and `place` say whose it is: "exported", "ResNet".
  Explanation with_graph(const Graph& graph, std::string reason, std::string place,
                         const std::vector<Array>& inputs = {}) const;

 private:
  std::shared_ptr<const tensors::Explained> of_;
};

/// What ran last: the last realizations() and their programs, at most so many. Times of steps are there for what ran
/// while an Explaining lived; of a program that is no longer kept there is its line alone.
Explanation explain_realizations(size_t most = 64);

/// Compute these, with every pending write that shares work with them, and explain what that ran; see
/// Tensor::explain(). Nothing ran, and nothing is explained, where all of their elements are known.
Explanation explain(const std::vector<Tensor>& tensors, std::source_location where = std::source_location::current());

}  // namespace tenon
