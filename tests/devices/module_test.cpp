#include "devices/module.h"

#include <gtest/gtest.h>

#include "devices/cpu/cpu_device.h"
#include "support/error_text.h"

namespace tenon::module_test {
namespace {

std::shared_ptr<const std::vector<char>> code(const std::string& text) {
  return std::make_shared<const std::vector<char>>(text.begin(), text.end());
}

devices::Module some_module() {
  devices::Module module;
  module.format = devices::kObjectCode;
  module.target = "x86_64";
  module.description = "an x86";
  module.objects = {{.symbol = "kernel_1", .bytes = code("one")}, {.symbol = "kernel_2", .bytes = code("")}};
  module.object_of = {0, 1, 0};
  module.product_kinds = {3};
  return module;
}

TEST(Module, IsReadBackFromItsBytes) {
  const devices::Module module = some_module();
  const devices::Module read = devices::module_from_bytes(to_bytes(module));
  EXPECT_EQ(read, module);
  EXPECT_EQ(to_bytes(read), to_bytes(module));
  devices::Module other = some_module();
  other.objects[1].bytes = code("two");
  EXPECT_NE(read, other) << "code is compared by its bytes";
}

/// Cut anywhere, or with any byte changed, it is an Error or another module; memory does not grow by what it says.
TEST(Module, OfDamagedBytesIsAnError) {
  const std::vector<std::byte> bytes = to_bytes(some_module());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THROW(devices::module_from_bytes(std::span(bytes).first(size)), Error) << size;
  }
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (const int flip : {1, 0x80, 0xff}) {
      std::vector<std::byte> damaged = bytes;
      damaged[at] ^= static_cast<std::byte>(flip);
      try {
        EXPECT_NE(to_bytes(devices::module_from_bytes(damaged)), bytes) << at;
      } catch (const Error&) {  // most are
      }
    }
  }
}

TEST(Module, NamesCodeThatIsThere) {
  devices::Module module = some_module();
  module.object_of = {2};
  EXPECT_EQ(error_text([&] { devices::module_from_bytes(to_bytes(module)); }), "a kernel has code 2, of 2");
}

TEST(CpuDevice, RefusesCodeOfOtherForms) {
  devices::Module module = some_module();
  module.format = "ptx";
  EXPECT_EQ(error_text([&] { devices::host_device()->load(module); }),
            "code of the form `ptx` does not run on this device");
}

}  // namespace
}  // namespace tenon::module_test
