#include "models.h"

#include <fmt/format.h>

#include <cstdio>

#include "tenon/tenon.h"

namespace tenon {

void list_models() {
  for (const ModelEntry& entry : model_table()) {
    const Model model = entry.build();
    fmt::print("{:<18}{}\n", entry.name, entry.doc);
    for (size_t i = 0; i < model.data_inputs; ++i) {
      fmt::print("  {:<16}{}\n", i == 0 ? "in" : "", model.graph.inputs()[i].shape().to_string());
    }
    for (size_t i = 0; i < model.graph.outputs().size(); ++i) {
      const Output& out = model.graph.outputs()[i];
      fmt::print("  {:<16}{} {}\n", i == 0 ? "out" : "", out.name, out.value.shape().to_string());
    }
    const int64_t macs = evaluate(count_macs(model.graph), Bindings::parse(entry.typical));
    fmt::print("  {:<16}{}\n", "parameters", model.parameter_count());
    fmt::print("  {:<16}{:.3f} G at {}\n\n", "MACs", static_cast<double>(macs) / 1e9, entry.typical);
  }
}

}  // namespace tenon
