#include "tenon/machine.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "base/host_cpu.h"
#include "support/error_text.h"

namespace tenon::machine_test {
namespace {

constexpr const char* kText =
    "name = workstation\n"
    "instructions = x86-64-v3\n"
    "cores = 12\n"
    "first_cache = 32 KiB\n"
    "second_cache = 1 MiB\n";

TEST(Machine, ThisOneHasCoresAndCaches) {
  const Machine& machine = this_machine();
  EXPECT_GE(machine.cpu().cores, 1);
  EXPECT_GE(machine.cpu().first_cache, int64_t{4} << 10);
  EXPECT_GE(machine.cpu().second_cache, machine.cpu().first_cache);
  EXPECT_EQ(machine.name, "host");
  EXPECT_EQ(machine_named("host"), machine);
  EXPECT_NO_THROW(check_machine(machine));
#if defined(__x86_64__) || (defined(__aarch64__) && defined(__linux__))
  EXPECT_NE(machine.cpu().instructions, InstructionSet::other);
#endif
}

TEST(Machine, NamedOnesHaveTheInstructionsOfTheirName) {
  const std::vector<std::string> names = machine_names();
  EXPECT_EQ(names,
            (std::vector<std::string>{"host", "x86-64-v2", "x86-64-v3", "x86-64-v4", "x86-64-v4-amx", "armv8.2",
                                      "armv8.2-sve512", "armv8.6", "armv9", "sm_80", "sm_86", "sm_89", "sm_90a"}));
  for (const std::string& each : names) {
    const Machine machine = machine_named(each);
    EXPECT_EQ(machine.name, each);
    EXPECT_NO_THROW(check_machine(machine)) << each;
    EXPECT_EQ(machine.is_gpu(), each.starts_with("sm_")) << each;
    if (machine.is_gpu()) {
      EXPECT_EQ(machine.gpu().architecture, each);
    }
  }
  for (const char* each : {"x86-64-v2", "x86-64-v3", "x86-64-v4", "armv8.2"}) {
    EXPECT_EQ(name(machine_named(each).cpu().instructions), each);
  }
  EXPECT_EQ(machine_named("armv8.2").cpu().second_cache, int64_t{1} << 20);
  EXPECT_TRUE(machine_named("x86-64-v4-amx").cpu().has(CpuFeature::amx_int8));
  EXPECT_TRUE(machine_named("armv8.6").cpu().has(CpuFeature::i8mm));
  EXPECT_EQ(machine_named("armv9").cpu().sve_bits, 128);
  EXPECT_EQ(machine_named("sm_80").gpu().multiprocessors, 108);
  EXPECT_EQ(
      error_text([] { machine_named("z80"); }),
      "there is no machine `z80`; the machines are host, x86-64-v2, x86-64-v3, x86-64-v4, x86-64-v4-amx, armv8.2, "
      "armv8.2-sve512, armv8.6, armv9, sm_80, sm_86, sm_89, sm_90a");
}

TEST(Machine, IsACpuOrAGpu) {
  Machine gpu = machine_named("sm_90a");
  EXPECT_EQ(error_text([&] { (void)gpu.cpu(); }), "machine `sm_90a` is a GPU, and a CPU is wanted");
  EXPECT_EQ(error_text([&] { (void)this_machine().gpu(); }), "machine `host` is a CPU, and a GPU is wanted");
  gpu.gpu().memory *= 2;
  EXPECT_NE(gpu, machine_named("sm_90a"));
}

TEST(Machine, LevelsImplyFeatures) {
  const CpuMachine v3{.instructions = InstructionSet::x86_64_v3};
  EXPECT_TRUE(v3.has(CpuFeature::fma));
  EXPECT_FALSE(v3.has(CpuFeature::avx512vnni));
  EXPECT_FALSE(v3.has(CpuFeature::dotprod));
  const CpuMachine v2{.instructions = InstructionSet::x86_64_v2, .features = {CpuFeature::avx2}};
  EXPECT_TRUE(v2.has(CpuFeature::avx2));
  EXPECT_FALSE(v2.has(CpuFeature::fma));
  EXPECT_TRUE(machine_named("armv8.2").cpu().has(CpuFeature::dotprod));
  EXPECT_FALSE(CpuMachine{.instructions = InstructionSet::arm64}.has(CpuFeature::dotprod));
  EXPECT_FALSE(CpuMachine().has(CpuFeature::avx));
}

/// Some models have SVE, and the system has it off: it is its words that count.
TEST(Machine, OfArmGoesByCapabilityWords) {
  constexpr uint64_t kSveBit = uint64_t{1} << 22;
  EXPECT_EQ(arm_cpu(0, 0, 256), (CpuMachine{.instructions = InstructionSet::arm64}));
  EXPECT_EQ(arm_cpu(kSveBit | uint64_t{1} << 20, uint64_t{1} << 13, 256),
            (CpuMachine{.instructions = InstructionSet::arm64,
                        .features = {CpuFeature::dotprod, CpuFeature::i8mm},
                        .sve_bits = 256}));
}

TEST(Machine, TextGoesBothWays) {
  const Machine machine = parse_machine(kText);
  EXPECT_EQ(machine, (Machine{.name = "workstation",
                              .facts = CpuMachine{.instructions = InstructionSet::x86_64_v3,
                                                  .cores = 12,
                                                  .first_cache = 32 << 10,
                                                  .second_cache = 1 << 20}}));
  EXPECT_EQ(to_text(machine), kText);
  Machine odd = machine;
  odd.cpu().first_cache = 40'001;
  EXPECT_EQ(parse_machine(to_text(odd)), odd);
  for (const std::string& each : machine_names()) {
    EXPECT_EQ(parse_machine(to_text(machine_named(each))), machine_named(each));
  }
}

TEST(Machine, TextHasFeaturesWhereThereAreSome) {
  const Machine machine{.name = "vectors",
                        .facts = CpuMachine{.instructions = InstructionSet::armv8_2,
                                            .features = {CpuFeature::bf16, CpuFeature::i8mm},
                                            .sve_bits = 512,
                                            .cores = 48,
                                            .first_cache = 64 << 10,
                                            .second_cache = 8 << 20,
                                            .last_cache = 32 << 20}};
  EXPECT_EQ(to_text(machine),
            "name = vectors\ninstructions = armv8.2\nfeatures = i8mm, bf16\nsve_bits = 512\ncores = 48\n"
            "first_cache = 64 KiB\nsecond_cache = 8 MiB\nlast_cache = 32 MiB\n");
  EXPECT_EQ(parse_machine(to_text(machine)), machine);
  EXPECT_EQ(parse_machine(std::string(kText) + "features =\nlast_cache = 0\nsve_bits = 0\n"), parse_machine(kText));
}

TEST(Machine, TextOfAGpu) {
  const std::string text =
      "name = mine\narchitecture = sm_90a\nmultiprocessors = 132\nclock = 1980 MHz\nmemory = 141 GiB\n"
      "bandwidth = 4800 GB/s\nsecond_cache = 50 MiB\nshared_memory = 228 KiB\nblock_shared_memory = 227 KiB\n"
      "registers = 65536\nthreads = 2048\nptx = 87\n";
  const Machine machine = parse_machine(text);
  EXPECT_EQ(machine.gpu().bandwidth, 4'800'000'000'000);
  EXPECT_EQ(machine.gpu().clock, 1'980'000'000);
  EXPECT_EQ(to_text(machine), text);
  EXPECT_EQ(error_text([&] { parse_machine("architecture = sm_9\n"); }),
            "line 1: there is no architecture `sm_9`; it is one as sm_80 or sm_90a");
  EXPECT_EQ(error_text([&] { parse_machine("architecture = sm_80\ncores = 2\n"); }),
            "line 2: there is no key `cores`; the keys are name, architecture, multiprocessors, clock, memory, "
            "bandwidth, second_cache, shared_memory, block_shared_memory, registers, threads, ptx");
  EXPECT_EQ(error_text([&] { parse_machine("architecture = sm_80\nclock = 3 GB/s\n"); }),
            "line 2: `clock` is `3 GB/s`; it is the cycles of a second, such as 1410 MHz, from 1 to 1099511627776");
  EXPECT_EQ(error_text([&] { check_machine({.name = "none", .facts = GpuMachine{.architecture = "sm_80"}}); }),
            "machine `none`: `multiprocessors` is 0; it is a count from 1 to 65536");
}

TEST(Machine, TextHasCommentsAndSpace) {
  EXPECT_EQ(parse_machine("# mine\n\n second_cache=1MiB\r\n\tfirst_cache = 32768 # bytes\n"
                          "cores=12\ninstructions=x86-64-v3\nname=workstation"),
            parse_machine(kText));
}

/// The text above with a line in the place of another, or behind it for 0.
std::string error_of(int line, const std::string& by) {
  std::string text = kText;
  size_t begin = line == 0 ? text.size() : 0;
  for (int i = 1; i < line; ++i) {
    begin = text.find('\n', begin) + 1;
  }
  text.replace(begin, line == 0 ? 0 : text.find('\n', begin) + 1 - begin, by);
  return error_text([&] { parse_machine(text); });
}

TEST(Machine, ErrorsNameTheLineAndWhatIsAllowed) {
  EXPECT_EQ(error_of(4, "l1 = 32 KiB\n"),
            "line 4: there is no key `l1`; the keys are name, instructions, features, sve_bits, cores, first_cache, "
            "second_cache, last_cache");
  EXPECT_EQ(error_of(2, "instructions = z80\n"),
            "line 2: there are no instructions `z80`; there are other, x86-64, x86-64-v2, x86-64-v3, x86-64-v4, arm64, "
            "armv8.2");
  EXPECT_EQ(error_of(0, "features = avxvnni, sse9\n").substr(0, 45), "line 6: there is no feature `sse9`; there are");
  EXPECT_EQ(error_of(0, "features = i8mm\n"),
            "machine `workstation`: no processor of x86-64-v3 has `i8mm`; there may be avx, avx2, fma, f16c, avxvnni");
  EXPECT_EQ(error_of(0, "sve_bits = 128\n"),
            "machine `workstation`: no processor of x86-64-v3 has SVE, and `sve_bits` is 128");
  EXPECT_EQ(error_of(0, "sve_bits = 100\n"), "line 6: `sve_bits` is `100`; it is bits in steps of 128 from 0 to 2048");
  EXPECT_EQ(error_of(3, "cores = 0\n"), "line 3: `cores` is `0`; it is a count from 1 to 65536");
  for (const char* bad : {"", "-1", "many", "2 KiB", "70000", "99999999999999999999"}) {
    EXPECT_EQ(error_of(3, fmt::format("cores = {}\n", bad)),
              fmt::format("line 3: `cores` is `{}`; it is a count from 1 to 65536", bad));
  }
  for (const char* bad : {"0", "-4 KiB", "1 GiB", "KiB", "99999999 MiB", "1 MiB of it"}) {
    EXPECT_EQ(
        error_of(5, fmt::format("second_cache = {}\n", bad)),
        fmt::format("line 5: `second_cache` is `{}`; it is the bytes of a cache, such as 512 KiB or 2 MiB, from 1 "
                    "to 1099511627776",
                    bad));
  }
  EXPECT_EQ(error_of(1, "name =\n"), "line 1: the name is empty");
  EXPECT_EQ(error_of(1, "workstation\n"), "line 1: `workstation` is no line `key = value`");
  EXPECT_EQ(error_of(0, "cores = 3\n"), "line 6: `cores` is given a second time");
  EXPECT_EQ(error_of(4, ""), "a machine needs first_cache too");
  EXPECT_EQ(error_text([] { parse_machine(""); }),
            "a machine needs name, instructions, cores, first_cache, second_cache too");
}

TEST(Machine, FilesAreNamedInErrors) {
  const std::string path = testing::TempDir() + "tenon_machine_test.txt";
  std::ofstream(path) << kText;
  EXPECT_EQ(load_machine(path), parse_machine(kText));
  std::ofstream(path) << "\ncores = none\n";
  EXPECT_EQ(error_text([&] { load_machine(path); }),
            fmt::format("{}, line 2: `cores` is `none`; it is a count from 1 to 65536", path));
  std::ofstream(path) << "cores = 2\n";
  EXPECT_EQ(error_text([&] { load_machine(path); }),
            fmt::format("{}: a machine needs name, instructions, first_cache, second_cache too", path));
  std::remove(path.c_str());
  EXPECT_EQ(error_text([&] { load_machine(path); }), fmt::format("there is no file `{}`", path));
}

TEST(Machine, WithoutCoresIsNone) {
  Machine machine = parse_machine(kText);
  machine.cpu().cores = 0;
  EXPECT_EQ(error_text([&] { check_machine(machine); }),
            "machine `workstation`: `cores` is 0; it is a count from 1 to 65536");
}

}  // namespace
}  // namespace tenon::machine_test
