#include "tenon/load.h"

#include "base/fail.h"
#include "capi/handles.h"
#include "tenon/program_file.h"

namespace {

/// A model whose shapes depend on no values: one program has all of its sizes.
tenon::Executable compile_file(const char* path) {
  const tenon::LoadedModel model = tenon::load(path);
  if (const std::vector<std::string> values = model.value_inputs(); !values.empty()) {
    tenon::fail(
        "its shapes depend on the value of input `{}`: make a program for one value with `tenon build {} --input "
        "{}=VALUE`",
        values[0], path, values[0]);
  }
  return model.executable();
}

/// What is wrong with the model is said of its file.
std::unique_ptr<tenon_model> compile_and_name(const char* path) {
  try {
    return std::make_unique<tenon_model>(compile_file(path));
  } catch (const tenon::Error& error) {
    if (std::string_view(error.what()).find(path) != std::string_view::npos) throw;
    tenon::fail("`{}`: {}", path, error.what());
  }
}

}  // namespace

tenon_status tenon_load(const char* path, uint32_t flags, tenon_model** model) {
  return tenon::capi::load_into(path, "path", flags, model, [&] {
    return tenon::is_program_file(path) ? tenon::capi::load_file(path, flags) : compile_and_name(path);
  });
}
