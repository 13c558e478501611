#include "support/count_graphs.h"
#include "support/lazy_resnet.h"
#include "tenon/optim.h"
#include "tenon/realizations.h"
#include "tenon/tensor.h"

namespace bench {
namespace {

using namespace tenon;

Tensor matrix() { return tensor(Array(Dtype::f32, {256, 256}), {"rows", "cols"}); }

/// x.assign(x + y), then relu(x).
CountGraph assign_relu() {
  Tensor x = matrix();
  x += matrix();
  return {"assign_relu", recorded_graph({relu(x)})};
}

/// a.assign(a + a.T).
CountGraph assign_transpose() {
  Tensor a = tensor(Array(Dtype::f32, {256, 256}), {"n", "n"});
  a += a.t();
  return {"assign_transpose", recorded_graph({a}), 2.1};
}

/// Three tensors, each assigned r + itself, r being one reduction.
CountGraph assign_shared() {
  std::vector<Tensor> tensors{matrix(), matrix(), matrix()};
  const Tensor r = matrix().sum({1}, true);
  for (Tensor& each : tensors) {
    each += r;
  }
  return {"assign_shared", recorded_graph(tensors)};
}

Tensor images() { return tensor(Array(Dtype::f32, {2, 3, 64, 64}), {"batch", 3, 64, 64}); }

CountGraph resnet_forward() {
  const LazyResNet18 net;
  return {"resnet18_train_forward", recorded_graph({net(images())}), 0};
}

CountGraph resnet_step() {
  const LazyResNet18 net;
  optim::SGD optimizer(net.parameters(), {.learning_rate = 0.1, .momentum = 0.9});
  const Tensor loss = cross_entropy(net(images()), tensor(Array(Dtype::i64, {2}), {"batch"}));
  loss.backward();
  optimizer.step();
  optimizer.zero_grad();
  return {"resnet18_step", recorded_graph({loss}), 0};
}

}  // namespace

std::vector<CountGraph> tensor_graphs() { return {assign_relu(), assign_transpose(), assign_shared()}; }

std::vector<CountGraph> tensor_models() { return {resnet_forward(), resnet_step()}; }

}  // namespace bench
