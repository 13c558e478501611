#include "onnx/import/known.h"

#include <algorithm>

#include "ir/walk.h"
#include "onnx/import/known_map.h"
#include "shape/not_representable.h"
#include "tenon/error.h"
#include "tenon/interpreter.h"

namespace tenon::importer {
namespace {

constexpr int64_t kMostElements = 4096;
constexpr int64_t kMostComputed = int64_t{1} << 22;  // elements, all nodes together
constexpr int64_t kMostMultiplied = 4096;            // elements of an operand whose work is not linear in it

/// The sizes of a shape of few elements.
std::optional<std::vector<int64_t>> small_dims(const Shape& shape) {
  std::vector<int64_t> dims;
  int64_t count = 1;
  for (const Axis& axis : shape.axes()) {
    const std::optional<int64_t> size = axis.is_anonymous() ? std::nullopt : axis.extent().constant();
    if (!size || *size > kMostElements || count * *size > kMostElements) {
      return {};
    }
    count *= *size;
    dims.push_back(*size);
  }
  return dims;
}

/// Calls `visit(position)` for each position, in row-major order.
template <class Visit>
void for_each_position(const std::vector<int64_t>& dims, Visit&& visit) {
  if (std::ranges::find(dims, 0) != dims.end()) {
    return;
  }
  std::vector<int64_t> at(dims.size(), 0);
  while (true) {
    visit(at);
    size_t axis = dims.size();
    while (axis > 0 && ++at[axis - 1] == dims[axis - 1]) {
      at[--axis] = 0;
    }
    if (axis == 0) {
      return;
    }
  }
}

size_t offset_of(const std::vector<int64_t>& at, const std::vector<int64_t>& dims) {
  int64_t offset = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    offset = offset * dims[i] + at[i];
  }
  return static_cast<size_t>(offset);
}

std::optional<Elements> constant_elements(const Array& array) {
  Elements elements;
  for (int64_t i = 0; i < array.size(); ++i) {
    std::optional<Element> element = to_element(array, i);
    if (!element) {
      return {};
    }
    elements.push_back(*std::move(element));
  }
  return elements;
}

/// How the kinds that follow read their operands.
struct Operand {
  const Elements* elements = nullptr;
  std::vector<int64_t> dims;

  const Element& at(const std::vector<int64_t>& position) const { return (*elements)[offset_of(position, dims)]; }
};

struct Evaluation {
  const Node& node;
  std::vector<Operand> in;
  std::vector<int64_t> dims;  // of the result
  const Decide& decide;

  /// `pick(position)` for each element of the result; a null pointer ends it.
  template <class Pick>
  std::optional<Elements> each(Pick&& pick) const {
    Elements result;
    bool complete = true;
    for_each_position(dims, [&](const std::vector<int64_t>& at) {
      const Element* element = complete ? pick(at) : nullptr;
      complete = element != nullptr;
      if (complete) {
        result.push_back(*element);
      }
    });
    return complete ? std::optional(std::move(result)) : std::nullopt;
  }

  std::optional<Elements> operator()(const Constant& op) const { return constant_elements(op.value); }

  std::optional<Elements> operator()(const Iota& op) const {
    Elements result;
    for_each_position(dims, [&](const std::vector<int64_t>& at) {
      const int64_t index = at.empty() ? 0 : at[static_cast<size_t>(op.axis)];
      result.push_back({op.start + op.step * index});
    });
    return result;
  }

  std::optional<Elements> operator()(const Map& op) const {
    std::vector<Dtype> dtypes;
    for (const Value& operand : node.inputs) {
      dtypes.push_back(operand.dtype());
    }
    Elements result;
    for (size_t i = 0; i < in[0].elements->size(); ++i) {
      Elements operands;
      for (const Operand& operand : in) {
        operands.push_back((*operand.elements)[i]);
      }
      std::optional<Element> element = map_elements(op, dtypes, operands, decide);
      if (!element) {
        return {};
      }
      result.push_back(*std::move(element));
    }
    return result;
  }

