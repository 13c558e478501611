#include "train/dataset.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/fail.h"
#include "base/hash.h"
#include "passes/autodiff/autodiff.h"

namespace tenon::train {
namespace {

constexpr const char* kBatchName = "batch";
constexpr const char* kExamples = "examples";  // what errors call the axis where it has a fixed size

/// Where examples lie: under a name, or as the first axis of a fixed size.
struct ExampleAxis {
  std::string name;
  std::optional<int64_t> fixed = {};

  /// The position in `shape`, or -1.
  int find(const Shape& shape) const {
    for (int i = 0; i < shape.rank() && !fixed; ++i) {
      if (shape.axis(i).extent().as_name() == name) {
        return i;
      }
    }
    if (shape.rank() == 0) {
      return -1;
    }
    const Extent& first = shape.extent(0);
    const bool same_size = fixed && first.constant() == fixed;
    const std::string other = first.as_name().value_or("");
    return same_size || (!fixed && is_generated_name(other)) ? 0 : -1;  // sizes that nobody named
  }
};

ExampleAxis example_axis(std::span<const Value> inputs) {
  for (const Value& each : inputs) {
    for (const Axis& axis : each.shape().axes()) {
      if (axis.extent().as_name() == kBatchName) {
        return {.name = kBatchName};
      }
    }
  }
  const Shape& first = inputs[0].shape();
  if (first.rank() == 0) {
    fail("input `{}` is {}: it has no axis of examples", passes::name_of(inputs[0]), first.to_string());
  }
  if (const auto name = first.extent(0).as_name()) {
    return {.name = *name};
  }
  if (const auto size = first.extent(0).constant()) {
    return {.name = kExamples, .fixed = size};
  }
  fail("axis 0 of input `{}` is {}: examples need an axis of their own", passes::name_of(inputs[0]),
       first.extent(0).to_string());
}

/// The rows at `positions` along `axis`.
Array taken(const Array& from, int axis, std::span<const int64_t> positions) {
  std::vector<int64_t> dims = from.dims();
  const auto at = static_cast<size_t>(axis);
  const auto outer = std::accumulate(dims.begin(), dims.begin() + axis, size_t{1},
                                     [](size_t product, int64_t size) { return product * static_cast<size_t>(size); });
  const auto length = static_cast<size_t>(dims[at]);
  const size_t row = length == 0 || outer == 0 ? 0 : from.byte_count() / outer / length;
  dims[at] = std::ssize(positions);
  Array result = Array::uninitialized(from.dtype(), dims);
  std::byte* to = result.mutable_data();
  for (size_t i = 0; i < outer; ++i) {
    for (const int64_t position : positions) {
      std::memcpy(to, from.data() + (i * length + static_cast<size_t>(position)) * row, row);
      to += row;
    }
  }
  return result;
}

}  // namespace

std::vector<Array> Dataset::batch(std::span<const int64_t> positions) const {
  std::vector<Array> arrays;
  for (const Column& column : columns) {
    arrays.push_back(column.axis < 0 ? column.values : taken(column.values, column.axis, positions));
  }
  return arrays;
}

Array fit_target(const Array& target, const Objective& objective) {
  const Dtype wanted = objective.target.dtype();
  if (!objective.kind->labels) {
    if (is_integer(target.dtype())) {
      fail("the target holds {}, and {} compares with {}", name(target.dtype()), objective.kind->name, name(wanted));
    }
    return target.dtype() == wanted ? target : target.cast(wanted);
  }
  if (!is_integer(target.dtype())) {
    fail("the target holds {}, and {} takes integers, the numbers of classes", name(target.dtype()),
         objective.kind->name);
  }
  Array labels = target.dtype() == wanted ? target : target.cast(wanted);
  const auto values = labels.values<int64_t>();
  const auto wrong =
      std::ranges::find_if(values, [&](int64_t label) { return label < 0 || label >= objective.classes; });
  if (wrong != values.end()) {
    fail("the target has a label {}, and there are {} classes, from 0 to {}", *wrong, objective.classes,
         objective.classes - 1);
  }
  return labels;
}

Dataset make_dataset(std::span<const Value> inputs, std::vector<Array> arrays, const Bindings& sizes) {
  TENON_CHECK(inputs.size() == arrays.size() && inputs.size() > 1, "an array for each input and the target");
  const ExampleAxis along = example_axis(inputs);
  Dataset data{.columns = {}, .fixed_batch = along.fixed};
  std::vector<ConcreteInput> concrete;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Shape& shape = inputs[i].shape();
    const int axis = along.find(shape);
    std::vector<Axis> axes = shape.axes();
    if (axis >= 0) {
      axes[static_cast<size_t>(axis)] = Extent::name(along.name);
    } else if (i + 1 == inputs.size()) {
      fail("the target is {}, without an axis `{}` of examples", shape.to_string(), along.name);
    }
    concrete.push_back({.name = passes::name_of(inputs[i]),
                        .pattern = shape.with_axes(std::move(axes)),
                        .dtype = arrays[i].dtype(),
                        .dims = arrays[i].dims()});
    data.columns.push_back({.values = std::move(arrays[i]), .axis = axis});
  }
  const Bindings known = extract(concrete);
  data.count = known.at(along.name);
  if (data.count == 0) {
    fail("there are no examples: axis `{}` has size 0", along.name);
  }
  for (const auto& [name, size] : sizes) {
    if (const auto other = known.find(name); !other) {
      data.sizes.set(name, size);
    } else if (*other != size && name != along.name) {
      fail("axis `{}`: --bind has {}, the data have {}", name, size, *other);
    }
  }
  return data;
}

std::vector<int64_t> shuffled(int64_t count, uint64_t seed, uint64_t round) {
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), int64_t{0});
  const uint64_t key = combine_hash(combine_hash(0, seed), round);
  for (size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[combine_hash(key, i) % i]);
  }
  return order;
}

}  // namespace tenon::train
