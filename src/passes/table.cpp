#include "passes/table.h"

#include "base/fail.h"
#include "passes/canonicalize.h"
#include "passes/inline_calls.h"
#include "passes/merge_loops.h"

namespace tenon {
namespace {

constexpr Pass kPasses[] = {
    {"canonicalize", "names that are known to be equal become one", canonicalize},
    {"inline_calls", "composites become the operations they are made of", inline_calls},
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

}  // namespace tenon
