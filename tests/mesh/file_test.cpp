// Programs of meshes in files, on ranks that are threads.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "mesh/disk/mesh_file.h"
#include "support/arrays.h"
#include "support/equivalence.h"
#include "support/error_text.h"
#include "tenon/interpreter.h"
#include "tenon/mesh_program.h"
#include "tenon/text.h"

namespace tenon::mesh::file_test {
namespace {

/// A file that goes with the test.
class PassingFile {
 public:
  explicit PassingFile(const std::string& name)
      : path_(fmt::format("{}/mesh_{}_{}.tenon", testing::TempDir(), ::getpid(), name)) {}
  ~PassingFile() {
    std::error_code error;
    std::filesystem::remove(path_, error);
  }
  PassingFile(const PassingFile&) = delete;
  PassingFile& operator=(const PassingFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Graph mlp() {
  return parse_graph(
      "graph main(x: f32[batch, 8], w: f32[8, 12], v: f32[12, 8]) {\n"
      "  h = relu(contract(x, w, lhs_contract=[1], rhs_contract=[0]))\n"
      "  return y=contract(h, v, lhs_contract=[1], rhs_contract=[0])\n}");
}

std::vector<Array> inputs_at(int64_t batch) { return random_inputs(mlp(), {{"batch", batch}}, 1); }

MeshOptions options(const std::string& shard) {
  const std::vector<Array> inputs = inputs_at(1);
  return {.shard = shard, .values = {{"w", inputs[1]}, {"v", inputs[2]}}};
}

std::vector<ProgramFileSection> sections(const std::string& path, std::string_view kind) {
  std::vector<ProgramFileSection> found = inspect_program(path).sections;
  std::erase_if(found, [&](const ProgramFileSection& each) { return each.kind != kind; });
  return found;
}

TEST(MeshFile, GivesWhatOneProcessGivesAtAllSizes) {
  for (const auto& [mesh, shard] :
       {std::pair("data=2,model=2", "batch=data,w.1=model,v.0=model"), std::pair("model=3", "w.1=model,v.0=model"),
        std::pair("data=3", "batch=data"), std::pair("model=5", "w.0=model,v.1=model")}) {
    const PassingFile file("sizes");
    build_mesh_program(mlp(), mesh, file.path(), options(shard));
    Mesh::run_as_threads(mesh, [&](const Mesh& own) {
      const MeshExecutable program = load_mesh_program(file.path(), own);
      ASSERT_EQ(program.inputs().size(), 1);
      EXPECT_EQ(program.inputs()[0].shape, mlp().inputs()[0].shape());
      EXPECT_EQ(program.outputs()[0].name, "y");
      EXPECT_EQ(program.shard(), shard == std::string("batch=data,w.1=model,v.0=model")
                                     ? "batch=data,v.0=model,w.1=model"
                                     : Sharding::parse(shard).to_string());
      for (const int64_t batch : {0, 1, 7}) {
        std::vector<Array> inputs = inputs_at(batch);
        inputs[1] = inputs_at(1)[1];
        inputs[2] = inputs_at(1)[2];
        const Array expected = interpret(mlp(), inputs)[0];
        EXPECT_TRUE(close(program.run({inputs[0]})[0], expected, 1e-5, 1e-5)) << mesh << " at " << batch;
      }
    });
  }
}

TEST(MeshFile, SendsWhatTheCompiledProgramSends) {
  const PassingFile file("sends");
  const MeshOptions how = options("batch=data,w.1=model,v.0=model");
  build_mesh_program(mlp(), "data=2,model=2", file.path(), how);
  Mesh::run_as_threads("data=2,model=2", [&](const Mesh& own) {
    const MeshExecutable loaded = load_mesh_program(file.path(), own);
    MeshOptions with_values = how;
    with_values.compile.disk_cache = false;
    const MeshExecutable compiled = compile(mlp(), own, with_values);
    const Array x = inputs_at(6)[0];
    EXPECT_TRUE(same(loaded.run({x})[0], compiled.run({x})[0]));
    EXPECT_EQ(loaded.sent_bytes(), compiled.sent_bytes());
    ASSERT_EQ(loaded.collectives().size(), compiled.collectives().size());
    for (size_t i = 0; i < loaded.collectives().size(); ++i) {
      EXPECT_EQ(loaded.collectives()[i].kind, compiled.collectives()[i].kind);
      EXPECT_EQ(loaded.collectives()[i].reason, compiled.collectives()[i].reason);
      EXPECT_EQ(loaded.collectives()[i].bytes, compiled.collectives()[i].bytes);
    }
  });
}

TEST(MeshFile, HasEqualGraphsAndWeightsOnce) {
  const PassingFile file("once");
  build_mesh_program(mlp(), "model=4", file.path(), options("w.1=model,v.0=model"));
  EXPECT_EQ(sections(file.path(), "part").size(), 1);  // all ranks run one graph, between its start and the sum
  ASSERT_EQ(sections(file.path(), "constants").size(), 1);
  // Eight parts of 96 bytes, which begin at multiples of 64.
  EXPECT_EQ(sections(file.path(), "constants")[0].bytes, 8 * 128);
  const ProgramFileInfo info = inspect_program(file.path());
  EXPECT_EQ(info.metadata.at("mesh"), "model=4");
  EXPECT_EQ(info.metadata.at("shard"), "v.0=model,w.1=model");
  ASSERT_EQ(info.inputs.size(), 1);
  ASSERT_EQ(info.machines.size(), 1);
  EXPECT_TRUE(info.machines[0].runs_here);

  const PassingFile uneven("uneven");
  build_mesh_program(mlp(), "data=2", uneven.path(), options("batch=data"));
  EXPECT_EQ(sections(uneven.path(), "part").size(), 2);  // of 7 rows, one has 4 and one has 3
}

TEST(MeshFile, KeepsStatedSizesAndMetadata) {
  const PassingFile file("stated");
  build_mesh_program(with_sizes(mlp(), {{"batch", 4}}), "data=2", file.path(), options("batch=data"),
                     {.metadata = {{"who", "us"}}});
  EXPECT_EQ(inspect_program(file.path()).metadata.at("who"), "us");
  const std::string text = error_text([&] {
    Mesh::run_as_threads("data=2",
                         [&](const Mesh& own) { load_mesh_program(file.path(), own).run({inputs_at(5)[0]}); });
  });
  EXPECT_NE(text.find("batch"), std::string::npos) << text;
  EXPECT_EQ(error_text([&] {
              build_mesh_program(mlp(), "data=2", file.path(), options("batch=data"), {.metadata = {{"mesh", "x"}}});
            }),
            "metadata `mesh` cannot be `x`: Tenon writes it itself; take another name");
}

TEST(MeshFile, SaysWhatIsWrong) {
  const PassingFile file("wrong");
  build_mesh_program(mlp(), "model=2", file.path(), options("w.1=model,v.0=model"));
  EXPECT_EQ(error_text([&] {
              Mesh::run_as_threads("model=4", [&](const Mesh& own) { load_mesh_program(file.path(), own); });
            }),
            fmt::format("`{}` was built for the mesh model=2, and this one is model=4", file.path()));
  EXPECT_NE(error_text([&] { (void)load_program(file.path()); }).find("is a program for the ranks of a mesh"),
            std::string::npos);
  const PassingFile one("one");
  build_program(mlp(), one.path());
  EXPECT_EQ(
      error_text(
          [&] { Mesh::run_as_threads("model=2", [&](const Mesh& own) { load_mesh_program(one.path(), own); }); }),
      fmt::format(
          "`{}` is a program that was built for one process; `tenon build --mesh` makes one for the ranks of a mesh",
          one.path()));
  MeshOptions unknown = options("w.1=model");
  unknown.values.emplace("u", Array::scalar(Dtype::f32, 0));
  EXPECT_EQ(error_text([&] { build_mesh_program(mlp(), "model=2", one.path(), unknown); }),
            "there is a value of `u`, and graph `main` has no such input");
}

TEST(MeshFile, RanksOfAnotherFileAreFound) {
  const PassingFile file("one_of"), other("other");
  build_mesh_program(mlp(), "data=2", file.path(), options("batch=data"));
  MeshOptions others = options("batch=data");
  others.values["w"] = Array::full(f32, {8, 12}, 1);
  build_mesh_program(mlp(), "data=2", other.path(), others);
  const std::string text = error_text([&] {
    Mesh::run_as_threads(
        "data=2", [&](const Mesh& own) { load_mesh_program(own.rank() == 0 ? file.path() : other.path(), own); });
  });
  EXPECT_NE(text.find("rank 1 of the mesh has another program than rank 0"), std::string::npos) << text;
}

/// A change of any byte of the file is found, or changes nothing: by the ranks that read it.
TEST(MeshFile, DamageIsAnErrorOfTheFile) {
  const PassingFile file("damaged");
  build_mesh_program(mlp(), "model=2", file.path(), options("w.1=model,v.0=model"));
  std::ifstream in(file.path(), std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  int found = 0;
  for (size_t at = 5; at < whole.size(); at += whole.size() / 97) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    const PassingFile copy("copy");
    std::ofstream(copy.path(), std::ios::binary) << damaged;
    const std::string text = error_text([&] {
      for (int rank = 0; rank < 2; ++rank) {
        (void)MeshFile(copy.path()).load(rank, 1);
      }
    });
    if (text == "no error") continue;  // between sections
    EXPECT_TRUE(text.starts_with(fmt::format("`{}`", copy.path()))) << at << ": " << text;
    ++found;
  }
  EXPECT_GT(found, 50);
  const PassingFile cut("cut");
  std::ofstream(cut.path(), std::ios::binary) << whole.substr(0, whole.size() / 2);
  EXPECT_NE(error_text([&] { (void)MeshFile(cut.path()); }).find("is damaged: it has"), std::string::npos);
}

TEST(MeshSection, NumbersThatAreNotThereAreErrors) {
  MeshSection section;
  section.mesh = "m=2";
  section.whole = {.name = "g", .inputs = {{"x", shape(f32, 2)}}, .outputs = {}};
  section.input_layouts = {{Placement{}}};
  section.ranks.resize(2);
  for (SavedRank& rank : section.ranks) {
    rank.value_count = 1;
  }
  EXPECT_EQ(error_text([&] { (void)mesh_section_from_bytes(to_bytes(section)); }), "no error");
  const auto error_of = [&](const auto& change) {
    MeshSection wrong = section;
    change(wrong);
    const std::string text = error_text([&] { (void)mesh_section_from_bytes(to_bytes(wrong)); });
    return text.starts_with("what it says of the ranks of its mesh does not hold together");
  };
  EXPECT_TRUE(error_of([](MeshSection& wrong) { wrong.ranks.pop_back(); }));
  EXPECT_TRUE(error_of([](MeshSection& wrong) { wrong.ranks[1].value_count = 0; }));
  EXPECT_TRUE(error_of([](MeshSection& wrong) { wrong.ranks[0].outputs = {0}; }));
  EXPECT_TRUE(error_of([](MeshSection& wrong) { wrong.ranks[0].segments.resize(1); }));
  EXPECT_TRUE(error_of([](MeshSection& wrong) { wrong.input_layouts = {{Placement::split(1, Cut::of(2, 1, 2))}}; }));
  EXPECT_TRUE(error_of([](MeshSection& wrong) { wrong.collectives.resize(1); }));
}

}  // namespace
}  // namespace tenon::mesh::file_test
