#include "support/graph_maker.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tenon/error.h"

namespace tenon {
namespace {

constexpr double kInputBound = 2;
constexpr double kTameBound = 64;
constexpr double kMostError = 0.02;      // beyond, a wrong answer might pass
constexpr double kMostHalfError = 0.25;  // eight bits of mantissa are soon used up
constexpr double kLargestSize = 65;
constexpr double kLargestCount = 4096;

}  // namespace

bool Traced::is_tame() const { return bound <= kTameBound; }

double rounding_step(Dtype dtype) {
  switch (dtype) {
    case Dtype::f64: return 1e-13;
    case Dtype::f32: return 1e-6;
    case Dtype::f16: return 1e-3;
    case Dtype::bf16: return 8e-3;
    default: return 0;
  }
}

double largest_count(const Extent& extent) {
  const int64_t count = extent.evaluate([](std::string_view) { return static_cast<int64_t>(kLargestSize); });
  return std::clamp(static_cast<double>(count), 1.0, kLargestCount);
}

std::vector<int> GraphMaker::shuffled(int count) {
  std::vector<int> order;
  for (int i = 0; i < count; ++i) {
    order.insert(order.begin() + pick(0, i), i);
  }
  return order;
}

std::vector<int> GraphMaker::some_axes(int rank) {
  std::vector<int> axes;
  if (chance(40)) {
    axes = {rank - 1};
  } else {
    axes = shuffled(rank);
    axes.resize(static_cast<size_t>(pick(1, rank)));
  }
  std::ranges::sort(axes);
  return axes;
}

Extent GraphMaker::some_extent() {
  static const std::vector<Extent> kNames = {Extent::name("batch"), Extent::name("seq"), Extent::name("col")};
  if (chance(65)) {
    return one_of(kNames);
  }
  if (chance(20)) {
    return chance(50) ? one_of(kNames) + 1 : one_of(kNames) * 2;
  }
  return one_of(std::vector<Extent>{1, 2, 3, 4, 6, 8, 17});
}

Dtype GraphMaker::some_dtype() { return chance(55) ? Dtype::f32 : static_cast<Dtype>(pick(0, kDtypeCount - 1)); }

Traced GraphMaker::exact(const Value& value, double bound) const { return {value, bound, 0, true}; }

Traced GraphMaker::rounded(const Value& value, double bound, double error) const {
  const double own = std::isfinite(bound) ? rounding_step(value.dtype()) * std::max(bound, 1.0) : 0;
  return {value, bound, error + own, false};
}

Traced GraphMaker::add_input(const Shape& shape) {
  inputs_.push_back(input(fmt::format("x{}", inputs_.size()), shape));
  pool_.push_back(exact(inputs_.back(), is_float(shape.dtype()) ? kInputBound : 9));
  return pool_.back();
}

void GraphMaker::add_inputs() {
  for (int64_t left = pick(1, 3); left > 0; --left) {
    std::vector<Axis> axes;
    for (int64_t rank = chance(8) ? 0 : pick(1, 4); rank > 0; --rank) {
      axes.emplace_back(some_extent());
    }
    add_input(Shape(some_dtype(), axes));
  }
}

const Traced& GraphMaker::any() {
  const auto last = static_cast<int64_t>(pool_.size()) - 1;
  return pool_[static_cast<size_t>(chance(50) ? pick(std::max<int64_t>(0, last - 2), last) : pick(0, last))];
}

const Traced* GraphMaker::find_float() {
  return find([](const Traced& x) { return is_float(x.value.dtype()) && x.is_tame(); });
}

GraphMaker::Result GraphMaker::find_image() {
  const Traced* x = find_float();
  if (!x) {
    return {};
  }
  Traced image = *x;
  while (image.value.rank() < 3) {
    image.value = expand_dims(image.value, {static_cast<int>(pick(0, image.value.rank()))});
  }
  return image;
}

Traced GraphMaker::squashed(const Traced& x) {
  if (x.is_tame() || !is_float(x.value.dtype())) {
    return x;
  }
  return {clamp(x.value, -4, 4), 4, std::min(x.error, 8.0) + rounding_step(x.value.dtype()) * 4, x.exact};
}

Traced GraphMaker::partner(const Traced& x) {
  const std::vector<Axis>& axes = x.value.shape().axes();
  const Traced* y = find([&](const Traced& other) {
    if (other.value.dtype() != x.value.dtype() || other.value.rank() > x.value.rank()) {
      return false;
    }
    const auto skip = static_cast<size_t>(x.value.rank() - other.value.rank());
    for (size_t i = skip; i < axes.size(); ++i) {
      const Extent& size = other.value.extent(static_cast<int>(i - skip));
      if (size != axes[i].extent() && size != Extent(1)) {
        return false;
      }
    }
    return true;
  });
  if (y) {
    return *y;
  }
  if (inputs_.size() > 6 || chance(30)) {
    const double number = is_float(x.value.dtype()) ? static_cast<double>(pick(-8, 8)) / 4 : 1;
    return exact(scalar(x.value.dtype(), number), 2);
  }
  // An input of the same shape, or of a part of it.
  std::vector<Axis> part(axes.begin() + pick(0, x.value.rank()), axes.end());
  for (Axis& axis : part) {
    if (chance(15)) {
      axis = Axis(1);
    }
  }
  return add_input(Shape(x.value.dtype(), part));
}

Value GraphMaker::positions(const Extent& size) {
  const auto fits = [](const Traced& x) {
    return x.exact && is_integer(x.value.dtype()) && x.value.rank() > 0 && x.value.rank() < 3;
  };
  const Traced* found = find(fits);
  Value index;
  if (found && chance(50)) {
    index = found->value;
  } else if (inputs_.size() < 7) {
    const Dtype dtype = one_of(std::vector<Dtype>{i64, i32, u8, i8});
    index = add_input(Shape(dtype, chance(70) ? std::vector<Axis>{some_extent()} : std::vector<Axis>{2, some_extent()}))
                .value;
  } else {
    index = constant(Array::from<int64_t>({3}, {0, -1, 0}));
  }
  // Most positions are brought into range; the others are Errors, which must be the same.
  return chance(92) ? mod(cast(index, i64), max(extent_value(size), 1)) : index;
}

void GraphMaker::add_step() {
  int sum = 0;
  for (const Step& step : steps()) {
    sum += step.weight;
  }
  int64_t at = pick(0, sum - 1);
  for (const Step& step : steps()) {
    if (at -= step.weight; at >= 0) {
      continue;
    }
    try {
      if (Result made = (this->*step.make)()) {
        const bool is_half = byte_size(made->value.dtype()) == 2;
        const Traced x = squashed(*made);
        // A few wild values are outputs as they are.
        if (made->exact || made->error == 0 || !std::isfinite(made->bound)) {
          pool_.push_back(*made);
        }
        if (x.error <= (is_half ? kMostHalfError : kMostError) && x.value != pool_.back().value) {
          pool_.push_back(x);
        }
      }
    } catch (const Error&) {  // the operands do not fit after all
    }
    return;
  }
}

const std::vector<GraphMaker::Step>& GraphMaker::steps() {
  static const std::vector<Step> all = {
      {14, &GraphMaker::unary},         {22, &GraphMaker::binary},        {4, &GraphMaker::conditional},
      {7, &GraphMaker::cast_step},      {18, &GraphMaker::any_row},       {8, &GraphMaker::reshape_step},
      {6, &GraphMaker::transpose_step}, {5, &GraphMaker::broadcast_step}, {7, &GraphMaker::slice_step},
      {6, &GraphMaker::pad_step},       {3, &GraphMaker::flip_step},      {6, &GraphMaker::concat_step},
      {5, &GraphMaker::gather_step},    {5, &GraphMaker::arrange},        {3, &GraphMaker::iota_step},
      {2, &GraphMaker::random_step},    {3, &GraphMaker::update_step},    {16, &GraphMaker::reduction},
      {8, &GraphMaker::row_composite},  {8, &GraphMaker::residual},       {4, &GraphMaker::pool_step},
      {5, &GraphMaker::contract_step},  {3, &GraphMaker::conv_step},      {3, &GraphMaker::ordering},
  };
  return all;
}

}  // namespace tenon
