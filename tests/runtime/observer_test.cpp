// Who is told of outputs while a run goes on.
#include <gtest/gtest.h>

#include "tenon/compile.h"
#include "tenon/graph.h"
#include "tenon/ops.h"
#include "tenon/run_observer.h"

namespace tenon::observer_test {
namespace {

class Listener : public RunObserver {
 public:
  void on_output(size_t output, const Array& array) override {
    outputs.push_back(output);
    steps_before.push_back(steps);
    arrays.push_back(array);
  }
  void between_steps() override { ++steps; }

  std::vector<size_t> outputs;
  std::vector<int> steps_before;
  std::vector<Array> arrays;
  int steps = 0;
};

/// Three products, one behind the other, each an output; and an input as it is.
Graph chain() {
  const Value x = input("x", shape(f32, "n", 64));
  const Value w = input("w", shape(f32, 64, 64));
  const Value a = matmul(x, w), b = matmul(a, w), c = matmul(b, w);
  return Graph(
      "chain", {x, w},
      {{.name = "c", .value = c}, {.name = "a", .value = a}, {.name = "b", .value = b}, {.name = "x", .value = x}});
}

TEST(RunObserver, IsToldOfOutputsAsSoonAsTheyAreThere) {
  const Executable executable = compile(chain(), {.disk_cache = false});
  const std::vector<Array> inputs = {Array::full(f32, {300, 64}, 1), Array::full(f32, {64, 64}, 0.01)};
  Listener listener;
  const std::vector<Array> results = executable.run(inputs, {.observer = &listener});
  ASSERT_EQ(listener.outputs, (std::vector<size_t>{1, 2, 0}));  // not of the input
  EXPECT_LT(listener.steps_before[0], listener.steps_before[2]);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(same_bits(listener.arrays[i], results[listener.outputs[i]]));
    EXPECT_EQ(listener.arrays[i].data(), results[listener.outputs[i]].data());
  }
}

TEST(RunObserver, EndsARunByThrowing) {
  class Refusing : public RunObserver {
   public:
    void on_output(size_t, const Array&) override { throw Error("no more of this"); }
  } refusing;
  const Executable executable = compile(chain(), {.disk_cache = false});
  const std::vector<Array> inputs = {Array::full(f32, {3, 64}, 1), Array::full(f32, {64, 64}, 0.01)};
  EXPECT_THROW(executable.run(inputs, {.observer = &refusing}), Error);
  EXPECT_EQ(executable.run(inputs)[0].dims(), (std::vector<int64_t>{3, 64}));
}

}  // namespace
}  // namespace tenon::observer_test
