// Who is told of outputs while a run goes on.
#include <gtest/gtest.h>

#include "tenon/compile.h"
#include "tenon/run_observer.h"
#include "tenon/text.h"

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

/// A kernel, a routine and a kernel, one behind the other, each an output; and an input as it is.
Graph chain() {
  return parse_graph(
      "graph chain(x: f32[n, 64]) {\n"
      "  a = mul(x, 2)\n"
      "  b = sort(a, axis=1, descending=false)\n"
      "  c = add(b, 1)\n"
      "  return c=c, a=a, b=b, x=x\n}");
}

TEST(RunObserver, IsToldOfOutputsAsSoonAsTheyAreThere) {
  const Executable executable = compile(chain(), {.disk_cache = false});
  const std::vector<Array> inputs = {Array::full(f32, {300, 64}, 1)};
  Listener listener;
  const std::vector<Array> results = executable.run(inputs, {.observer = &listener});
  ASSERT_EQ(listener.outputs, (std::vector<size_t>{1, 0, 2}));  // `b` is read until `c` is there; not the input
  EXPECT_EQ(listener.steps_before, (std::vector<int>{1, 2, 2}));
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
  const std::vector<Array> inputs = {Array::full(f32, {3, 64}, 1)};
  EXPECT_THROW(executable.run(inputs, {.observer = &refusing}), Error);
  EXPECT_EQ(executable.run(inputs)[0].dims(), (std::vector<int64_t>{3, 64}));
}

}  // namespace
}  // namespace tenon::observer_test
