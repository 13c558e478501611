// Library routines against the interpreter: every dtype, sizes around those at which ways change, any number of
// threads.
#include "library/library.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "base/convert.h"
#include "support/arrays.h"
#include "tenon/indexing.h"
#include "tenon/interpreter.h"

namespace tenon::library_test {
namespace {

constexpr int kThreads[] = {1, 2, 7};

Pool& pool() {
  static Pool seven(7);
  return seven;
}

/// What a routine writes into arrays like the first `outputs` inputs.
std::vector<Array> run_routine(const LibraryRoutine& routine, const std::vector<Array>& inputs, size_t outputs,
                               int threads) {
  std::vector<Array> results;
  std::vector<library::Memory> reads;
  std::vector<library::Memory> writes;
  for (const Array& in : inputs) {
    reads.push_back({.dtype = in.dtype(), .data = const_cast<std::byte*>(in.data()), .dims = in.dims()});
  }
  for (size_t i = 0; i < outputs; ++i) {
    results.emplace_back(inputs[i].dtype(), inputs[i].dims());
  }
  for (Array& out : results) {
    writes.push_back({.dtype = out.dtype(), .data = out.mutable_data(), .dims = out.dims()});
  }
  library::run(routine, reads, writes, {.pool = pool(), .threads = threads});
  return results;
}

/// Bit for bit what the graph of the same operation gives in the interpreter.
void expect_interpreted(const LibraryRoutine& routine,
                        const std::function<std::vector<Value>(const std::vector<Value>&)>& build,
                        const std::vector<Array>& inputs, const std::string& what) {
  std::vector<Value> values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::vector<Axis> axes;
    for (const int64_t dim : inputs[i].dims()) {
      axes.emplace_back(dim);
    }
    values.push_back(input(fmt::format("x{}", i), Shape(inputs[i].dtype(), axes)));
  }
  std::vector<Output> outputs;
  for (const Value& value : build(values)) {
    outputs.push_back({.name = fmt::format("y{}", outputs.size()), .value = value});
  }
  const std::vector<Array> expected = interpret(Graph(values, outputs), inputs);
  for (const int threads : kThreads) {
    const std::vector<Array> actual = run_routine(routine, inputs, expected.size(), threads);
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_TRUE(same(actual[i], expected[i])) << what << ", output " << i << " with " << threads << " threads";
    }
  }
}

/// Few different numbers, so that many are equal, and every special one that the dtype has.
Array special_array(Dtype dtype, std::vector<int64_t> dims, std::mt19937_64& rng) {
  Array result = random_array(dtype, std::move(dims), rng, -3, 3);
  const double specials[] = {0.0, -0.0, std::numeric_limits<double>::infinity(),
                             -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()};
  visit_dtype(dtype, [&]<class T>() {
    for (T& value : result.mutable_values<T>()) {
      value = convert<T>(std::trunc(convert<double>(value)));
      if (is_float_type<T> && rng() % 4 == 0) {
        value = convert<T>(specials[rng() % std::size(specials)]);
      }
    }
  });
  return result;
}

TEST(LibrarySort, EveryDtypeAlongEveryAxis) {
  std::mt19937_64 rng(1);
  for (const Dtype dtype : all_dtypes()) {
    for (const auto& dims : std::vector<std::vector<int64_t>>{
             {0}, {1}, {7}, {255}, {256}, {1000}, {3, 0, 2}, {2, 300, 17}, {300, 40}, {5, 1, 9}}) {
      for (int axis = 0; axis < std::ssize(dims); ++axis) {
        for (const bool descending : {false, true}) {
          const std::vector<Array> inputs = {special_array(dtype, dims, rng), random_array(i64, dims, rng, 0, 1e9),
                                             random_array(u8, dims, rng, 0, 200), random_array(f16, dims, rng)};
          expect_interpreted(
              SortRoutine{.axis = axis, .descending = descending},
              [&](const std::vector<Value>& x) { return sort_together(x, axis, descending); }, inputs,
              fmt::format("{} [{}] along {}", name(dtype), fmt::join(dims, ", "), axis));
        }
      }
    }
  }
}

