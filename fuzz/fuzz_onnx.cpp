// Any bytes as an ONNX model: a graph or an Error, and nothing else.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tenon/error.h"
#include "tenon/onnx.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    tenon::import_onnx_bytes(std::string_view(reinterpret_cast<const char*>(data), size));
  } catch (const tenon::Error&) {
  }
  return 0;
}
