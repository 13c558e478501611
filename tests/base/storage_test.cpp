// Arrays in the memory of a GPU, which nobody here may touch: their address is none that can be read.
#include "tenon/storage.h"

#include "support/arrays.h"
#include "support/error_text.h"

namespace tenon::storage_test {
namespace {

constexpr MemoryPlace kSecondGpu{.kind = DeviceKind::gpu, .index = 1};

/// 24 bytes at address 64 of a GPU, and how often they were freed.
struct OnGpu {
  int freed = 0;
  Storage storage = {.place = kSecondGpu,
                     .address = reinterpret_cast<std::byte*>(uintptr_t{64}),
                     .bytes = 24,
                     .owner = std::shared_ptr<void>(this, [](void* self) { ++static_cast<OnGpu*>(self)->freed; })};

  Array take(std::vector<int64_t> dims) { return Array::adopt(f32, std::move(dims), std::move(storage)); }
};

TEST(Storage, SaysWhereItIs) {
  EXPECT_EQ(to_string(MemoryPlace()), "cpu");
  EXPECT_EQ(to_string(kSecondGpu), "gpu:1");
  EXPECT_EQ(Array(f32, {2}).place(), MemoryPlace());
  OnGpu memory;
  const Array array = memory.take({2, 3});
  EXPECT_EQ(array.place(), kSecondGpu);
  EXPECT_EQ(array.storage().address, reinterpret_cast<std::byte*>(uintptr_t{64}));
  EXPECT_EQ(array.byte_count(), 24);
  EXPECT_EQ(array.to_string(), "f32[2, 3] on gpu:1");
}

TEST(Storage, ElsewhereIsNeverReadOrWritten) {
  OnGpu memory;
  Array array = memory.take({2, 3});
  const std::string refused =
      "this array is in the memory of gpu:1; only what is in the CPU's memory can be read and written here";
  EXPECT_EQ(error_text([&] { (void)array.data(); }), refused);
  EXPECT_EQ(error_text([&] { (void)array.mutable_data(); }), refused);
  EXPECT_EQ(error_text([&] { (void)array.values<float>(); }), refused);
  EXPECT_EQ(error_text([&] { (void)array.mutable_values<float>(); }), refused);
  EXPECT_EQ(error_text([&] { (void)array.at(0); }), refused);
  EXPECT_EQ(error_text([&] { (void)array.cast(f64); }), refused);
  EXPECT_EQ(error_text([&] { (void)same_bits(array, array); }), refused);
  const Array shared = array;
  EXPECT_EQ(error_text([&] { (void)array.mutable_data(); }), refused);
  EXPECT_EQ(shared.storage(), array.storage());
}

TEST(Storage, IsSharedAndCutAnywhere) {
  OnGpu memory;
  {
    Array array = memory.take({2, 3});
    EXPECT_FALSE(array.is_shared());
    const Array part = array.window(2, {3});
    EXPECT_TRUE(array.is_shared());
    EXPECT_EQ(part.storage().address, array.storage().address + 8);
    EXPECT_EQ(part.storage().bytes, 16);
    EXPECT_EQ(part.reshaped({3, 1}).place(), kSecondGpu);
    EXPECT_EQ(part.cast(f32).storage(), part.storage());
    array = Array();
    EXPECT_EQ(memory.freed, 0);
  }
  EXPECT_EQ(memory.freed, 1);
}

TEST(Storage, HoldsTheArrayAndHasAnOwner) {
  OnGpu memory;
  EXPECT_EQ(error_text([&] { Array::adopt(f64, {4}, memory.storage); }),
            "an array of f64[4] takes 32 bytes, and its storage on gpu:1 has 24");
  memory.storage.owner = nullptr;
  EXPECT_EQ(error_text([&] { Array::adopt(f32, {4}, memory.storage); }),
            "an array of f32[4] was given a storage on gpu:1 without an owner, which keeps it while arrays share it");
}

TEST(Storage, OfAnotherDeviceMayBeLargerThanThisMemory) {
  OnGpu memory;
  memory.storage.bytes = int64_t{1} << 60;
  EXPECT_EQ(Array::adopt(u8, {int64_t{1} << 60}, memory.storage).size(), int64_t{1} << 60);
  EXPECT_NE(error_text([] { Array::require_memory(u8, {int64_t{1} << 60}); }).find("larger than this machine's memory"),
            std::string::npos);
  EXPECT_NE(
      error_text([] { Array::require_memory(f64, {int64_t{1} << 61}, kSecondGpu); }).find("larger than any memory"),
      std::string::npos);
}

TEST(Storage, OfTheCpuIsThatOfAnyArray) {
  const Array whole = Array::from<int32_t>({4}, {1, 2, 3, 4});
  Array same = Array::adopt(Dtype::i32, {2, 2}, whole.storage());
  EXPECT_EQ(same.data(), whole.data());
  EXPECT_TRUE(whole.is_shared());
  same.mutable_values<int32_t>()[0] = 9;
  EXPECT_EQ(whole.at(0), 1);
  EXPECT_EQ(same.to_string(), "i32[2, 2] {9, 2, 3, 4}");
}

}  // namespace
}  // namespace tenon::storage_test
