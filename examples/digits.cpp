// Learn to read digits: a small convolutional network with lazy tensors, written as one would with PyTorch. Each step,
// forward, backward and optimiser, is one program; it is compiled once and serves batches of every size.
#include <tenon/tenon.h>

#include <array>
#include <cmath>
#include <iostream>
#include <random>
#include <string_view>

using namespace tenon;

namespace {

constexpr int kSide = 16;

constexpr std::array<std::array<std::string_view, 7>, 10> kBitmaps = {{
    {" ### ", "#   #", "#   #", "#   #", "#   #", "#   #", " ### "},
    {"  #  ", " ##  ", "# #  ", "  #  ", "  #  ", "  #  ", "#####"},
    {" ### ", "#   #", "    #", "  ## ", " #   ", "#    ", "#####"},
    {"#### ", "    #", "    #", " ### ", "    #", "    #", "#### "},
    {"#  # ", "#  # ", "#  # ", "#####", "   # ", "   # ", "   # "},
    {"#####", "#    ", "#    ", "#### ", "    #", "    #", "#### "},
    {" ### ", "#    ", "#    ", "#### ", "#   #", "#   #", " ### "},
    {"#####", "    #", "   # ", "   # ", "  #  ", "  #  ", "  #  "},
    {" ### ", "#   #", "#   #", " ### ", "#   #", "#   #", " ### "},
    {" ### ", "#   #", "#   #", " ####", "    #", "    #", " ### "},
}};

struct Batch {
  Tensor images, labels;
};

/// Digits that are shifted, scaled and noisy: no two images are equal. The axis of examples has a name, so that what is
/// computed from it holds at every size.
Batch draw(int64_t count, std::mt19937& rng) {
  Array images(f32, {count, 1, kSide, kSide});
  Array labels(i64, {count});
  std::uniform_real_distribution<float> unit(0, 1);
  std::normal_distribution<float> noise(0, 0.2f);
  auto pixel = images.mutable_values<float>().begin();
  for (int64_t& label : labels.mutable_values<int64_t>()) {
    label = static_cast<int64_t>(rng() % 10);
    const float scale = 1.3f + 0.6f * unit(rng);  // pixels for each dot of the bitmap
    const float left = (kSide - 5 * scale) * unit(rng);
    const float top = (kSide - 7 * scale) * unit(rng);
    for (int y = 0; y < kSide; ++y) {
      for (int x = 0; x < kSide; ++x) {
        const float row = std::floor((static_cast<float>(y) - top) / scale);
        const float column = std::floor((static_cast<float>(x) - left) / scale);
        const bool inside = row >= 0 && row < 7 && column >= 0 && column < 5;
        const bool ink =
            inside &&
            kBitmaps[static_cast<size_t>(label)][static_cast<size_t>(row)][static_cast<size_t>(column)] == '#';
        *pixel++ = (ink ? 1.0f : 0.0f) + noise(rng);
      }
    }
  }
  return {tensor(images, {"batch", 1, kSide, kSide}), tensor(labels, {"batch"})};
}

struct Net : nn::Module {
  nn::Conv2d conv1 = child("conv1", nn::Conv2d(1, 16, {3}, {.padding = {1}}));
  nn::BatchNorm norm1 = child("norm1", nn::BatchNorm(16));
  nn::Conv2d conv2 = child("conv2", nn::Conv2d(16, 32, {3}, {.padding = {1}}));
  nn::BatchNorm norm2 = child("norm2", nn::BatchNorm(32));
  nn::Linear out = child("out", nn::Linear(32 * 4 * 4, 10));

  Tensor operator()(Tensor x) const {
    x = max_pool(relu(norm1(conv1(x))), {2, 2});
    x = max_pool(relu(norm2(conv2(x))), {2, 2});
    return out(x.flatten(1));
  }
};

double accuracy(Net& net, const Batch& batch) {
  const NoGrad no_grad;
  net.eval();
  const double result = (net(batch.images).argmax(1) == batch.labels).to(f32).mean().item();
  net.train();
  return result;
}

}  // namespace

int main() {
  manual_seed(1);
  std::mt19937 rng(2);
  Net net;
  optim::Adam optimizer(net.parameters());
  constexpr int64_t steps = 300;
  const optim::Schedule rate = optim::cosine(1e-2, steps);
  const Batch test = draw(1000, rng);
  std::cout << net.parameter_count() << " parameters, accuracy " << accuracy(net, test) << " before training\n";

  const int64_t compiles = realization_counts().compiles;
  for (int64_t step = 1; step <= steps; ++step) {
    optimizer.set_learning_rate(rate(step - 1));
    const Batch batch = draw(48 + step % 32, rng);  // any size
    const Tensor loss = cross_entropy(net(batch.images), batch.labels);
    loss.backward();
    optimizer.step();
    optimizer.zero_grad();
    const double value = loss.item();  // now it is computed, and with it the new weights and running statistics
    if (step % 50 == 0) {
      std::cout << "step " << step << "  loss " << value << "\n";
    }
  }
  const int64_t programs = realization_counts().compiles - compiles;
  const double reached = accuracy(net, test);
  std::cout << "accuracy " << reached << " on digits that it has not seen; the step was compiled " << programs
            << " time(s)\n";
  return reached >= 0.97 && programs == 1 ? 0 : 1;
}
