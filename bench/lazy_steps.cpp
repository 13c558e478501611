// Lazy tensors: what recording costs, and training steps, for bench/lazy.py to hold against PyTorch.
//
//   bench_lazy_steps                figures of recording
//   bench_lazy_steps --serve        reads lines `<step> <times>` and answers with milliseconds a step
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>

#include "support/lazy_resnet.h"
#include "support/report.h"
#include "support/timing.h"
#include "tenon/modules.h"
#include "tenon/optim.h"
#include "tenon/realizations.h"
#include "tenon/tensor.h"

namespace {

using namespace tenon;

Array random_array(std::vector<int64_t> dims) {
  Array array(Dtype::f32, std::move(dims));
  uint32_t state = 1;
  for (float& x : array.mutable_values<float>()) {
    state = state * 1664525 + 1013904223;
    x = static_cast<float>(state >> 8) / 8388608.0F - 1;
  }
  return array;
}

Array random_labels(int64_t count, int64_t classes) {
  Array array(Dtype::i64, {count});
  for (int64_t i = 0; i < count; ++i) {
    array.mutable_values<int64_t>()[static_cast<size_t>(i)] = (i * 7) % classes;
  }
  return array;
}

struct Mlp : nn::Layer {
  nn::Sequential layers =
      child("layers", nn::Sequential(nn::Linear(784, 512), nn::Activation("relu"), nn::Linear(512, 256),
                                     nn::Activation("relu"), nn::Linear(256, 10)));
  Tensor operator()(const Tensor& x) const override { return layers(x); }
};

struct SmallCnn : nn::Layer {
  nn::Conv2d conv1 = child("conv1", nn::Conv2d(1, 16, {3}, {.padding = {1}}));
  nn::Conv2d conv2 = child("conv2", nn::Conv2d(16, 32, {3}, {.padding = {1}}));
  nn::Linear out = child("out", nn::Linear(32 * 7 * 7, 10));
  Tensor operator()(const Tensor& x) const override {
    Tensor h = max_pool(relu(conv1(x)), {2, 2});
    h = max_pool(relu(conv2(h)), {2, 2});
    return out(h.flatten(1));
  }
};

struct Block : nn::Layer {
  nn::LayerNorm norm1 = child("norm1", nn::LayerNorm({128}));
  nn::MultiheadAttention attention = child("attention", nn::MultiheadAttention(128, 4));
  nn::LayerNorm norm2 = child("norm2", nn::LayerNorm({128}));
  nn::Linear up = child("up", nn::Linear(128, 512));
  nn::Linear down = child("down", nn::Linear(512, 128));
  Tensor operator()(const Tensor& x) const override {
    Tensor y = x + attention(norm1(x), true);
    return y + down(gelu(up(norm2(y))));
  }
};

struct Transformer : nn::Layer {
  nn::Embedding words = child("words", nn::Embedding(256, 128));
  Block first = child("first", Block());
  Block second = child("second", Block());
  nn::Linear out = child("out", nn::Linear(128, 256));
  Tensor operator()(const Tensor& x) const override {
    const Tensor y = out(second(first(words(x))));
    return y.reshape({y.size(0) * y.size(1), 256});
  }
};

/// A model, its data, and what a step does with them.
class Training {
 public:
  Training(std::unique_ptr<nn::Layer> model, Array x, std::vector<Axis> axes, Array labels)
      : model_(std::move(model)),
        optimizer_(model_->parameters(), {.learning_rate = 1e-3, .momentum = 0.9}),
        x_(std::move(x)),
        axes_(std::move(axes)),
        labels_(std::move(labels)) {}

  double step() {
    const Tensor loss = recorded();
    return loss.item();
  }

  Tensor recorded() {
    const Tensor loss = cross_entropy((*model_)(tensor(x_, axes_)), tensor(labels_, {-1}));
    loss.backward();
    optimizer_.step();
    optimizer_.zero_grad();
    return loss;
  }

