#include "support/random_network.h"

#include <cmath>
#include <random>
#include <vector>

#include "support/small_graph.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

/// A few layers, one behind the other, with all that models put between convolutions.
class NetworkMaker {
 public:
  explicit NetworkMaker(uint64_t seed) : rng_(seed) {}

  Graph make() {
    const int positions = one_in(5) ? 1 : one_in(6) ? 3 : 2;
    std::vector<Axis> axes{Axis("batch"), one_in(3) ? 16 : number(1, 5)};
    for (int i = 0; i < positions; ++i) {
      axes.push_back(one_in(3) ? Axis(number(4, 9)) : Axis(std::string(1, "hwd"[i])));
    }
    const Dtype dtype = one_in(6) ? f64 : one_in(8) ? f16 : f32;
    const Value x = input("x", Shape(dtype, axes));
    inputs_ = {x};
    Value y = convolved(x);
    images_ = {y};
    for (int64_t layers = number(2, 5); layers > 0; --layers) {
      y = layer(y);
      images_.push_back(y);
    }
    std::vector<Output> outputs{{.name = "y", .value = last(y)}};
    if (one_in(3)) {
      outputs.push_back({.name = "y2", .value = images_[pick(images_.size())]});
    }
    return with_constants(Graph("network", inputs_, outputs), "w");
  }

 private:
  size_t pick(size_t count) { return rng_() % count; }
  bool one_in(size_t count) { return pick(count) == 0; }
  int64_t number(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(pick(static_cast<size_t>(high - low + 1)));
  }
  int64_t channels() { return one_in(2) ? 16 * number(1, 3) : number(14, 35); }

  Value weight(const Value& like, std::vector<Axis> axes) {
    inputs_.push_back(input("w" + std::to_string(inputs_.size()), Shape(like.dtype(), std::move(axes))));
    return inputs_.back();
  }

  static int64_t channels_of(const Value& x) { return *x.extent(1).constant(); }

  Value convolved(const Value& x, int64_t stride = 0) {
    ConvOptions options;
    const int64_t in = channels_of(x);
    int64_t out = channels();
    if (one_in(4)) {
      options.groups = one_in(2) || in % 2 != 0 ? in : 2;
      out = options.groups * number(1, options.groups == 2 ? 20 : 2);
    }
    std::vector<Axis> axes{out, in / options.groups};
    for (int i = 2; i < x.rank(); ++i) {
      const int64_t window = one_in(3) ? 1 : number(2, 3);
      const int64_t dilation = one_in(6) ? 2 : 1;
      axes.emplace_back(window);
      options.stride.push_back(stride > 0 ? stride : one_in(4) ? 2 : 1);
      options.dilation.push_back(dilation);
      // Any size stays as it is, or nearly so: names may stand for 0 and 1.
      options.low.emplace_back((window - 1) * dilation / 2 + (one_in(5) ? 1 : 0));
      options.high.emplace_back((window - 1) * dilation - (window - 1) * dilation / 2);
    }
    double terms = 1;
    for (size_t i = 1; i < axes.size(); ++i) {
      terms *= static_cast<double>(*axes[i].extent().constant());
    }
    // Numbers stay about as large as they are: else the rounding of one layer is all that the next ones see.
    return conv(x, weight(x, axes), options) * (0.5 / std::sqrt(terms));
  }

  /// One number for each channel.
  Value per_channel(const Value& x) {
    std::vector<Axis> axes(static_cast<size_t>(x.rank()) - 1, 1);
    axes[0] = channels_of(x);
    return weight(x, axes);
  }

  Value layer(const Value& x) {
    const std::vector<int64_t> window(static_cast<size_t>(x.rank()) - 2, 3);
    const std::vector<int64_t> ones(window.size(), 1);
    const std::vector<Extent> edge(window.size(), 1);
    switch (pick(11)) {
      case 0: return relu(convolved(x) + 0.5);
      case 1: {
        const Value y = convolved(x);
        return tanh(y + per_channel(y));
      }
      case 2: return max_pool(x, window, {.stride = ones, .low = edge, .high = edge});
      case 3: {
        const Value same = images_[pick(images_.size())];
        return same.shape() == x.shape() ? sigmoid(x) + same : x * 0.5;
      }
      case 4: return concat({x, images_.back(), x * 2.0}, 1);
      case 5: return x * sigmoid(global_average_pool(x));
      case 6: {
        // Twice as many pixels, each of them several times.
        std::vector<Scale> twice(window.size(), Scale{2, 1});
        std::vector<int> positions;
        for (int i = 2; i < x.rank(); ++i) {
          positions.push_back(i);
        }
        return resize_by(x, positions, twice, {});
      }
      case 7: return channels_of(x) % 2 == 0 ? group_norm(x, per_group(x), per_group(x), 2) : exp(x * -0.1);
      case 8: {
        std::vector<Axis> axes{channels_of(x), channels()};
        axes.insert(axes.end(), window.size(), 2);
        const std::vector<int64_t> twice(window.size(), 2);
        return conv_transpose(x, weight(x, axes), {.stride = twice}) * 0.1;
      }
      case 9: return flip(x, {x.rank() - 1}) + x;
      default: return convolved(convolved(x, 1));
    }
  }

  Value per_group(const Value& x) { return weight(x, {channels_of(x)}); }

  Value last(const Value& y) {
    switch (pick(6)) {
      case 5: {  // axes that the image does not have
        std::vector<Axis> axes = y.shape().axes();
        std::swap(axes[1], axes.back());
        return reshape(y, axes);
      }
      case 0: return y;
      case 1: return global_average_pool(y);
      case 2: return softmax(y, 1);
      case 3: return reduce_sum(y, {1});
      default: return sin(y);
    }
  }

  std::mt19937_64 rng_;
  std::vector<Value> inputs_, images_;
};

}  // namespace

Graph random_network(uint64_t seed) { return NetworkMaker(seed).make(); }

}  // namespace tenon
