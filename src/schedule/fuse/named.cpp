#include "schedule/fuse/named.h"

#include <fmt/format.h>

namespace tenon::schedule {

std::string named(const Node& node) {
  return node.place.empty() ? std::string(op_name(node.op)) : fmt::format("{} ({})", node.place, op_name(node.op));
}

}  // namespace tenon::schedule