TEST(LibrarySort, WholeRangeOfKeys) {
  std::mt19937_64 rng(2);
  for (const Dtype dtype : all_dtypes()) {
    Array keys(dtype, {20000});
    visit_dtype(dtype, [&]<class T>() {
      for (T& value : keys.mutable_values<T>()) {
        const uint64_t bits = rng();
        if constexpr (std::is_same_v<T, bool>) {
          value = (bits & 1) != 0;
        } else {
          std::memcpy(static_cast<void*>(&value), &bits,
                      sizeof(T));  // floats: NaNs of every kind, tiny ones, huge ones
        }
      }
    });
    expect_interpreted(
        SortRoutine{.axis = 0}, [](const std::vector<Value>& x) { return sort_together(x, 0); },
        {keys, random_array(i32, {20000}, rng, 0, 1e6)}, std::string(name(dtype)));
  }
}

TEST(LibraryScan, EveryDtypeAndOperationAlongEveryAxis) {
  using Builder = Value (*)(const Value&, int, bool, bool);
  const std::pair<ReduceOp, Builder> operations[] = {{ReduceOp::sum, cumulative_sum},
                                                     {ReduceOp::product, cumulative_product},
                                                     {ReduceOp::max, cumulative_max},
                                                     {ReduceOp::min, cumulative_min}};
  std::mt19937_64 rng(3);
  for (const Dtype dtype : all_dtypes()) {
    if (dtype == boolean) {
      continue;
    }
    for (const auto& dims :
         std::vector<std::vector<int64_t>>{{0}, {1}, {9}, {3, 0, 2}, {4, 5, 6}, {3, 20, 600}, {40, 2000}}) {
      for (int axis = 0; axis < std::ssize(dims); ++axis) {
        const auto& [op, build] = operations[rng() % std::size(operations)];
        for (const bool exclusive : {false, true}) {
          const bool reverse = rng() % 2 == 0;
          expect_interpreted(
              ScanRoutine{.op = op, .axis = axis, .exclusive = exclusive, .reverse = reverse},
              [&, make = build](const std::vector<Value>& x) {
                return std::vector{make(x[0], axis, exclusive, reverse)};
              },
              {random_array(dtype, dims, rng, -1.5, 1.5)},
              fmt::format("{} of {} [{}] along {}", name(op), name(dtype), fmt::join(dims, ", "), axis));
        }
      }
    }
  }
}

TEST(LibraryScan, NumbersThatAreNone) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  const Array x = Array::from<double>({6}, {1, inf, -inf, 2, nan, 3});
  const auto scanned = [&](ReduceOp op) { return run_routine(ScanRoutine{.op = op}, {x}, 1, 1)[0]; };
  EXPECT_TRUE(close(scanned(ReduceOp::sum), Array::from<double>({6}, {1, inf, nan, nan, nan, nan})));
  EXPECT_TRUE(close(scanned(ReduceOp::max), Array::from<double>({6}, {1, inf, inf, inf, nan, nan})));
  EXPECT_TRUE(close(scanned(ReduceOp::min), Array::from<double>({6}, {1, 1, -inf, -inf, nan, nan})));
}

struct ScatterCase {
  const char* what;
  std::vector<int64_t> x, index;
  std::vector<int> axes, x_batch, index_batch;
};

