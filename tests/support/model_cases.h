// The built-in models at reduced width, with sizes and data to run them at.
#pragma once

#include <vector>

#include "tenon/array.h"
#include "tenon/models.h"

namespace tenon {

struct ModelCase {
  const char* name;
  Model (*build)();
  std::vector<Bindings> bindings;
  int64_t tokens = 0;  // integer inputs are below this
};

std::vector<ModelCase> model_cases();

/// Data at a binding, then the weights as f64, moved off their start so that zeros and ones are ordinary numbers.
std::vector<Array> exact_inputs(const Model& model, const Bindings& bindings, int64_t tokens);
/// The same as the model takes them.
std::vector<Array> inputs_of(const Model& model, const Bindings& bindings, int64_t tokens);

}  // namespace tenon
