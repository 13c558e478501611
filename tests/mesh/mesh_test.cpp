// Meshes and shardings as text, what moves between ranks, and errors.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "mesh/exchange/threads.h"
#include "mesh/parts/mesh_shape.h"
#include "mesh/run/pieces.h"
#include "support/arrays.h"
#include "support/equivalence.h"
#include "support/error_text.h"
#include "support/on_mesh.h"
#include "tenon/interpreter.h"
#include "tenon/text.h"

namespace tenon::mesh::mesh_test {
namespace {

TEST(Mesh, RanksAreInRowOrder) {
  const MeshShape mesh = MeshShape::parse("data=2,model=3");
  EXPECT_EQ(mesh.rank_count(), 6);
  EXPECT_EQ(mesh.coordinates(4), (std::vector<int>{1, 1}));
  EXPECT_EQ(mesh.to_string(), "data=2,model=3");
}

TEST(Mesh, SaysWhatIsWrongWithItsText) {
  EXPECT_EQ(error_text([] { MeshShape::parse("data"); }),
            "mesh `data`: `data` is not NAME=SIZE with a size of at least 1, as in `data=2,model=2`");
  EXPECT_EQ(error_text([] { MeshShape::parse("a=2,a=3"); }), "mesh `a=2,a=3`: the axis `a` is there twice");
  EXPECT_EQ(error_text([] { MeshShape::parse("a=2").find("b"); }), "the mesh a=2 has no axis `b`");
  EXPECT_EQ(error_text([] { MeshShape::parse("a=5000"); }), "mesh `a=5000`: more than 4096 ranks");
}

TEST(Cut, GivesFirstRanksOneMore) {
  const Cut cut = Cut::of(Extent::name("n"), 1, 4);
  EXPECT_EQ(sizes_of(cut, 4, {{"n", 7}}), (std::vector<int64_t>{2, 2, 2, 1}));
  EXPECT_EQ(sizes_of(cut, 4, {{"n", 0}}), (std::vector<int64_t>{0, 0, 0, 0}));
  EXPECT_EQ(evaluate(cut.begin(3, 4), {{"n", 7}}), 6);
  // Whole groups go together; sizes that divide are the same however they are grouped.
  EXPECT_EQ(sizes_of(Cut::of(7, 10, 4), 4, {}), (std::vector<int64_t>{20, 20, 20, 10}));
  EXPECT_EQ(Cut::of(8, 3, 2), Cut::of(24, 1, 2));
}

Graph mlp() {
  return parse_graph(
      "graph main(x: f32[batch, 8], w: f32[8, ffn], v: f32[ffn, 8]) {\n"
      "  h = relu(contract(x, w, lhs_contract=[1], rhs_contract=[0]))\n"
      "  return y=contract(h, v, lhs_contract=[1], rhs_contract=[0])\n}");
}

std::vector<std::string> collectives_of(const ShardedGraph& graph) {
  std::vector<std::string> names;
  for (const Collective& each : graph.collectives) {
    names.push_back(fmt::format("{} {}", name(each.kind), graph.mesh.axes[each.mesh_axis].name));
  }
  return names;
}

MeshRun run_mlp(const std::string& mesh, const std::string& sharding) {
  const Bindings bindings{{"batch", 6}, {"ffn", 12}};
  const std::vector<Array> inputs = random_inputs(mlp(), bindings, 1);
  return run_on_threads(mlp(), mesh, sharding, inputs, bindings, ShardOptions{.typical = bindings});
}

TEST(Collectives, ATensorParallelBlockNeedsOneSum) {
  const MeshRun run = run_mlp("model=4", "ffn=model");
  EXPECT_EQ(collectives_of(run.graph), std::vector<std::string>{"all_reduce model"});
  EXPECT_EQ(run.traffic.collectives, 1);
  EXPECT_DOUBLE_EQ(run.traffic.bytes, 2.0 * 3 / 4 * 6 * 8 * sizeof(float));
}

TEST(Collectives, ADataParallelBlockNeedsNoneButForWholeOutputs) {
  const MeshRun run = run_mlp("data=3", "batch=data");
  EXPECT_EQ(collectives_of(run.graph), std::vector<std::string>{"all_gather data"});
  EXPECT_DOUBLE_EQ(run.traffic.bytes, 2.0 / 3 * 6 * 8 * sizeof(float));
}

TEST(Collectives, BothAtOnce) {
  const MeshRun run = run_mlp("data=2,model=2", "batch=data,ffn=model");
  EXPECT_EQ(collectives_of(run.graph), (std::vector<std::string>{"all_gather data", "all_reduce model"}));
}

TEST(Collectives, SeveralSumsAreOneExchange) {
  const Graph graph = parse_graph(
      "graph main(x: f32[batch, 3]) { return a=reduce(x, op=sum, axes=[0]), b=reduce(exp(x), op=sum, axes=[0, 1]), "
      "c=reduce(x, op=max, axes=[0]) }");
  const Bindings bindings{{"batch", 5}};
  const MeshRun run = run_on_threads(graph, "data=2", "batch=data", random_inputs(graph, bindings, 1), bindings);
  EXPECT_EQ(run.graph.collectives.size(), 3);
  EXPECT_EQ(run.traffic.collectives, 2);  // sums and maxima
}

TEST(Collectives, AllToAllMovesASplitFromOneAxisToAnother) {
  const Graph graph =
      parse_graph("graph main(x: f32[n, k]) { return a=add(scan(scan(x, op=sum, axis=1), op=sum, axis=0), 1) }");
  const Bindings bindings{{"n", 5}, {"k", 7}};
  const std::vector<Array> inputs = random_inputs(graph, bindings, 1);
  EXPECT_EQ(mesh_difference(graph, "m=3", "n=m", inputs, bindings).value_or(""), "");
  const MeshRun run = run_on_threads(graph, "m=3", "n=m", inputs, bindings);
  EXPECT_EQ(collectives_of(run.graph), (std::vector<std::string>{"all_to_all m", "all_gather m"}));
}

TEST(Collectives, CompiledSegmentsGiveTheSame) {
  const Bindings bindings{{"batch", 7}, {"ffn", 9}};
  const std::vector<Array> inputs = random_inputs(mlp(), bindings, 1);
  const std::vector<Array> expected = interpret(mlp(), inputs);
  const MeshRun run = run_on_threads(mlp(), "data=2,model=2", "batch=data,ffn=model", inputs, bindings, {},
                                     compiling({.disk_cache = false}, 1));
  for (const std::vector<Array>& outputs : run.outputs) {
    EXPECT_TRUE(close(outputs[0], expected[0], 1e-5, 1e-5));
  }
}

TEST(Shardings, SayWhatIsWrong) {
  const auto error_of = [](const std::string& mesh, const std::string& sharding) {
    return error_text([&] { shard(mlp(), MeshShape::parse(mesh), Sharding::parse(sharding), 0); });
  };
  EXPECT_EQ(error_of("m=2", "batch"),
            "sharding `batch`: `batch` is not AXIS=MESH_AXIS, as in `batch=data` or `w.1=model`");
  EXPECT_EQ(
      error_of("m=2", "seq=m"),
      "no input has an axis `seq` to lie along `m`; names of axes are batch, ffn; INPUT.AXIS (`x.0`) is one axis of "
      "an input");
  EXPECT_EQ(error_of("m=2", "batch=model"), "the mesh m=2 has no axis `model`");
  EXPECT_EQ(error_of("m=2", "w.0=m,w.1=m"), "input `w`: axes 0 and 1 would both lie along `m` of the mesh");
  EXPECT_EQ(error_of("m=2,n=2", "ffn=m,w.1=n"), "input `w`: axis 1 would lie along two axes of the mesh");
}

TEST(Ranks, WithOtherProgramsOrSizesAreFound) {
  const auto run = [](const std::string& second, int64_t batch) {
    return error_text([&] {
      run_as_threads(2, [&](Communicator& world) {
        const bool is_second = world.rank() == 1;
        MeshProgram program(
            shard(mlp(), MeshShape::parse("m=2"), Sharding::parse(is_second ? second : "ffn=m"), world.rank()), world,
            interpreting());
        const Bindings bindings{{"batch", is_second ? batch : 3}, {"ffn", 4}};
        program.run_whole(random_inputs(mlp(), bindings, 1));
      });
    });
  };
  EXPECT_EQ(run("ffn=m", 3), "no error");
  EXPECT_EQ(run("batch=m", 3),
            "rank 1 of the mesh has another program than rank 0; start every rank with the same command and the same "
            "files");
  EXPECT_EQ(run("ffn=m", 4),
            "rank 1 of the mesh has inputs of other sizes than rank 0; start every rank with the same command and the "
            "same files");
}

TEST(Ranks, WithOtherInputsAreFound) {
  EXPECT_EQ(error_text([] {
              run_as_threads(2, [](Communicator& world) {
                MeshProgram program(shard(mlp(), MeshShape::parse("m=2"), Sharding::parse("ffn=m"), world.rank()),
                                    world, interpreting());
                program.require_same_contents({Array::scalar(Dtype::f32, 1)});
                program.require_same_contents({Array::scalar(Dtype::f32, world.rank())});
              });
            }),
            "rank 1 of the mesh has other inputs than rank 0; start every rank with the same command and the same "
            "files");
}

TEST(Ranks, WithOtherWeightsInPartsAreFound) {
  const auto error_of = [](int other, int64_t element) {
    return error_text([&] {
      run_as_threads(3, [&](Communicator& world) {
        MeshProgram program(shard(mlp(), MeshShape::parse("m=3"), Sharding::parse("w.1=m"), world.rank()), world,
                            interpreting());
        std::vector<Array> inputs = random_inputs(mlp(), {{"batch", 2}, {"ffn", 6}}, 1);
        if (world.rank() == other) inputs[1].mutable_values<float>()[static_cast<size_t>(element)] += 1;
        program.require_same_inputs({&inputs[0], &inputs[1], nullptr});
      });
    });
  };
  EXPECT_EQ(error_of(-1, 0), "no error");
  const std::string end = "; start every rank with the same command and the same files";
  EXPECT_EQ(error_of(1, 20), "rank 1 of the mesh has other inputs than rank 0" + end);  // rank 1's own share
  EXPECT_EQ(error_of(1, 40), "rank 2 of the mesh has other inputs than rank 1" + end);  // the next one's
  EXPECT_EQ(error_of(0, 0), "rank 2 of the mesh has other inputs than rank 0" + end);
}

TEST(Ranks, AnErrorOfOneEndsAll) {
  EXPECT_EQ(error_text([] {
              run_as_threads(3, [](Communicator& world) {
                if (world.rank() == 2) throw Error("rank 2 has no memory");
                std::byte byte{};
                world.all_reduce(&byte, &byte, 1, 1, combine_function(ReduceOp::sum, Dtype::u8))->wait();
              });
            }),
            "rank 2 has no memory");
}

TEST(Ranks, MustBeAsManyAsTheMeshHas) {
  EXPECT_EQ(error_text([] {
              run_as_threads(2, [](Communicator& world) {
                MeshProgram(shard(mlp(), MeshShape::parse("m=3"), Sharding(), world.rank()), world, interpreting());
              });
            }),
            "the mesh m=3 has 3 ranks, and there are 2 processes");
}

}  // namespace
}  // namespace tenon::mesh::mesh_test
