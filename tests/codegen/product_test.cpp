// Products by the kernels that LLVM makes for this machine, against the obvious loops.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <set>

#include "base/aligned.h"
#include "codegen/compile_kernels.h"
#include "codegen/products/product_library.h"
#include "codegen/targets.h"
#include "native/linked_products.h"
#include "native/product_shape.h"
#include "native/product_table.h"
#include "native/product_target.h"
#include "support/product_case.h"

namespace tenon::codegen::product_test {
namespace {

/// Kernels for a machine, made once for each combination of dtypes.
const ProductKernels& kernels_of(const ProductTypes& types, const Target& target = host_target()) {
  static std::map<std::string, std::pair<std::unique_ptr<Jit>, ProductKernels>> made;
  auto& [jit, kernels] =
      made[fmt::format("{} {} {}", name(types.left), name(types.right), target.name + target.features)];
  if (jit == nullptr) {
    JitOptions options = kernel_jit_options();
    options.cache.enabled = false;
    options.target = target;
    jit = std::make_unique<Jit>(std::move(options));
    kernels = make_product_kernels(types, product_caches(this_machine().cpu()), *jit);
  }
  return kernels;
}

std::string wrong_with(const ProductTypes& types, const Target& target, const ProductCase& c) {
  // Dot products, squares of floats and matrix units sum in an order of their own.
  const bool in_order = !has_matrix_unit(types, target) && !has_float_squares(types, target) && target.fma &&
                        (!c.right_transposed || (c.left_transposed && c.rows + c.gap > 1));
  const double largest = types.right == Dtype::i8 ? 128 : 1;
  const double tolerance = in_order || is_integer(types.tile) ? 0 : 1e-6 * largest;
  const auto free = [](std::byte* block) { free_aligned(block); };
  const std::unique_ptr<std::byte, decltype(free)> scratch(allocate_aligned(kProductScratchBytes), free);
  const auto multiply = [&](const ProductCall& call) {
    blocked_product(kernels_of(types, target), types, call, scratch.get());
  };
  return difference(types, c, multiply, tolerance);
}

class Products : public testing::TestWithParam<ProductKind> {
 protected:
  const ProductTypes& types() const { return GetParam().types; }
  const ProductKernels& kernels() const { return kernels_of(types()); }

  void expect_right(const ProductCase& c) { EXPECT_EQ(wrong_with(types(), host_target(), c), ""); }

