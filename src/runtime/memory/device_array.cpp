#include "runtime/memory/device_array.h"

#include <functional>
#include <numeric>
#include <utility>

#include "base/fail.h"

namespace tenon::runtime {

Array array_on(const devices::Device& device, Dtype dtype, std::vector<int64_t> dims,
               std::shared_ptr<std::byte[]> memory) {
  TENON_CHECK(device.is_host() || device.place().kind != DeviceKind::cpu, "a device without a place of its own");
  const int64_t elements = std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
  std::byte* const address = memory.get();
  return Array::adopt(dtype, std::move(dims),
                      Storage{.place = device.place(),
                              .address = address,
                              .bytes = elements * static_cast<int64_t>(byte_size(dtype)),
                              .owner = std::shared_ptr<void>(std::move(memory), address)});
}

Array copied_out(devices::Device& device, const Array& array) {
  Array copy = Array::uninitialized(array.dtype(), array.dims());
  device.copy_out(copy.mutable_data(), array.storage().address, static_cast<int64_t>(copy.byte_count()));
  return copy;
}

}  // namespace tenon::runtime
