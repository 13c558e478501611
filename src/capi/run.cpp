#include <algorithm>
#include <utility>

#include "base/fail.h"
#include "capi/handles.h"
#include "capi/status.h"
#include "tenon/size_counts.h"

namespace {

using tenon::Bindings;
using tenon::fail;
using tenon::capi::guard;
using tenon::capi::require;

void write_dims(const tenon::Shape& shape, int64_t* dims) {
  if (shape.rank() > 0) {
    require(dims, "dims");
    std::ranges::copy(shape.dims(), dims);
  }
}

/// A function of a model that is there.
template <class Body>
tenon_status with(const tenon_model* model, const Body& body) {
  return guard(TENON_INVALID_ARGUMENT, [&] {
    require(model, "model");
    body(model->executable);
  });
}

}  // namespace

tenon_status tenon_input_dims(const tenon_model* model, size_t input, const tenon_options* options, int64_t* dims) {
  return with(model, [&](const tenon::Executable& executable) {
    const tenon::Port& port = tenon::capi::port_at(executable.inputs(), input, "input");
    write_dims(tenon::resolve(port.shape, tenon::capi::bindings_of(options)), dims);
  });
}

tenon_status tenon_output_dims(const tenon_model* model, size_t output, const tenon_options* options, int64_t* dims) {
  return with(model, [&](const tenon::Executable& executable) {
    tenon::capi::port_at(executable.outputs(), output, "output");
    write_dims(executable.output_shapes(tenon::capi::bindings_of(options))[output], dims);
  });
}

tenon_status tenon_output_dims_for(const tenon_model* model, size_t output, const tenon_tensor* inputs,
                                   size_t input_count, const tenon_options* options, int64_t* dims) {
  return with(model, [&](const tenon::Executable& executable) {
    tenon::capi::port_at(executable.outputs(), output, "output");
    Bindings sizes = tenon::extract(tenon::capi::sizes_of(inputs, input_count, executable.inputs()));
    for (const auto& [name, size] : tenon::capi::bindings_of(options)) {
      sizes.set(name, size);
    }
    write_dims(executable.output_shapes(sizes)[output], dims);
  });
}

tenon_status tenon_prepare(const tenon_model* model, const tenon_options* options) {
  return with(model,
              [&](const tenon::Executable& executable) { executable.specialize(tenon::capi::bindings_of(options)); });
}

tenon_status tenon_run(const tenon_model* model, const tenon_tensor* inputs, size_t input_count,
                       const tenon_tensor* outputs, size_t output_count, const tenon_options* options) {
  return with(model, [&](const tenon::Executable& executable) {
    const auto from = tenon::capi::views_of(inputs, input_count, executable.inputs(), "input");
    const auto to = tenon::capi::views_of(outputs, output_count, executable.outputs(), "output");
    executable.run_into(from, to, tenon::capi::run_options_of(options));
  });
}

tenon_status tenon_run_result(const tenon_model* model, const tenon_tensor* inputs, size_t input_count,
                              const tenon_options* options, tenon_result** result) {
  return with(model, [&](const tenon::Executable& executable) {
    require(static_cast<const void*>(result), "result");
    *result = nullptr;
    const auto from = tenon::capi::views_of(inputs, input_count, executable.inputs(), "input");
    *result = new tenon_result{executable.run_borrowed(from, tenon::capi::run_options_of(options))};
  });
}

tenon_status tenon_result_tensor(const tenon_result* result, size_t output, tenon_tensor* tensor) {
  return guard(TENON_INVALID_ARGUMENT, [&] {
    require(result, "result");
    require(tensor, "tensor");
    if (output >= result->outputs.size()) {
      fail("there is no output {}: the model has {} of them, counted from 0", output, result->outputs.size());
    }
    const tenon::Array& array = result->outputs[output];
    // Only read, as the header says: C has one struct for both.
    auto* const data = const_cast<std::byte*>(array.data());  // NOLINT(cppcoreguidelines-pro-type-const-cast)
    *tensor = {.data = data,
               .bytes = array.byte_count(),
               .dims = array.dims().data(),
               .rank = array.rank(),
               .dtype = static_cast<tenon_dtype>(array.dtype())};
  });
}

void tenon_result_free(tenon_result* result) { delete result; }

tenon_status tenon_count(const tenon_model* model, tenon_counter counter, int64_t* value) {
  return with(model, [&](const tenon::Executable& executable) {
    require(value, "value");
    const tenon::RunCounters now = executable.counters();
    const auto nanoseconds = [](double ms) { return static_cast<int64_t>(ms * 1e6); };
    switch (counter) {
      case TENON_RUNS: *value = now.runs; break;
      case TENON_SPECIALIZATIONS: *value = now.specializations; break;
      case TENON_HITS: *value = now.hits; break;
      case TENON_EVICTIONS: *value = now.evictions; break;
      case TENON_CACHED_BYTES: *value = now.cached_bytes; break;
      case TENON_MEMORY_BYTES: *value = now.memory_bytes; break;
      case TENON_PEAK_MEMORY_BYTES: *value = now.peak_memory_bytes; break;
      case TENON_LOAD_NANOSECONDS: *value = nanoseconds(now.compile_ms); break;
      case TENON_SPECIALIZE_NANOSECONDS: *value = nanoseconds(now.specialize_ms); break;
      case TENON_RUN_NANOSECONDS: *value = nanoseconds(now.run_ms); break;
      default: fail("there is no counter {}", counter);
    }
  });
}

tenon_status tenon_metrics(const tenon_model* const* models, size_t count, char* text, size_t size, size_t* needed) {
  return guard(TENON_INVALID_ARGUMENT, [&] {
    require(needed, "needed");
    std::vector<tenon::Executable> executables;
    for (size_t i = 0; i < count; ++i) {
      require(static_cast<const void*>(models), "models");
      require(models[i], "model");
      executables.push_back(models[i]->executable);
    }
    const std::string all = tenon::metrics_text(executables);
    *needed = all.size() + 1;
    if (text != nullptr && size >= *needed) {
      std::ranges::copy_n(all.c_str(), static_cast<std::ptrdiff_t>(*needed), text);
    }
  });
}
