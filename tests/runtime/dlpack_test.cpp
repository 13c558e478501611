#include "tenon/dlpack.h"

#include <gtest/gtest.h>

#include <vector>

#include "support/arrays.h"
#include "support/programs.h"

namespace tenon::dlpack_test {
namespace {

/// A tensor of another library's, which counts how often it is released.
struct Foreign {
  std::vector<float> memory = {0, 1, 2, 3, 4, 5, 6, 7};
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
  dlpack::ManagedTensor managed;
  int released = 0;

  Foreign(std::vector<int64_t> dims, std::vector<int64_t> steps, size_t first = 0)
      : shape(std::move(dims)), strides(std::move(steps)) {
    managed.tensor = {.data = memory.data(),
                      .device = {},
                      .ndim = static_cast<int32_t>(shape.size()),
                      .dtype = {},
                      .shape = shape.data(),
                      .strides = strides.empty() ? nullptr : strides.data(),
                      .byte_offset = first * sizeof(float)};
    managed.context = this;
    managed.deleter = [](dlpack::ManagedTensor* self) { ++static_cast<Foreign*>(self->context)->released; };
  }
};

TEST(DlPack, ComesInWithoutACopy) {
  Foreign foreign({2, 4}, {});
  {
    const StridedArray array = from_dlpack(&foreign.managed);
    EXPECT_EQ(array.base.data(), reinterpret_cast<const std::byte*>(foreign.memory.data()));
    EXPECT_TRUE(array.is_contiguous());
    const Array kept = array.contiguous();
    EXPECT_EQ(kept.to_string(), "f32[2, 4] {0, 1, 2, 3, 4, 5, 6, 7}");
    EXPECT_EQ(kept.data(), array.base.data());
    EXPECT_EQ(foreign.released, 0);
  }
  EXPECT_EQ(foreign.released, 1);
}

TEST(DlPack, StridesOfAnySign) {
  Foreign foreign({2, 3}, {-4, 1}, 5);
  EXPECT_EQ(from_dlpack(&foreign.managed).contiguous().to_string(), "f32[2, 3] {5, 6, 7, 1, 2, 3}");
  EXPECT_EQ(foreign.released, 1);
  Foreign empty({0, 3}, {});
  EXPECT_EQ(from_dlpack(&empty.managed).contiguous().to_string(), "f32[0, 3] {}");
}

TEST(DlPack, MistakesLeaveTheTensorToTheCaller) {
  Foreign foreign({2, 2}, {});
  foreign.managed.tensor.device = {.type = 10, .id = 1};
  EXPECT_EQ(error_text([&] { from_dlpack(&foreign.managed); }),
            "a tensor on device 1 of type 10 is neither in the CPU's memory nor in that of a CUDA GPU");
  foreign.managed.tensor.device = {.type = 2, .id = -1};
  EXPECT_EQ(error_text([&] { from_dlpack(&foreign.managed); }),
            "a tensor on device -1 of type 2 is neither in the CPU's memory nor in that of a CUDA GPU");
  foreign.managed.tensor.device = {};
  foreign.managed.tensor.dtype = {.code = 5, .bits = 64, .lanes = 1};
  EXPECT_EQ(error_text([&] { from_dlpack(&foreign.managed); }),
            "a tensor of type code 5 with 64 bits and 1 lanes has no dtype here");
  foreign.managed.tensor.dtype = {};
  foreign.managed.tensor.byte_offset = 1;
  EXPECT_EQ(error_text([&] { from_dlpack(&foreign.managed); }), "a tensor of f32 at an address that 4 does not divide");
  EXPECT_EQ(foreign.released, 0);
}

TEST(DlPack, NothingWhereSomethingShouldBe) {
  EXPECT_EQ(error_text([&] { from_dlpack(nullptr); }), "there is no tensor: a null pointer was given");
  Foreign foreign({2, 2}, {});
  dlpack::TensorData& tensor = foreign.managed.tensor;
  const auto error = [&] { return error_text([&] { from_dlpack(&foreign.managed); }); };
  tensor.shape = nullptr;
  EXPECT_EQ(error(), "a tensor of 2 axes without sizes: its shape is a null pointer");
  tensor.shape = foreign.shape.data();
  tensor.data = nullptr;
  EXPECT_EQ(error(), "a tensor of f32[2, 2] without memory: its data is a null pointer");
  EXPECT_EQ(foreign.released, 0);
  foreign.shape[1] = 0;
  EXPECT_EQ(from_dlpack(&foreign.managed).contiguous().to_string(), "f32[2, 0] {}");
  EXPECT_EQ(foreign.released, 1);
  tensor.ndim = 0;
  tensor.shape = nullptr;
  tensor.data = foreign.memory.data();
  foreign.managed.deleter = nullptr;
  EXPECT_EQ(from_dlpack(&foreign.managed).contiguous().to_string(), "f32[] {0}");
}

TEST(DlPack, NumbersThatCannotBe) {
  Foreign foreign({2, 2}, {});
  dlpack::TensorData& tensor = foreign.managed.tensor;
  const auto error = [&] { return error_text([&] { from_dlpack(&foreign.managed); }); };
  tensor.ndim = -1;
  EXPECT_EQ(error(), "a tensor of -1 axes; there are 0 to 64");
  tensor.ndim = 1 << 30;
  EXPECT_EQ(error(), "a tensor of 1073741824 axes; there are 0 to 64");
  tensor.ndim = 2;
  foreign.shape = {2, -3};
  tensor.shape = foreign.shape.data();
  EXPECT_EQ(error(), "an array cannot have a negative size: f32[2, -3]");
  tensor.strides = foreign.shape.data();
  EXPECT_EQ(error(), "an array cannot have a negative size: f32[2, -3]");
  foreign.shape = {2, 2};
  foreign.strides = {INT64_MAX, 1};
  tensor.shape = foreign.shape.data();
  tensor.strides = foreign.strides.data();
  EXPECT_EQ(error(), "a tensor of f32[2, 2] whose strides [9223372036854775807, 1] lead out of the address space");
  foreign.strides = {-(INT64_C(1) << 60), 1};
  EXPECT_EQ(error(), "a tensor of f32[2, 2] whose strides [-1152921504606846976, 1] lead out of the address space");
  tensor.strides = nullptr;
  tensor.byte_offset = UINT64_MAX - 3;
  EXPECT_EQ(error(), "a tensor of f32[2, 2] whose byte offset of 18446744073709551612 leads out of the address space");
  tensor.byte_offset = 0;
  tensor.dtype.lanes = 4;
  EXPECT_EQ(error(), "a tensor of type code 2 with 32 bits and 4 lanes has no dtype here");
  EXPECT_EQ(foreign.released, 0);
}

TEST(DlPack, GoesOutAndComesBack) {
  for (int i = 0; i < kDtypeCount; ++i) {
    const Array array(static_cast<Dtype>(i), {2, 3});
    dlpack::ManagedTensor* const tensor = to_dlpack(array);
    EXPECT_EQ(tensor->tensor.data, array.data());
    EXPECT_EQ(tensor->tensor.shape[1], 3);
    EXPECT_EQ(tensor->tensor.strides[0], 3);
    const Array back = from_dlpack(tensor).contiguous();  // which releases the tensor in the end
    EXPECT_EQ(back.data(), array.data());
    EXPECT_TRUE(same(back, array));
  }
}

/// Nothing may read there: the address is none.
TEST(DlPack, KeepsTheDeviceBothWays) {
  Foreign foreign({2, 3}, {});
  foreign.managed.tensor.device = {.type = 2, .id = 3};
  foreign.managed.tensor.data = reinterpret_cast<void*>(uintptr_t{256});
  foreign.managed.tensor.byte_offset = 8;
  {
    const StridedArray in = from_dlpack(&foreign.managed);
    EXPECT_EQ(in.base.place(), (MemoryPlace{.kind = DeviceKind::gpu, .index = 3}));
    EXPECT_TRUE(in.is_contiguous());
    const Array array = in.contiguous();
    EXPECT_EQ(array.to_string(), "f32[2, 3] on gpu:3");
    dlpack::ManagedTensor* const out = to_dlpack(array.window(3, {3}));
    EXPECT_EQ(out->tensor.device.type, 2);
    EXPECT_EQ(out->tensor.device.id, 3);
    EXPECT_EQ(out->tensor.data, reinterpret_cast<void*>(uintptr_t{256 + 8 + 12}));
    const Array back = from_dlpack(out).contiguous();
    EXPECT_EQ(back.storage().address, array.storage().address + 12);
    EXPECT_EQ(foreign.released, 0);
  }
  EXPECT_EQ(foreign.released, 1);
}

TEST(DlPack, ElsewhereIsNotBroughtInOrder) {
  Foreign foreign({2, 3}, {1, 2});
  foreign.managed.tensor.device = {.type = 2, .id = 0};
  foreign.managed.tensor.data = reinterpret_cast<void*>(uintptr_t{256});
  EXPECT_EQ(error_text([&] { (void)from_dlpack(&foreign.managed).contiguous(); }),
            "this array is in the memory of gpu:0; only what is in the CPU's memory can be read and written here");
  EXPECT_EQ(foreign.released, 1);
  Foreign empty({0, 3}, {});
  empty.managed.tensor.device = {.type = 2, .id = 0};
  empty.managed.tensor.data = nullptr;
  EXPECT_EQ(from_dlpack(&empty.managed).contiguous().to_string(), "f32[0, 3] on gpu:0");
  EXPECT_EQ(empty.released, 1);
}

TEST(DlPack, WhatCudaPinsIsTheCpus) {
  Foreign foreign({2, 4}, {});
  foreign.managed.tensor.device = {.type = 3, .id = 0};
  EXPECT_EQ(from_dlpack(&foreign.managed).contiguous().to_string(), "f32[2, 4] {0, 1, 2, 3, 4, 5, 6, 7}");
}

/// A tensor that reaches further than memory is still the caller's after the error.
TEST(DlPack, StridesBeyondAllMemoryLeaveTheTensorToTheCaller) {
  Foreign foreign({2, 2}, {int64_t{1} << 56, 1});
  EXPECT_NE(error_text([&] { from_dlpack(&foreign.managed); }).find("larger than this machine's memory"),
            std::string::npos);
  EXPECT_EQ(foreign.released, 0);
}

TEST(DlPack, IsAnInputLikeAnyOther) {
  ProgramBuilder program("double");
  const int x = program.input("x", shape(f32, "n", 2));
  const int y = program.output("y", shape(f32, "n", 2));
  program.step(scale_kernel(2 * Extent::name("n"), 2, 0), {x, y});
  const Executable executable = program.executable();
  Foreign foreign({2, 2}, {1, 4});
  const StridedArray in = from_dlpack(&foreign.managed);
  const TensorView view = view_of(in);
  EXPECT_EQ(executable.run_borrowed({&view, 1})[0].to_string(), "f32[2, 2] {0, 8, 2, 10}");

  foreign.managed.tensor.device = {.type = 2, .id = 0};
  foreign.managed.tensor.strides = nullptr;
  const std::vector<Array> elsewhere = {from_dlpack(&foreign.managed).contiguous()};
  const std::string refused =
      "input `x` is in the memory of gpu:0; this program runs on the CPU and takes inputs from its memory";
  EXPECT_EQ(error_text([&] { executable.run(elsewhere); }), refused);
  EXPECT_EQ(error_text([&] { executable.run({elsewhere[0]}); }), refused);
  EXPECT_EQ(error_text([&] { executable.run_views(elsewhere); }), refused);

  dlpack::ManagedTensor* const out = to_dlpack(executable.run_views({in.contiguous()})[0]);
  EXPECT_EQ(static_cast<float*>(out->tensor.data)[3], 10);
  out->deleter(out);
}

}  // namespace
}  // namespace tenon::dlpack_test
