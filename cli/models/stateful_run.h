// Runs one after the other, as a program does that keeps state.
#pragma once

#include <vector>

#include "tenon/executable.h"
#include "tenon/graph.h"

namespace tenon::cli {

/// State that outputs update is given back to the next run, which may write to it in place; other inputs stay. They are
/// where the program runs, and outputs may be (RunOptions::results_on_device).
class StatefulRun {
 public:
  /// `graph` says which outputs update which inputs.
  StatefulRun(const Executable& executable, const Graph& graph, std::vector<Array> inputs)
      : StatefulRun(executable, aliases_of(graph), std::move(inputs)) {}
  StatefulRun(const Executable& executable, std::vector<int> aliases, std::vector<Array> inputs)
      : executable_(executable), inputs_(std::move(inputs)), aliases_(std::move(aliases)) {
    for (Array& input : inputs_) {
      input = executable.to_device(input);
    }
  }

  /// Of each output, the input that it updates, or -1.
  static std::vector<int> aliases_of(const Graph& graph) {
    std::vector<int> aliases;
    for (const Output& output : graph.outputs()) {
      aliases.push_back(output.aliases);
    }
    return aliases;
  }

  const std::vector<Array>& operator()(const RunOptions& options) {
    std::vector<Array> now = inputs_;
    for (size_t i = 0; i < outputs_.size(); ++i) {
      if (aliases_[i] >= 0) {
        now[static_cast<size_t>(aliases_[i])] = std::move(outputs_[i]);
      }
    }
    outputs_.clear();
    outputs_ = executable_.run(std::move(now), options);
    return outputs_;
  }

 private:
  const Executable& executable_;
  std::vector<Array> inputs_;
  std::vector<int> aliases_;
  std::vector<Array> outputs_;
};

}  // namespace tenon::cli
