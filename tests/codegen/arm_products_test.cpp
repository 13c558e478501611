// Products for ARM machines, on any host: what their code is like, and, where a cross compiler and an emulator are
// installed, what it computes.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>

#include "base/read_file.h"
#include "codegen/products/product_library.h"
#include "codegen/targets.h"
#include "native/linked_products.h"
#include "native/product_shape.h"

namespace tenon::codegen::arm_products_test {
namespace {

// Bits of Linux's capability words.
constexpr uint64_t kPlain = uint64_t{1} << 1;  // vectors
constexpr uint64_t kDotProducts = uint64_t{1} << 20 | uint64_t{1} << 10;
constexpr uint64_t kSve = kDotProducts | uint64_t{1} << 22;
constexpr uint64_t kMatrices = uint64_t{3} << 13;  // of the second word: i8mm, bf16

/// The lines of a function of an assembly text, from its label to its end; empty: there is none.
std::string function_of(const std::string& text, const std::string& name) {
  const size_t begin = text.find("\n" + name + ":");
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find(".Lfunc_end", begin) - begin);
}

auto count(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  return std::distance(std::sregex_iterator(text.begin(), text.end(), regex), std::sregex_iterator());
}

std::string tile_of(const ProductTypes& types, const Target& target, const std::string& name) {
  for (const Jit::Request& request : product_requests(types, target)) {
    if (std::string found = function_of(emit_assembly(request, target), name); !found.empty()) return found;
  }
  return {};
}

struct Case {
  ProductTypes types;
  uint64_t hwcap = kPlain;
  uint64_t hwcap2 = 0;
  std::string instruction;  // that it is made of
  int sve_bits = 0;
};

/// A load that is splat takes time of the units that multiply: the left operand is loaded as it is, and multiplied by
/// lane.
TEST(ArmProducts, SlowMultiplyByLanes) {
  const Case cases[] = {
      {{Dtype::f32, Dtype::f32, Dtype::f32}, kPlain, 0, R"(fmla\tv\d+\.4s, v\d+\.4s, v\d+\.s\[0\])"},
      {{Dtype::f64, Dtype::f64, Dtype::f64}, kPlain, 0, R"(fmla\tv\d+\.2d, v\d+\.2d, v\d+\.d\[0\])"},
      {{Dtype::f16, Dtype::f16, Dtype::f32}, kPlain, 0, R"(fmla\tv\d+\.4s, v\d+\.4s, v\d+\.s\[0\])"},
      {{Dtype::bf16, Dtype::bf16, Dtype::f32}, kPlain, 0, R"(fmla\tv\d+\.4s, v\d+\.4s, v\d+\.s\[0\])"},
      {{Dtype::i8, Dtype::i8, Dtype::i32}, kPlain, 0, R"(mla\tv\d+\.4s, v\d+\.4s, v\d+\.s\[0\])"},
      {{Dtype::i8, Dtype::i8, Dtype::i32}, kDotProducts, 0, R"(sdot\tv\d+\.4s, v\d+\.16b, v\d+\.4b\[0\])"},
      {{Dtype::u8, Dtype::u8, Dtype::i32}, kDotProducts, 0, R"(udot\tv\d+\.4s, v\d+\.16b, v\d+\.4b\[0\])"},
      {{Dtype::i8, Dtype::i8, Dtype::i32}, kDotProducts, kMatrices, R"(smmla\tv\d+\.4s, v\d+\.16b, v\d+\.16b)"},
      {{Dtype::u8, Dtype::u8, Dtype::i32}, kDotProducts, kMatrices, R"(ummla\tv\d+\.4s, v\d+\.16b, v\d+\.16b)"},
      {{Dtype::u8, Dtype::i8, Dtype::i32}, kDotProducts, kMatrices, R"(usmmla\tv\d+\.4s, v\d+\.16b, v\d+\.16b)"},
      {{Dtype::i8, Dtype::u8, Dtype::i32}, kDotProducts, kMatrices, R"(usmmla\tv\d+\.4s, v\d+\.16b, v\d+\.16b)"},
      {{Dtype::bf16, Dtype::bf16, Dtype::f32}, kDotProducts, kMatrices, R"(bfmmla\tv\d+\.4s, v\d+\.8h, v\d+\.8h)"},
      {{Dtype::f32, Dtype::f32, Dtype::f32}, kSve, 0, R"(fmla\tz\d+\.s, p0/m, z\d+\.s, z\d+\.s)", 512},
      {{Dtype::f64, Dtype::f64, Dtype::f64}, kSve, 0, R"(fmla\tz\d+\.d, p\d/m, z\d+\.d, z\d+\.d)", 512},
      {{Dtype::f16, Dtype::f16, Dtype::f32}, kSve, 0, R"(fmla\tz\d+\.s, p\d/m, z\d+\.s, z\d+\.s)", 512},
      // Units for 256 bits are half as many as those for 128.
      {{Dtype::f32, Dtype::f32, Dtype::f32}, kSve, 0, R"(fmla\tv\d+\.4s, v\d+\.4s, v\d+\.s\[0\])", 256},
  };
  for (const Case& c : cases) {
    const Target target = arm64_target(c.hwcap, c.hwcap2, c.sve_bits);
    const bool many_rows = has_float_squares(c.types, target);
    const ProductShape shape = many_rows ? float_squares_shape(c.types, target) : product_shape(c.types, target);
    const bool squares = shape.form == ProductForm::squares;
    const std::string name = fmt::format("{}_{}x{}", squares ? "squares" : "tile", shape.rows, shape.vectors);
    const std::string tile = tile_of(c.types, target, name);
    EXPECT_EQ(count(tile, c.instruction), shape.sums(shape.rows, shape.vectors)) << tile;
    EXPECT_EQ(count(tile, R"(\t(ld1r|dup)\t)"), 0) << tile;
    EXPECT_EQ(count(tile, R"(\t(ldr|ldp|str|stp)\t[qz].*\[sp)"), 0) << "sums leave the registers: " << tile;
  }
}

/// Whether a program can be run.
bool has(const std::string& program) {
  return std::system(("command -v " + program + " > /dev/null 2>&1").c_str()) == 0;
}

/// A folder for as long as this lives.
struct Folder {
  Folder() : path(std::filesystem::path(testing::TempDir()) / fmt::format("tenon_arm_{}", getpid())) {
    std::filesystem::create_directories(path);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::filesystem::path path;
};

/// The libraries of `kinds`, a bit for each of product_kinds(), as assembly, and the table that arm_products_main.cpp
/// reads.
void write_products(const Target& target, uint64_t kinds, const std::filesystem::path& path) {
  std::ofstream out(path);
  std::string table = "\t.data\n\t.balign 8\n\t.globl product_parts\nproduct_parts:\n";
  int number = 0;
  for (size_t kind = 0; kind < product_kinds().size(); ++kind) {
    const int first = number;
    for (const Jit::Request& request : product_requests(product_kinds()[kind].types, target)) {
      if ((kinds >> kind & 1) == 0) break;
      // Each text is a file of its own to the assembler: its names get a number.
      const std::string text = emit_assembly(request, target);
      const std::string prefix = fmt::format("p{}_", number++);
      out << std::regex_replace(std::regex_replace(text, std::regex(R"(\.L(\w+))"), ".L" + prefix + "$1"),
                                std::regex(R"(\b(products|(tile|squares|dot|pack)_\w+)\b)"), prefix + "$1");
      table += fmt::format("\t.quad {}products\n", prefix);
    }
    for (size_t part = static_cast<size_t>(number - first); part < kProductParts; ++part) {
      table += "\t.quad 0\n";
    }
  }
  out << table;
}

/// A machine to emulate, and which products it has code for that those before it have not.
struct Machine {
  uint64_t hwcap = 0;
  uint64_t hwcap2 = 0;
  int sve_bits = 0;
  bool (*has_new_code)(const ProductTypes& types) = nullptr;
};

TEST(ArmProducts, SlowAreRightUnderAnEmulator) {
  const Machine machines[] = {
      {kPlain, 0, 0, [](const ProductTypes&) { return true; }},
      {kDotProducts, 0, 0, is_byte_product},
      {kDotProducts, kMatrices, 0,
       [](const ProductTypes& types) { return is_byte_product(types) || types.left == Dtype::bf16; }},
      {kSve, 0, 512, [](const ProductTypes& types) { return !is_byte_product(types); }},
  };
  const char* const compiler = "aarch64-linux-gnu-g++";
  const char* const emulator = "qemu-aarch64";
  if (!has(compiler) || !has(emulator)) GTEST_SKIP() << "needs " << compiler << " and " << emulator;
  const std::string root = TENON_SOURCE_DIR;
  std::string sources;
  for (const char* const file :
       {"tests/codegen/arm_products_main.cpp", "tests/support/product_case.cpp", "src/native/target.cpp",
        "src/native/product_shape.cpp", "src/native/product_table.cpp", "src/base/aligned.cpp",
        "src/base/cpu_features.cpp", "src/base/dtype.cpp", "src/base/error.cpp", "src/base/half.cpp",
        "src/base/host_caches.cpp", "src/base/host_cpu.cpp", "src/base/machine.cpp"}) {
    sources += fmt::format(" {}/{}", root, file);
  }
  for (const auto& entry : std::filesystem::directory_iterator(root + "/src/kernel/product")) {
    if (entry.path().extension() == ".cpp") sources += " " + entry.path().string();
  }
  const Folder folder;
  const std::string at = folder.path.string();
  // Headers of {fmt} are the same for all machines.
  const std::string objects = fmt::format(
      "cd {0} && echo {3} | xargs -n 1 -P 4 {1} -std=c++20 -O1 -ffp-contract=off -DFMT_HEADER_ONLY -I{2}/src "
      "-I{2}/include -I{2}/tests -idirafter /usr/include -c > log 2>&1",
      at, compiler, root, sources);
  ASSERT_EQ(std::system(objects.c_str()), 0) << read_file(at + "/log", int64_t{1} << 20);
  for (const Machine& m : machines) {
    const Target target = arm64_target(m.hwcap, m.hwcap2, m.sve_bits);
    uint64_t kinds = 0;
    for (size_t i = 0; i < product_kinds().size(); ++i) {
      if (m.has_new_code(product_kinds()[i].types)) kinds |= uint64_t{1} << i;
    }
    write_products(target, kinds, folder.path / "products.s");
    const std::string run = fmt::format(
        "cd {} && {} -static -march=armv8.6-a+sve *.o products.s -o products > log 2>&1 && "
        "{} -cpu max,sve-default-vector-length={} ./products {} {} {} {} > log 2>&1",
        at, compiler, emulator, std::max(16, m.sve_bits / 8), m.hwcap, m.hwcap2, m.sve_bits, kinds);
    EXPECT_EQ(std::system(run.c_str()), 0) << read_file(at + "/log", int64_t{1} << 20);
  }
}

}  // namespace
}  // namespace tenon::codegen::arm_products_test
