// State that is updated in place: of a donated input the slices that changed are written, and nothing else.
#include "tenon/donate.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>

#include "support/arrays.h"
#include "support/compiled.h"
#include "support/error_text.h"
#include "tenon/indexing.h"
#include "tenon/interpreter.h"
#include "tenon/models.h"
#include "tenon/nn.h"
#include "tenon/ops.h"

namespace tenon::donate_test {
namespace {

const Extent kPast = Extent::name("past");

Executable compiled(const Graph& graph) { return compile(graph, {.disk_cache = false}); }

/// A list that nobody else holds the arrays of: braces alone would keep them until the call ends.
std::vector<Array> given_list(Array a, Array b) {
  std::vector<Array> list;
  list.push_back(std::move(a));
  list.push_back(std::move(b));
  return list;
}

/// cache[total, wide] with new rows at `past`, and the sum of the rows that are there then.
Graph append_rows(const Extent& wide) {
  const Value cache = input("cache", shape(f32, "total", wide));
  const Value fresh = input("fresh", shape(f32, "seq", wide));
  const Value updated = update_slice(cache, fresh * 2.0, {kPast, 0});
  const Value seen = slice(updated, {0, 0}, {kPast + Extent::name("seq"), wide});
  return Graph({cache, fresh}, {{"sum", reduce_sum(seen, {0})}, {"new_cache", updated, 0}});
}

TEST(Donate, WritesOnlyWhatIsNew) {
  const Executable executable = compiled(append_rows(8));
  Extent written = 0;
  for (const StepReport& step : executable.steps()) {
    written += step.bytes_written;
  }
  EXPECT_EQ(written.to_string(), "32*seq+32") << executable.explain();  // the rows, and their sum

  std::mt19937_64 rng(1);
  Array state = random_array(f32, {30, 8}, rng);
  const std::byte* const memory = state.mutable_data();
  for (int64_t past = 0; past < 28; past += 2) {
    const Array fresh = random_array(f32, {2, 8}, rng);
    const std::vector<Array> expected = interpret(append_rows(8), {state, fresh}, {.bindings = {{"past", past}}});
    std::vector<Array> results = executable.run(given_list(std::move(state), fresh), {.bindings = {{"past", past}}});
    EXPECT_TRUE(close(results[0], expected[0], 1e-5, 1e-5)) << past;
    EXPECT_TRUE(same(results[1], expected[1])) << past;
    EXPECT_EQ(results[1].data(), memory);
    state = std::move(results[1]);
  }
}

/// A page for each row, of which only the new one may be written: anything else would end this test.
TEST(Donate, TouchesNoOtherPage) {
  constexpr int64_t page = 4096;
  constexpr int64_t wide = page / 4;
  constexpr int64_t rows = 12;
  constexpr int64_t past = 5;
  void* const memory = mmap(nullptr, rows * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* const first = static_cast<std::byte*>(memory);
  const Executable executable = compiled(append_rows(wide));
  ASSERT_EQ(mprotect(first, past * page, PROT_READ), 0);
  ASSERT_EQ(mprotect(first + (past + 1) * page, (rows - past - 1) * page, PROT_READ), 0);
  const TensorView cache{.data = memory, .dtype = f32, .dims = {rows, wide}};
  Array fresh = Array::full(f32, {1, wide}, 3);
  Array sum(f32, {wide});
  executable.run_into(std::vector{cache, view_of(fresh)}, std::vector{writable_view_of(sum), cache},
                      {.bindings = {{"past", past}}});
  EXPECT_EQ(sum.at(0), 6);
  EXPECT_EQ(reinterpret_cast<const float*>(first + past * page)[wide - 1], 6);
  munmap(memory, rows * page);
}

TEST(Donate, CopiesWhatIsNotGiven) {
  const Executable executable = compiled(append_rows(3));
  const Array state = Array::full(f32, {4, 3}, 1);
  Array fresh = Array::full(f32, {1, 3}, 5);
  const RunOptions options{.bindings = {{"past", 2}}};
  const Array once = executable.run({state, fresh}, options)[1];  // the test holds `state`
  EXPECT_EQ(state.at(6), 1);
  EXPECT_EQ(once.at(6), 10);
  // Into memory of its own, or where the other input lies.
  Array sum(f32, {3});
  Array given(f32, {4, 3});
  executable.run_into(std::vector{view_of(state), view_of(fresh)},
                      std::vector{writable_view_of(sum), writable_view_of(given)}, options);
  EXPECT_TRUE(same(given, once));
  EXPECT_EQ(state.at(6), 1);
}

/// Memory that two inputs share is copied before it is written.
TEST(Donate, NotWhereAnotherInputLies) {
  const Value a = input("a", shape(f32, 6));
  const Value b = input("b", shape(f32, 2));
  const Graph graph({a, b}, {{"new_a", update_slice(a, b + 1.0, {1}), 0}, {"twice", b * 2.0}});
  Array memory = Array::from<float>({6}, {1, 2, 3, 4, 5, 6});
  const TensorView whole = writable_view_of(memory);
  TensorView part = whole;
  part.data = static_cast<float*>(whole.data) + 1;
  part.dims = {2};
  Array twice(f32, {2});
  compiled(graph).run_into(std::vector{whole, part}, std::vector{whole, writable_view_of(twice)});
  EXPECT_TRUE(same(memory, Array::from<float>({6}, {1, 3, 4, 4, 5, 6})));
  EXPECT_TRUE(same(twice, Array::from<float>({2}, {4, 6})));
  // The same of arrays that are given.
  Array other = Array::from<float>({6}, {1, 2, 3, 4, 5, 6});
  std::byte* const data = other.mutable_data();
  std::vector<Array> given = {Array::adopt(f32, {6}, {data, [](std::byte*) {}}),
                              Array::adopt(f32, {2}, {data + 4, [](std::byte*) {}})};
  const std::vector<Array> results = compiled(graph).run(std::move(given));
  EXPECT_TRUE(same(results[0], Array::from<float>({6}, {1, 3, 4, 4, 5, 6})));
  EXPECT_TRUE(same(results[1], Array::from<float>({2}, {4, 6})));
}

/// What is read of the old state comes first; where that cannot be, the state is not written in place.
TEST(Donate, OldStateIsReadBeforeItIsOverwritten) {
  const Value a = input("a", shape(f32, 8, 3));
  const Value b = input("b", shape(f32, 8, 3));
  const auto part = [](const Value& x, int64_t at) { return slice(x, {at, 0}, {2, 3}); };
  const auto put = [](const Value& x, const Value& y, int64_t at) { return update_slice(x, y, {at, 0}); };
  const Value moved = put(a, part(a, 3) + 1.0, 2);  // reads what it overwrites
  const Value twice = put(put(a, part(b, 0), 1), exp(part(put(a, part(b, 0), 1), 0)), 4);
  const Value needs_both = put(a, part(b, 1), 0);
  const std::vector<std::vector<Output>> cases = {
      {{"a", moved, 0}},
      {{"a", twice, 0}},
      {{"a", needs_both, 0}, {"old", reduce_sum(a * reduce_sum(needs_both))}},
      {{"a", needs_both, 0}, {"old", a * 2.0}},
      {{"a", needs_both, 0}, {"same", a}},
      {{"a", needs_both, 0}, {"view", part(a, 1)}},
      {{"a", needs_both, 0}, {"view", part(needs_both, 1)}},
      {{"a", put(a, part(b, 3), 0), 0}, {"b", put(b, part(a, 3), 0), 1}},
      {{"a", put(a, part(b, 1), 0), 0}, {"b", put(b, part(a, 0), 1), 1}},
      {{"a", put(a, transpose(reshape(part(b, 1), {3, 2}), {1, 0}), 6), 0}},
      {{"a", put(put(put(a, part(b, 1), 0), part(b, 2), 1), part(b, 3), 2), 0}, {"sum", reduce_sum(b)}},
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    const Graph graph({a, b}, cases[i]);
    std::mt19937_64 rng(i);
    const std::vector<Array> inputs = {random_array(f32, {8, 3}, rng), random_array(f32, {8, 3}, rng)};
    const std::vector<Array> expected = interpret(graph, inputs);
    for (const bool fuse : {true, false}) {
      std::vector<Array> given = inputs;
      given[0].mutable_data();
      given[1].mutable_data();
      const std::vector<Array> results = compile(graph, {.fuse = fuse, .disk_cache = false}).run(std::move(given));
      for (size_t k = 0; k < results.size(); ++k) {
        EXPECT_TRUE(close(results[k], expected[k], 1e-5, 1e-5)) << "case " << i << ", " << cases[i][k].name;
      }
    }
  }
}

/// Programs over two states, by chance.
TEST(Donate, RandomUpdatesAreRight) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    std::mt19937_64 rng(seed);
    const auto upto = [&](int64_t most) { return static_cast<int64_t>(rng() % static_cast<uint64_t>(most + 1)); };
    std::vector<Value> state = {input("a", shape(f32, 7, 4)), input("b", shape(f32, 7, 4))};
    const std::vector<Value> inputs = state;
    std::vector<Value> seen = state;
    for (int step = 0; step < 6; ++step) {
      const int64_t rows = 1 + upto(2);
      const Value& from = seen[static_cast<size_t>(upto(std::ssize(seen) - 1))];
      Value value = slice(from, {upto(7 - rows), 0}, {rows, 4});
      if (upto(2) > 0) {
        value = upto(1) == 0 ? tanh(value) : value + reduce_max(seen[static_cast<size_t>(upto(std::ssize(seen) - 1))]);
      }
      Value& to = state[static_cast<size_t>(upto(1))];
      to = update_slice(to, value, {upto(7 - rows), 0});
      seen.push_back(to);
    }
    const Graph graph(inputs, {{"a", state[0], 0}, {"b", state[1], 1}, {"c", reduce_sum(seen[3] * seen[2], {0})}});
    const std::vector<Array> arrays = {random_array(f32, {7, 4}, rng), random_array(f32, {7, 4}, rng)};
    const std::vector<Array> expected = interpret(graph, arrays);
    std::vector<Array> given = arrays;
    given[0].mutable_data();
    given[1].mutable_data();
    const std::vector<Array> results = compile(graph, {.native = false}).run(std::move(given));
    for (size_t k = 0; k < results.size(); ++k) {
      ASSERT_TRUE(close(results[k], expected[k], 1e-5, 1e-5)) << "seed " << seed << ", output " << k;
    }
  }
}

/// A scatter into state that is given changes its rows alone.
TEST(Donate, ScattersAreInPlaceToo) {
  const Value cache = input("cache", shape(f32, "total", 4));
  const Value rows = input("rows", shape(i64, "n", 1));
  const Value fresh = input("fresh", shape(f32, "n", 4));
  const Graph graph({cache, rows, fresh}, {{"new_cache", scatter_nd(cache, rows, fresh, "set"), 0}});
  std::mt19937_64 rng(3);
  const std::vector<Array> inputs = {random_array(f32, {9, 4}, rng), Array::from<int64_t>({2, 1}, {7, 2}),
                                     random_array(f32, {2, 4}, rng)};
  const Array expected = interpret(graph, inputs)[0];
  std::vector<Array> given = inputs;
  const std::byte* const memory = given[0].mutable_data();
  const Array result = compiled(graph).run(std::move(given))[0];
  EXPECT_EQ(result.data(), memory);
  EXPECT_TRUE(same(result, expected));
}

/// A step of a decoder: present = past with new keys behind it, and attention over it.
Graph growing_step() {
  const Value x = input("x", shape(f32, "batch", 2, "seq", 4));
  const Value past = input("past_key_values.0.key", shape(f32, "batch", 2, "past", 4));
  const Value present = concat({past, tanh(x)}, 2);
  const Value y = attention(x, present, present, {.causal = true});
  return Graph("step", {x, past}, {{"y", y}, {"present.0.key", present}});
}

TEST(Donate, WhatGrowsGetsRoom) {
  const Graph plain = growing_step();
  const std::vector<Donation> pairs = {{"past_key_values.0.key", "present.0.key"}};
  EXPECT_EQ(find_donations(plain), pairs);
  const Graph graph = donate(plain, pairs);
  EXPECT_EQ(graph.inputs()[1].shape().to_string(), "f32[batch, 2, capacity, 4]");
  EXPECT_EQ(graph.outputs()[1].value.shape(), graph.inputs()[1].shape());
  EXPECT_EQ(graph.outputs()[1].aliases, 1);
  EXPECT_EQ(describe_donations(graph),
            std::vector<std::string>{"output `present.0.key` takes over input `past_key_values.0.key`: 8*batch*seq of "
                                     "8*batch*capacity elements are written"});

  const Executable executable = compiled(graph);
  const int64_t capacity = 23;
  Array cache = Array::full(f32, {2, 2, capacity, 4}, 99);
  const std::byte* const memory = cache.mutable_data();
  Array past(f32, {2, 2, 0, 4});
  std::mt19937_64 rng(5);
  for (const int64_t seq : {5, 1, 1, 3, 1, 1, 1, 8, 2}) {
    const Array x = random_array(f32, {2, 2, seq, 4}, rng);
    const int64_t before = past.dims()[2];
    const std::vector<Array> expected = interpret(plain, {x, past});
    std::vector<Array> results = executable.run(given_list(x, std::move(cache)), {.bindings = {{"past", before}}});
    EXPECT_TRUE(close(results[0], expected[0], 1e-4, 1e-5)) << before;
    cache = std::move(results[1]);
    past = expected[1];
    EXPECT_EQ(cache.data(), memory);
    for (int64_t i = 0; i < cache.size(); ++i) {
      const int64_t row = i / 4 % capacity;
      const int64_t of = i / 4 / capacity;
      const float wanted =
          row < before + seq ? static_cast<float>(past.at((of * (before + seq) + row) * 4 + i % 4)) : 99;
      ASSERT_NEAR(cache.at(i), wanted, 1e-5) << "element " << i << " after " << before + seq;
    }
  }
  const std::string text =
      error_text([&] { executable.run({Array(f32, {2, 2, 1, 4}), cache}, {.bindings = {{"past", capacity}}}); });
  EXPECT_NE(text.find("capacity"), std::string::npos) << text;
}

TEST(Donate, DecodersOfTheSameWidthGiveTheSameTokens) {
  const GptOptions small{.layers = 2, .heads = 2, .width = 16, .vocabulary = 11, .positions = 32};
  const Graph graph = with_weights(gpt2(small));
  const Executable executable = compiled(graph);
  std::vector<Array> state = {Array(f32, {2, 1, 2, 20, 8}), Array(f32, {2, 1, 2, 20, 8})};
  std::vector<Array> kept = state;
  for (int64_t past = 0; past < 20; ++past) {
    const Array token = Array::from<int64_t>({1, 1}, {past % 11});
    const RunOptions options{.bindings = {{"past", past}}};
    const std::byte* const memory = state[0].mutable_data();
    std::vector<Array> given = {token, std::move(state[0]), std::move(state[1])};
    std::vector<Array> results = executable.run(std::move(given), options);
    EXPECT_EQ(results[1].data(), memory);
    const std::vector<Array> expected = interpret(graph, {token, kept[0], kept[1]}, {.bindings = {{"past", past}}});
    ASSERT_TRUE(close(results[0], expected[0], 1e-3, 1e-4)) << past;
    ASSERT_TRUE(close(results[1], expected[1], 1e-3, 1e-4)) << past;
    state = {std::move(results[1]), std::move(results[2])};
    kept = {expected[1], expected[2]};
  }
}

/// Sequences of different lengths: new rows are written behind the own end of each, by a scatter over what grew, by the
/// same rows or by zeros.
Graph uneven_step(bool by_zeros) {
  const Value x = input("x", shape(f32, "batch", 2, "seq", 4));
  const Value past = input("past", shape(f32, "batch", 2, "past", 4));
  const Value places = input("places", shape(i64, "batch", "seq"));
  const Value fresh = tanh(x);
  const Value present =
      scatter(concat({past, by_zeros ? full(fresh.shape(), 0) : fresh}, 2), transpose(fresh, {0, 2, 1, 3}), {places},
              {.axes = {2}, .x_batch = {0}, .index_batch = {0}});
  return Graph("step", {x, past, places}, {{"y", reduce_sum(present * 2.0, {0, 1})}, {"present", present}});
}

class DonateUneven : public testing::TestWithParam<bool> {};

TEST_P(DonateUneven, ScattersIntoWhatGrowsAreInPlace) {
  const Graph plain = uneven_step(GetParam());
  const Graph graph = donate(plain, find_donations(plain));
  EXPECT_EQ(graph.inputs()[1].shape().to_string(), "f32[batch, 2, capacity, 4]");
  const Executable executable = compiled(graph);
  EXPECT_EQ(executable.copy_count(), 0) << executable.explain();
  std::mt19937_64 rng(5);
  const Array x = random_array(f32, {2, 2, 2, 4}, rng);
  Array cache = random_array(f32, {2, 2, 9, 4}, rng);
  for (int64_t i = 0; i < cache.size() && GetParam(); ++i) {
    cache.mutable_values<float>()[static_cast<size_t>(i)] *= i / 4 % 9 < 5 ? 1.0F : 0.0F;
  }
  const Array before = cache;
  const std::byte* memory = cache.data();
  const auto run = [&](std::vector<int64_t> places, bool gives) {
    std::vector<Array> list = {x, cache, Array::from<int64_t>({2, 2}, std::move(places))};
    if (gives) {
      list[1] = Array();
      cache.mutable_data();
      memory = cache.data();
      list[1] = std::move(cache);
    }
    return executable.run(std::move(list), {.bindings = {{"past", 5}}});
  };
  const Array past = interpret(
      Graph({graph.inputs()[1]}, {{"first", slice(graph.inputs()[1], {0, 0, 0, 0}, {Extent::name("batch"), 2, 5, 4})}}),
      {before})[0];
  for (const std::vector<int64_t>& places : {std::vector<int64_t>{5, 6, 5, 6}, {5, 6, 2, 3}, {-1, 0, -7, 4}}) {
    const std::vector<Array> expected = interpret(plain, {x, past, Array::from<int64_t>({2, 2}, places)});
    cache = before;
    const std::vector<Array> results = run(places, true);
    EXPECT_EQ(results[1].data(), memory);
    EXPECT_TRUE(close(results[0], expected[0], 1e-4, 1e-5));
    for (int64_t i = 0; i < results[1].size(); ++i) {
      const int64_t place = i / 4 % 9;
      ASSERT_NEAR(results[1].at(i), place < 7 ? expected[1].at((i / 36 * 7 + place) * 4 + i % 4) : before.at(i), 1e-5)
          << i;
    }
  }
  // Behind what grew there is room, and no position of the model's.
  cache = before;
  for (const int64_t wrong : {7, -8}) {
    EXPECT_NE(error_text([&] { run({5, wrong, 5, 6}, false); }).find("out of range"), std::string::npos);
  }
}

INSTANTIATE_TEST_SUITE_P(Donate, DonateUneven, testing::Bool());

TEST(Donate, FindsPairsByName) {
  const auto finds = [](const std::string& before, const std::string& after) {
    const Value x = input(before, shape(f32, "n"));
    return !find_donations(Graph({x}, {{after, x + 1.0}})).empty();
  };
  for (const auto& [before, after] : {std::pair{"past_key_values.3.value", "present.3.value"},
                                      {"past_key_values.3.key", "present_key_values.3.key"},
                                      {"past_0", "present_0"},
                                      {"past", "present"},
                                      {"past_key_self_1", "present_key_self_1"},
                                      {"keys", "new_keys"},
                                      {"state", "state_out"},
                                      {"h_in", "h_out"}}) {
    EXPECT_TRUE(finds(before, after)) << before << " " << after;
  }
  for (const auto& [before, after] : {std::pair{"past_0", "present_1"}, {"x", "y"}, {"input", "output"}}) {
    EXPECT_FALSE(finds(before, after)) << before << " " << after;
  }
}

TEST(Donate, WhatCannotBeIsAnError) {
  const Value a = input("a", shape(f32, "n"));
  const Value b = input("b", shape(f32, "n"));
  const Graph graph({a, b}, {{"x", a + b}, {"long", concat({a, a}, 0)}, {"sum", reduce_sum(a)}});
  EXPECT_EQ(error_text([&] { donate(graph, {{"c", "x"}}); }),
            "donate c: the model has no such input; it takes `a`, `b`");
  EXPECT_EQ(error_text([&] { donate(graph, {{"a", "y"}}); }),
            "donate to y: the model has no such output; it gives `x`, `long`, `sum`");
  EXPECT_EQ(error_text([&] { donate(graph, {{"a", "x"}, {"b", "x"}}); }), "donate b=x: `x` is donated already");
  EXPECT_EQ(error_text([&] { donate(graph, {{"a", "sum"}}); }),
            "donate a=sum: the output is f32[] and no update of the input, which is f32[n], nor that with something "
            "behind it");
  EXPECT_NE(error_text([&] { donate(graph, {{"a", "long"}}); }), "no error");
  EXPECT_EQ(error_text([] { parse_donation("past"); }),
            "`past` is no donation: write INPUT=OUTPUT, such as past=present");
}

}  // namespace
}  // namespace tenon::donate_test
