#include "cuda_interface.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::python {
namespace {

constexpr int kVersion = 3;
// A stream that is not known to be done. Work of Tenon is in the stream of its thread, which goes on behind what these
// two have been asked for; of others it knows nothing.
constexpr int64_t kLegacyStream = 1;
constexpr int64_t kStreamOfThread = 2;

constexpr std::array<std::pair<Dtype, std::string_view>, 12> kNames = {{{boolean, "|b1"},
                                                                        {i8, "|i1"},
                                                                        {i16, "<i2"},
                                                                        {i32, "<i4"},
                                                                        {i64, "<i8"},
                                                                        {u8, "|u1"},
                                                                        {u16, "<u2"},
                                                                        {u32, "<u4"},
                                                                        {u64, "<u8"},
                                                                        {f16, "<f2"},
                                                                        {f32, "<f4"},
                                                                        {f64, "<f8"}}};

[[noreturn]] void refuse(const std::string& why) {
  throw nb::type_error(fmt::format("__cuda_array_interface__: {}", why).c_str());
}

/// Elements side by side, in row-major order.
bool is_dense(const nb::dict& given, const std::vector<int64_t>& dims, int64_t element) {
  if (!given.contains("strides") || given["strides"].is_none()) return true;
  const auto strides = nb::cast<std::vector<int64_t>>(nb::list(given["strides"]));
  if (strides.size() != dims.size()) return false;
  int64_t expected = element;
  for (size_t i = dims.size(); i-- > 0;) {
    if (dims[i] != 1 && strides[i] != expected) return false;
    expected *= dims[i];
  }
  return true;
}

}  // namespace

nb::dict cuda_interface_of(nb::handle self) {
  const Array& array = nb::cast<const Array&>(self);
  const auto* const name = std::ranges::find(kNames, array.dtype(), [](const auto& each) { return each.first; });
  if (array.place().kind == DeviceKind::cpu || name == kNames.end()) {
    throw nb::attribute_error("__cuda_array_interface__");
  }
  nb::dict result;
  result["shape"] = nb::tuple(nb::cast(array.dims()));
  result["typestr"] = std::string(name->second);
  const auto address = array.size() == 0 ? 0 : reinterpret_cast<uintptr_t>(array.storage().address);
  result["data"] = nb::make_tuple(address, true);  // arrays are values
  result["strides"] = nb::none();
  result["stream"] = nb::none();  // runs wait for their results
  result["version"] = kVersion;
  return result;
}

std::optional<Array> from_cuda_interface(nb::handle object) {
  if (!nb::hasattr(object, "__cuda_array_interface__")) return {};
  const auto given = nb::cast<nb::dict>(object.attr("__cuda_array_interface__"));
  const auto typestr = nb::cast<std::string>(given["typestr"]);
  const auto* const name = std::ranges::find(kNames, typestr, [](const auto& each) { return each.second; });
  if (name == kNames.end()) refuse(fmt::format("elements of type {} cannot be read", typestr));
  const auto dims = nb::cast<std::vector<int64_t>>(nb::list(given["shape"]));
  if (std::ranges::any_of(dims, [](int64_t each) { return each < 0; })) refuse("a size is less than 0");
  const auto element = static_cast<int64_t>(byte_size(name->first));
  if (!is_dense(given, dims, element)) refuse("elements that do not lie side by side cannot be read");
  if (given.contains("mask") && !given["mask"].is_none()) refuse("an array with a mask cannot be read");
  if (given.contains("stream") && !given["stream"].is_none()) {
    const auto stream = nb::cast<int64_t>(given["stream"]);
    if (stream != kLegacyStream && stream != kStreamOfThread) {
      refuse("its elements are being written on a stream of its own: wait for that, and hand out no `stream`");
    }
  }
  int64_t bytes = element;
  for (const int64_t each : dims)
    bytes *= each;
  auto* const data = reinterpret_cast<std::byte*>(  // NOLINT(performance-no-int-to-ptr)
      nb::cast<uintptr_t>(given["data"][nb::int_(0)]));
  Storage storage{.place = {.kind = DeviceKind::gpu, .index = 0},
                  .address = data,
                  .bytes = bytes,
                  .owner = keep_python(data, nb::borrow(object))};
  return Array::adopt(name->first, dims, std::move(storage));
}

}  // namespace tenon::python
