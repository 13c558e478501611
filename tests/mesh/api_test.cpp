// What users of the library see of meshes, on ranks that are threads.
#include <gtest/gtest.h>

#include <atomic>

#include "support/arrays.h"
#include "support/equivalence.h"
#include "support/error_text.h"
#include "tenon/interpreter.h"
#include "tenon/mesh.h"
#include "tenon/text.h"

namespace tenon::mesh::api_test {
namespace {

Graph mlp() {
  return parse_graph(
      "graph main(x: f32[batch, 8], w: f32[8, 12], v: f32[12, 8]) {\n"
      "  h = relu(contract(x, w, lhs_contract=[1], rhs_contract=[0]))\n"
      "  return y=contract(h, v, lhs_contract=[1], rhs_contract=[0])\n}");
}

MeshOptions options(std::string shard) { return {.shard = std::move(shard), .compile = {.disk_cache = false}}; }

TEST(Mesh, KnowsItsRanks) {
  std::atomic<int> sum = 0;
  Mesh::run_as_threads("data=2,model=3", [&](const Mesh& mesh) {
    EXPECT_EQ(mesh.size(), 6);
    EXPECT_EQ(mesh.axes(), "data=2,model=3");
    EXPECT_EQ(mesh.position("data") * 3 + mesh.position("model"), mesh.rank());
    EXPECT_EQ(error_text([&] { mesh.position("seq"); }), "the mesh data=2,model=3 has no axis `seq`");
    sum += mesh.rank();
  });
  EXPECT_EQ(sum, 15);
}

TEST(MeshExecutable, GivesWhatOneProcessGives) {
  const std::vector<Array> inputs = random_inputs(mlp(), {{"batch", 7}}, 1);
  const std::vector<Array> expected = interpret(mlp(), inputs);
  Mesh::run_as_threads("data=2,model=2", [&](const Mesh& mesh) {
    const MeshExecutable program = compile(mlp(), mesh, options("batch=data,w.1=model,v.0=model"));
    EXPECT_TRUE(close(program.run(inputs)[0], expected[0], 1e-5, 1e-5));
    EXPECT_GT(program.sent_bytes(), 0);
    EXPECT_EQ(program.shard(), "batch=data,v.0=model,w.1=model");
    ASSERT_EQ(program.collectives().size(), 2);
    EXPECT_EQ(program.collectives()[1].kind, "all_reduce");
    EXPECT_EQ(program.collectives()[1].over, "model");
    // The same program at another size.
    const std::vector<Array> more = random_inputs(mlp(), {{"batch", 3}}, 2);
    EXPECT_TRUE(close(program.run(more)[0], interpret(mlp(), more)[0], 1e-5, 1e-5));
  });
}

TEST(MeshExecutable, KeepsItsPartOfValues) {
  const std::vector<Array> inputs = random_inputs(mlp(), {{"batch", 5}}, 1);
  const std::vector<Array> expected = interpret(mlp(), inputs);
  Mesh::run_as_threads("model=3", [&](const Mesh& mesh) {
    MeshOptions with_weights = options("w.1=model");
    with_weights.values = {{"w", inputs[1]}, {"v", inputs[2]}};
    const MeshExecutable program = compile(mlp(), mesh, with_weights);
    ASSERT_EQ(program.inputs().size(), 1);
    EXPECT_EQ(program.inputs()[0].name, "x");
    EXPECT_TRUE(close(program.run({inputs[0]})[0], expected[0], 1e-5, 1e-5));
  });
}

TEST(MeshExecutable, TakesAndGivesParts) {
  const std::vector<Array> inputs = random_inputs(mlp(), {{"batch", 7}}, 1);
  const std::vector<Array> expected = interpret(mlp(), inputs);
  Mesh::run_as_threads("data=3", [&](const Mesh& mesh) {
    MeshOptions in_parts = options("batch=data");
    in_parts.whole_outputs = false;
    const MeshExecutable program = compile(mlp(), mesh, in_parts);
    std::vector<Array> parts;
    for (size_t i = 0; i < inputs.size(); ++i) {
      parts.push_back(program.part(i, inputs[i]));
    }
    EXPECT_EQ(parts[0].dims()[0], mesh.rank() == 0 ? 3 : 2);
    const Array result = program.run_parts(parts, {{"batch", 7}})[0];
    EXPECT_EQ(program.sent_bytes(), 0);
    const int64_t begin = mesh.rank() == 0 ? 0 : 2 * mesh.rank() + 1;
    ASSERT_EQ(result.dims(), parts[0].dims());
    for (int64_t i = 0; i < result.size(); ++i) {
      EXPECT_NEAR(result.at(i), expected[0].at(begin * 8 + i), 1e-4);
    }
  });
}

TEST(MeshExecutable, AnErrorOfOneRankIsTold) {
  std::atomic<int> told = 0;
  const std::string text = error_text([&] {
    Mesh::run_as_threads("data=2", [&](const Mesh& mesh) {
      const MeshExecutable program = compile(mlp(), mesh, options("batch=data"));
      const std::vector<Array> inputs = random_inputs(mlp(), {{"batch", 4}}, 1);
      if (mesh.rank() == 1) program.run({inputs[0]});
      const std::string other = error_text([&] { program.run(inputs); });
      if (other == "rank 1 of the mesh: graph `main` takes 3 inputs, 1 were given") ++told;
    });
  });
  EXPECT_EQ(text, "graph `main` takes 3 inputs, 1 were given");
  EXPECT_EQ(told, 1);
}

TEST(MeshExecutable, SaysWhatIsWrong) {
  const auto error_of = [](const MeshOptions& wrong) {
    return error_text([&] { Mesh::run_as_threads("data=2", [&](const Mesh& mesh) { compile(mlp(), mesh, wrong); }); });
  };
  EXPECT_EQ(error_of(options("batch=model")), "the mesh data=2 has no axis `model`");
  MeshOptions unknown = options("batch=data");
  unknown.values = {{"u", Array::scalar(Dtype::f32, 0)}};
  EXPECT_EQ(error_of(unknown), "MeshOptions::values has `u`, and graph `main` has no such input");
}

}  // namespace
}  // namespace tenon::mesh::api_test
