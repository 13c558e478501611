#include "runtime/memory/copy_view.h"

#include <vector>

#include "runtime/memory/copy_elements.h"

namespace tenon::runtime {

void copy_view(devices::Device& device, const Operand& view, const InBuffer& place, std::byte* to) {
  Operand from = view;
  if (device.is_host()) {
    from.data += place.offset;
    copy_elements(from, {.dtype = view.dtype, .dims = view.dims, .data = to});
    return;
  }
  const auto element_bytes = static_cast<int64_t>(byte_size(view.dtype));
  if (device.copy_view({.to = to,
                        .from = view.data + place.offset,
                        .element_bytes = element_bytes,
                        .dims = view.dims,
                        .strides = view.strides})) {
    return;
  }
  std::vector<std::byte> buffer(static_cast<size_t>(place.of_bytes));
  device.copy_out(buffer.data(), view.data, place.of_bytes);
  std::vector<std::byte> rows(static_cast<size_t>(view.size()) * byte_size(view.dtype));
  from.data = buffer.data() + place.offset;
  copy_elements(from, {.dtype = view.dtype, .dims = view.dims, .data = rows.data()});
  device.copy_in(to, rows.data(), static_cast<int64_t>(rows.size()));
}

}  // namespace tenon::runtime