  std::optional<Elements> operator()(const Reduce& op) const {
    std::vector<std::optional<Element>> result(static_cast<size_t>(node.shapes[0].size()));
    bool complete = true;
    for_each_position(in[0].dims, [&](const std::vector<int64_t>& at) {
      std::vector<int64_t> kept;
      for (size_t i = 0; i < at.size(); ++i) {
        if (std::ranges::find(op.axes, static_cast<int>(i)) == op.axes.end()) {
          kept.push_back(at[i]);
        }
      }
      std::optional<Element>& element = result[offset_of(kept, dims)];
      element = element ? reduce_elements(op.op, *element, in[0].at(at)) : in[0].at(at);
      complete = complete && element;
    });
    Elements elements;
    for (std::optional<Element>& element : result) {
      if (!complete || !element) {
        return {};
      }
      elements.push_back(*std::move(element));
    }
    return elements;
  }

  std::optional<Elements> operator()(const Reshape&) const { return *in[0].elements; }

  std::optional<Elements> operator()(const Transpose& op) const {
    return each([&](const std::vector<int64_t>& at) {
      std::vector<int64_t> from(at.size());
      for (size_t i = 0; i < at.size(); ++i) {
        from[static_cast<size_t>(op.axes[i])] = at[i];
      }
      return &in[0].at(from);
    });
  }

  std::optional<Elements> operator()(const Broadcast& op) const {
    return each([&](const std::vector<int64_t>& at) {
      std::vector<int64_t> from;
      for (size_t i = 0; i < op.axes.size(); ++i) {
        from.push_back(in[0].dims[i] == 1 ? 0 : at[static_cast<size_t>(op.axes[i])]);
      }
      return &in[0].at(from);
    });
  }

  std::optional<Elements> operator()(const Slice& op) const {
    return each([&](const std::vector<int64_t>& at) -> const Element* {
      std::vector<int64_t> from;
      for (size_t i = 0; i < at.size(); ++i) {
        const std::optional<int64_t> start = op.start[i].constant();
        if (!start || *start + at[i] * op.step[i] >= in[0].dims[i]) {
          return nullptr;
        }
        from.push_back(*start + at[i] * op.step[i]);
      }
      return &in[0].at(from);
    });
  }

  std::optional<Elements> operator()(const Flip& op) const {
    return each([&](const std::vector<int64_t>& at) {
      std::vector<int64_t> from = at;
      for (const int axis : op.axes) {
        const auto i = static_cast<size_t>(axis);
        from[i] = dims[i] - 1 - from[i];
      }
      return &in[0].at(from);
    });
  }

  std::optional<Elements> operator()(const Concat& op) const {
    const auto axis = static_cast<size_t>(op.axis);
    return each([&](const std::vector<int64_t>& at) {
      std::vector<int64_t> from = at;
      size_t operand = 0;
      while (from[axis] >= in[operand].dims[axis]) {
        from[axis] -= in[operand++].dims[axis];
      }
      return &in[operand].at(from);
    });
  }

  /// Along one axis, as `take` builds it; the result has the axes of the index, then the others of x.
  std::optional<Elements> operator()(const Gather& op) const {
    if (op.axes.size() != 1 || !op.x_batch.empty()) {
      return {};
    }
    const auto axis = static_cast<size_t>(op.axes[0]);
    const size_t index_rank = in[1].dims.size();
    return each([&](const std::vector<int64_t>& at) -> const Element* {
      const auto middle = at.begin() + static_cast<std::ptrdiff_t>(index_rank);
      const Element& position = in[1].at({at.begin(), middle});
      std::vector<int64_t> from(middle, at.end());
      std::optional<int64_t> index = position.numerator.constant();
      if (!index || position.denominator != 1) {
        return nullptr;
      }
      *index += *index < 0 ? in[0].dims[axis] : 0;
      if (*index < 0 || *index >= in[0].dims[axis]) {
        return nullptr;
      }
      from.insert(from.begin() + static_cast<std::ptrdiff_t>(axis), *index);
      return &in[0].at(from);
    });
  }

