// Reductions, products and orderings in random graphs.
#include <algorithm>
#include <cmath>

#include "support/graph_maker.h"
#include "tenon/convolution.h"
#include "tenon/indexing.h"
#include "tenon/nn.h"

namespace tenon {
namespace {

constexpr double kLayerNormEpsilon = 0.1;  // so that a row of equal elements does not amplify rounding

double count_of(const Value& x, const Axes& axes) {
  Extent count = 1;
  for (const int axis : axes) {
    count *= x.extent(axis);
  }
  return largest_count(count);
}

/// The rounding of a sum of `count` elements, in whatever order.
double sum_error(Dtype dtype, double count, double bound) {
  const double step = rounding_step(compute_dtype(dtype));
  return step * std::sqrt(count) * bound + rounding_step(dtype) * std::min(count * bound, 64.0);
}

}  // namespace

GraphMaker::Result GraphMaker::reduction() {
  const Traced* found = find([](const Traced& t) { return t.value.rank() > 0 && (t.exact || t.is_tame()); });
  if (!found) {
    return {};
  }
  const Traced x = *found;
  const Dtype dtype = x.value.dtype();
  const Axes axes = some_axes(x.value.rank());
  const bool keep = chance(50);
  const double count = count_of(x.value, axes);
  if (dtype == Dtype::boolean) {
    return exact(chance(50) ? reduce_any(x.value, axes, keep) : reduce_all(x.value, axes, keep), 1);
  }
  switch (pick(0, 9)) {
    case 0: return like(reduce_max(x.value, axes, keep), x);
    case 1: return like(reduce_min(x.value, axes, keep), x);
    case 2:
    case 3: {
      if (!is_float(dtype) || !x.is_tame()) {
        return {};
      }
      return rounded(reduce_mean(x.value, axes, keep), x.bound, x.error);
    }
    case 4: {
      if (!x.exact) {
        return {};
      }
      return exact(chance(50) ? argmax(x.value, axes.back(), keep) : argmin(x.value, axes.back(), keep), count);
    }
    case 5: {
      if (!is_float(dtype)) {
        return exact(reduce_product(x.value, axes, keep), 1e20);
      }
      // Near 1, so that no order of factors overflows.
      if (x.bound > 2 || !x.exact) {
        return {};
      }
      const Value near = 1 + x.value * (1.0 / 128);
      const double bound = std::pow(1.02, std::min(count, 200.0));
      return rounded(reduce_product(near, axes, keep), bound, count * rounding_step(dtype) * bound);
    }
    default: {
      if (!is_float(dtype)) {
        return exact(reduce_sum(x.value, axes, keep), x.bound * count);
      }
      if (!x.is_tame()) {
        return {};
      }
      return Traced{reduce_sum(x.value, axes, keep), x.bound * count,
                    x.error * count + sum_error(dtype, count, x.bound), false};
    }
  }
}

GraphMaker::Result GraphMaker::row_composite() {
  const Traced* found = find_float();
  if (!found || found->value.rank() == 0 || found->bound > 16) {
    return {};
  }
  const Traced x = *found;
  const Axes axes = some_axes(x.value.rank());
  const double spread = std::sqrt(1 / kLayerNormEpsilon);
  switch (pick(0, 6)) {
    case 0: return rounded(softmax(x.value, axes.back()), 1, x.error);
    case 1: return rounded(log_softmax(x.value, axes.back()), 2 * x.bound + 10, 2 * x.error);
    case 2: return rounded(logsumexp(x.value, axes, chance(50)), x.bound + 10, x.error);
    case 3: return rounded(variance(x.value, axes, chance(50), 0), x.bound * x.bound, 4 * x.bound * x.error);
    case 4:
      return rounded(layer_norm(x.value, {}, {}, axes, kLayerNormEpsilon), 2 * spread * x.bound,
                     4 * spread * (x.error + rounding_step(x.value.dtype()) * x.bound));
    case 5:
      return rounded(rms_norm(x.value, {}, axes, kLayerNormEpsilon), spread * x.bound,
                     2 * spread * (x.error + rounding_step(x.value.dtype()) * x.bound));
    default: return rounded(reduce_l1(x.value, axes, true) / 8, x.bound * count_of(x.value, axes) / 8, 16 * x.error);
  }
}

/// A reduction beside the value that it is of.
GraphMaker::Result GraphMaker::residual() {
  const Traced* found = find_float();
  if (!found || found->value.rank() == 0) {
    return {};
  }
  const Traced x = *found;
  const Axes axes = some_axes(x.value.rank());
  const Value row = chance(50) ? reduce_max(x.value, axes, true) : reduce_mean(x.value, axes, true);
  if (chance(30)) {
    return rounded(x.value * row, x.bound * x.bound, 2 * x.bound * x.error);
  }
  return rounded(chance(50) ? x.value - row : x.value + row, 2 * x.bound, 2 * x.error);
}

GraphMaker::Result GraphMaker::pool_step() {
  const Result x = find_image();
  if (!x || x->value.rank() > 4) {
    return {};
  }
  const auto positions = static_cast<size_t>(x->value.rank() - 2);
  std::vector<int64_t> size;
  PoolOptions options;
  double count = 1;
  for (size_t i = 0; i < positions; ++i) {
    size.push_back(pick(1, 3));
    count *= static_cast<double>(size.back());
    options.stride.push_back(pick(1, 2));
    options.dilation.push_back(chance(20) ? 2 : 1);
    options.low.emplace_back(pick(0, size.back() - 1));
    options.high.emplace_back(pick(0, size.back() - 1));
  }
  options.ceil_mode = chance(20);
  options.count_include_pad = chance(50);
  switch (pick(0, 2)) {
    case 0: return like(max_pool(x->value, size, options), *x);
    case 1: return rounded(sum_pool(x->value, size, options), count * x->bound, count * x->error);
    default: return rounded(average_pool(x->value, size, options), x->bound, x->error);
  }
}

GraphMaker::Result GraphMaker::contract_step() {
  const Traced* found = find([](const Traced& t) {
    return t.value.rank() > 0 && t.value.rank() < 4 && t.value.dtype() != Dtype::boolean && (t.is_tame() || t.exact);
  });
  if (!found) {
    return {};
  }
  const Traced x = *found;
  const Dtype dtype = x.value.dtype();
  ContractAxes axes;
  Traced y;
  const Traced* other = find([&](const Traced& t) { return t.value.dtype() == dtype && t.value.rank() > 0; });
  const bool has_pair = other && other->is_tame() && chance(50);
  if (has_pair) {
    y = *other;
    std::vector<bool> used(static_cast<size_t>(y.value.rank()), false);
    for (int i = 0; i < x.value.rank(); ++i) {
      for (int j = 0; j < y.value.rank(); ++j) {
        if (!used[static_cast<size_t>(j)] && x.value.extent(i) == y.value.extent(j) && chance(70)) {
          used[static_cast<size_t>(j)] = true;
          const bool is_batch = chance(40);
          (is_batch ? axes.lhs_batch : axes.lhs_contract).push_back(i);
          (is_batch ? axes.rhs_batch : axes.rhs_contract).push_back(j);
          break;
        }
      }
    }
    if (axes.lhs_contract.empty()) {
      return {};
    }
  } else {
    const auto axis = static_cast<int>(pick(0, x.value.rank() - 1));
    axes.lhs_contract = {axis};
    axes.rhs_contract = {0};
    y = add_input(shape(dtype, x.value.extent(axis), some_extent()));
  }
  const double count = count_of(x.value, axes.lhs_contract);
  const Value product = contract(x.value, y.value, axes);
  if (product.rank() > 5) {
    return {};
  }
  if (!is_float(dtype)) {
    return exact(product, 1e20);
  }
  if (!x.is_tame() || !y.is_tame()) {
    return {};
  }
  return Traced{product, count * x.bound * y.bound,
                count * (x.error * y.bound + y.error * x.bound) + sum_error(dtype, count, x.bound * y.bound), false};
}

GraphMaker::Result GraphMaker::conv_step() {
  const Result x = find_image();
  if (!x || x->value.rank() > 4 || inputs_.size() > 7) {
    return {};
  }
  const Dtype dtype = x->value.dtype();
  ConvOptions options;
  Extent channels = x->value.extent(1);
  int64_t out = pick(1, 4);
  if (const auto fixed = channels.constant(); fixed && *fixed > 1 && chance(60)) {
    options.groups = *fixed % 2 == 0 && chance(50) ? 2 : *fixed;
    channels = Extent(*fixed / options.groups);
    out = options.groups * pick(1, 2);
  }
  std::vector<Axis> weight{Axis(out), Axis(channels)};
  Extent window = channels;
  for (int i = 2; i < x->value.rank(); ++i) {
    const int64_t size = pick(1, 3);
    weight.emplace_back(size);
    window *= size;
    options.stride.push_back(pick(1, 2));
    options.dilation.push_back(chance(20) ? 2 : 1);
    options.low.emplace_back(pick(0, 2));
    options.high.emplace_back(pick(0, 2));
  }
  const Traced w = add_input(Shape(dtype, weight));
  const double count = largest_count(window);
  return Traced{conv(x->value, w.value, options), count * x->bound * w.bound,
                count * x->error * w.bound + sum_error(dtype, count, x->bound * w.bound), false};
}

GraphMaker::Result GraphMaker::ordering() {
  const Traced* found = find([](const Traced& t) { return t.exact && t.value.rank() > 0; });
  if (!found) {
    return {};
  }
  const Traced x = *found;
  const auto axis = static_cast<int>(pick(0, x.value.rank() - 1));
  const double count = count_of(x.value, {axis});
  const bool is_number = x.value.dtype() != Dtype::boolean;
  switch (pick(0, 3)) {
    case 0: return like(sort(x.value, axis, chance(50)), x);
    case 1: return exact(argsort(x.value, axis, chance(50)), count);
    case 2: return is_number ? Result(like(cumulative_max(x.value, axis, false, chance(50)), x)) : Result();
    default: {
      if (!is_number || (is_float(x.value.dtype()) && !x.is_tame())) {
        return {};
      }
      const Value sums = cumulative_sum(x.value, axis, chance(50), chance(50));
      return is_float(x.value.dtype())
                 ? Traced{sums, count * x.bound, sum_error(x.value.dtype(), count, x.bound), false}
                 : exact(sums, count * x.bound);
    }
  }
}

}  // namespace tenon
