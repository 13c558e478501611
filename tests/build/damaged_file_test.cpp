// Files that were cut, damaged or made to deceive: one Error that names them, and nothing else.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <limits>
#include <random>

#include "devices/module.h"
#include "native/code_image.h"
#include "native/target.h"
#include "program_folder.h"
#include "saved/segments_bytes.h"
#include "support/error_text.h"
#include "support/program_parts.h"
#include "support/random_graph.h"
#include "tenon/tenon.h"

namespace tenon::damaged_file_test {
namespace {

using saved::SectionKind;

std::vector<std::byte> built(const Graph& graph, bool native = false, std::vector<Machine> machines = {}) {
  const ProgramFolder folder;
  const std::string path = folder / "model.tenon";
  build_program(graph, path, {.machines = std::move(machines), .compile = {.native = native}});
  return read_file(path);
}

Graph softmax_of_product() {
  const Value x = input("x", shape(f32, "row", 8));
  const Array weights = Array::from<float>({8, 3}, std::vector<float>(24, 0.5F));
  return Graph("small", {x}, {{.name = "y", .value = softmax(matmul(x, constant(weights)), -1)}});
}

const std::vector<std::byte>& small_file() {
  static const std::vector<std::byte> file = built(softmax_of_product());
  return file;
}

std::string load_error(std::span<const std::byte> file) {
  return error_text([&] { (void)load_bytes(file); });
}

/// Whether the error is of the file, and says more than that.
testing::AssertionResult is_refused(std::span<const std::byte> file) {
  const std::string text = load_error(file);
  if (!text.starts_with("`program` ")) return testing::AssertionFailure() << text;
  return testing::AssertionSuccess();
}

TEST(DamagedFile, TheWholeFileLoads) {
  EXPECT_EQ(load_error(small_file()), "no error");
  EXPECT_EQ(load_error(put_together(take_apart(small_file()))), "no error");
}

TEST(DamagedFile, EveryBeginningOfAFileIsAnError) {
  const std::span<const std::byte> whole(small_file());
  for (size_t size = 0; size < whole.size(); ++size) {
    ASSERT_TRUE(is_refused(whole.first(size))) << size;
  }
}

TEST(DamagedFile, EveryChangedByteIsAnError) {
  std::vector<std::byte> file = small_file();
  const ProgramParts parts = take_apart(file);
  const auto try_range = [&](size_t begin, size_t size) {
    for (size_t at = begin; at < begin + size; ++at) {
      const auto mask = static_cast<std::byte>(1U << (at % 8));
      file[at] ^= mask;
      ASSERT_TRUE(is_refused(file)) << at;
      file[at] ^= mask;
    }
  };
  try_range(0, sizeof(saved::Header) + parts.sections.size() * sizeof(saved::SectionEntry));
  for (const ProgramParts::Section& each : parts.sections) {
    // Gaps between constants are in no checksum.
    const bool is_constants = each.entry.kind == SectionKind::constants;
    try_range(static_cast<size_t>(each.entry.offset), is_constants ? 16 : each.bytes.size());
  }
}

TEST(DamagedFile, WhatIsWrongIsSaid) {
  const auto changed = [](const std::function<void(std::span<std::byte>)>& change) {
    std::vector<std::byte> file = small_file();
    change(file);
    return load_error(file);
  };
  EXPECT_EQ(load_error({}), "`program` is no program that Tenon wrote: it does not begin as one");
  EXPECT_TRUE(mentions(load_error(std::span(small_file()).first(40)), {"is damaged: it ends at byte 40"}));
  EXPECT_TRUE(mentions(load_error(std::span(small_file()).first(400)), {"is damaged: it has 400 bytes of "}));
  EXPECT_TRUE(mentions(changed([](auto file) { file[8] = std::byte{7}; }), {"is of format 7, and this Tenon reads"}));
  // As a machine of the other byte order would have written it.
  EXPECT_TRUE(mentions(changed([](auto file) { std::reverse(&file[8], &file[12]); }), {"is of format 50331648, "}));
  EXPECT_TRUE(mentions(changed([](auto file) { file[20] = std::byte{1}; }), {"its header is not what was written"}));
  EXPECT_TRUE(mentions(changed([](auto file) { file[70] = std::byte{1}; }), {"its table of sections is not what was"}));
  const ProgramParts parts = take_apart(small_file());
  for (const ProgramParts::Section& each : parts.sections) {
    const std::string text =
        changed([&](auto file) { file[static_cast<size_t>(each.entry.offset)] ^= std::byte{0x40}; });
    const bool is_constants = each.entry.kind == SectionKind::constants;
    const std::string name(saved::kSectionNames[static_cast<size_t>(each.entry.kind)]);
    EXPECT_TRUE(mentions(text, {is_constants ? "a constant, " : "its section `" + name + "`", "not what was written"}));
  }
  std::vector<std::byte> file = small_file();
  file.insert(file.begin(), std::byte{0});
  const AlignedBytes moved(file);
  EXPECT_EQ(error_text([&] { (void)load_program(moved.span().subspan(1), moved.memory, {}, "it"); }),
            "`it`: a program in memory must begin at a multiple of 64");
}

/// With header and table whose checksums are right.
std::string table_error(const std::function<void(saved::Header&, std::vector<saved::SectionEntry>&)>& change) {
  std::vector<std::byte> file = small_file();
  const ProgramParts parts = take_apart(file);
  saved::Header header = parts.header;
  std::vector<saved::SectionEntry> table;
  for (const ProgramParts::Section& each : parts.sections) {
    table.push_back(each.entry);
  }
  change(header, table);
  header.table = saved::checksum(std::as_bytes(std::span(table)));
  header.check = saved::checksum(std::as_bytes(std::span(&header, 1)).first(offsetof(saved::Header, check))).first;
  std::memcpy(file.data(), &header, sizeof(header));
  std::memcpy(file.data() + sizeof(header), table.data(), table.size() * sizeof(saved::SectionEntry));
  return load_error(file);
}

TEST(DamagedFile, ATableOfSectionsThatAreNotThereIsAnError) {
  using Table = std::vector<saved::SectionEntry>;
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(table_error([](auto&, Table&) {}), "no error");
  for (const int64_t offset : {kHuge, kHuge - 63, int64_t{-64}, int64_t{1} << 40, int64_t{65}}) {
    EXPECT_TRUE(
        mentions(table_error([&](auto&, Table& table) { table[1].offset = offset; }), {"is damaged: its section"}))
        << offset;
  }
  for (const int64_t bytes : {kHuge, int64_t{-1}, int64_t{1} << 40}) {
    EXPECT_TRUE(
        mentions(table_error([&](auto&, Table& table) { table[1].bytes = bytes; }), {"is damaged: its section"}))
        << bytes;
  }
  for (const uint32_t count : {1025U, ~0U, 1U << 30, 200U}) {
    EXPECT_TRUE(
        mentions(table_error([&](auto& header, Table&) { header.sections = count; }), {"is damaged: its table"}))
        << count;
  }
  EXPECT_TRUE(mentions(table_error([](auto& header, Table&) { header.file_bytes = -1; }), {"is damaged: it has"}));
  EXPECT_TRUE(mentions(table_error([](auto&, Table& table) { table[1] = table[0]; }), {"section 1 is of kind 0"}));
  EXPECT_TRUE(mentions(table_error([](auto&, Table& table) { table[1].kind = static_cast<SectionKind>(99); }),
                       {"section 1 is of kind 99"}));
  EXPECT_TRUE(
      mentions(table_error([](auto&, Table& table) { table[1].machine = 5; }), {"it has no section `program`"}));
}

TEST(DamagedFile, EverySectionIsNeededButForReasons) {
  const ProgramParts whole = take_apart(small_file());
  for (size_t i = 0; i < whole.sections.size(); ++i) {
    ProgramParts parts = whole;
    const SectionKind kind = parts.sections[i].entry.kind;
    parts.sections.erase(parts.sections.begin() + static_cast<std::ptrdiff_t>(i));
    if (kind == SectionKind::reasons) {
      EXPECT_EQ(load_error(put_together(std::move(parts))), "no error");
    } else {
      EXPECT_TRUE(is_refused(put_together(std::move(parts)))) << i;
    }
  }
}

/// Changes of some bytes of one section, whose checksums are right again: loaded and planned, or an Error.
void expect_no_harm(const std::vector<std::byte>& file, uint64_t seed, int count, bool plan = true) {
  std::mt19937_64 random(seed);
  const auto pick = [&](size_t below) { return static_cast<size_t>(random() % below); };
  const ProgramParts whole = take_apart(file);
  int refused = 0;
  for (int i = 0; i < count; ++i) {
    ProgramParts parts = whole;
    std::vector<std::byte>& bytes = parts.sections[pick(parts.sections.size())].bytes;
    for (size_t changes = 1 + pick(3); changes > 0 && !bytes.empty(); --changes) {
      const size_t at = pick(bytes.size());
      constexpr std::array kValues = {0, 1, 2, 5, 0x40, 0x7f, 0x80, 0xfe, 0xff};
      switch (pick(5)) {
        case 0: bytes[at] = static_cast<std::byte>(kValues[pick(kValues.size())]); break;
        case 1: bytes[at] ^= static_cast<std::byte>(1U << pick(8)); break;
        case 2: bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(at)); break;
        case 3: bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), static_cast<std::byte>(pick(256))); break;
        default:
          std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), std::min<size_t>(8, bytes.size() - at),
                      static_cast<std::byte>(pick(2) * 0xff));
      }
    }
    try {
      const Executable executable = load_bytes(put_together(std::move(parts)));
      if (plan) plan_program(executable, 3);
    } catch (const Error& error) {
      ++refused;
      ASSERT_TRUE(std::string_view(error.what()).starts_with("`program` ")) << error.what();
    }
  }
  EXPECT_GT(refused, count / 4);
}

