// The driver's functions as tests call them, and PTX written by hand.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "devices/gpu/cuda_driver.h"
#include "support/gpu/emulator.h"

namespace tenon {

/// A context of the emulated GPU, in which nothing has failed.
class EmulatedDriver : public testing::Test {
 protected:
  using Address = devices::CudaDriver::Address;
  using Handle = devices::CudaDriver::Handle;

  void SetUp() override {
    tenon_emulator_reset();
    Handle context = nullptr;
    ASSERT_EQ(driver().retain_context(&context, 0), 0);
    ASSERT_EQ(driver().set_context(context), 0);
  }
  void TearDown() override { tenon_emulator_reset(); }

  static const devices::CudaDriver& driver() { return devices::cuda_driver(); }
  /// The stream of this thread.
  static Handle stream() { return reinterpret_cast<Handle>(uintptr_t{2}); }  // NOLINT(performance-no-int-to-ptr)

  static std::string text_of(int result) {
    const char* text = nullptr;
    driver().error_text(result, &text);
    return text;
  }

  template <class T>
  static Address upload(const std::vector<T>& values) {
    Address memory = 0;
    EXPECT_EQ(driver().allocate(&memory, values.size() * sizeof(T)), 0);
    EXPECT_EQ(driver().copy_in(memory, values.data(), values.size() * sizeof(T), stream()), 0);
    return memory;
  }

  template <class T>
  static std::vector<T> download(Address memory, size_t count) {
    std::vector<T> values(count);
    EXPECT_EQ(driver().copy_out(values.data(), memory, count * sizeof(T), stream()), 0);
    EXPECT_EQ(driver().wait(stream()), 0);
    return values;
  }

  /// A kernel `k(a, b)` with some registers of each type, `%t` the thread's number and `%a`, `%b` its pointers.
  static std::string kernel(const std::string& body, const std::string& shared = "") {
    return ".version 8.0\n.target sm_90a\n.address_size 64\n" + shared +
           "\n.visible .entry k(\n.param .u64 k_param_0,\n.param .u64 k_param_1\n)\n.maxntid 256, 1, 1\n{\n"
           ".reg .pred %p<9>;\n.reg .b16 %h<9>;\n.reg .b32 %r<20>;\n.reg .f32 %f<20>;\n.reg .b64 %rd<20>;\n"
           ".reg .b32 %t;\n.reg .b64 %a;\n.reg .b64 %b;\n"
           "ld.param.u64 %a, [k_param_0];\nld.param.u64 %b, [k_param_1];\nmov.u32 %t, %tid.x;\n" +
           body + "\nret;\n}\n";
  }

  static int load(const std::string& ptx, Handle& function) {
    Handle module = nullptr;
    const int result = driver().load_module(&module, ptx.c_str(), 0, nullptr, nullptr);
    return result != 0 ? result : driver().function(&function, module, "k");
  }

  /// What went wrong in a run of `kernel(body)`; "no error" where nothing did.
  static std::string run(const std::string& ptx, Address a, Address b, unsigned threads, unsigned blocks = 1,
                         unsigned shared = 0) {
    Handle function = nullptr;
    if (const int result = load(ptx, function); result != 0) return text_of(result);
    void* arguments[] = {&a, &b};
    const int asked = driver().launch(function, blocks, 1, 1, threads, 1, 1, shared, stream(), arguments, nullptr);
    return text_of(asked != 0 ? asked : driver().wait(stream()));
  }
};

}  // namespace tenon
