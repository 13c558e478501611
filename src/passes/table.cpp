#include "passes/table.h"

#include "base/fail.h"
#include "passes/fold_batch_norm.h"
#include "passes/fold_constants.h"
#include "passes/fold_views.h"
#include "passes/inline_calls.h"
#include "passes/lower_updates.h"
#include "passes/merge_loops.h"
#include "passes/recognize/recognize_composites.h"
#include "passes/rewriting/canonicalize.h"
#include "passes/simplify.h"
#include "passes/sink_constants.h"
#include "passes/spread_inputs.h"

namespace tenon::passes {
namespace {

constexpr Pass kPasses[] = {
    {"canonicalize", "names that are known to be equal become one", canonicalize},
    {"fold_constants", "operations on constants are computed once", fold_constants},
    {"simplify", "operations that do nothing, or do it twice, go", simplify},
    {"fold_views", "views move toward what is loaded", fold_views},
    {"fold_batch_norm", "scales and shifts of a product move into its weights", fold_batch_norm},
    {"recognize_composites", "composites that were written out are found", recognize_composites},
    {"inline_calls", "composites become the operations they are made of", inline_composites},
    {"spread_inputs", "convolutions with gaps between the elements of their inputs become ones without", spread_inputs},
    {"lower_updates", "writes through views that are no loops become choices", lower_updates},
    {"sink_constants", "constants that bodies are given become theirs", sink_constants},
    {"merge_loops", "loops that carry the same values become one", merge_loops},
};

}  // namespace

std::span<const Pass> pass_table() { return kPasses; }

const Pass& find_pass(std::string_view name) {
  std::string names;
  for (const Pass& pass : kPasses) {
    if (pass.name == name) {
      return pass;
    }
    names += fmt::format("{}{}", names.empty() ? "" : ", ", pass.name);
  }
  fail("there is no pass called `{}`; there is: {}", name, names);
}

}  // namespace tenon::passes
