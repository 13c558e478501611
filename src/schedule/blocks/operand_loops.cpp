#include "schedule/blocks/operand_loops.h"

#include <algorithm>
#include <set>
#include <utility>

#include "kernel/loop/loop_walk.h"
#include "schedule/blocks/phase_edit.h"
#include "schedule/draft/affine.h"

namespace tenon::schedule {
namespace {

using loops::Affine;
using loops::Block;
using loops::Kernel;
using loops::Loop;

/// Loops inside of each other with definitions and one store in them.
struct OperandNest {
  std::vector<int> axes;
  Block defines;
  const loops::Store* store = nullptr;
};

std::optional<OperandNest> operand_nest_of(const Loop& outermost) {
  OperandNest nest;
  for (const Loop* loop = &outermost; loop != nullptr;) {
    if (!loop->begins.empty() || loop->unless >= 0 || loop->digit) return std::nullopt;
    nest.axes.push_back(loop->axis);
    const Loop* inner = nullptr;
    for (const loops::Statement& statement : loop->body) {
      if (inner != nullptr || nest.store != nullptr) return std::nullopt;  // something stands behind
      if (std::get_if<loops::Define>(&statement.what) != nullptr) {
        nest.defines.push_back(statement);
      } else if (const auto* const store = std::get_if<loops::Store>(&statement.what)) {
        nest.store = store;
      } else if (const auto* const next = std::get_if<Loop>(&statement.what)) {
        inner = next;
      } else {
        return std::nullopt;
      }
    }
    loop = inner;
  }
  if (nest.store == nullptr || !nest.store->inside.empty()) return std::nullopt;
  return nest;
}

const loops::Axis& axis_of(const Kernel& kernel, int axis) { return kernel.axes[static_cast<size_t>(axis)]; }

/// Finds which axes of a nest count along a side of an operand, `apart` elements between its steps.
class Matching {
 public:
  Matching(const Kernel& kernel, const OperandNest& nest) : kernel_(kernel), nest_(nest), is_taken_(nest.axes.size()) {}

  bool add_side(const std::vector<int>& side, Extent apart, bool in_depth, OperandLoops& result) {
    Extent before = 1;  // steps of the axes further inside
    std::vector<OperandLoops::Part> parts;
    for (size_t i = side.size(); i-- > 0;) {
      const loops::Axis& wanted = axis_of(kernel_, side[i]);
      if (wanted.extent != Extent(1)) {
        const int found = take(wanted.extent, apart * before);
        if (found < 0) return false;
        parts.push_back({.axis = found, .in_depth = in_depth, .apart = before});
      }
      before = before * wanted.extent;
    }
    if (!parts.empty()) parts.back().is_first = true;
    if (parts.size() == 1) parts.back().is_only = true;
    result.parts.insert(result.parts.end(), parts.rbegin(), parts.rend());
    return true;
  }

  /// Whether all axes that are left run once.
  bool end(OperandLoops& result) const {
    for (size_t i = 0; i < nest_.axes.size(); ++i) {
      if (is_taken_[i]) continue;
      if (axis_of(kernel_, nest_.axes[i]).extent != Extent(1)) return false;
      result.none.push_back(nest_.axes[i]);
    }
    return true;
  }

 private:
  int take(const Extent& extent, const Extent& apart) {
    for (size_t i = 0; i < nest_.axes.size(); ++i) {
      const int axis = nest_.axes[i];
      if (is_taken_[i] || axis_of(kernel_, axis).extent != extent || scale_along(nest_.store->at, axis) != apart) {
        continue;
      }
      is_taken_[i] = true;
      return axis;
    }
    return -1;
  }

