// Every pass by name.
#pragma once

#include <span>
#include <string_view>

#include "tenon/graph.h"

namespace tenon::passes {

struct Pass {
  std::string_view name;
  std::string_view doc;
  Graph (*run)(Graph) = nullptr;
};

std::span<const Pass> pass_table();

/// The pass of that name; an Error that lists the names there are.
const Pass& find_pass(std::string_view name);

}  // namespace tenon::passes
