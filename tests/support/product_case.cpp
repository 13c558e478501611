#include "support/product_case.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "base/convert.h"
#include "base/fail.h"

namespace tenon {
namespace {

/// Elements right in front of a page that cannot be touched.
class Guarded {
 public:
  Guarded(int64_t elements, Dtype dtype) : page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))) {
    const size_t bytes = static_cast<size_t>(elements) * byte_size(dtype);
    inner_ = (bytes + page_ - 1) / page_ * page_;
    void* const mapped = mmap(nullptr, inner_ + 2 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    TENON_CHECK(mapped != MAP_FAILED);
    begin_ = static_cast<std::byte*>(mapped);
    TENON_CHECK(inner_ == 0 || mprotect(begin_ + page_, inner_, PROT_READ | PROT_WRITE) == 0);
    data_ = begin_ + page_ + inner_ - bytes;
  }
  ~Guarded() { munmap(begin_, inner_ + 2 * page_); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  std::byte* data() const { return data_; }

 private:
  size_t page_;
  size_t inner_ = 0;
  std::byte* begin_ = nullptr;
  std::byte* data_ = nullptr;
};

template <class T>
T number(std::mt19937& random, bool special) {
  const auto word = static_cast<uint32_t>(random());
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(word);
  } else {
    if (special && word % 16 == 0) {
      using Limits = std::numeric_limits<float>;
      const float rare[] = {Limits::infinity(), -Limits::infinity(),  Limits::quiet_NaN(),
                            Limits::max(),      Limits::denorm_min(), -0.0f};
      return convert<T>(rare[(word >> 4) % 6]);
    }
    return convert<T>(static_cast<float>(word >> 8) * 0x1p-22f - 2);
  }
}

void fill(std::byte* data, int64_t elements, Dtype dtype, std::mt19937& random, bool special) {
  visit_dtype(dtype, [&]<class T>() {
    for (int64_t i = 0; i < elements; ++i) {
      const T value = number<T>(random, special);
      std::memcpy(data + static_cast<size_t>(i) * sizeof(T), &value, sizeof(T));
    }
  });
}

template <class T>
bool same(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  }
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

/// The most that numbers below 2 in absolute value can sum to.
double scale_of(const ProductCase& c) { return 4.0 * static_cast<double>(c.depth) + 4; }

template <class T>
std::string compare(const ProductCase& c, const T* expected, const T* given, int64_t tile_row, double tolerance) {
  for (int64_t m = 0; m < c.rows; ++m) {
    for (int64_t n = 0; n < tile_row; ++n) {
      const T want = expected[m * tile_row + n];
      const T have = given[m * tile_row + n];
      if (same(want, have)) continue;
      if (n < c.columns && tolerance > 0 &&
          std::abs(static_cast<double>(want) - static_cast<double>(have)) <= tolerance * scale_of(c)) {
        continue;
      }
      return fmt::format("{}: [{}, {}]{} is {}, expected {}", to_string(c), m, n, n < c.columns ? "" : " (outside)",
                         have, want);
    }
  }
  return {};
}

}  // namespace

std::string to_string(const ProductCase& c) {
  return fmt::format("{} x {} x {}{}{}, gap {}, panel {} of {}{}", c.rows, c.columns, c.depth,
                     c.left_transposed ? ", left transposed" : "", c.right_transposed ? ", right transposed" : "",
                     c.gap, c.panel, c.together, c.accumulate ? ", accumulate" : "");
}

std::string difference(const ProductTypes& types, const ProductCase& c,
                       const std::function<void(const ProductCall&)>& multiply, double tolerance) {
  ProductCall call{.rows = c.rows, .columns = c.columns, .depth = c.depth, .accumulate = c.accumulate ? 1 : 0};
  const auto elements = [](int64_t outer, int64_t stride, int64_t inner) {
    return outer == 0 || inner == 0 ? 0 : (outer - 1) * stride + inner;
  };
  int64_t left_size = 0;
  if (c.left_transposed) {
    call.left_row = 1;
    call.left_depth = c.rows + c.gap;
    left_size = elements(c.depth, call.left_depth, c.rows);
  } else {
    call.left_row = c.depth + c.gap;
    left_size = elements(c.rows, call.left_row, c.depth);
  }
  int64_t right_size = 0;
  int64_t whole_depth = c.depth;  // in panels
  if (c.panel > 0) {
    call.panel = c.panel;
    call.right_depth = c.panel;
    call.together = c.together > 0 ? c.together : is_byte_product(types) ? kBytesTogether : 1;
    whole_depth = (c.depth + call.together - 1) / call.together * call.together;
    call.right_panel = whole_depth * c.panel + c.gap;
    right_size = elements((c.columns + c.panel - 1) / c.panel, call.right_panel, whole_depth * c.panel);
  } else if (c.right_transposed) {
    call.right_depth = 1;
    call.right_column = c.depth + c.gap;
    right_size = elements(c.columns, call.right_column, c.depth);
  } else {
    call.right_depth = c.columns + c.gap;
    right_size = elements(c.depth, call.right_depth, c.columns);
  }
  std::mt19937 random(static_cast<uint32_t>(c.rows * 7 + c.columns * 131 + c.depth * 1009));
  const Guarded left(left_size, types.left);
  const Guarded right(right_size, types.right);
  fill(left.data(), left_size, types.left, random, c.special);
  fill(right.data(), right_size, types.right, random, c.special);
  call.left = left.data();
  call.right = right.data();
  for (int64_t k = c.depth; k < whole_depth; ++k) {  // steps that fill up a panel of bytes are zeros
    for (int64_t column = 0; column < (c.columns + c.panel - 1) / c.panel * c.panel; ++column) {
      right.data()[right_offset(call, k, column)] = std::byte{0};
    }
  }

  call.tile_row = c.columns + (c.gap > 0 ? c.gap : 0);
  const int64_t tile_size = c.rows * call.tile_row;
  const Guarded expected(tile_size, types.tile);
  const Guarded given(tile_size, types.tile);
  fill(expected.data(), tile_size, types.tile, random, c.special);
  if (tile_size > 0) {
    std::memcpy(given.data(), expected.data(), static_cast<size_t>(tile_size) * byte_size(types.tile));
  }
  call.tile = expected.data();
  reference_product(types, call);
  call.tile = given.data();
  multiply(call);
  return visit_dtype(types.tile, [&]<class T>() -> std::string {
    if constexpr (is_half_type<T> || std::is_same_v<T, bool>) {
      TENON_CHECK(false, "no tile has this dtype");
    } else {
      return compare(c, reinterpret_cast<const T*>(expected.data()), reinterpret_cast<const T*>(given.data()),
                     call.tile_row, tolerance);
    }
  });
}

}  // namespace tenon