  const Kernel& kernel_;
  const OperandNest& nest_;
  std::vector<bool> is_taken_;
};

bool lies_inside(const Kernel& kernel, const OperandLoops& loops) {
  int last = -1;  // the axis of the depth that runs fastest
  for (const OperandLoops::Part& part : loops.parts) {
    if (part.in_depth) last = part.axis;
  }
  const auto follows = [&](const loops::Statement& each) {
    const auto& what = kernel.values[static_cast<size_t>(std::get<loops::Define>(each.what).value)].what;
    const auto* const load = std::get_if<loops::Load>(&what);
    return load != nullptr && scale_along(load->at, last) == Extent(1);
  };
  return last >= 0 && std::ranges::any_of(loops.defines, follows);
}

std::set<int> written_in(const loops::Statement& statement) {
  std::set<int> found;
  const auto look = [&](const loops::Statement& each) {
    if (const auto* const store = std::get_if<loops::Store>(&each.what)) found.insert(store->buffer);
    if (const auto* const product = std::get_if<loops::Product>(&each.what)) found.insert(product->tile.buffer);
  };
  look(statement);
  if (const auto* const loop = std::get_if<Loop>(&statement.what)) for_each_statement(loop->body, look);
  return found;
}

/// The only product that reads a buffer that one store alone writes and no load reads; null: it is otherwise.
bool is_for_one_product(const Kernel& kernel, int buffer) {
  int products = 0;
  int stores = 0;
  for (const loops::Phase& phase : kernel.phases) {
    for_each_statement(phase.body, [&](const loops::Statement& statement) {
      if (const auto* const product = std::get_if<loops::Product>(&statement.what)) {
        products += product->left.buffer == buffer ? 1 : 0;
        products += product->right.buffer == buffer ? 1 : 0;
        products += product->tile.buffer == buffer ? 2 : 0;
      } else if (const auto* const store = std::get_if<loops::Store>(&statement.what)) {
        stores += store->buffer == buffer ? 1 : 0;
      }
    });
  }
  const bool is_loaded = std::ranges::any_of(kernel.values, [&](const loops::Value& value) {
    const auto* const load = std::get_if<loops::Load>(&value.what);
    return load != nullptr && load->buffer == buffer;
  });
  return products == 1 && stores == 1 && !is_loaded &&
         kernel.buffers[static_cast<size_t>(buffer)].role == loops::Role::scratch;
}

/// Of one operand of the product at `at`.
std::optional<OperandLoops> take_one(const Kernel& kernel, Block& block, size_t& at, const loops::Matrix& matrix,
                                     const std::vector<int>& side, const Extent& apart, const std::vector<int>& depth,
                                     const Extent& depth_apart) {
  if (!is_for_one_product(kernel, matrix.buffer) || matrix.at != Affine{}) return std::nullopt;
  std::set<int> written;  // between the loops and the product
  for (size_t i = at; i-- > 0;) {
    const std::set<int> here = written_in(block[i]);
    if (!here.contains(matrix.buffer)) {
      written.insert(here.begin(), here.end());
      continue;
    }
    const auto* const loop = std::get_if<Loop>(&block[i].what);
    const std::optional<OperandNest> nest = loop == nullptr ? std::nullopt : operand_nest_of(*loop);
    if (!nest) return std::nullopt;
    const auto reads_what_changes = [&](const loops::Statement& each) {
      const auto& what = kernel.values[static_cast<size_t>(std::get<loops::Define>(each.what).value)].what;
      const auto* const load = std::get_if<loops::Load>(&what);
      return load != nullptr && written.contains(load->buffer);
    };
    if (std::ranges::any_of(nest->defines, reads_what_changes)) return std::nullopt;
    OperandLoops result;
    Matching matching(kernel, *nest);
    if (nest->store->at.base != Extent(0) || !matching.add_side(side, apart, false, result) ||
        !matching.add_side(depth, depth_apart, true, result) || !matching.end(result)) {
      return std::nullopt;
    }
    result.defines = nest->defines;
    result.value = nest->store->value;
    result.depth_lies_inside = lies_inside(kernel, result);
    block.erase(block.begin() + static_cast<std::ptrdiff_t>(i));
    --at;
    return result;
  }
  return std::nullopt;
}

}  // namespace

std::map<int, OperandLoops> take_operand_loops(const Kernel& kernel, Block& block) {
  std::map<int, OperandLoops> found;
  for (size_t i = 0; i < block.size(); ++i) {
    if (auto* const loop = std::get_if<Loop>(&block[i].what)) {
      found.merge(take_operand_loops(kernel, loop->body));
      continue;
    }
    const auto* const is_product = std::get_if<loops::Product>(&block[i].what);
    if (is_product == nullptr) continue;
    const loops::Product product = *is_product;
    if (auto left = take_one(kernel, block, i, product.left, product.rows, product.left.row, product.depth,
                             product.left.column)) {
      found[product.left.buffer] = std::move(*left);
    }
    if (product.panel != 0) continue;
    if (auto right = take_one(kernel, block, i, product.right, product.columns, product.right.column, product.depth,
                              product.right.row)) {
      found[product.right.buffer] = std::move(*right);
    }
  }
  return found;
}

Kernel without_operand_scratch(Kernel kernel) {
  for (const loops::Phase& phase : kernel.phases) {
    Block body = phase.body;
    for (const auto& [buffer, loops] : take_operand_loops(kernel, body))
      kernel.buffers[static_cast<size_t>(buffer)].elements = 0;
  }
  return kernel;
}

OperandElement element_of(Kernel& kernel, const OperandLoops& loops, const Affine& along, const Affine& depth,
                          const std::vector<loops::Bound>& inside) {
  OperandElement element;
  std::map<int, Affine> places;  // by axis
  for (const int axis : loops.none)
    places[axis] = {};
  for (const OperandLoops::Part& part : loops.parts) {
    const Affine& of = part.in_depth ? depth : along;
    if (part.is_only) {
      places[part.axis] = of;
      continue;
    }
    const loops::Axis& given = axis_of(kernel, part.axis);
    const int digit = add_axis(kernel, {.extent = given.extent, .name = given.name + "_at"});
    places[part.axis] = affine_axis(digit);
    element.around.push_back({.axis = digit,
                              .begins = {},
                              .body = {},
                              .unless = -1,
                              .digit = loops::Digit{.of = of, .apart = part.apart, .is_first = part.is_first}});
  }
  const auto placed = [&](Affine at) {
    for (const auto& [axis, place] : places)
      at = substitute(at, axis, place);
    return at;
  };
  std::map<int, int> copies;  // of values
  const auto copy_of = [&](int& value) {
    const auto copy = copies.find(value);
    if (copy != copies.end()) value = copy->second;
  };
  for (const loops::Statement& each : loops.defines) {
    const int given = std::get<loops::Define>(each.what).value;
    loops::Value value = kernel.values[static_cast<size_t>(given)];
    if (auto* const load = std::get_if<loops::Load>(&value.what)) {
      load->at = placed(load->at);
      for (loops::Bound& bound : load->inside)
        bound.index = placed(bound.index);
      load->inside.insert(load->inside.end(), inside.begin(), inside.end());
      for (loops::Lookup& lookup : load->lookups)
        copy_of(lookup.value);
    } else if (auto* const position = std::get_if<loops::Position>(&value.what)) {
      position->at = placed(position->at);
    } else if (auto* const compute = std::get_if<loops::Compute>(&value.what)) {
      for (int& operand : compute->operands)
        copy_of(operand);
    }
    copies[given] = add_value(kernel, std::move(value));
    element.defines.push_back({loops::Define{copies[given]}});
  }
  element.value = loops.value;
  copy_of(element.value);
  return element;
}

}  // namespace tenon::schedule
