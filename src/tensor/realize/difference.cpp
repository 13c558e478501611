#include "tensor/realize/difference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ir/walk.h"
#include "tensor/realize/extents.h"
#include "text/field_print.h"

namespace tenon::tensors {
namespace {

/// "add", "softmax": an operation as users know it.
std::string operation_name(const Entry& entry) {
  const Node& node = entry.value.node();
  if (const auto* map = node.as<Map>()) {
    return std::string(map->fn->name);
  }
  const auto* call = node.as<Call>();
  return call != nullptr ? call->body.name() : std::string(op_name(node.op));
}

std::string with_place(std::string text, const Entry& entry) {
  const std::string& place = entry.value.node().place;
  return place.empty() ? text : fmt::format("{} recorded at {}", text, place);
}

/// The fields of an operation: "start=[3], size=[1], step=[1]".
std::string fields_of(const Entry& entry) {
  const Node& node = entry.value.node();
  if (!called_graphs(node).empty()) {
    return entry.value.shape().to_string();  // a body is too long to be shown: what it gives
  }
  std::string text;
  text::FieldPrinter printer{text, {}, {}};
  text::print_fields(printer, node.op, true);
  return text;
}

/// The first operation that has entry `i` as an operand; "" where none has.
std::string reader_of(const Pending& pending, size_t i) {
  for (const Entry& entry : pending.entries()) {
    const auto reads = [&](const Edge& edge) { return edge.entry == static_cast<int>(i); };
    if (!entry.leaf && std::ranges::any_of(entry.operands, reads)) {
      return with_place(", read by " + operation_name(entry), entry);
    }
  }
  return {};
}

std::string kind_of(const Entry& entry) { return entry.leaf ? "an input" : with_place(operation_name(entry), entry); }

/// What differs in an entry at the same place beside sizes; empty where nothing does.
std::string difference_at(const Pending& now, const Pending& before, size_t i) {
  const Entry& x = now.entries()[i];
  const Entry& y = before.entries()[i];
  if (x.leaf && !y.leaf && x.value.node().as<Constant>() != nullptr && y.value.node().as<Constant>() != nullptr) {
    return fmt::format("number: constant{} has {}, was {}; it is an input from now on", reader_of(now, i), fields_of(x),
                       fields_of(y));
  }
  if (x.leaf != y.leaf || (!x.leaf && operation_name(x) != operation_name(y))) {
    return fmt::format("structure: operation {} is {}, was {}", i, kind_of(x), kind_of(y));
  }
  if (x.operands != y.operands) {
    return fmt::format("structure: {} has other operands", kind_of(x));
  }
  if (x.leaf || same_but_for_sizes(x.value.node().op, y.value.node().op)) {
    return {};
  }
  const bool is_number = x.value.node().as<Constant>() != nullptr;
  return fmt::format("number: {}{} has {}, was {}", kind_of(x), is_number ? reader_of(now, i) : "", fields_of(x),
                     fields_of(y));
}

/// The sizes that differ in an entry that is the same but for them; empty where none does.
std::string size_difference_at(const Pending& now, const Pending& before, size_t i) {
  const Entry& x = now.entries()[i];
  const Entry& y = before.entries()[i];
  if (x.leaf) {
    const Shape& shape = x.value.shape();
    return shape == y.value.shape() ? ""
                                    : fmt::format("size: an input is {}, was {}{}", shape.to_string(),
                                                  y.value.shape().to_string(), reader_of(now, i));
  }
  return same_structure(x.value.node().op, y.value.node().op)
             ? ""
             : fmt::format("size: {} has {}, was {}", kind_of(x), fields_of(x), fields_of(y));
}

/// Whether the node, or one of its bodies, was made at this place.
bool is_from(const Node& node, const std::string& place) {
  const auto is_here = [&](const Node* inside) { return is_from(*inside, place); };
  return node.place == place || std::ranges::any_of(called_graphs(node), [&](const Graph& body) {
           return std::ranges::any_of(body.nodes(), is_here);
         });
}

}  // namespace

std::string recorded_at(const Pending& now, const Pending& plain, const std::string& place) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < now.entries().size() && !place.empty(); ++i) {
    const std::string& line = now.entries()[i].value.node().place;
    if (!line.empty() && is_from(plain.entries()[i].value.node(), place) &&
        std::ranges::find(lines, line) == lines.end()) {
      lines.push_back(line);
    }
  }
  return fmt::format("{}", fmt::join(lines, " or "));
}

std::string difference(const Pending& now, const Pending& before) {
  const size_t both = std::min(now.entries().size(), before.entries().size());
  for (size_t i = 0; i < both; ++i) {
    if (std::string found = difference_at(now, before, i); !found.empty()) {
      return found;
    }
  }
  if (now.entries().size() != before.entries().size()) {
    const Pending& longer = now.entries().size() > both ? now : before;
    return fmt::format("structure: {} operations and inputs, were {}; the first one more is {}", now.entries().size(),
                       before.entries().size(), kind_of(longer.entries()[both]));
  }
  for (size_t i = 0; i < both; ++i) {
    if (std::string found = size_difference_at(now, before, i); !found.empty()) {
      return found;
    }
  }
  return now.roots() == before.roots() ? "" : "structure: other results are asked for, or stored along";
}

}  // namespace tenon::tensors
