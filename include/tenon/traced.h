// What a module computes, as a graph with named inputs and weights: to compile, to print, to save.
//
//   const TracedModel traced = trace(net, {{"image", tensor(image, {"batch", 1, 28, 28})}});
//   const Executable run = compile(traced.with_weights());
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/array.h"
#include "tenon/error.h"
#include "tenon/graph.h"
#include "tenon/module.h"
#include "tenon/tensor.h"

namespace tenon {

/// A graph whose inputs are data, then the module's parameters and buffers that it needs, by their names.
struct TracedModel {
  Graph graph;
  std::vector<std::pair<std::string, Array>> weights;  ///< what the last inputs are, in order

  /// The graph with the weights as constants; the inputs left are the data.
  Graph with_weights() const;
};

struct TraceOptions {
  std::string name = "main";              ///< of the graph
  std::vector<std::string> outputs = {};  ///< names; where there are none, `output`, or `output0`, `output1`, ...
};

using TensorFunction = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

/// What `f` computes of inputs like the examples with the weights of `module`, which is as in eval() meanwhile. The
/// examples name the inputs and say their dtypes and axes: named axes stay symbolic (`{"batch", 784}`), others have the
/// example's size. `f` is called once; what it decides by looking at elements is decided as for the examples, and
/// tensors that are no weights of the module become constants.
TracedModel trace(const nn::Module& module, const TensorFunction& f, const nn::NamedTensors& examples,
                  const TraceOptions& options = {});

namespace tensors {

/// net(inputs...), of one tensor up to four, as a list of results.
template <class Net, class... Inputs>
std::vector<Tensor> call_module(const Net& net, const std::vector<Tensor>& inputs, const Inputs&... first) {
  if constexpr (std::is_invocable_v<const Net&, const Inputs&...>) {
    if (inputs.size() == sizeof...(Inputs)) {
      if constexpr (std::is_same_v<std::invoke_result_t<const Net&, const Inputs&...>, Tensor>) {
        return {net(first...)};
      } else {
        return net(first...);
      }
    }
  }
  if constexpr (sizeof...(Inputs) < 4) {
    if (sizeof...(Inputs) < inputs.size()) {
      return call_module(net, inputs, first..., inputs[sizeof...(Inputs)]);
    }
  }
  throw Error("trace: the module cannot be called with " + std::to_string(inputs.size()) + " tensors");
}

}  // namespace tensors

/// The same of a module that is called with one tensor, or up to four, and gives a Tensor or a list of them.
template <class Net>
TracedModel trace(const Net& net, const nn::NamedTensors& examples, const TraceOptions& options = {}) {
  return trace(
      net, [&](const std::vector<Tensor>& inputs) { return tensors::call_module(net, inputs); }, examples, options);
}

}  // namespace tenon
