// What stands behind the handles of tenon/c.h.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tenon/array.h"
#include "tenon/bindings.h"
#include "tenon/c.h"
#include "tenon/cancel.h"
#include "tenon/executable.h"
#include "tenon/tensor_view.h"

/// Texts that callers hold are made once.
struct tenon_model {
  explicit tenon_model(tenon::Executable program);

  const tenon::Executable executable;
  const std::vector<std::string> input_shapes;
  const std::vector<std::string> output_shapes;
  const std::vector<std::string> axes;
};

struct tenon_options {
  int threads = 0;
  bool flush_denormals = false;
  std::map<std::string, int64_t> sizes = {};
  tenon::CancelToken cancel = {};
};

struct tenon_result {
  std::vector<tenon::Array> outputs;
};

namespace tenon::capi {

/// Of null: of none.
Bindings bindings_of(const tenon_options* options);
RunOptions run_options_of(const tenon_options* options);

/// Error: no such input, output or option, by its number.
const Port& port_at(const std::vector<Port>& ports, size_t i, const char* what);

/// Tensors of a call as the runtime takes them. Error: a null pointer, a negative rank or size, a dtype that there is
/// not, fewer bytes than the elements take.
std::vector<TensorView> views_of(const tenon_tensor* tensors, size_t count, const std::vector<Port>& ports,
                                 const char* what);

/// The same of tensors whose sizes alone count.
std::vector<ConcreteInput> sizes_of(const tenon_tensor* tensors, size_t count, const std::vector<Port>& ports);

/// What every function does that loads from `source`, an argument called `what`: errors of the call first, then those
/// of what is loaded.
tenon_status load_into(const void* source, const char* what, uint32_t flags, tenon_model** model,
                       const std::function<std::unique_ptr<tenon_model>()>& load) noexcept;

/// A program file. Error: it is none.
std::unique_ptr<tenon_model> load_file(const std::string& path, uint32_t flags);

}  // namespace tenon::capi