std::vector<int64_t> update_dims(const ScatterCase& c) {
  std::vector<int64_t> dims;
  const auto has = [](const std::vector<int>& list, size_t i) {
    return std::ranges::find(list, static_cast<int>(i)) != list.end();
  };
  for (const int axis : c.x_batch) {
    dims.push_back(c.x[static_cast<size_t>(axis)]);
  }
  for (size_t i = 0; i < c.index.size(); ++i) {
    if (!has(c.index_batch, i)) {
      dims.push_back(c.index[i]);
    }
  }
  for (size_t i = 0; i < c.x.size(); ++i) {
    if (!has(c.x_batch, i) && !has(c.axes, i)) {
      dims.push_back(c.x[i]);
    }
  }
  return dims;
}

const ScatterCase kScatters[] = {
    {"rows", {20, 30}, {50}, {0}, {}, {}},
    {"long rows", {7, 1000}, {2, 20}, {0}, {}, {}},
    {"columns", {30, 20}, {50}, {1}, {}, {}},
    {"the middle", {4, 9, 5}, {3, 7}, {1}, {}, {}},
    {"elements", {12, 13}, {400}, {0, 1}, {}, {}},
    {"elements, axes the other way round", {12, 13}, {400}, {1, 0}, {}, {}},
    {"one axis of two, in batches", {6, 10, 11}, {6, 40}, {1}, {0}, {0}},
    {"a batch that comes last", {10, 6}, {40, 6}, {0}, {1}, {1}},
    {"two batches, swapped", {3, 8, 4, 5}, {4, 9, 3}, {1}, {2, 0}, {0, 2}},
    {"few of very many", {100000}, {5}, {0}, {}, {}},
    {"very few long ones", {3, 70000}, {9}, {0}, {}, {}},
    {"no update", {5, 6}, {0}, {0}, {}, {}},
    {"rows of nothing", {5, 0}, {3}, {0}, {}, {}},
    {"one number", {5, 6}, {}, {0, 1}, {}, {}},
    {"one element", {1}, {30}, {0}, {}, {}},
};

void expect_scatter(const ScatterCase& c, Dtype dtype, ScatterOp op, Dtype index_dtype, std::mt19937_64& rng) {
  std::vector<Array> inputs = {random_array(dtype, c.x, rng, -2, 2), random_array(dtype, update_dims(c), rng, -2, 2)};
  for (const int axis : c.axes) {
    const auto size = static_cast<double>(c.x[static_cast<size_t>(axis)]);
    const bool negative = !is_unsigned_integer(index_dtype);
    inputs.push_back(random_array(index_dtype, c.index, rng, negative ? -size : 0, std::min(size, 120.0)));
  }
  const std::string_view spelling = spellings(op)[static_cast<size_t>(op)];
  expect_interpreted(
      ScatterRoutine{.op = op, .axes = c.axes, .x_batch = c.x_batch, .index_batch = c.index_batch, .place = ""},
      [&](const std::vector<Value>& v) {
        return std::vector{scatter(v[0], v[1], {v.begin() + 2, v.end()},
                                   {.axes = c.axes, .x_batch = c.x_batch, .index_batch = c.index_batch}, spelling)};
      },
      inputs, fmt::format("{} {} of {}", spelling, c.what, name(dtype)));
}

TEST(LibraryScatter, EveryOperationInEveryArrangement) {
  std::mt19937_64 rng(4);
  for (const ScatterCase& c : kScatters) {
    for (const ScatterOp op : {ScatterOp::set, ScatterOp::add, ScatterOp::mul, ScatterOp::max, ScatterOp::min}) {
      expect_scatter(c, f32, op, i64, rng);
    }
  }
}

TEST(LibraryScatter, EveryDtype) {
  std::mt19937_64 rng(5);
  for (const Dtype dtype : all_dtypes()) {
    for (const ScatterOp op : {ScatterOp::set, ScatterOp::add, ScatterOp::mul, ScatterOp::max, ScatterOp::min}) {
      if (dtype != boolean || op == ScatterOp::set) {
        expect_scatter(kScatters[0], dtype, op, i32, rng);
      }
    }
  }
}

