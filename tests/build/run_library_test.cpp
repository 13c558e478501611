// Programs that libtenon_run runs in a process of its own, by its C interface alone (tests/capi/run_cases.c): the same
// bits as in memory, and, built for other machines and run under an emulator, right.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "program_folder.h"
#include "support/arrays.h"
#include "support/error_text.h"
#include "support/model_cases.h"
#include "support/random_graph.h"
#include "tenon/tenon.h"

namespace tenon::run_library_test {
namespace {

/// Sizes that no input shows, and the inputs.
struct Case {
  Bindings bindings;
  std::vector<Array> inputs;
};

/// What a run gave: outputs, or an error.
struct Outcome {
  std::vector<Array> outputs;
  std::string error;
};

void write(std::ofstream& out, int64_t number) { out.write(reinterpret_cast<const char*>(&number), sizeof number); }

void write_cases(const std::vector<Case>& cases, const std::string& path) {
  std::ofstream out(path, std::ios::binary);
  write(out, std::ssize(cases));
  for (const Case& each : cases) {
    write(out, std::ssize(each.bindings));
    for (const auto& [name, size] : each.bindings) {
      write(out, std::ssize(name));
      out << name;
      write(out, size);
    }
    write(out, std::ssize(each.inputs));
    for (const Array& input : each.inputs) {
      write(out, static_cast<int64_t>(input.dtype()));
      write(out, input.rank());
      std::ranges::for_each(input.dims(), [&](int64_t size) { write(out, size); });
      write(out, static_cast<int64_t>(input.byte_count()));
      out.write(reinterpret_cast<const char*>(input.data()), static_cast<std::streamsize>(input.byte_count()));
    }
  }
}

int64_t read(std::ifstream& in) {
  int64_t number = -1;
  in.read(reinterpret_cast<char*>(&number), sizeof number);
  return number;
}

Outcome read_outcome(std::ifstream& in, size_t outputs) {
  Outcome outcome;
  if (read(in) != 0) {
    outcome.error.resize(static_cast<size_t>(std::max<int64_t>(read(in), 0)));
    in.read(outcome.error.data(), std::ssize(outcome.error));
    return outcome;
  }
  for (size_t i = 0; i < outputs && in; ++i) {
    const auto dtype = static_cast<Dtype>(read(in));
    std::vector<int64_t> dims(static_cast<size_t>(std::clamp<int64_t>(read(in), 0, 32)));
    std::ranges::generate(dims, [&] { return read(in); });
    Array output(dtype, dims);
    EXPECT_EQ(read(in), static_cast<int64_t>(output.byte_count()));
    in.read(reinterpret_cast<char*>(output.mutable_data()), static_cast<std::streamsize>(output.byte_count()));
    outcome.outputs.push_back(std::move(output));
  }
  EXPECT_TRUE(in) << "the results end";
  return outcome;
}

/// What libtenon_run makes of a program; `runner` is run_cases, with an emulator before it where it needs one.
std::vector<Outcome> run_apart(const std::string& runner, const ProgramFolder& folder, const std::vector<Case>& cases,
                               size_t outputs) {
  write_cases(cases, folder / "cases");
  const int status = std::system(
      fmt::format("{} '{}' '{}' '{}'", runner, folder / "model.tenon", folder / "cases", folder / "results").c_str());
  EXPECT_EQ(status, 0) << runner;
  std::vector<Outcome> outcomes;
  std::ifstream in(folder / "results", std::ios::binary);
  for (size_t i = 0; i < cases.size() && status == 0; ++i) {
    outcomes.push_back(read_outcome(in, outputs));
  }
  return outcomes;
}

std::vector<Case> cases_of(const ModelCase& each, const Model& model) {
  std::vector<Case> cases;
  for (const Bindings& bindings : each.bindings) {
    cases.push_back({bindings, inputs_of(model, bindings, each.tokens)});
  }
  return cases;
}

void expect_same_bits(const Graph& graph, const std::vector<Case>& cases, const CompileOptions& options) {
  const ProgramFolder folder;
  build_program(graph, folder / "model.tenon", {.compile = options});
  const Executable in_memory = compile(graph, options);
  const std::vector<Outcome> outcomes = run_apart("'" TENON_RUN_CASES "'", folder, cases, graph.outputs().size());
  ASSERT_EQ(outcomes.size(), cases.size());
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(cases[i].bindings.to_string());
    std::vector<Array> expected;
    const std::string error =
        error_text([&] { expected = in_memory.run(cases[i].inputs, {.bindings = cases[i].bindings}); });
    EXPECT_EQ(outcomes[i].error.empty() ? "no error" : outcomes[i].error, error);
    EXPECT_TRUE(std::ranges::equal(outcomes[i].outputs, expected, same_bits));
  }
}

TEST(RunLibrary, SlowModelsGiveTheSameBits) {
  for (const ModelCase& each : model_cases()) {
    SCOPED_TRACE(each.name);
    const Model model = each.build();
    expect_same_bits(model.graph, cases_of(each, model), {});
  }
}

TEST(RunLibrary, LoopsOfModelsGiveTheSameBits) {
  for (const ModelCase& each : model_cases()) {
    SCOPED_TRACE(each.name);
    const Model model = each.build();
    expect_same_bits(model.graph, {{each.bindings.front(), inputs_of(model, each.bindings.front(), each.tokens)}},
                     {.native = false});
  }
}

TEST(RunLibrary, SlowRandomGraphsGiveTheSameBits) {
  for (uint64_t seed = 100; seed < 140; ++seed) {
    SCOPED_TRACE(seed);
    const RandomGraph random = random_graph(seed);
    std::vector<Case> cases;
    for (const Bindings& bindings : random_bindings(random.graph, seed, 3)) {
      cases.push_back({bindings, random_graph_inputs(random, bindings, seed)});
    }
    expect_same_bits(random.graph, cases, {.native = seed % 2 == 0});
  }
}

bool has(const std::string& command) {
  return std::system(("command -v " + command + " > /dev/null 2>&1").c_str()) == 0;
}

/// Models for a machine that is not this one, against the interpreter.
void expect_right(const std::string& machine, const std::string& runner) {
  for (const ModelCase& each : model_cases()) {
    SCOPED_TRACE(fmt::format("{} for {}", each.name, machine));
    const Model model = each.build();
    const std::vector<Case> cases = cases_of(each, model);
    const ProgramFolder folder;
    build_program(model.graph, folder / "model.tenon", {.machines = {machine_named(machine)}});
    const std::vector<Outcome> outcomes = run_apart(runner, folder, cases, model.graph.outputs().size());
    ASSERT_EQ(outcomes.size(), cases.size());
    for (size_t i = 0; i < cases.size(); ++i) {
      SCOPED_TRACE(cases[i].bindings.to_string());
      EXPECT_EQ(outcomes[i].error, "");
      const std::vector<Array> expected = interpret(model.graph, cases[i].inputs, {.bindings = cases[i].bindings});
      ASSERT_EQ(outcomes[i].outputs.size(), expected.size());
      for (size_t output = 0; output < expected.size(); ++output) {
        EXPECT_TRUE(close(outcomes[i].outputs[output], expected[output], 1e-3, 1e-4));
      }
    }
  }
}

/// The command that runs programs of a machine: an emulator of a processor that has what the machine has, and no more
/// where there is such a one. None: why not.
struct Runner {
  std::string command;
  std::string why_not;
};

Runner runner_for(const std::string& machine, const ProgramFolder& folder) {
  if (std::string_view(TENON_SANITIZERS) != "") return {.command = "", .why_not = "sanitizers do not run emulated"};
  if (machine.starts_with("x86")) {
    if (this_machine().cpu().instructions < InstructionSet::x86_64 ||
        this_machine().cpu().instructions > InstructionSet::x86_64_v4) {
      return {.command = "", .why_not = "libtenon_run here is for another kind of processor"};
    }
    if (!has("qemu-x86_64")) return {.command = "", .why_not = "there is no qemu-x86_64"};
    const char* const cpu =  // without what the emulator would warn of that it does not have
        machine == "x86-64-v2" ? "Nehalem" : "Haswell,-pcid,-x2apic,-tsc-deadline,-hle,-rtm,-invpcid";
    return {.command = fmt::format("qemu-x86_64 -cpu {} '{}'", cpu, TENON_RUN_CASES), .why_not = ""};
  }
  const std::string library = TENON_SOURCE_DIR "/build/arm64/libtenon_run.a";
  if (!has("qemu-aarch64") || !has("aarch64-linux-gnu-gcc")) {
    return {.command = "", .why_not = "there is no qemu-aarch64 or no aarch64-linux-gnu-gcc"};
  }
  if (!std::filesystem::exists(library) ||
      std::filesystem::last_write_time(library) < std::filesystem::last_write_time(TENON_RUN_LIBRARY)) {
    return {.command = "",
            .why_not =
                "build/arm64/libtenon_run.a is not there, or older than that of this machine: cmake --preset "
                "arm64 && cmake --build --preset arm64"};
  }
  const std::string program = folder / "run_cases";
  const std::string compile_it = fmt::format(
      "aarch64-linux-gnu-gcc -std=c11 -O1 -I'{0}/include' '{0}/tests/capi/run_cases.c' '{1}' -lstdc++ -lm "
      "-lpthread -o '{2}'",
      TENON_SOURCE_DIR, library, program);
  EXPECT_EQ(std::system(compile_it.c_str()), 0) << compile_it;
  return {.command =
              fmt::format("qemu-aarch64 -cpu max,sve-default-vector-length=16 -L /usr/aarch64-linux-gnu '{}'", program),
          .why_not = ""};
}

class OtherMachines : public testing::TestWithParam<const char*> {};

TEST_P(OtherMachines, SlowModelsAreRightUnderAnEmulator) {
  const ProgramFolder folder;
  const Runner runner = runner_for(GetParam(), folder);
  if (runner.command.empty()) GTEST_SKIP() << runner.why_not;
  expect_right(GetParam(), runner.command);
}

INSTANTIATE_TEST_SUITE_P(RunLibrary, OtherMachines,
                         testing::Values("x86-64-v2", "x86-64-v3", "armv8.2", "armv8.6", "armv9"),
                         [](const auto& each) {
                           std::string name = each.param;
                           std::ranges::replace_if(name, [](char c) { return c == '-' || c == '.'; }, '_');
                           return name;
                         });

}  // namespace
}  // namespace tenon::run_library_test
