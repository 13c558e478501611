#include "tenon/machine.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

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
  EXPECT_EQ(machine.instructions, InstructionSet::host);
  EXPECT_GE(machine.cores, 1);
  EXPECT_GE(machine.first_cache, int64_t{4} << 10);
  EXPECT_GE(machine.second_cache, machine.first_cache);
  EXPECT_EQ(machine_named("host"), machine);
  EXPECT_NO_THROW(check_machine(machine));
}

TEST(Machine, NamedOnesHaveTheInstructionsOfTheirName) {
  const std::vector<std::string> names = machine_names();
  EXPECT_EQ(names, (std::vector<std::string>{"host", "x86-64-v2", "x86-64-v3", "x86-64-v4", "armv8.2"}));
  for (const std::string& each : names) {
    const Machine machine = machine_named(each);
    EXPECT_EQ(machine.name, each);
    EXPECT_EQ(name(machine.instructions), each);
    EXPECT_NO_THROW(check_machine(machine)) << each;
  }
  EXPECT_EQ(machine_named("armv8.2").second_cache, int64_t{1} << 20);
  EXPECT_EQ(error_text([] { machine_named("z80"); }),
            "there is no machine `z80`; the machines are host, x86-64-v2, x86-64-v3, x86-64-v4, armv8.2");
}

TEST(Machine, TextGoesBothWays) {
  const Machine machine = parse_machine(kText);
  EXPECT_EQ(machine, (Machine{.name = "workstation",
                              .instructions = InstructionSet::x86_64_v3,
                              .cores = 12,
                              .first_cache = 32 << 10,
                              .second_cache = 1 << 20}));
  EXPECT_EQ(to_text(machine), kText);
  Machine odd = machine;
  odd.first_cache = 40'001;
  EXPECT_EQ(parse_machine(to_text(odd)), odd);
  for (const std::string& each : machine_names()) {
    EXPECT_EQ(parse_machine(to_text(machine_named(each))), machine_named(each));
  }
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
            "line 4: there is no key `l1`; the keys are name, instructions, cores, first_cache, second_cache");
  EXPECT_EQ(error_of(2, "instructions = z80\n"),
            "line 2: there are no instructions `z80`; there are host, x86-64-v2, x86-64-v3, x86-64-v4, armv8.2");
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
  machine.cores = 0;
  EXPECT_EQ(error_text([&] { check_machine(machine); }),
            "machine `workstation`: `cores` is 0; it is a count from 1 to 65536");
}

}  // namespace
}  // namespace tenon::machine_test
