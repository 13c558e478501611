// The snippets of docs/tensors.md, as one program: each part between marks is a block of that page.
#include <cmath>
#include <filesystem>
#include <iostream>
#include <string>

#include "require.h"
#include "tenon/autograd.h"
#include "tenon/explain.h"
#include "tenon/modules.h"
#include "tenon/optim.h"
#include "tenon/realizations.h"
#include "tenon/tensor.h"

using namespace tenon;

namespace {

// [net]
struct Net : nn::Module {
  nn::Conv2d conv = child("conv", nn::Conv2d(1, 8, {3}, {.padding = {1}}));
  nn::BatchNorm norm = child("norm", nn::BatchNorm(8));
  nn::Linear out = child("out", nn::Linear(8, 10));

  Tensor operator()(const Tensor& images) const {
    Tensor h = norm(conv(images));
    h.relu_();
    return out(h.mean({2, 3}));
  }
};
// [/net]

Array images(int64_t batch) { return Array::full(Dtype::f32, {batch, 1, 8, 8}, 0.5); }
Array labels(int64_t batch) { return Array(Dtype::i64, {batch}); }

void lazy() {
  // [lazy]
  Tensor x = tensor({1, 2, 3, 4});
  Tensor y = exp(x) * 2 + 1;            // recorded
  std::cout << y.sum().item() << "\n";  // computed: one program, one kernel
  // [/lazy]
  require(std::abs(y.sum().item() - 173.58) < 0.01, "the sum");
}

void writes() {
  // [writes]
  Tensor a = tensor({0, 1, 2, 3, 4, 5});
  Tensor m = a.reshape({2, 3});
  Tensor before = m * 10;  // keeps what m is now
  m.t()[1] += 100;         // the second column, through a transpose
  a[0].fill_(7);           // through a view of one element
  m.masked_fill_(m.gt(50), 50);
  std::cout << a << "\n" << before << "\n";  // f32[6] {7, 50, 2, 3, 50, 5}   f32[2, 3] {0, 10, 20, 30, 40, 50}
  // [/writes]
  require(a.to_string() == "f32[6] {7, 50, 2, 3, 50, 5}", "what was written");
  require(before.to_string() == "f32[2, 3] {0, 10, 20, 30, 40, 50}", "what was there before");
}

void sizes() {
  clear_programs();
  clear_realizations();
  // [sizes]
  for (int64_t batch : {3, 5, 8}) {
    Tensor x = tensor(Array(Dtype::f32, {batch, 784}), {"batch", 784});
    Tensor flat = x.reshape({x.size(0), 28, -1});  // size(0) keeps its name
    flat.mean({1}).to_array();
  }
  std::cout << realization_counts().compiles << "\n";  // 1
  // [/sizes]
  require(realization_counts().compiles == 1, "one compile for three sizes");
}

void gradients() {
  // [gradients]
  Tensor w = tensor({1, 2, 3}).requires_grad_();
  Tensor y = w * w;
  y[0] *= 10;  // a write is differentiated through
  y.sum().backward();
  std::cout << w.grad() << "\n";  // f32[3] {20, 4, 6}

  Tensor slope = grad((w * w * w).sum(), {w}, {.create = true})[0];
  std::cout << grad(slope.sum(), {w})[0] << "\n";  // f32[3] {6, 12, 18}
  // [/gradients]
  require(w.grad().to_string() == "f32[3] {20, 4, 6}", "gradients");
}

void training() {
  clear_programs();
  // [training]
  Net net;
  optim::AdamW optimizer(net.parameters(), {.learning_rate = 1e-2});
  clear_realizations();
  for (int64_t batch : {16, 16, 7}) {  // the last batch of an epoch is smaller: nothing is compiled for it
    Tensor loss = cross_entropy(net(tensor(images(batch), {"batch", 1, 8, 8})), tensor(labels(batch), {"batch"}));
    loss.backward();
    optimizer.step();
    optimizer.zero_grad();             // now nobody needs the old weights: they are updated where they lie
    std::cout << loss.item() << "\n";  // one program: loss, gradients, statistics and new weights
  }
  std::cout << realizations_text();
  // [/training]
  require(realization_counts().runs == 3 && realization_counts().compiles == 1, "one program for all steps");
}

void explaining() {
  clear_realizations();
  // [explain]
  {
    const Explaining now;           // what runs meanwhile keeps the time of each step
    const Place place("features");  // what is recorded meanwhile is called so on the page
    relu(tensor(images(4), {"batch", 1, 8, 8})).mean().item();
  }
  std::cout << explain_realizations().text();
  // [/explain]
  require(explain_realizations().text().find("from features") != std::string::npos, "names of operations");
}

void files() {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "tenon_example_tensors";
  std::filesystem::create_directories(folder);
  Net net;
  // [files]
  net.save(folder / "net.safetensors");
  Net other;
  other.load(folder / "net.safetensors");
  other.eval();
  // [/files]
  std::filesystem::remove_all(folder);
  require(!other.is_training(), "evaluation");
}

void checkpoints() {
  nn::Linear first(4, 64);
  nn::Linear second(64, 4);
  Tensor x = Tensor::randn({2, 4}).requires_grad_();
  // [checkpoint]
  auto block = [&](const std::vector<Tensor>& in) -> std::vector<Tensor> { return {second(gelu(first(in[0])))}; };
  Tensor y = checkpoint(block, {x})[0];  // what lies between is computed again for gradients, and not kept
  y.sum().backward();
  // [/checkpoint]
  require(x.grad().to_array().size() == 8, "a gradient through a checkpoint");
}

}  // namespace

int main() {
  lazy();
  writes();
  sizes();
  gradients();
  training();
  explaining();
  files();
  checkpoints();
}
