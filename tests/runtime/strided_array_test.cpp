#include "tenon/strided_array.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "support/arrays.h"

namespace tenon::strided_array_test {
namespace {

Array counting(Dtype dtype, int64_t size) {
  std::vector<int64_t> values(static_cast<size_t>(size));
  std::iota(values.begin(), values.end(), 0);
  return Array::from({size}, values).cast(dtype);
}

/// Element by element, by the definition.
Array gathered(const StridedArray& view) {
  Array result(Dtype::i64, view.dims);
  for (int64_t i = 0; i < result.size(); ++i) {
    int64_t rest = i;
    int64_t at = view.offset;
    for (size_t axis = view.dims.size(); axis-- > 0;) {
      at += rest % view.dims[axis] * view.strides[axis];
      rest /= view.dims[axis];
    }
    result.mutable_values<int64_t>()[static_cast<size_t>(i)] = static_cast<int64_t>(view.base.at(at));
  }
  return result.cast(view.dtype());
}

TEST(StridedArray, ContiguousGathersAnyView) {
  for (const Dtype dtype : {u8, i16, i32, i64}) {
    const Array base = counting(dtype, 120);
    const std::vector<StridedArray> views = {
        {base, 0, {4, 30}, {1, 4}},              // transposed
        {base, 119, {120}, {-1}},                // reversed
        {base, 7, {3, 5}, {0, 2}},               // broadcast rows, every other column
        {base, 2, {2, 3, 4}, {60, 20, 1}},       // rows out of a larger block
        {base, 5, {1, 3, 1}, {99, 0, 99}},       // strides of axes of size 1 mean nothing
        {base, 1, {2, 2, 2, 2}, {8, 4, 2, 16}},  // all mixed
        {base, 33, {}, {}},
        {base, 3, {2, 0, 4}, {1, 1, 1}},
    };
    for (const StridedArray& view : views) {
      EXPECT_TRUE(same(view.contiguous(), gathered(view)));
    }
  }
}

/// Around the sides of the squares that a copy is made of, in any order of axes, with gaps, steps and broadcasts.
TEST(StridedArray, ContiguousGathersLargeViewsInAnyOrder) {
  std::mt19937 random(7);
  const auto below = [&](int64_t limit) { return static_cast<int64_t>(random() % static_cast<uint64_t>(limit)); };
  const std::vector<int64_t> sizes = {1, 7, 15, 16, 17, 33, 65};
  for (const Dtype dtype : {u8, i16, i32, i64}) {
    for (int round = 0; round < 60; ++round) {
      std::vector<int64_t> dims, order;
      for (int64_t axis = 0; axis < 2 + round % 3; ++axis) {
        dims.push_back(round % 3 == 2 ? 1 + below(9) : sizes[static_cast<size_t>(below(std::ssize(sizes)))]);
        order.push_back(axis);
      }
      std::ranges::shuffle(order, random);
      std::vector<int64_t> strides(dims.size());
      int64_t extent = 1;
      for (const int64_t axis : order) {
        const auto i = static_cast<size_t>(axis);
        strides[i] = below(8) == 0 ? 0 : extent * (1 + below(6) / 4);
        extent = strides[i] == 0 ? extent : strides[i] * dims[i] + below(4) / 3;
      }
      int64_t first = 0;
      for (size_t i = 0; i < dims.size(); ++i) {
        if (below(8) == 0) {
          first += (dims[i] - 1) * strides[i];
          strides[i] = -strides[i];
        }
      }
      const StridedArray view{counting(dtype, 2 * extent + 1), first, dims, strides};
      ASSERT_TRUE(same(view.contiguous(), gathered(view)))
          << fmt::format("{}: [{}], strides {}", name(dtype), fmt::join(dims, ", "), fmt::join(strides, ", "));
    }
  }
}

TEST(StridedArray, WhatLiesInOrderIsNotCopied) {
  const Array base = counting(f32, 24);
  const StridedArray rows{base, 8, {1, 2, 4}, {77, 4, 1}};
  EXPECT_TRUE(rows.is_contiguous());
  EXPECT_EQ(rows.contiguous().data(), base.data() + 8 * sizeof(float));
  EXPECT_FALSE((StridedArray{base, 0, {2, 4}, {5, 1}}).is_contiguous());
  EXPECT_FALSE((StridedArray{base, 0, {2, 4}, {0, 1}}).is_contiguous());
  EXPECT_TRUE((StridedArray{base, 0, {2, 0}, {5, 5}}).is_contiguous());
}

}  // namespace
}  // namespace tenon::strided_array_test
