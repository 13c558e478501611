#include "kernel/product/product.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/convert.h"
#include "base/fail.h"

namespace tenon {
namespace {

constexpr std::array kKinds = {
    ProductKind{{Dtype::f32, Dtype::f32, Dtype::f32}, "tenon_product_f32"},
    ProductKind{{Dtype::f64, Dtype::f64, Dtype::f64}, "tenon_product_f64"},
    ProductKind{{Dtype::f16, Dtype::f16, Dtype::f32}, "tenon_product_f16"},
    ProductKind{{Dtype::bf16, Dtype::bf16, Dtype::f32}, "tenon_product_bf16"},
    ProductKind{{Dtype::i8, Dtype::i8, Dtype::i32}, "tenon_product_i8_i8"},
    ProductKind{{Dtype::u8, Dtype::i8, Dtype::i32}, "tenon_product_u8_i8"},
    ProductKind{{Dtype::i8, Dtype::u8, Dtype::i32}, "tenon_product_i8_u8"},
    ProductKind{{Dtype::u8, Dtype::u8, Dtype::i32}, "tenon_product_u8_u8"},
    ProductKind{{Dtype::f32, Dtype::f16, Dtype::f32}, "tenon_product_f32_f16"},
    ProductKind{{Dtype::f32, Dtype::bf16, Dtype::f32}, "tenon_product_f32_bf16"},
    ProductKind{{Dtype::f32, Dtype::i8, Dtype::f32}, "tenon_product_f32_i8"},
};

template <class Sum>
Sum multiply_add(Sum a, Sum b, Sum sum) {
  if constexpr (std::is_integral_v<Sum>) {
    return static_cast<Sum>(static_cast<uint32_t>(sum) + static_cast<uint32_t>(a * b));
  } else {
    return std::fma(a, b, sum);
  }
}

template <class Left, class Right, class Sum>
void multiply(const ProductTypes& types, const ProductCall& call) {
  const auto* const left = static_cast<const Left*>(call.left);
  const auto* const right = static_cast<const Right*>(call.right);
  auto* const tile = static_cast<Sum*>(call.tile);
  const int64_t together = call.panel > 0 ? call.together : 1;
  const bool in_parts = sums_in_parts(types, call);
  for (int64_t m = 0; m < call.rows; ++m) {
    for (int64_t n = 0; n < call.columns; ++n) {
      const int64_t column = right_offset(call, 0, n);
      Sum sum = call.accumulate != 0 ? tile[m * call.tile_row + n] : Sum{0};
      Sum before{0};  // the parts that are done
      for (int64_t k = 0; k < call.depth; ++k) {
        if (in_parts && k > 0 && k % kPartOfSum == 0) {
          before = std::exchange(sum, Sum{0});
        }
        const Left a = left[m * call.left_row + k * call.left_depth];
        const int64_t in_group = together == 1 ? 0 : k % together;
        const Right b = right[column + (k - in_group) * call.right_depth + in_group];
        sum = multiply_add(convert<Sum>(a), convert<Sum>(b), sum);
        if (in_parts && k >= kPartOfSum && (k % kPartOfSum == kPartOfSum - 1 || k == call.depth - 1)) {
          sum = before + sum;
        }
      }
      tile[m * call.tile_row + n] = sum;
    }
  }
}

}  // namespace

std::span<const ProductKind> product_kinds() { return kKinds; }

bool is_product(const ProductTypes& types) {
  return std::ranges::find(kKinds, types, &ProductKind::types) != kKinds.end();
}

bool is_byte_product(const ProductTypes& types) { return is_integer(types.tile); }

bool has_narrow_right(const ProductTypes& types) { return types.left == types.tile && types.right != types.tile; }

int64_t right_offset(const ProductCall& call, int64_t depth, int64_t column) {
  if (call.panel == 0) {
    return depth * call.right_depth + column * call.right_column;
  }
  const int64_t begin = column / call.panel * call.right_panel;
  const int64_t together = call.together;
  return begin + depth / together * together * call.right_depth + column % call.panel * together + depth % together;
}

void reference_product(const ProductTypes& types, const ProductCall& call) {
  if (types == kKinds[0].types) return multiply<float, float, float>(types, call);
  if (types == kKinds[1].types) return multiply<double, double, double>(types, call);
  if (types == kKinds[2].types) return multiply<Half, Half, float>(types, call);
  if (types == kKinds[3].types) return multiply<BFloat16, BFloat16, float>(types, call);
  if (types == kKinds[4].types) return multiply<int8_t, int8_t, int32_t>(types, call);
  if (types == kKinds[5].types) return multiply<uint8_t, int8_t, int32_t>(types, call);
  if (types == kKinds[6].types) return multiply<int8_t, uint8_t, int32_t>(types, call);
  if (types == kKinds[7].types) return multiply<uint8_t, uint8_t, int32_t>(types, call);
  if (types == kKinds[8].types) return multiply<float, Half, float>(types, call);
  if (types == kKinds[9].types) return multiply<float, BFloat16, float>(types, call);
  if (types == kKinds[10].types) return multiply<float, int8_t, float>(types, call);
  TENON_CHECK(false, "no product of {} and {} in {}", name(types.left), name(types.right), name(types.tile));
}

}  // namespace tenon
