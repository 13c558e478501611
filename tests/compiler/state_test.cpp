// State that is given: outputs take over the memory of the inputs that they alias, where no step reads those
// afterwards.
#include <gtest/gtest.h>

#include "ops/make.h"
#include "support/arrays.h"
#include "support/compiled.h"
#include "tenon/interpreter.h"
#include "tenon/losses.h"
#include "tenon/models.h"
#include "tenon/ops.h"
#include "tenon/optimizers.h"

namespace tenon::state_test {
namespace {

Executable compiled(const Graph& graph) { return compile(graph, {.disk_cache = false}); }

/// Which outputs lie where the inputs lay that they alias; results are held against the interpreter's.
std::vector<bool> taken_over(const Graph& graph, const std::vector<Array>& inputs) {
  const std::vector<Array> expected = interpret(graph, inputs);
  std::vector<Array> given;
  std::vector<const std::byte*> memory;
  for (const Array& input : inputs) {
    given.push_back(input);
    memory.push_back(given.back().mutable_data());  // of its own
  }
  const std::vector<Array> results = compiled(graph).run(std::move(given));
  std::vector<bool> taken;
  for (size_t i = 0; i < results.size(); ++i) {
    EXPECT_TRUE(close(results[i], expected[i], 1e-4, 1e-6)) << graph.outputs()[i].name;
    const int aliases = graph.outputs()[i].aliases;
    taken.push_back(aliases >= 0 && results[i].data() == memory[static_cast<size_t>(aliases)]);
  }
  return taken;
}

const Value kA = input("a", shape(f32, "n"));
const Value kB = input("b", shape(f32, "n"));

std::vector<Array> two_rows() {
  std::mt19937_64 rng(3);
  return {random_array(f32, {67}, rng), random_array(f32, {67}, rng)};
}

TEST(State, IsWrittenInPlace) {
  const Graph graph({kA, kB}, {{"a", kA * 2.0 + kB, 0}});
  EXPECT_EQ(taken_over(graph, two_rows()), std::vector<bool>{true});
}

TEST(State, TwoThatReadEachOther) {
  const Graph graph({kA, kB}, {{"sum", kA + kB, 0}, {"difference", kA - kB, 1}});
  taken_over(graph, two_rows());  // in place or not: right
  const Graph exchange({kA, kB}, {{"a", kB * 1.5, 0}, {"b", kA * 2.5, 1}});
  taken_over(exchange, two_rows());
}

TEST(State, NotWhereElementsMove) {
  const Graph graph({kA, kB}, {{"a", flip(kA, {0}) + kB, 0}});
  EXPECT_EQ(taken_over(graph, two_rows()), std::vector<bool>{false});
  const Graph sum({kA, kB}, {{"a", kB + reduce_sum(kA), 0}});
  taken_over(sum, two_rows());
}

TEST(State, NotWhatIsReadLaterOrReturned) {
  const Graph later({kA, kB}, {{"a", kA + 1.0, 0}, {"s", reduce_sum(exp(kA) * reduce_max(kB))}});
  taken_over(later, two_rows());
  const Graph returned({kA, kB}, {{"a", kA + 1.0, 0}, {"before", kA}});
  EXPECT_EQ(taken_over(returned, two_rows()), (std::vector<bool>{false, false}));
}

TEST(State, NotWhatOthersHold) {
  const Graph graph({kA, kB}, {{"a", kA * 2.0 + kB, 0}});
  const std::vector<Array> held = two_rows();
  const std::string before = held[0].to_string();
  std::vector<Array> given = held;
  const Array result = compiled(graph).run(std::move(given))[0];
  EXPECT_TRUE(close(result, interpret(graph, held)[0], 1e-5, 1e-5));
  EXPECT_EQ(held[0].to_string(), before);

  Array same = two_rows()[0];  // one array as both inputs
  std::vector<Array> twice = {same, same};
  EXPECT_TRUE(close(compiled(graph).run(std::move(twice))[0], interpret(graph, {same, same})[0], 1e-5, 1e-5));
}

TEST(State, IsUpdatedWhereTheCallerSays) {
  const Graph graph({kA, kB}, {{"a", kA * 2.0 + kB, 0}});
  std::vector<Array> rows = two_rows();
  const Array expected = interpret(graph, rows)[0];
  const std::vector<TensorView> inputs = {writable_view_of(rows[0]), writable_view_of(rows[1])};
  compiled(graph).run_into(inputs, std::span(inputs).first(1));
  EXPECT_TRUE(close(rows[0], expected, 1e-5, 1e-5));
}

/// Both inputs are where the first two outputs go; a third goes elsewhere.
void expect_right_in_place(const Graph& graph) {
  std::mt19937_64 rng(4);
  std::vector<Array> given = {random_array(f32, {5, 5}, rng), random_array(f32, {5, 5}, rng)};
  const std::vector<Array> expected = interpret(graph, given);
  Array other(f32, {5, 5});
  const std::vector<TensorView> memory = {writable_view_of(given[0]), writable_view_of(given[1]),
                                          writable_view_of(other)};
  compiled(graph).run_into(std::span(memory).first(2), std::span(memory).first(expected.size()));
  const Array* const results[] = {&given[0], &given[1], &other};
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(close(*results[i], expected[i], 1e-5, 1e-5)) << graph.outputs()[i].name;
  }
}

TEST(State, OutputsThatAreInputsOrViewsOfThem) {
  const Value a = input("a", shape(f32, "n", 5));
  const Value b = input("b", shape(f32, "n", 5));
  expect_right_in_place(Graph({a, b}, {{"x", flip(a, {0}), 0}}));
  expect_right_in_place(Graph({a, b}, {{"x", b, 0}, {"y", a, 1}}));
  expect_right_in_place(Graph({a, b}, {{"x", flip(b, {1}), 0}, {"y", flip(a, {0}), 1}}));
  expect_right_in_place(Graph({a, b}, {{"x", a + b, 0}, {"y", b * 2.0, 1}, {"old", a}}));
  expect_right_in_place(Graph({a, b}, {{"x", a + b, 0}, {"y", a, 1}, {"old", flip(b, {0})}}));
}

TEST(State, AllOfATrainingStep) {
  const Model model = mlp({.inputs = 5, .hidden = 16, .outputs = 3, .layers = 3});
  const Value labels = input("labels", shape(i64, "batch"));
  std::vector<Value> inputs = model.graph.inputs();
  inputs.insert(inputs.begin() + 1, labels);
  TrainingOptions options;
  for (const Parameter& parameter : model.parameters) {
    options.parameters.push_back(parameter.name);
  }
  const Graph step =
      training_step(Graph("loss", inputs, {{"loss", cross_entropy(model.graph.outputs()[0].value, labels)}}),
                    adam({.learning_rate = 1e-2}), options);
  std::mt19937_64 rng(9);
  std::vector<Array> arguments = {random_array(f32, {7, 5}, rng), random_array(i64, {7}, rng, 0, 2)};
  for (const Array& value : initial_values(model)) {
    arguments.push_back(value);
  }
  for (size_t i = arguments.size(); i < step.inputs().size(); ++i) {
    arguments.emplace_back(step.inputs()[i].dtype(), step.inputs()[i].shape().dims());
  }
  const std::vector<bool> taken = taken_over(step, arguments);
  for (size_t i = 0; i < taken.size(); ++i) {
    const std::string& name = step.outputs()[i].name;
    const bool state = step.outputs()[i].aliases >= 0 && name != "next_step";  // all updates read the count of steps
    EXPECT_EQ(taken[i], state) << name;
  }
}

}  // namespace
}  // namespace tenon::state_test
