#include "tenon/array.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/convert.h"
#include "base/element_text.h"
#include "support/arrays.h"

namespace tenon::array_test {
namespace {

TEST(Half, EveryBitPatternRoundTrips) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = Half::from_bits(static_cast<uint16_t>(bits));
    const auto wide = static_cast<float>(half);
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(Half(wide)))) << bits;
    } else {
      EXPECT_EQ(Half(wide).bits, bits);
    }
    const auto brain = BFloat16::from_bits(static_cast<uint16_t>(bits));
    if (!std::isnan(static_cast<float>(brain))) {
      EXPECT_EQ(BFloat16(static_cast<float>(brain)).bits, bits);
    }
  }
}

TEST(Half, RoundsToNearestEvenOnce) {
  EXPECT_EQ(static_cast<float>(Half(65504.0f)), 65504.0f);
  EXPECT_TRUE(std::isinf(static_cast<float>(Half(65520.0f))));
  EXPECT_EQ(static_cast<float>(Half(65519.0f)), 65504.0f);
  EXPECT_EQ(static_cast<float>(Half(0x1p-25f)), 0.0f);
  EXPECT_EQ(static_cast<float>(Half(0x1.8p-25f)), 0x1p-24f);
  // Just above a tie: rounding through float first would land on the tie and go down to even.
  const double above_tie = 1.0 + 0x1p-11 + 0x1p-40;
  EXPECT_EQ(static_cast<float>(convert<Half>(above_tie)), 1.0f + 0x1p-10f);
  EXPECT_EQ(static_cast<float>(convert<Half>(1.0 + 0x1p-11)), 1.0f);
  EXPECT_EQ(static_cast<float>(BFloat16(3.0e38f)), static_cast<float>(BFloat16(3.0e38f)));
  EXPECT_TRUE(std::isinf(static_cast<float>(BFloat16(std::numeric_limits<float>::max()))));
}

TEST(Convert, IsDefinedEverywhere) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(convert<int8_t>(300.0), 127);
  EXPECT_EQ(convert<int8_t>(-300.0), -128);
  EXPECT_EQ(convert<int8_t>(-128.9f), -128);
  EXPECT_EQ(convert<uint8_t>(-1.5), 0);
  EXPECT_EQ(convert<uint8_t>(255.9), 255);
  EXPECT_EQ(convert<int64_t>(infinity), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(convert<int64_t>(-infinity), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(convert<uint64_t>(1.9e19), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(convert<int32_t>(std::nan("")), 0);
  EXPECT_EQ(convert<int8_t>(int32_t{300}), 44);
  EXPECT_TRUE(convert<bool>(std::nan("")));
  EXPECT_TRUE(convert<bool>(0.25));
  EXPECT_FALSE(convert<bool>(-0.0));
}

TEST(ElementText, RoundTripsExtremesOfEveryDtype) {
  for (const Dtype dtype : all_dtypes()) {
    visit_dtype(dtype, [&]<class T>() {
      std::vector<T> values{
          T{}, convert<T>(1.0), convert<T>(-1.0), convert<T>(0.1), convert<T>(1e30), convert<T>(-1e30)};
      if constexpr (is_float_type<T>) {
        values.push_back(convert<T>(-0.0));
        values.push_back(convert<T>(std::numeric_limits<double>::infinity()));
        values.push_back(convert<T>(std::numeric_limits<double>::quiet_NaN()));
        values.push_back(convert<T>(1e-40));
      }
      for (const T& value : values) {
        T back{};
        const std::string text = element_to_text(dtype, reinterpret_cast<const std::byte*>(&value));
        EXPECT_TRUE(element_from_text(dtype, text, reinterpret_cast<std::byte*>(&back))) << name(dtype) << " " << text;
        EXPECT_EQ(std::memcmp(&value, &back, sizeof(T)), 0) << name(dtype) << " " << text;
      }
    });
  }
  float payload = std::bit_cast<float>(0x7fc00001u);
  const std::string text = element_to_text(f32, reinterpret_cast<const std::byte*>(&payload));
  EXPECT_EQ(text, "0x7fc00001");
  std::byte element{};
  EXPECT_FALSE(element_from_text(u8, "256", &element));
  EXPECT_FALSE(element_from_text(boolean, "1", &element));
  EXPECT_FALSE(element_from_text(i8, "1.5", &element));
}

TEST(Array, CopiesShareUntilWritten) {
  Array a = Array::from<float>({2}, {1, 2});
  const Array b = a;
  EXPECT_EQ(a.data(), b.data());
  a.mutable_values<float>()[0] = 7;
  EXPECT_EQ(b.at(0), 1);
  EXPECT_EQ(a.at(0), 7);
  EXPECT_EQ(a.to_string(), "f32[2] {7, 2}");
}

TEST(Array, RefusesWhatCannotBe) {
  EXPECT_NE(error_text([] { Array(f32, {2, -3}); }).find("negative size: f32[2, -3]"), std::string::npos);
  EXPECT_NE(error_text([] { Array(f64, {1LL << 40, 1LL << 40}); }).find("memory"), std::string::npos);
  EXPECT_EQ(error_text([] { Array::from<float>({3}, {1, 2}); }), "2 values were given for an array of [3]");
  EXPECT_EQ(error_text([] { Array(f32, {1}).values<double>(); }), "an array of f32 was read as f64");
  EXPECT_EQ(Array(f32, {0, 1LL << 62, 1LL << 62}).size(), 0);
}

TEST(Array, MemoryBeginsAtACacheLine) {
  for (const int64_t size : {0, 1, 3, 1000}) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(Array(Dtype::u8, {size}).data()) % 64, 0u);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(Array::uninitialized(Dtype::f32, {size}).data()) % 64, 0u);
  }
}

TEST(Array, AWindowSharesMemoryUntilOneSideWrites) {
  const Array whole = Array::from<int32_t>({2, 3}, {0, 1, 2, 3, 4, 5});
  Array part = whole.window(2, {3});
  EXPECT_EQ(part.data(), whole.data() + 2 * sizeof(int32_t));
  EXPECT_EQ(part.to_string(), "i32[3] {2, 3, 4}");
  part.mutable_values<int32_t>()[0] = 9;
  EXPECT_EQ(part.to_string(), "i32[3] {9, 3, 4}");
  EXPECT_EQ(whole.at(2), 2);
  EXPECT_EQ(whole.window(6, {0}).size(), 0);
  EXPECT_EQ(error_text([&] { (void)whole.window(4, {3}); }), "3 elements from element 4 on, of an array of 6");
  EXPECT_EQ(error_text([&] { (void)whole.window(-1, {3}); }), "3 elements from element -1 on, of an array of 6");
}

TEST(Array, AdoptedMemoryLivesAsLongAsItsLastArray) {
  bool freed = false;
  {
    std::shared_ptr<std::byte[]> memory(new std::byte[8], [&](const std::byte* p) {
      freed = true;
      delete[] p;
    });
    std::memset(memory.get(), 0, 8);
    Array array = Array::adopt(Dtype::i32, {2}, std::move(memory));
    array.mutable_values<int32_t>()[1] = 7;
    const Array last = array.window(1, {});
    array = Array();
    EXPECT_FALSE(freed);
    EXPECT_EQ(last.at(0), 7);
  }
  EXPECT_TRUE(freed);
}

}  // namespace
}  // namespace tenon::array_test