TEST(DamagedFile, ChangesWithRightChecksumsDoNoHarm) {
  expect_no_harm(small_file(), 1, 300);
  for (uint64_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    expect_no_harm(built(random_graph(seed).graph), seed, 60);
  }
}

TEST(DamagedFile, SlowManyChangesWithRightChecksumsDoNoHarm) {
  for (uint64_t seed = 100; seed < 160; ++seed) {
    SCOPED_TRACE(seed);
    expect_no_harm(built(random_graph(seed).graph), seed, 300);
  }
}

/// What happens to a file whose program is another: when it is loaded, or specialised at three rows.
std::string error_of_program(const std::function<void(Program&)>& change) {
  const Value x = input("x", shape(f32, "row", 8));
  ProgramParts parts = take_apart(built(Graph("plain", {x}, {{.name = "y", .value = softmax(x, -1)}})));
  auto& program = parts.find(SectionKind::program).bytes;
  auto& reasons = parts.find(SectionKind::reasons).bytes;
  saved::ReadSegments read = saved::segments_from_bytes(program, reasons, [](const auto&) { return Array(); });
  change(read.segments.segments[0].program);
  saved::SegmentsBytes bytes = saved::to_bytes(read.segments, read.names, [](const Array&) { return 0U; });
  program = std::move(bytes.program);
  reasons = std::move(bytes.reasons);
  const std::vector<std::byte> file = put_together(std::move(parts));
  return error_text([&] { load_bytes(file).specialize({{"row", 3}}); });
}