  /// Sizes around a block and its neighbours.
  static std::vector<int64_t> around(std::initializer_list<int64_t> edges) {
    std::set<int64_t> sizes = {0, 1, 2, 3};
    for (const int64_t edge : edges) {
      sizes.insert({edge - 1, edge, edge + 1});
    }
    return {sizes.begin(), sizes.end()};
  }
};

TEST_P(Products, AreRightAroundEveryTile) {
  const ProductKernels& k = kernels();
  for (const int64_t rows : around({k.rows, k.tall_rows, 2 * k.rows})) {
    for (const int64_t columns : around({k.lanes, k.panel, 2 * k.panel, 13 * k.lanes})) {
      for (const int64_t depth : {0, 1, 2, 7, 16, 33}) {
        expect_right({.rows = rows, .columns = columns, .depth = depth, .accumulate = depth % 2 == 1});
      }
    }
  }
}

TEST_P(Products, AreRightWhateverIsTransposed) {
  const ProductKernels& k = kernels();
  for (const int64_t rows : {int64_t{1}, int64_t{3}, int64_t{k.rows}, int64_t{k.rows} + 3, int64_t{5} * k.rows}) {
    for (const int64_t columns : {int64_t{1}, int64_t{k.lanes} + 1, int64_t{k.panel}, int64_t{3} * k.panel + 5}) {
      for (const int64_t depth : {int64_t{1}, int64_t{k.lanes}, int64_t{2} * k.lanes + 3, int64_t{67}}) {
        for (const int mode : {0, 1, 2, 3}) {
          expect_right({.rows = rows,
                        .columns = columns,
                        .depth = depth,
                        .left_transposed = (mode & 1) != 0,
                        .right_transposed = (mode & 2) != 0,
                        .gap = columns % 3,
                        .accumulate = mode == 3});
        }
      }
    }
  }
}

TEST_P(Products, AreRightOverSeveralBlocks) {
  expect_right({.rows = 9 * kernels().rows + 1, .columns = 257, .depth = 1031});
  expect_right({.rows = 9 * kernels().rows + 1, .columns = 257, .depth = 1031, .right_transposed = true});
  expect_right({.rows = 131, .columns = 259, .depth = 521, .left_transposed = true, .accumulate = true});
  expect_right({.rows = 61, .columns = 512, .depth = 512, .gap = 512});
  expect_right({.rows = 9 * kernels().rows + 2, .columns = 519, .depth = 1024, .accumulate = true});
  expect_right({.rows = 3, .columns = 40, .depth = 4099});
  expect_right({.rows = 2, .columns = 21, .depth = 4099, .right_transposed = true});
}

TEST_P(Products, AreRightOverALongDepth) {
  const ProductKernels& k = kernels();
  for (const bool accumulate : {false, true}) {
    expect_right(
        {.rows = 1, .columns = int64_t{5} * k.panel, .depth = 4613, .panel = k.panel, .accumulate = accumulate});
    expect_right({.rows = 2 * k.rows + 1, .columns = 4 * k.panel, .depth = 4613, .accumulate = accumulate});
    expect_right({.rows = 5 * k.rows, .columns = 4 * k.panel + 3, .depth = 4613, .gap = 507, .accumulate = accumulate});
    expect_right(
        {.rows = k.rows + 3, .columns = 3 * k.panel, .depth = 4613, .left_transposed = true, .accumulate = accumulate});
    expect_right({.rows = 5 * k.rows,
                  .columns = k.panel + 1,
                  .depth = 4613,
                  .right_transposed = true,
                  .accumulate = accumulate});
  }
}

TEST_P(Products, ReadPanels) {
  const ProductKernels& k = kernels();
  for (const int64_t panel : {int64_t{k.panel}, int64_t{2} * k.panel, int64_t{k.lanes}, int64_t{5}}) {
    for (const int64_t columns : {panel - 1, panel, 2 * panel + 3, 4 * panel, 7 * panel + 1}) {
      for (const int64_t rows : {int64_t{1}, int64_t{k.rows} + 1, int64_t{2} * k.rows + 3}) {
        expect_right({.rows = rows,
                      .columns = columns,
                      .depth = 19,
                      .gap = 3,
                      .panel = panel,
                      .accumulate = columns == 4 * panel});
      }
    }
  }
}

/// Operands that are read where they lie, or in copies, in one block or several.
TEST_P(Products, ReadPanelsOfAnyDepth) {
  const ProductKernels& k = kernels();
  for (const int64_t depth : {0, 1, 3, 4, 64, 1028}) {
    for (const int64_t rows : {int64_t{1}, int64_t{2} * k.rows + 1}) {
      for (const int mode : {0, 1, 2}) {
        expect_right({.rows = rows,
                      .columns = 3 * k.panel + (mode == 0 ? 0 : 3),
                      .depth = depth,
                      .left_transposed = mode == 2,
                      .gap = mode,
                      .panel = k.panel,
                      .together = !is_byte_product(types()) ? 0
                                  : mode == 2               ? 8
                                                            : k.step,
                      .accumulate = mode == 1});
      }
    }
  }
}

/// Whatever is left of a group of panels and of a group of bytes.
TEST_P(Products, OfOneRowByPanelsAreRight) {
  const ProductKernels& k = kernels();
  for (const int64_t columns : {int64_t{1}, int64_t{k.panel}, int64_t{4} * k.panel, int64_t{7} * k.panel + 3}) {
    for (const int64_t depth : {1, 3, 4, 5, 64, 1024, 1025}) {
      for (const bool accumulate : {false, true}) {
        expect_right({.rows = 1, .columns = columns, .depth = depth, .panel = k.panel, .accumulate = accumulate});
      }
    }
  }
}

TEST_P(Products, PassOnNanAndInfinity) {
  if (is_integer(types().tile)) GTEST_SKIP();
  for (const bool transposed : {false, true}) {
    expect_right({.rows = 17, .columns = 45, .depth = 33, .right_transposed = transposed, .special = true});
  }
}

TEST_P(Products, SlowAreRightOnSmallerMachines) {
  if (!host_target().triple.starts_with("x86_64")) GTEST_SKIP();
  for (const int level : {2, 3, 4}) {
    const Target target = x86_target(level);
    if (target.cpu > host_target().cpu) continue;
    const ProductKernels& k = kernels_of(types(), target);
    for (const int64_t rows : {int64_t{1}, int64_t{2}, int64_t{k.rows} - 1, int64_t{k.tall_rows},
                               int64_t{2} * k.rows + 1, int64_t{9} * k.rows}) {
      for (const int64_t columns : {int64_t{1}, int64_t{k.lanes}, int64_t{k.panel} + 1, int64_t{7} * k.panel + 3}) {
        for (const int mode : {0, 1, 2, 3}) {
          EXPECT_EQ(wrong_with(types(), target,
                               {.rows = rows,
                                .columns = columns,
                                .depth = 39,
                                .left_transposed = (mode & 1) != 0,
                                .right_transposed = (mode & 2) != 0,
                                .accumulate = mode == 1}),
                    "")
              << target.name;
        }
      }
    }
    const ProductCase row{.rows = 1, .columns = int64_t{7} * k.panel + 3, .depth = 39, .panel = k.panel};
    EXPECT_EQ(wrong_with(types(), target, row), "") << target.name;
  }
}

TEST_P(Products, SlowAreMadeForOtherMachines) {
  for (const char* const machine : {"x86-64-v2", "x86-64-v3", "x86-64-v4", "armv8.2"}) {
    const Target target = target_of(machine_named(machine));
    for (const Jit::Request& request : product_requests(types(), target)) {
      EXPECT_NE(emit_assembly(request, target).find("products"), std::string::npos) << machine;
    }
  }
}

/// Machines that have dot products of bytes of like signs alone, or of unlike ones alone, have them for all.
TEST(ProductLibrary, AllBytesAreDotProducts) {
  const auto code_of = [](const ProductTypes& types, const Target& target) {
    std::string text;
    for (const Jit::Request& request : product_requests(types, target)) {
      text += emit_assembly(request, target);
    }
    return text;
  };
  const auto has = [](const std::string& text, const char* word) { return text.find(word) != std::string::npos; };
  const Target arm = target_of(machine_named("armv8.2"));
  const Target x86 = x86_target(4, {CpuFeature::avx512vnni});
  for (const ProductKind& kind : product_kinds()) {
    if (!is_byte_product(kind.types)) continue;
    const bool right_signed = kind.types.right == Dtype::i8;
    const std::string on_arm = code_of(kind.types, arm);
    EXPECT_TRUE(has(on_arm, right_signed ? "sdot" : "udot")) << kind.symbol;
    EXPECT_FALSE(has(on_arm, right_signed ? "udot" : "sdot")) << kind.symbol;
    EXPECT_FALSE(has(on_arm, "usdot")) << kind.symbol;
    const std::string on_x86 = code_of(kind.types, x86);
    EXPECT_TRUE(has(on_x86, "vpdpbusd")) << kind.symbol;
    EXPECT_FALSE(has(on_x86, "vpdpwssd")) << kind.symbol;
    EXPECT_EQ(product_shape(kind.types, arm).flips, kind.types.left != kind.types.right) << kind.symbol;
    EXPECT_EQ(product_shape(kind.types, x86).flips, kind.types.left == kind.types.right) << kind.symbol;
  }
}

/// The kernels that are linked in for a target, which there must be.
ProductKernels linked_kernels(const ProductTypes& types, const Target& target) {
  const LinkedProducts* const linked = find_linked_products(types, target);
  EXPECT_NE(linked, nullptr);
  return product_table(types, target, product_caches(this_machine().cpu()), linked->hand_out());
}

TEST_P(Products, ThatAreLinkedInGiveTheBitsOfThoseCompiledHere) {
  const Target target = product_target(types(), host_target());
  if (find_linked_products(types(), target) == nullptr) GTEST_SKIP() << "none for " << code_identity(target);
  const ProductKernels linked = linked_kernels(types(), target);
  const auto multiply = [&](const ProductCall& call, const ProductKernels& by) {
    const auto free = [](std::byte* block) { free_aligned(block); };
    const std::unique_ptr<std::byte, decltype(free)> scratch(allocate_aligned(kProductScratchBytes), free);
    blocked_product(by, types(), call, scratch.get());
  };
  const ProductKernels& k = kernels();
  const auto expect_equal = [&](const ProductCase& c) {
    const auto both = [&](const ProductCall& call) {
      const auto bytes = static_cast<size_t>(call.rows * call.tile_row) * byte_size(types().tile);
      auto* const tile = static_cast<std::byte*>(call.tile);
      std::vector<std::byte> before(tile, tile + bytes);
      multiply(call, k);
      ProductCall again = call;
      again.tile = before.data();
      multiply(again, linked);
      EXPECT_EQ(std::memcmp(tile, before.data(), bytes), 0) << to_string(c);
    };
    EXPECT_EQ(difference(types(), c, both, 1e-3), "");
  };
  for (const int64_t rows : {1, 2, k.rows, 2 * k.rows + 3}) {
    for (const int64_t columns : {1, k.panel, 3 * k.panel + 5}) {
      for (const bool transposed : {false, true}) {
        expect_equal({.rows = rows, .columns = columns, .depth = 67, .right_transposed = transposed});
      }
    }
  }
  expect_equal({.rows = 5, .columns = 2 * k.panel, .depth = 1031, .panel = k.panel, .together = k.step});
}

/// Code for other machines of this one's architecture, as far as it runs here.
TEST_P(Products, ThatAreLinkedInAreRight) {
  for (const Target& target : usual_product_targets(types(), host_target().triple)) {
    ASSERT_NE(find_linked_products(types(), target), nullptr) << code_identity(target);
    if (!runs_on(target, host_target())) continue;
    const ProductKernels linked = linked_kernels(types(), target);
    const auto free = [](std::byte* block) { free_aligned(block); };
    const std::unique_ptr<std::byte, decltype(free)> scratch(allocate_aligned(kProductScratchBytes), free);
    const auto multiply = [&](const ProductCall& call) { blocked_product(linked, types(), call, scratch.get()); };
    for (const int64_t rows : {1, 3, linked.rows, 2 * linked.rows + 3}) {
      const ProductCase c = {.rows = rows, .columns = 3 * linked.panel + 5, .depth = 67};
      EXPECT_EQ(difference(types(), c, multiply, is_integer(types().tile) ? 0 : 1e-4), "") << code_identity(target);
    }
  }
}

TEST(LinkedProducts, ThereAreNoneForUnusualMachines) {
  EXPECT_EQ(find_linked_products({}, product_target({}, x86_target(2))), nullptr);
}

/// What makes no difference to the code of products does not keep a processor from that of its like.
TEST(LinkedProducts, ServeProcessorsThatHaveMore) {
  const Target rich = x86_target(4, {CpuFeature::avx512vnni, CpuFeature::avx512bf16, CpuFeature::avx512fp16,
                                     CpuFeature::avx512vbmi, CpuFeature::avxvnni});
  const ProductTypes bytes{.left = Dtype::u8, .right = Dtype::i8, .tile = Dtype::i32};
  EXPECT_EQ(product_target({}, rich), product_target({}, x86_target(4)));
  EXPECT_EQ(product_target(bytes, rich).features, "+avx512vnni,+avx512vbmi");
  EXPECT_TRUE(product_target(bytes, rich).i8_dot);
}

TEST(ProductLibrary, GivesTheSameBeforeAndAfterItIsPrepared) {
  const ProductTypes types;
  const auto free = [](std::byte* block) { free_aligned(block); };
  const std::unique_ptr<std::byte, decltype(free)> scratch(allocate_aligned(kProductScratchBytes), free);
  const auto multiply = [&](const ProductCall& call) {
    for (const ExternalSymbol& symbol : product_symbols()) {
      if (symbol.name == "tenon_product_f32") {
        reinterpret_cast<void (*)(const ProductCall*, void*)>(symbol.address)(&call, scratch.get());
      }
    }
  };
  const double tolerance = host_target().fma ? 0 : 1e-6;
  EXPECT_EQ(difference(types, {.rows = 15, .columns = 34, .depth = 5}, multiply), "");
  prepare_products(types, /*disk_cache=*/false);
  prepare_products(types, /*disk_cache=*/false);
  EXPECT_EQ(difference(types, {.rows = 15, .columns = 34, .depth = 5}, multiply, tolerance), "");
}

INSTANTIATE_TEST_SUITE_P(Kinds, Products, testing::ValuesIn(product_kinds().begin(), product_kinds().end()),
                         [](const auto& row) { return std::string(row.param.symbol.substr(14)); });

}  // namespace
}  // namespace tenon::codegen::product_test
