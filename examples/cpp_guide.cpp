// The snippets of docs/cpp.md, as one program: each part between marks is a block of that page.
#include <cmath>
#include <filesystem>
#include <iostream>

// [include]
#include <tenon/tenon.h>
// [/include]

#include "require.h"

using namespace tenon;

namespace {

void graphs() {
  // [graph]
  const Value x = input("x", shape(f32, "batch", 4));
  const Value w = input("w", shape(f32, 4, 3));
  const Graph graph({x, w}, {{"y", softmax(matmul(x, w))}});
  const Executable executable = compile(graph);
  const Array weights = Array::full(f32, {4, 3}, 0.5);
  for (const int64_t batch : {1, 8, 77}) {  // compiled once, for every size of `batch`
    const std::vector<Array> results = executable.run({Array::full(f32, {batch, 4}, 1), weights});
    std::cout << results[0].dims()[0] << " rows\n";
  }
  // [/graph]
  // [names]
  std::cout << graph.inputs()[0].name() << ": " << graph.input("x").shape().to_string() << "\n";  // x: f32[batch, 4]
  // [/names]
  require(graph.input("w") == w, "inputs by name");
}

void tensors_part() {
  // [tensor]
  const Tensor x = tensor(Array::full(f32, {8, 4}, 1), {"batch", 4});
  Tensor w = tensor(Array::full(f32, {4, 3}, 0.5)).requires_grad_();
  const Tensor y = softmax(matmul(x, w));  // recorded
  (y * y).sum().backward();                // recorded, too
  std::cout << w.grad() << "\n";           // computed now
  // [/tensor]
  require(w.grad().dims() == std::vector<int64_t>{4, 3}, "a gradient");
}

void errors() {
  // [errors]
  try {
    matmul(input("a", shape(f32, "batch", 4)), input("b", shape(f32, 5, 3)));
  } catch (const Error& error) {
    std::cout << error.what() << "\n";  // names the operation, both shapes, and the axes that do not fit
  }
  // [/errors]
}

void pending() {
  // [pending]
  Tensor table = tensor({1, 2, 3});
  realize({table += 1});                                            // computed: 2, 3, 4
  table.put_(tensor(Array::from<int64_t>({1}, {9})), tensor({0}));  // recorded; there is no position 9
  try {
    table.to_array();
  } catch (const Error& error) {
    std::cout << error.what() << "\n";  // and so at every look at `table`, until it gets another content,
    discard_writes({table});            // or the writes since the last look that succeeded are taken back
  }
  std::cout << table << "\n";  // f32[3] {2, 3, 4}
  // [/pending]
  require(table.to_string() == "f32[3] {2, 3, 4}", "what was computed last");
}

// [net]
struct Net : nn::Module {
  nn::Linear hidden = child("hidden", nn::Linear(4, 16));
  nn::Linear out = child("out", nn::Linear(16, 3));

  Tensor operator()(const Tensor& x) const { return out(relu(hidden(x))); }
};
// [/net]

void failed_step() {
  Net net;
  const Tensor x = tensor(Array::full(f32, {2, 4}, 1), {"batch", 4});
  const Array labels = Array::from<int64_t>({2}, {0, 3});  // and there are three classes
  // [step]
  optim::SGD optimizer(net.parameters(), {.learning_rate = 0.1});
  const Tensor loss = cross_entropy(net(x), tensor(labels, {"batch"}));
  loss.backward();
  optimizer.step();
  try {
    std::cout << loss.item() << "\n";
  } catch (const Error& error) {  // a label out of range: neither loss nor new weights can be computed
    std::cerr << error.what() << "\n";
    optimizer.undo_step();  // the weights are what they were, and training can go on
  }
  optimizer.zero_grad();
  // [/step]
  require(optimizer.steps() == 0 && std::isfinite(net.out.weight.sum().item()), "a step that was not made");
}

void saving() {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "tenon_example_cpp_guide";
  std::filesystem::create_directories(folder);
  Net net;
  // [weights]
  net.save(folder / "net.safetensors");  // weights by name; a Net of the same form loads them
  Net other;
  other.load(folder / "net.safetensors");
  // [/weights]
  // [onnx]
  const nn::NamedTensors examples{{"x", tensor(Array(f32, {1, 4}), {"batch", 4})}};
  save_onnx(net, folder / "net.onnx", examples);
  const LoadedModel model = load(folder / "net.onnx");
  const Array y = model.run({{"x", Array::full(f32, {5, 4}, 1)}}).at("output");  // at any batch
  // [/onnx]
  // [trace]
  const TracedModel traced = trace(net, examples);             // inputs x, hidden.weight, hidden.bias, ...
  const Executable compiled = compile(traced.with_weights());  // the weights as constants
  // [/trace]
  std::filesystem::remove_all(folder);
  require(y.dims() == std::vector<int64_t>{5, 3}, "the outputs of the saved model");
  require(traced.graph.inputs().size() == 5 && compiled.inputs().size() == 1, "weights by name");
  require(traced.graph.inputs()[1].name() == "hidden.weight", "the name of a weight");
}

}  // namespace

int main() {
  graphs();
  tensors_part();
  errors();
  pending();
  failed_step();
  saving();
}
