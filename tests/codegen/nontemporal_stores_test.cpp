// Non-temporal stores: which loops have them, and that they compute the same.
#include "codegen/emit/nontemporal_stores.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "codegen/native_kernel.h"
#include "support/arrays.h"
#include "support/loop_kernels.h"

namespace tenon::codegen::nontemporal_stores_test {
namespace {

const EmitOptions kAlways = {.nontemporal_bytes = 0};

size_t nontemporal_loops(const LoopCase& each, const char* target = "x86-64-v4") {
  return plan_nontemporal_stores(each.kernel, target_of(machine_named(target))).size();
}

TEST(NontemporalStores, AreOfLoopsThatDoLittleElse) {
  EXPECT_EQ(nontemporal_loops(softmax_case()), 1u) << "the last of its three loops";
  EXPECT_EQ(nontemporal_loops(elementwise_case()), 1u);
  EXPECT_EQ(nontemporal_loops(column_sums_case()), 0u) << "a loop inside the vectorised one";
  EXPECT_EQ(nontemporal_loops(masked_store_case()), 0u) << "lines are not written whole";
  EXPECT_EQ(nontemporal_loops(strides_case()), 0u);
  EXPECT_EQ(nontemporal_loops(softmax_case(), "armv8.2"), 0u);

  LoopCase dear = elementwise_case();
  for (loops::Value& value : dear.kernel.values) {
    auto* const compute = std::get_if<loops::Compute>(&value.what);
    if (compute != nullptr && compute->prim == Prim::exp) compute->operand_dtype = value.dtype = Dtype::f64;
  }
  EXPECT_EQ(nontemporal_loops(dear), 0u) << "it computes for longer than it stores";
}

TEST(NontemporalStores, AreInTheCodeAndOrdered) {
  for (const char* name : {"x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
    const Target target = target_of(machine_named(name));
    const std::string code = emit_assembly(kernel_request(softmax_case().kernel, target), target);
    EXPECT_NE(code.find("movnt"), std::string::npos) << name;
    EXPECT_NE(code.find("sfence"), std::string::npos) << name;
    const std::string other = emit_assembly(kernel_request(column_sums_case().kernel, target), target);
    EXPECT_EQ(other.find("sfence"), std::string::npos) << name;
  }
}

/// `buffers` copied to where lines begin, or `bytes` behind that.
std::vector<Array> placed(const std::vector<Array>& buffers, size_t bytes) {
  std::vector<Array> copies;
  for (const Array& each : buffers) {
    auto* const memory = new (std::align_val_t{64}) std::byte[each.byte_count() + 64];
    std::copy_n(each.data(), each.byte_count(), memory + bytes);
    copies.push_back(
        Array::adopt(each.dtype(), each.dims(), std::shared_ptr<std::byte[]>(memory + bytes, [memory](std::byte*) {
                       ::operator delete[](memory, std::align_val_t{64});
                     })));
  }
  return copies;
}

TEST(NontemporalStores, GiveTheSameBitsWhereverRowsBegin) {
  for (const LoopCase& each : {softmax_case(), layer_norm_case(), elementwise_case(), mixed_dtypes_case()}) {
    const std::vector<const loops::Kernel*> kernels = {&each.kernel};
    const KernelFunction past = compile_kernels(kernels, native_jit(), kAlways)[0];
    const KernelFunction usual = compile_kernels(kernels, native_jit())[0];
    for (const Bindings& bindings : loop_bindings({0, 1, 15, 16, 17, 63, 64, 65, 128, 1000, 1024})) {
      std::vector<Array> expected = make_buffers(each.kernel, bindings, 1);
      each.prepare(bindings, expected);
      for (const size_t behind : {size_t{0}, size_t{16}}) {
        SCOPED_TRACE(each.name + " at " + bindings.to_string() + ", " + std::to_string(behind) + " behind a line");
        std::vector<Array> actual = placed(expected, behind);
        std::vector<Array> same_as = placed(expected, behind);
        EXPECT_EQ(launch(each.kernel, past, bindings, actual, 2).failed, 0);
        EXPECT_EQ(launch(each.kernel, usual, bindings, same_as, 2).failed, 0);
        for (size_t i = 0; i < actual.size(); ++i)
          EXPECT_TRUE(same(actual[i], same_as[i])) << "buffer " << i;
      }
    }
  }
}

TEST(NontemporalStores, MayFallOntoWhatTheLoopReads) {
  const LoopCase each = elementwise_case();
  const KernelFunction past = compile_kernels(std::vector{&each.kernel}, native_jit(), kAlways)[0];
  for (const Bindings& bindings : loop_bindings({64, 1000})) {
    std::vector<Array> expected = make_buffers(each.kernel, bindings, 1);
    std::vector<Array> buffers = placed(expected, 0);
    each.reference(bindings, expected);
    const auto output = std::ranges::find(each.kernel.buffers, loops::Role::output, &loops::Buffer::role);
    const auto input = std::ranges::find(each.kernel.buffers, loops::Role::input, &loops::Buffer::role);
    const auto to = static_cast<size_t>(output - each.kernel.buffers.begin());
    const auto from = static_cast<size_t>(input - each.kernel.buffers.begin());
    ASSERT_EQ(buffers[to].byte_count(), buffers[from].byte_count());
    // Two arrays of one memory: nothing that copies before it writes.
    const Array memory = std::exchange(buffers[from], Array());
    auto* const elements = const_cast<std::byte*>(memory.data());
    for (const size_t i : {from, to}) {
      buffers[i] = Array::adopt(memory.dtype(), memory.dims(), std::shared_ptr<std::byte[]>(elements, [](auto*) {}));
    }
    launch(each.kernel, past, bindings, buffers);
    EXPECT_TRUE(close(buffers[to], expected[to], each.relative, each.absolute)) << bindings.to_string();
  }
}

}  // namespace
}  // namespace tenon::codegen::nontemporal_stores_test
