// Runs one after the other, as a program does that keeps state.
#pragma once

#include <vector>

#include "tenon/executable.h"
#include "tenon/graph.h"

namespace tenon::cli {

/// State that outputs update is given back to the next run, which may write to it in place; other inputs stay.
class StatefulRun {
 public:
  /// `graph` says which outputs update which inputs.
  StatefulRun(const Executable& executable, const Graph& graph, std::vector<Array> inputs)
      : executable_(executable), inputs_(std::move(inputs)) {
    for (const Output& output : graph.outputs()) {
      aliases_.push_back(output.aliases);
    }
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
