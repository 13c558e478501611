// Graphs compiled for machines that this one is not.
#include "tenon/machine.h"

#include <gtest/gtest.h>

#include "backend/backend.h"
#include "compiler/inspect.h"
#include "support/compiled.h"
#include "support/error_text.h"
#include "support/small_graph.h"

namespace tenon::machine_test {
namespace {

std::string first_loops(const Graph& graph, const Machine& machine) {
  CompileReport report;
  return compiler::step_loops(compiler::lower(graph, {.machine = machine}, report), 1);
}

Graph dense() {
  return make({"dense", "x: f32[batch, 200], w: f32[200, 130], b: f32[130]", "y = gelu(add(matmul(x, w), b))"});
}

/// That this machine is not, whichever it is.
Machine other_family() {
#if defined(__x86_64__)
  return machine_named("armv8.2");
#else
  return machine_named("x86-64-v2");
#endif
}

TEST(Machine, OfOtherInstructionsIsRefused) {
  if (!backend::has_native_code()) {
    GTEST_SKIP() << "this build makes no machine code";
  }
  const std::string error = error_text([] { compile(dense(), {.machine = other_family()}); });
  EXPECT_TRUE(error.starts_with("machine `" + other_family().name + "` has instructions that this one does not have"))
      << error;
  EXPECT_NE(error.find("CompileOptions::native"), std::string::npos) << error;
}

TEST(Machine, OfTheSameSetButMoreFeaturesIsRefused) {
  Machine machine = this_machine();
  if (!backend::has_native_code() || machine.cpu().instructions == InstructionSet::other) {
    GTEST_SKIP() << "this build makes no machine code";
  }
  machine.name = "richer";
  const bool is_arm = machine.cpu().instructions >= InstructionSet::arm64;
  if (is_arm && machine.cpu().sve_bits != 512) {
    machine.cpu().sve_bits = 512;
  } else if (!machine.cpu().features.contains(CpuFeature::avxvnni)) {
    machine.cpu().features.insert(CpuFeature::avxvnni);
  } else {
    GTEST_SKIP() << "this one has all that it looks for";
  }
  const std::string error = error_text([&] { compile(dense(), {.machine = machine}); });
  EXPECT_TRUE(error.starts_with("machine `richer` has instructions that this one does not have")) << error;
  EXPECT_NE(error.find(is_arm ? "SVE of 512 bits, and this" : "+avxvnni"), std::string::npos) << error;
}

TEST(Machine, ThatIsAGpuRunsInterpreted) {
  EXPECT_TRUE(compiled_matches(dense(), {.compile = {.native = false, .machine = machine_named("sm_89")}}));
}

TEST(Machine, OfNoKnownInstructionsRunsInterpreted) {
  EXPECT_TRUE(compiled_matches(dense(), {.compile = {.native = false, .machine = {.name = "any"}}}));
}

/// A machine that went to another host and back is this one, with the same code.
TEST(Machine, OfThisHostIsTheSameFromText) {
  const Machine again = parse_machine(to_text(this_machine()));
  EXPECT_EQ(again, this_machine());
  EXPECT_EQ(first_loops(dense(), again), first_loops(dense(), this_machine()));
}

TEST(Machine, OfOtherInstructionsRunsInterpreted) {
  EXPECT_TRUE(compiled_matches(dense(), {.compile = {.native = false, .machine = other_family()}}));
}

/// Of instructions that this one has too, with panels and tiles that differ from its own.
TEST(Machine, OfFewerInstructionsRuns) {
  int ran = 0;
  for (const std::string& name : machine_names()) {
    const Machine machine = machine_named(name);
    if (error_text([&] { compile(dense(), {.machine = machine}); }) == "no error") {
      EXPECT_TRUE(compiled_matches(dense(), {.compile = {.machine = machine}, .relative = 1e-4, .of_largest = 1e-5}))
          << name;
      ++ran;
    }
  }
  EXPECT_GE(ran, 1);
}

/// The loops are for the machine that is named; which one makes them is not to be seen.
TEST(Machine, DecidesPanelsAndTiles) {
  if (!backend::has_native_code()) {
    GTEST_SKIP() << "this build makes no machine code";
  }
  const auto loops = [](const char* name) { return first_loops(dense(), machine_named(name)); };
  EXPECT_NE(loops("x86-64-v3").find("in panels of 16"), std::string::npos) << loops("x86-64-v3");
  EXPECT_NE(loops("x86-64-v4").find("in panels of 32"), std::string::npos) << loops("x86-64-v4");
  EXPECT_NE(loops("x86-64-v3").find("floordiv 96"), std::string::npos) << loops("x86-64-v3");
  EXPECT_NE(loops("x86-64-v4").find("floordiv 192"), std::string::npos) << loops("x86-64-v4");
  Machine renamed = machine_named("x86-64-v3");
  renamed.name = "another";
  renamed.cpu().first_cache *= 2;  // nothing asks for it but products as they run
  EXPECT_EQ(first_loops(dense(), renamed), loops("x86-64-v3"));
}

}  // namespace
}  // namespace tenon::machine_test
