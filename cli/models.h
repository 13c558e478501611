// What `tenon models` shows.
#pragma once

namespace tenon {

/// Print the built-in models: inputs and outputs, parameters, multiply-accumulates at a usual binding.
void list_models();

}  // namespace tenon
