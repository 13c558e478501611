// tenon_load() of libtenon_run.
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/fail.h"
#include "capi/handles.h"
#include "tenon/program_file.h"

tenon_status tenon_load(const char* path, uint32_t flags, tenon_model** model) {
  return tenon::capi::load_into(path, "path", flags, model, [&] {
    std::error_code error;
    if (std::string_view(path).ends_with(".onnx") && std::filesystem::exists(path, error) &&
        !tenon::is_program_file(path)) {
      tenon::fail(
          "`{}` is an ONNX model, and this library runs programs alone: make one with `tenon build {}`, or load the "
          "model with libtenon, which has the compiler",
          path, path);
    }
    return tenon::capi::load_file(path, flags);
  });
}
