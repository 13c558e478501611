#include "cli/models/train_data.h"

#include <algorithm>
#include <random>

#include "base/fail.h"
#include "base/hash.h"
#include "build/index_limits.h"
#include "cli/models/npy.h"
#include "cli/words/inputs.h"
#include "ir/node.h"

namespace tenon::cli {
namespace {

constexpr int64_t kGroups = 10;
constexpr int64_t kUsualExamples = 512;
constexpr int64_t kMostMadeUpBytes = int64_t{64} << 20;
constexpr float kNoise = 1;

/// The data inputs and the target.
std::vector<Value> columns_of(const Model& model, const train::Objective& objective) {
  const std::vector<Value> all = train::loss_graph(model, objective).inputs();
  return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(model.data_inputs) + 1};
}

const std::string& name_of(const Value& value) { return value.node().as<Input>()->name; }

/// Where examples lie in a shape, with the name that they have in built-in models.
std::optional<size_t> batch_axis(const Shape& shape) {
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape.axis(i).extent().as_name() == "batch") {
      return static_cast<size_t>(i);
    }
  }
  return std::nullopt;
}

/// The number of the example that element `i` belongs to, and its place within that example.
struct Place {
  int64_t example = 0, within = 0;
};
Place place_of(int64_t i, const std::vector<int64_t>& dims, size_t axis) {
  int64_t inner = 1;
  for (size_t k = axis + 1; k < dims.size(); ++k) {
    inner *= dims[k];
  }
  const int64_t length = dims[axis];
  return {.example = i / inner % length, .within = i / inner / length * inner + i % inner};
}

/// Numbers of the example's group in [0, 1), and noise.
Array grouped_floats(const Value& column, const std::vector<int64_t>& dims, float noise, std::mt19937_64& rng) {
  Array result(Dtype::f32, dims);
  const size_t axis = batch_axis(column.shape()).value_or(0);
  const uint64_t key = hash_bytes(name_of(column));
  const auto values = result.mutable_values<float>();
  for (size_t i = 0; i < values.size(); ++i) {
    const Place place = place_of(static_cast<int64_t>(i), dims, axis);
    const auto group = static_cast<uint64_t>(place.example % kGroups);
    const auto unit = [](uint64_t bits) { return static_cast<float>(bits >> 40) * 0x1p-24F; };
    const float own = unit(combine_hash(combine_hash(key, group), static_cast<uint64_t>(place.within)));
    values[i] = own + noise * (2 * unit(rng()) - 1);
  }
  return result;
}

/// The group's number, or what follows the words of an input of the same sizes.
Array grouped_labels(const Shape& shape, const std::vector<int64_t>& dims, int64_t classes, const Array* words) {
  Array result(Dtype::i64, dims);
  const size_t axis = batch_axis(shape).value_or(0);
  const auto values = result.mutable_values<int64_t>();
  for (size_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    values[i] = words != nullptr ? (static_cast<int64_t>(words->at(at)) + 1) % classes
                                 : place_of(at, dims, axis).example % kGroups % classes;
  }
  return result;
}

}  // namespace

std::string usual_loss(const std::string& target) {
  return is_integer(read_npy(target).dtype()) ? "cross_entropy" : "mse";
}

train::Dataset read_dataset(const LoadedTrainable& loaded, const train::Objective& objective,
                            const TrainingFiles& files, const Bindings& sizes) {
  const std::vector<Value> columns = columns_of(loaded.model.training, objective);
  std::vector<std::string> names = loaded.decided;
  const size_t first = names.size();
  std::ranges::transform(columns.begin(), columns.end() - 1, std::back_inserter(names), name_of);
  std::vector<std::optional<Array>> arrays(columns.size());
  for (const std::string& word : files.inputs) {
    const bool is_plain = columns.size() == 2 && word.ends_with(".npy") && word.find('=') == std::string::npos;
    const SourceWord parsed = is_plain ? SourceWord{names[first], word} : parse_source("--input", word, names);
    const auto at = static_cast<size_t>(std::ranges::find(names, parsed.name) - names.begin());
    if (at < first) {
      continue;  // the import has taken its value
    }
    if (arrays[at - first]) {
      fail("`--input {}` is given twice", parsed.name);
    }
    arrays[at - first] = read_npy_for(parsed.name, columns[at - first].dtype(), parsed.source);
  }
  std::vector<Array> all;
  for (size_t i = 0; i + 1 < columns.size(); ++i) {
    if (!arrays[i]) {
      fail("input `{0}`, {1}, has no data; give it: --input {0}=FILE.npy", name_of(columns[i]),
           columns[i].shape().to_string());
    }
    all.push_back(*std::move(arrays[i]));
  }
  if (!files.target) {
    fail("what should come out is missing; give it: --target FILE.npy, {}", columns.back().shape().to_string());
  }
  all.push_back(train::fit_target(read_npy(*files.target), objective));
  return train::make_dataset(columns, std::move(all), sizes);
}

train::Dataset make_up_dataset(const LoadedTrainable& loaded, const train::Objective& objective, const Bindings& sizes,
                               std::optional<int64_t> count, uint64_t seed) {
  const Graph graph = train::loss_graph(loaded.model.training, objective);
  const std::vector<Value> columns = columns_of(loaded.model.training, objective);
  Bindings bound;
  for (const auto& [name, size] : loaded.typical) {
    bound.set(name, name == "batch" ? 1 : sizes.find(name).value_or(size));
  }
  const GraphModel model{.graph = graph, .typical = bound};
  check_names(sizes, axis_names(graph));
  bound = complete_bindings(ports_of(model), {});
  int64_t bytes = 0;
  for (const Value& column : columns) {
    const Shape shape = resolve(column.shape(), bound);
    bytes += shape.size() * static_cast<int64_t>(byte_size(shape.dtype()));
  }
  const int64_t usual = std::clamp<int64_t>(kMostMadeUpBytes / std::max<int64_t>(bytes, 1), 16, kUsualExamples);
  Bindings many;
  for (const auto& [name, size] : bound) {
    many.set(name, name == "batch" ? count.value_or(usual) : size);
  }
  std::mt19937_64 rng(combine_hash(seed, 1));
  const std::vector<std::optional<Extent>> limits = index_limits(graph);
  std::vector<Array> arrays;
  for (size_t i = 0; i + 1 < columns.size(); ++i) {
    const Shape shape = resolve(columns[i].shape(), many);
    Array::require_memory(shape.dtype(), shape.dims());
    const bool grouped = is_float(shape.dtype()) && batch_axis(columns[i].shape());
    const int64_t limit = limits[i] ? evaluate(*limits[i], many) : kGroups;
    arrays.push_back(grouped ? grouped_floats(columns[i], shape.dims(), kNoise, rng).cast(shape.dtype())
                             : random_array(name_of(columns[i]), shape.dtype(), shape.dims(), limit));
  }
  const std::vector<int64_t> dims = resolve(columns.back().shape(), many).dims();
  const auto words = std::ranges::find_if(
      arrays, [&](const Array& array) { return is_integer(array.dtype()) && array.dims() == dims; });
  if (objective.kind->labels) {
    arrays.push_back(
        grouped_labels(columns.back().shape(), dims, objective.classes, words == arrays.end() ? nullptr : &*words));
  } else {
    arrays.push_back(grouped_floats(columns.back(), dims, 0, rng).cast(objective.target.dtype()));
  }
  return train::make_dataset(columns, std::move(arrays), bound);
}

}  // namespace tenon::cli