  template <class Other>
  std::optional<Elements> operator()(const Other&) const {
    return {};
  }
};

bool is_linear_work(const Node& node) {
  return !node.as<Contract>() && !node.as<Conv>() && !node.as<Window>() && !node.as<Loop>() && !node.as<If>() &&
         !node.as<Call>();
}

/// Computed from constants alone, and without much work.
bool can_compute(const Value& value) {
  const std::vector<Value> roots = {value};
  int64_t elements = 0;
  for (const Node* node : topological_order(roots)) {
    if (node->as<Input>() || node->as<Random>() || node->as<Barrier>()) {
      return false;
    }
    if (node->as<Constant>()) {
      continue;
    }
    const auto is_small = [&](const Shape& shape, int64_t most) {
      const std::optional<int64_t> size = shape.is_dynamic() ? std::nullopt : shape.element_count().constant();
      elements += size && *size <= most ? *size : 0;
      return size && *size <= most;
    };
    for (const Value& operand : node->inputs) {
      if (!is_linear_work(*node) && !is_small(operand.shape(), kMostMultiplied)) {
        return false;
      }
    }
    for (const Shape& shape : node->shapes) {
      if (!is_small(shape, kMostComputed) || elements > kMostComputed) {
        return false;
      }
    }
    if (const auto* iota = node->as<Iota>(); iota && !(iota->start.is_constant() && iota->step.is_constant())) {
      return false;
    }
  }
  return true;
}

}  // namespace

const Elements* KnownValues::find(const Value& value) const {
  const auto found = known_.find(&value.node());
  return found == known_.end() || !found->second ? nullptr : &*found->second;
}

std::optional<Elements> KnownValues::evaluate(const Value& value) const {
  const Node& node = value.node();
  const std::optional<std::vector<int64_t>> dims = node.shapes.size() == 1 ? small_dims(node.shapes[0]) : std::nullopt;
  if (!dims) {
    return {};
  }
  Evaluation evaluation{.node = node, .in = {}, .dims = *dims, .decide = decide_};
  for (const Value& operand : node.inputs) {
    const Elements* elements = find(operand);
    if (elements == nullptr) {
      return {};
    }
    evaluation.in.push_back({elements, operand.shape().dims()});
  }
  try {
    return std::visit(evaluation, node.op);
  } catch (const NotRepresentable&) {  // beyond 64 bits
    return {};
  }
}

KnownValues KnownValues::deciding(Decide decide) const {
  KnownValues result = *this;
  result.decide_ = std::move(decide);
  std::erase_if(result.known_, [](const auto& entry) { return !entry.second; });
  return result;
}

void KnownValues::tell(const Value& input, Elements elements) {
  kept_.push_back(input);
  known_[&input.node()] = std::move(elements);
}

const std::optional<Elements>& KnownValues::elements(const Value& value) {
  if (const auto found = known_.find(&value.node()); found != known_.end()) {
    return found->second;
  }
  // Operands before users, not beyond what is known; without recursion, since chains may be long.
  std::vector<const Node*> pending = {&value.node()};
  while (!pending.empty()) {
    const Node* node = pending.back();
    const size_t before = pending.size();
    for (const Value& operand : node->inputs) {
      if (!known_.contains(&operand.node())) {
        pending.push_back(&operand.node());
      }
    }
    if (pending.size() == before) {
      pending.pop_back();
      if (!known_.contains(node)) {
        kept_.emplace_back(node, 0);
        known_.emplace(node, evaluate(kept_.back()));
      }
    }
  }
  return known_.at(&value.node());
}

std::optional<std::vector<Extent>> KnownValues::extents(const Value& value) {
  const std::optional<Elements>& found = elements(value);
  if (!found) {
    const std::optional<Array> computed = array(value);
    if (!computed || is_float(computed->dtype()) || computed->size() > kMostElements) {
      return {};
    }
    std::vector<Extent> result;
    const Array wide = computed->cast(Dtype::i64);
    for (const int64_t element : wide.values<int64_t>()) {
      result.emplace_back(element);
    }
    return result;
  }
  std::vector<Extent> result;
  for (const Element& element : *found) {
    if (element.denominator != 1) {
      return {};
    }
    result.push_back(element.numerator);
  }
  return result;
}

std::optional<Array> KnownValues::array(const Value& value) {
  if (const auto* constant = value.node().as<Constant>()) {
    return constant->value;
  }
  if (!can_compute(value)) {
    return {};
  }
  return interpret(Graph("known", {}, {{"value", value}}), {})[0];
}

std::optional<std::string> input_behind(const Value& value) {
  const std::vector<Value> roots = {value};
  for (const Node* node : topological_order(roots)) {
    if (const auto* input = node->as<Input>()) {
      return input->name;
    }
  }
  return {};
}

}  // namespace tenon::importer
