#include "kernel/product/product.h"

#include <algorithm>
#include <array>
#include <cmath>

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
void multiply(const ProductCall& call) {
  const auto* const left = static_cast<const Left*>(call.left);
  const auto* const right = static_cast<const Right*>(call.right);
  auto* const tile = static_cast<Sum*>(call.tile);
  for (int64_t m = 0; m < call.rows; ++m) {
    for (int64_t n = 0; n < call.columns; ++n) {
      const int64_t column =
          call.panel > 0 ? n / call.panel * call.right_panel + n % call.panel : n * call.right_column;
      Sum sum = call.accumulate != 0 ? tile[m * call.tile_row + n] : Sum{0};
      for (int64_t k = 0; k < call.depth; ++k) {
        const Left a = left[m * call.left_row + k * call.left_depth];
        const Right b = right[k * call.right_depth + column];
        sum = multiply_add(convert<Sum>(a), convert<Sum>(b), sum);
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

void reference_product(const ProductTypes& types, const ProductCall& call) {
  if (types == kKinds[0].types) return multiply<float, float, float>(call);
  if (types == kKinds[1].types) return multiply<double, double, double>(call);
  if (types == kKinds[2].types) return multiply<Half, Half, float>(call);
  if (types == kKinds[3].types) return multiply<BFloat16, BFloat16, float>(call);
  if (types == kKinds[4].types) return multiply<int8_t, int8_t, int32_t>(call);
  if (types == kKinds[5].types) return multiply<uint8_t, int8_t, int32_t>(call);
  if (types == kKinds[6].types) return multiply<int8_t, uint8_t, int32_t>(call);
  if (types == kKinds[7].types) return multiply<uint8_t, uint8_t, int32_t>(call);
  TENON_CHECK(false, "no product of {} and {} in {}", name(types.left), name(types.right), name(types.tile));
}

}  // namespace tenon
