// Views, joining, picking, writing and counting in random graphs.
#include <algorithm>

#include "support/graph_maker.h"
#include "tenon/indexing.h"
#include "tenon/random.h"

namespace tenon {
namespace {

/// The factors of an extent as far as they show: 6*batch is 2, 3, batch.
void add_factors(const Extent& extent, std::vector<Extent>& factors) {
  if (extent == Extent(0)) {
    factors.push_back(extent);
    return;
  }
  for (const char* name : {"batch", "seq", "col"}) {
    const Extent axis = Extent::name(name);
    if (const auto rest = divide_exactly(extent, axis)) {
      factors.push_back(axis);
      add_factors(*rest, factors);
      return;
    }
  }
  for (const int64_t prime : {2, 3, 17}) {
    if (const auto rest = divide_exactly(extent, prime); rest) {
      factors.emplace_back(prime);
      add_factors(*rest, factors);
      return;
    }
  }
  if (extent != Extent(1)) {
    factors.push_back(extent);
  }
}

}  // namespace

GraphMaker::Result GraphMaker::reshape_step() {
  const Traced x = any();
  std::vector<Extent> factors;
  for (const Axis& axis : x.value.shape().axes()) {
    add_factors(axis.extent(), factors);
  }
  if (chance(25)) {
    std::ranges::shuffle(factors, rng_);
  }
  std::vector<Axis> to;
  Extent size = 1;
  for (const Extent& factor : factors) {
    size *= factor;
    if (chance(50)) {
      to.emplace_back(size);
      size = 1;
    }
  }
  if (size != Extent(1) || chance(10)) {
    to.emplace_back(size);
  }
  if (to.size() > 5) {
    return {};
  }
  return like(reshape(x.value, to), x);
}

GraphMaker::Result GraphMaker::transpose_step() {
  const Traced x = any();
  if (x.value.rank() < 2) {
    return {};
  }
  return like(transpose(x.value, shuffled(x.value.rank())), x);
}

GraphMaker::Result GraphMaker::broadcast_step() {
  const Traced x = any();
  if (x.value.rank() > 3) {
    return {};
  }
  // Its axes land in order among new ones; those of size 1 may stretch.
  std::vector<Axis> to;
  Axes lands;
  for (const Axis& axis : x.value.shape().axes()) {
    if (to.size() < 4 && chance(30)) {
      to.emplace_back(some_extent());
    }
    lands.push_back(static_cast<int>(to.size()));
    to.push_back(axis.extent() == Extent(1) && chance(70) ? Axis(some_extent()) : axis);
  }
  if (to.size() < 3 && chance(30)) {
    to.emplace_back(some_extent());
  }
  return like(broadcast(x.value, to, lands), x);
}

GraphMaker::Result GraphMaker::slice_step() {
  const Traced x = any();
  if (x.value.rank() == 0) {
    return {};
  }
  const auto axis = static_cast<int>(pick(0, x.value.rank() - 1));
  const int64_t step = one_of(std::vector<int64_t>{1, 1, 1, 2, 3, -1, -2});
  if (step < 0) {
    return like(slice_axis(x.value, axis, -1, {}, step), x);
  }
  const int64_t begin = one_of(std::vector<int64_t>{0, 0, 1, 2, -2, -1});
  const std::optional<Extent> end =
      chance(50) ? std::optional<Extent>() : std::optional<Extent>(one_of(std::vector<Extent>{1, 3, -1, 8}));
  return like(slice_axis(x.value, axis, begin, end, step), x);
}

GraphMaker::Result GraphMaker::pad_step() {
  const Traced x = any();
  if (x.value.rank() == 0) {
    return {};
  }
  std::vector<Extent> low;
  std::vector<Extent> high;
  for (int i = 0; i < x.value.rank(); ++i) {
    const bool here = chance(60);
    low.emplace_back(here ? pick(-1, 2) : 0);
    high.emplace_back(here ? pick(-1, 2) : 0);
  }
  const std::string_view mode =
      chance(60) ? "constant" : one_of(std::vector<std::string_view>{"edge", "reflect", "wrap"});
  return Traced{pad(x.value, low, high, mode, mode == "constant" && chance(50) ? 1 : 0), std::max(x.bound, 1.0),
                x.error, x.exact};
}

GraphMaker::Result GraphMaker::flip_step() {
  const Traced x = any();
  if (x.value.rank() == 0) {
    return {};
  }
  return like(flip(x.value, some_axes(x.value.rank())), x);
}

GraphMaker::Result GraphMaker::concat_step() {
  const Traced x = any();
  if (x.value.rank() == 0) {
    return {};
  }
  const auto axis = static_cast<int>(pick(0, x.value.rank() - 1));
  std::vector<Traced> parts{x};
  for (int64_t left = pick(1, 2); left > 0; --left) {
    const Traced* y = find([&](const Traced& t) {
      if (t.value.dtype() != x.value.dtype() || t.value.rank() != x.value.rank()) {
        return false;
      }
      for (int i = 0; i < x.value.rank(); ++i) {
        if (i != axis && t.value.extent(i) != x.value.extent(i)) {
          return false;
        }
      }
      return true;
    });
    parts.push_back(y ? *y : like(slice_axis(x.value, axis, 0, 1), x));
  }
  Traced joined = x;
  std::vector<Value> values;
  for (const Traced& part : parts) {
    values.insert(values.begin() + pick(0, std::ssize(values)), part.value);
    joined.bound = std::max(joined.bound, part.bound);
    joined.error = std::max(joined.error, part.error);
    joined.exact = joined.exact && part.exact;
  }
  joined.value = concat(values, axis);
  return joined;
}

GraphMaker::Result GraphMaker::gather_step() {
  const Traced x = any();
  if (x.value.rank() == 0) {
    return {};
  }
  const auto axis = static_cast<int>(pick(0, x.value.rank() - 1));
  if (chance(25)) {
    const Traced* index = find([&](const Traced& t) {
      return t.exact && is_integer(t.value.dtype()) && t.value.shape().axes() == x.value.shape().axes();
    });
    if (!index) {
      return {};
    }
    const Value size = max(extent_value(x.value.extent(axis)), 1);
    return like(take_along_axis(x.value, mod(cast(index->value, i64), size), axis), x);
  }
  const Value at = positions(x.value.extent(axis));
  if (x.value.rank() + at.rank() > 5) {
    return {};
  }
  return like(take(x.value, at, axis), x);
}

GraphMaker::Result GraphMaker::arrange() {
  const Traced x = any();
  if (x.value.rank() == 0 || x.value.rank() > 3) {
    return {};
  }
  const auto axis = static_cast<int>(pick(0, x.value.rank() - 1));
  switch (pick(0, 5)) {
    case 0: {
      std::vector<Extent> repeats(static_cast<size_t>(x.value.rank()), 1);
      repeats[static_cast<size_t>(axis)] = 2;
      return like(tile(x.value, repeats), x);
    }
    case 1: return like(repeat_interleave(x.value, pick(1, 3), axis), x);
    case 2: return like(roll(x.value, pick(-2, 2), axis), x);
    case 3: return like(stack({x.value, flip(x.value, {axis})}, axis), x);
    case 4: return x.value.rank() < 2 ? Result() : like(diagonal(x.value, 0, 1, pick(-1, 1)), x);
    default: {
      if (x.value.rank() < 2 || x.value.dtype() == Dtype::boolean) {
        return {};
      }
      return like(chance(50) ? tril(x.value, pick(-1, 1)) : triu(x.value, pick(-1, 1)), x);
    }
  }
}

GraphMaker::Result GraphMaker::iota_step() {
  Shape shape = any().value.shape();
  if (shape.rank() == 0) {
    return {};
  }
  const Dtype dtype = one_of(std::vector<Dtype>{f32, i64, i32, f16, f64, u8});
  const auto axis = static_cast<int>(pick(0, shape.rank() - 1));
  const Value counted = iota(Shape(dtype, shape.axes()), axis, pick(-1, 2), pick(1, 2));
  return exact(counted, 2 * largest_count(shape.extent(axis)) + 2);
}

GraphMaker::Result GraphMaker::random_step() {
  const std::vector<Axis> axes = any().value.shape().axes();
  const Value key = scalar(u64, static_cast<double>(pick(0, 9)));
  const Value counter = scalar(u64, static_cast<double>(pick(0, 9)));
  if (chance(50)) {
    return exact(random_bits(key, counter, Shape(chance(50) ? u32 : u64, axes)), 1e20);
  }
  return rounded(uniform(key, counter, Shape(one_of(std::vector<Dtype>{f32, f64, f16, bf16}), axes), -1, 1), 1, 0);
}

GraphMaker::Result GraphMaker::update_step() {
  const Traced x = any();
  if (x.value.rank() == 0) {
    return {};
  }
  const auto axis = static_cast<int>(pick(0, x.value.rank() - 1));
  const Traced y = partner(x);
  const Value whole = broadcast_to(y.value, x.value.shape().axes());
  const auto begin = static_cast<size_t>(axis);
  std::vector<Extent> start(static_cast<size_t>(x.value.rank()), 0);
  start[begin] = pick(0, 1);
  const Value part = slice_axis(whole, axis, 0, Extent(pick(1, 2)));
  return Traced{update_slice(x.value, part, start), std::max(x.bound, y.bound), std::max(x.error, y.error),
                x.exact && y.exact};
}

}  // namespace tenon