TEST(LibraryScatter, EveryDtypeOfPositions) {
  std::mt19937_64 rng(6);
  for (const Dtype dtype : {i8, i16, i32, i64, u8, u16, u32, u64}) {
    expect_scatter(kScatters[2], f64, ScatterOp::add, dtype, rng);
  }
}

TEST(LibraryScatter, PositionsOutOfRangeNameOperationAndPlace) {
  const ScatterRoutine routine{
      .op = ScatterOp::add, .axes = {1}, .x_batch = {}, .index_batch = {}, .place = "/net/Put"};
  const auto error_at = [&](const Array& index) {
    return error_text([&] { run_routine(routine, {Array(f32, {2, 5}), Array(f32, {2, 2}), index}, 1, 1); });
  };
  EXPECT_EQ(error_at(Array::from<int64_t>({2}, {0, 5})),
            "scatter: position 5 is out of range for axis 1 of size 5\n  at node \"/net/Put\"");
  EXPECT_EQ(error_at(Array::from<int64_t>({2}, {-6, 0})),
            "scatter: position -6 is out of range for axis 1 of size 5\n  at node \"/net/Put\"");
  // Labels that may not count from the end are cast to u64: those below 0 are named as they were given.
  EXPECT_EQ(error_at(Array::from<uint64_t>({2}, {0, UINT64_MAX})),
            "scatter: position -1 is out of range for axis 1 of size 5\n  at node \"/net/Put\"");
}

TEST(Library, ChunksMayEndAStep) {
  const Array x(f32, {100000});
  Array y(f32, {100000});
  const std::vector<library::Memory> reads = {
      {.dtype = f32, .data = const_cast<std::byte*>(x.data()), .dims = x.dims()}};
  const std::vector<library::Memory> writes = {{.dtype = f32, .data = y.mutable_data(), .dims = y.dims()}};
  for (const LibraryRoutine& routine : std::vector<LibraryRoutine>{SortRoutine{}, ScanRoutine{}}) {
    int called = 0;
    const auto throwing = [&] {
      ++called;
      throw Error("enough");
    };
    EXPECT_EQ(error_text([&] {
                library::run(routine, reads, writes, {.pool = pool(), .threads = 1, .before_chunk = throwing});
              }),
              "enough");
    EXPECT_EQ(called, 1) << library::name(routine);
  }
}

TEST(Library, PositionsOfTrueElements) {
  std::mt19937_64 rng(7);
  for (const int64_t size : {0, 1, 7, 8, 9, 1000, 65535, 65536, 65537, 300000}) {
    for (const double share : {0.0, 0.001, 0.5, 1.0}) {
      Array mask(boolean, {size});
      std::vector<int64_t> wanted;
      for (int64_t i = 0; i < size; ++i) {
        const bool is_true = std::uniform_real_distribution<double>()(rng) < share;
        mask.mutable_values<bool>()[static_cast<size_t>(i)] = is_true;
        if (is_true) {
          wanted.push_back(i);
        }
      }
      for (const int threads : kThreads) {
        Array positions = Array::full(i64, {size}, -1);
        Array count(i64, {});
        const library::Memory read{.dtype = boolean, .data = mask.mutable_data(), .dims = mask.dims()};
        const library::Memory writes[] = {{.dtype = i64, .data = positions.mutable_data(), .dims = positions.dims()},
                                          {.dtype = i64, .data = count.mutable_data(), .dims = count.dims()}};
        library::run(LibraryRoutine(PositionsRoutine{}), {&read, 1}, writes, {.pool = pool(), .threads = threads});
        const auto total = static_cast<int64_t>(wanted.size());
        ASSERT_TRUE(same(count, Array::from<int64_t>({}, {total}))) << size;
        ASSERT_TRUE(same(positions.window(0, {total}), Array::from({total}, wanted))) << size;
        ASSERT_TRUE(total == size || positions.at(total) == -1) << "what lies behind is not written";
      }
    }
  }
}

}  // namespace
}  // namespace tenon::library_test