TEST(DamagedFile, AnOutputOutsideOfItsBufferIsAnError) {
  EXPECT_EQ(error_of_program([](Program&) {}), "no error");
  EXPECT_TRUE(mentions(error_of_program([](Program& program) { program.outputs[0].offset = 5; }),
                       {"output `y` has elements 5 to 28 of a buffer of 24: the program is damaged"}));
  EXPECT_TRUE(mentions(error_of_program([](Program& program) { program.outputs[0].strides[1] = -1; }),
                       {"output `y` has elements -7 to 16 of a buffer of 24: the program is damaged"}));
  EXPECT_TRUE(mentions(
      error_of_program([](Program& program) { program.outputs[0].strides[0] = std::numeric_limits<int64_t>::max(); }),
      {"output `y` lies beyond 64 bits: the program is damaged"}));
}

/// The image of machine code, behind which nothing of the file lies.
class DamagedCode : public testing::Test {
 protected:
  static void SetUpTestSuite() { built_file = built(softmax_of_product(), true); }
  static void TearDownTestSuite() { built_file.clear(); }
  void SetUp() override {
    if (code_format(built_file) != devices::kImageCode) GTEST_SKIP() << "there is no machine code without LLVM";
  }
  static std::string code_format(std::span<const std::byte> file) {
    return devices::module_from_bytes(take_apart(file).find(SectionKind::code).bytes).format;
  }
  /// What loading says of the file with another image.
  static std::string error_with(const std::function<void(codegen::CodeImage&)>& change) {
    ProgramParts parts = take_apart(built_file);
    devices::Module module = devices::module_from_bytes(parts.find(SectionKind::code).bytes);
    codegen::CodeImage image = codegen::image_from_bytes(std::as_bytes(std::span(*module.objects[0].bytes)));
    change(image);
    const std::vector<std::byte> bytes = codegen::to_bytes(image);
    const auto* const chars = reinterpret_cast<const char*>(bytes.data());
    module.objects[0].bytes = std::make_shared<const std::vector<char>>(chars, chars + bytes.size());
    parts.find(SectionKind::code).bytes = devices::to_bytes(module);
    return load_error(put_together(std::move(parts)));
  }

