#include "capi/dtype.h"
#include "capi/handles.h"

namespace {

/// A number of a model's: those of inputs, or of outputs.
template <class List>
bool has(const tenon_model* model, const List& list, size_t i) {
  return model != nullptr && i < list(*model).size();
}

constexpr auto kInputs = [](const tenon_model& model) -> const auto& { return model.executable.inputs(); };
constexpr auto kOutputs = [](const tenon_model& model) -> const auto& { return model.executable.outputs(); };
constexpr auto kInputTexts = [](const tenon_model& model) -> const auto& { return model.input_shapes; };
constexpr auto kOutputTexts = [](const tenon_model& model) -> const auto& { return model.output_shapes; };
constexpr auto kAxes = [](const tenon_model& model) -> const auto& { return model.axes; };

template <class List>
size_t count(const tenon_model* model, const List& list) {
  return model == nullptr ? 0 : list(*model).size();
}

template <class Ports>
const char* name(const tenon_model* model, const Ports& ports, size_t i) {
  return has(model, ports, i) ? ports(*model)[i].name.c_str() : nullptr;
}

template <class Ports>
tenon_dtype dtype(const tenon_model* model, const Ports& ports, size_t i) {
  return has(model, ports, i) ? static_cast<tenon_dtype>(ports(*model)[i].shape.dtype()) : -1;
}

template <class Ports>
int32_t rank(const tenon_model* model, const Ports& ports, size_t i) {
  return has(model, ports, i) ? ports(*model)[i].shape.rank() : -1;
}

template <class Texts>
const char* text(const tenon_model* model, const Texts& texts, size_t i) {
  return has(model, texts, i) ? texts(*model)[i].c_str() : nullptr;
}

}  // namespace

const char* tenon_dtype_name(tenon_dtype number) {
  return tenon::capi::is_dtype(number) ? tenon::name(static_cast<tenon::Dtype>(number)).data() : nullptr;
}
size_t tenon_dtype_bytes(tenon_dtype number) {
  return tenon::capi::is_dtype(number) ? tenon::byte_size(static_cast<tenon::Dtype>(number)) : 0;
}

const char* tenon_name(const tenon_model* model) {
  return model == nullptr ? nullptr : model->executable.name().c_str();
}
size_t tenon_input_count(const tenon_model* model) { return count(model, kInputs); }
size_t tenon_output_count(const tenon_model* model) { return count(model, kOutputs); }
const char* tenon_input_name(const tenon_model* model, size_t input) { return name(model, kInputs, input); }
const char* tenon_output_name(const tenon_model* model, size_t output) { return name(model, kOutputs, output); }
tenon_dtype tenon_input_dtype(const tenon_model* model, size_t input) { return dtype(model, kInputs, input); }
tenon_dtype tenon_output_dtype(const tenon_model* model, size_t output) { return dtype(model, kOutputs, output); }
int32_t tenon_input_rank(const tenon_model* model, size_t input) { return rank(model, kInputs, input); }
int32_t tenon_output_rank(const tenon_model* model, size_t output) { return rank(model, kOutputs, output); }
const char* tenon_input_shape(const tenon_model* model, size_t input) { return text(model, kInputTexts, input); }
const char* tenon_output_shape(const tenon_model* model, size_t output) { return text(model, kOutputTexts, output); }
size_t tenon_axis_count(const tenon_model* model) { return count(model, kAxes); }
const char* tenon_axis_name(const tenon_model* model, size_t axis) { return text(model, kAxes, axis); }