 private:
  std::unique_ptr<nn::Layer> model_;
  optim::SGD optimizer_;
  Array x_;
  std::vector<Axis> axes_;
  Array labels_;
};

std::unique_ptr<Training> make(std::string_view name) {
  if (name == "mlp") {
    return std::make_unique<Training>(std::make_unique<Mlp>(), random_array({64, 784}), std::vector<Axis>{"batch", 784},
                                      random_labels(64, 10));
  }
  if (name == "cnn") {
    return std::make_unique<Training>(std::make_unique<SmallCnn>(), random_array({64, 1, 28, 28}),
                                      std::vector<Axis>{"batch", 1, 28, 28}, random_labels(64, 10));
  }
  if (name == "resnet18") {
    return std::make_unique<Training>(std::make_unique<bench::LazyResNet18>(10), random_array({8, 3, 64, 64}),
                                      std::vector<Axis>{"batch", 3, 64, 64}, random_labels(8, 10));
  }
  if (name == "transformer") {
    Array tokens(Dtype::i64, {8, 64});
    for (int64_t i = 0; i < tokens.size(); ++i) {
      tokens.mutable_values<int64_t>()[static_cast<size_t>(i)] = (i * 31) % 256;
    }
    return std::make_unique<Training>(std::make_unique<Transformer>(), tokens, std::vector<Axis>{"batch", "seq"},
                                      random_labels(8 * 64, 256));
  }
  return nullptr;
}

/// Answers lines of standard input until it ends.
int serve() {
  std::map<std::string, std::unique_ptr<Training>> models;
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string name;
    int times = 1;
    words >> name >> times;
    auto& model = models[name];
    if (!model && !(model = make(name))) {
      std::cout << "error: no step is called " << name << std::endl;
      continue;
    }
    const double seconds = bench::seconds_of(2, times, [&] { model->step(); });
    std::cout << fmt::format("{:.6f}", seconds * 1e3) << std::endl;
  }
  return 0;
}

/// Microseconds to record an operation, where its program is there already: `record` makes `operations` of them.
double recording(int operations, const std::function<void()>& record) {
  record();
  double best = 1e9;
  for (int i = 0; i < 20; ++i) {
    best = std::min(best, bench::seconds_of(1, 50, record));
  }
  return best * 1e6 / operations;
}

void measure_recording(bench::Report& report) {
  const Tensor x = tensor(random_array({32, 64}), {"batch", 64});
  const Tensor w = tensor(random_array({64, 64}));
  report.add("record.add",
             recording(10,
                       [&] {
                         Tensor y = x;
                         for (int i = 0; i < 10; ++i) {
                           y = y + x;
                         }
                       }),
             "us", 2);
  report.add("record.in_place",
             recording(10,
                       [&] {
                         Tensor y = x.clone();
                         for (int i = 0; i < 10; ++i) {
                           y.slice_axis(1, 0, 32) *= 2;
                         }
                       }),
             "us", std::nullopt, bench::Better::lower, "a view, a product and a write each");
  report.add("record.matmul",
             recording(10,
                       [&] {
                         Tensor y = x;
                         for (int i = 0; i < 10; ++i) {
                           y = matmul(y, w);
                         }
                       }),
             "us", 2);
  report.add("record.softmax",
             recording(10,
                       [&] {
                         Tensor y = x;
                         for (int i = 0; i < 10; ++i) {
                           y = softmax(y);
                         }
                       }),
             "us", 2, bench::Better::lower, "a composite: its body is a graph");
  auto resnet = make("resnet18");
  resnet->step();
  resnet->step();
  clear_realizations();
  double recorded = 1e9;
  double whole = 1e9;
  for (int i = 0; i < 5; ++i) {
    const double begin = bench::read_clock(CLOCK_MONOTONIC);
    const Tensor loss = resnet->recorded();
    recorded = std::min(recorded, bench::read_clock(CLOCK_MONOTONIC) - begin);
    loss.item();
    whole = std::min(whole, bench::read_clock(CLOCK_MONOTONIC) - begin);
  }
  report.add("record.resnet18", recorded * 1e3, "ms", std::nullopt, bench::Better::lower,
             fmt::format("of {:.1f} ms for a step, {} kernels", whole * 1e3, realizations().back().kernels));
  report.add("record.resnet18.part", recorded / whole, "of a step", 0.05);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--serve") {
    return serve();
  }
  bench::Report report(argc, argv);
  measure_recording(report);
  return report.finish();
}