  static inline std::vector<std::byte> built_file;
};

TEST_F(DamagedCode, CodeThatWasChangedIsNotLoaded) {
  const saved::SectionEntry entry = take_apart(built_file).find(SectionKind::code).entry;
  for (int64_t at = 0; at < entry.bytes; at += 37) {
    std::vector<std::byte> file = built_file;
    file[static_cast<size_t>(entry.offset + at)] ^= std::byte{1};
    EXPECT_TRUE(mentions(load_error(file), {"is damaged: its section `code`", "not what was written"}));
  }
}

TEST_F(DamagedCode, WhatAnImageCannotBeIsAnError) {
  EXPECT_EQ(error_with([](auto&) {}), "no error");
  for (const int64_t place : {int64_t{-1}, int64_t{1} << 40, std::numeric_limits<int64_t>::max()}) {
    EXPECT_TRUE(mentions(error_with([&](auto& image) { image.kernels[0] = place; }), {"a function begins at byte"}));
  }
  EXPECT_TRUE(mentions(error_with([](auto& image) { image.kernels.clear(); }), {"code of 0 kernels, for "}));
  EXPECT_TRUE(mentions(error_with([](auto& image) { image.code.clear(); }), {"a function begins at byte"}));
  EXPECT_TRUE(mentions(error_with([](auto& image) { image.imports.push_back("system"); }),
                       {"calls `system`, which this Tenon does not have"}));
  EXPECT_TRUE(mentions(error_with([](auto& image) { image.code.resize(codegen::kMostImageBytes); }),
                       {"more than one image holds"}));
  EXPECT_TRUE(mentions(error_with([](auto& image) { image.products.push_back({.kind = 999, .parts = {}}); }),
                       {"products of kind 999"}));
  const bool is_arm = codegen::host_target().triple.starts_with("aarch64");
  EXPECT_TRUE(
      mentions(error_with([&](auto& image) { image.machine = machine_named(is_arm ? "x86-64-v3" : "armv8.2"); }),
               {"this code is for ", "and this machine is "}));
}

TEST_F(DamagedCode, OtherProcessorsAreAnErrorThatSaysWhichThereAre) {
  const bool is_arm = codegen::host_target().triple.starts_with("aarch64");
  const Machine one = machine_named(is_arm ? "x86-64-v3" : "armv8.2");
  const Machine two = machine_named(is_arm ? "x86-64-v2" : "armv9");
  EXPECT_TRUE(mentions(load_error(built(softmax_of_product(), true, {one, two})),
                       {"`program` has no program for this machine, which is ", one.name, two.name}));
}

}  // namespace
}  // namespace tenon::damaged_file_test
