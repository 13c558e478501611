// Runs on ARM, under an emulator: products by kernels that were emitted elsewhere, against the obvious loops. What is
// wrong is written a line each. arm_products_test.cpp builds and runs it.
#include <cstdio>
#include <memory>

#include "base/aligned.h"
#include "codegen/targets.h"
#include "native/linked_products.h"
#include "native/product_table.h"
#include "support/product_case.h"

/// The parts of libraries, kProductParts for each of product_kinds(), null for those not to be tried and where there is
/// none; defined beside their code.
// NOLINTNEXTLINE(readability-identifier-naming): a name of assembly
extern "C" void (*const product_parts[])(void** addresses);

namespace tenon {
namespace {

int count_wrong(const ProductTypes& types, const ProductKernels& k) {
  const auto free = [](std::byte* block) { free_aligned(block); };
  const std::unique_ptr<std::byte, decltype(free)> scratch(allocate_aligned(kProductScratchBytes), free);
  int wrong = 0;
  const auto expect_right = [&](const ProductCase& c) {
    // Few rows by a right operand whose depth is contiguous sum in an order of their own, and so do squares.
    const bool in_order = k.of_many_rows.empty() && (!c.right_transposed || (c.left_transposed && c.rows + c.gap > 1));
    const std::string difference = tenon::difference(
        types, c, [&](const ProductCall& call) { blocked_product(k, types, call, scratch.get()); },
        in_order || is_integer(types.tile) ? 0 : 1e-6);
    if (difference.empty()) return;
    std::printf("%s by %s: %s\n", std::string(name(types.left)).c_str(), std::string(name(types.right)).c_str(),
                difference.c_str());
    ++wrong;
  };
  for (const int64_t rows : {1, 2, 3, 7, 8, 9, 16, 33}) {
    for (const int64_t columns : {1, 3, k.lanes, k.lanes + 1, k.panel, k.panel + 1, 3 * k.panel + 1}) {
      for (const int64_t depth : {0, 1, 7, 33}) {
        for (const int mode : {0, 1, 2, 3}) {
          expect_right({.rows = rows,
                        .columns = columns,
                        .depth = depth,
                        .left_transposed = (mode & 1) != 0,
                        .right_transposed = (mode & 2) != 0,
                        .gap = columns % 3,
                        .accumulate = depth % 2 == 1});
        }
      }
      expect_right({.rows = rows, .columns = columns, .depth = 19, .gap = 3, .panel = k.panel});
      if (!is_integer(types.tile)) continue;
      for (const int64_t depth : {1, 8, 19, 64}) {
        expect_right({.rows = rows, .columns = columns, .depth = depth, .panel = k.panel, .together = k.step});
      }
    }
  }
  expect_right({.rows = 73, .columns = 257, .depth = 1031});
  expect_right({.rows = 61, .columns = 512, .depth = 512, .gap = 512});
  if (is_integer(types.tile)) {
    expect_right({.rows = 5, .columns = 2 * k.panel, .depth = 1031, .panel = k.panel, .together = k.step});
    return wrong;
  }
  expect_right({.rows = 17, .columns = 45, .depth = 4613});
  expect_right({.rows = 17, .columns = 45, .depth = 33, .special = true});
  return wrong;
}

}  // namespace
}  // namespace tenon

/// Arguments: the capability words and the length of vectors of the machine that the code is for, and a bit for each of
/// product_kinds() that is to be tried.
int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const auto number = [&](int index) { return std::strtoull(argv[index], nullptr, 0); };
  const auto target = tenon::codegen::arm64_target(number(1), number(2), static_cast<int64_t>(number(3)));
  int wrong = 0;
  for (size_t kind = 0; kind < tenon::product_kinds().size(); ++kind) {
    if ((number(4) >> kind & 1) == 0) continue;
    const tenon::ProductTypes& types = tenon::product_kinds()[kind].types;
    const auto kernels = tenon::codegen::product_table(types, target, {}, [&](void** addresses) {
      for (size_t part = 0; part < tenon::codegen::kProductParts; ++part) {
        if (const auto hand_out = product_parts[tenon::codegen::kProductParts * kind + part]) hand_out(addresses);
      }
    });
    wrong += tenon::count_wrong(types, kernels);
  }
  std::printf("%d wrong\n", wrong);
  return wrong == 0 ? 0 : 1;
}
