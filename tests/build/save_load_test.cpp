// Programs that were written to a file and read back run as those that were compiled here.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "program_folder.h"
#include "support/error_text.h"
#include "support/model_cases.h"
#include "support/random_graph.h"
#include "tenon/tenon.h"

namespace tenon::save_load_test {
namespace {

std::string texts(const Executable& executable) {
  std::string text = executable.explain();
  for (const Port& port : executable.inputs())
    text += port.name + port.shape.to_string() + "\n";
  for (const Port& port : executable.outputs())
    text += port.name + port.shape.to_string() + "\n";
  return text + executable.capabilities().code;
}

/// Machine code and loops alike; the file's program says the same of itself, and gives the same bits.
void expect_same(const Graph& graph, const std::vector<Bindings>& sizes,
                 const std::function<std::vector<Array>(const Bindings&)>& inputs, const CompileOptions& options) {
  const ProgramFolder folder;
  const std::string path = folder / "model.tenon";
  build_program(graph, path, {.compile = options});
  const Executable before = compile(graph, options);
  const Executable after = load_program(path);
  EXPECT_EQ(texts(after), texts(before));
  for (const Bindings& bindings : sizes) {
    const std::vector<Array> given = inputs(bindings);
    std::vector<Array> expected;
    try {
      expected = before.run(given, {.bindings = bindings});
    } catch (const Error& error) {
      EXPECT_EQ(error_text([&] { (void)after.run(given, {.bindings = bindings}); }), error.what());
      continue;
    }
    EXPECT_TRUE(std::ranges::equal(after.run(given, {.bindings = bindings}), expected, same_bits));
  }
}

TEST(SaveLoad, SlowModelsGiveTheSameBits) {
  for (const ModelCase& each : model_cases()) {
    SCOPED_TRACE(each.name);
    const Model model = each.build();
    expect_same(model.graph, each.bindings,
                [&](const Bindings& bindings) { return inputs_of(model, bindings, each.tokens); }, {});
  }
}

TEST(SaveLoad, SlowModelsWithTheirWeightsGiveTheSameBits) {
  for (const ModelCase& each : model_cases()) {
    SCOPED_TRACE(each.name);
    const Model model = each.build();
    const Graph graph = with_weights(model);
    expect_same(graph, each.bindings,
                [&](const Bindings& bindings) {
                  std::vector<Array> inputs = inputs_of(model, bindings, each.tokens);
                  inputs.resize(model.data_inputs);
                  return inputs;
                },
                {});
  }
}

TEST(SaveLoad, LoopsOfModelsGiveTheSameBits) {
  for (const ModelCase& each : model_cases()) {
    SCOPED_TRACE(each.name);
    const Model model = each.build();
    expect_same(model.graph, {each.bindings.front()},
                [&](const Bindings& bindings) { return inputs_of(model, bindings, each.tokens); }, {.native = false});
  }
}

TEST(SaveLoad, AMachineOfAnotherNameIsNoOtherMachine) {
  const ProgramFolder folder;
  const Graph graph = parse_graph("graph g(x: f32[n]) { return y=add(x, 1) }");
  Machine twin = machine_named("x86-64-v3");
  twin.name = "twin";
  EXPECT_EQ(
      error_text([&] { build_program(graph, folder / "fat.tenon", {.machines = {machine_named("x86-64-v3"), twin}}); }),
      "machines `x86-64-v3` and `twin` are the same but for their names: a file has one program for both");
  EXPECT_FALSE(std::filesystem::exists(folder / "fat.tenon"));
  twin.cpu().cores += 1;
  build_program(graph, folder / "fat.tenon", {.machines = {machine_named("x86-64-v3"), twin}});
}

TEST(SaveLoad, SlowRandomGraphsGiveTheSameBits) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const RandomGraph random = random_graph(seed);
    expect_same(random.graph, random_bindings(random.graph, seed, 2),
                [&](const Bindings& bindings) { return random_graph_inputs(random, bindings, seed); },
                {.native = seed % 4 == 0});
  }
}

}  // namespace
}  // namespace tenon::save_load_test
