#include "cli/words/inputs.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <random>

#include "base/convert.h"
#include "base/dtype_visit.h"
#include "base/fail.h"
#include "base/hash.h"
#include "cli/models/npy.h"
#include "ir/node.h"
#include "text/suggest.h"

namespace tenon::cli {
namespace {

constexpr int64_t kSmallNumber = 10;

bool is_made_up(std::string_view source) { return source == "random" || source == "zeros" || source == "ones"; }

Array make_up(const NamedArray& input, const Shape& shape, int64_t limit) {
  const std::vector<int64_t> dims = shape.dims();
  return input.source == "zeros"  ? Array(shape.dtype(), dims)
         : input.source == "ones" ? Array::full(shape.dtype(), dims, 1)
                                  : random_array(input.name, shape.dtype(), dims, limit);
}

/// Refused before anything is filled: a machine without memory ends programs without a word.
void require_memory_for_all(const std::vector<ModelInput>& inputs, const std::vector<Shape>& shapes) {
  const int64_t memory = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  double bytes = 0;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const Shape& shape = shapes[i];
    try {
      Array::require_memory(shape.dtype(), shape.dims());
    } catch (Error& error) {
      error.note(fmt::format("input `{}`: {}", inputs[i].name, shape.to_string()));
      throw;
    }
    bytes += static_cast<double>(shape.size()) * static_cast<double>(byte_size(shape.dtype()));
  }
  if (memory > 0 && bytes > static_cast<double>(memory)) {
    std::string all;
    for (size_t i = 0; i < shapes.size(); ++i) {
      all += fmt::format("\n  input `{}`: {}", inputs[i].name, shapes[i].to_string());
    }
    fail("the inputs take {:.0f} bytes together, more than this machine's memory of {} bytes{}", bytes, memory, all);
  }
}

}  // namespace

SourceWord parse_source(std::string_view option, const std::string& word, const std::vector<std::string>& names) {
  size_t equals = word.find('=');
  if (equals == std::string::npos) {
    if (word.ends_with(".npy")) {
      fail("`{} {}` should be NAME={}\n  there is: {}", option, word, word, fmt::join(names, ", "));
    }
    fail("`{} {}` is no NAME=FILE.npy{}\n  there is: {}", option, word,
         option == "--input" ? " and none of `random`, `zeros` and `ones`" : "", fmt::join(names, ", "));
  }
  for (const std::string& name : names) {
    if (name.size() > equals && word.starts_with(name + '=')) {
      equals = name.size();
    }
  }
  SourceWord parsed{word.substr(0, equals), word.substr(equals + 1)};
  if (parsed.name.empty()) {
    fail("`{} {}` has no name before the `=`\n  there is: {}", option, word, fmt::join(names, ", "));
  }
  if (std::ranges::find(names, parsed.name) == names.end()) {
    fail("`{} {}`: there is no `{}`{}\n  there is: {}", option, word, parsed.name, text::suggestion(parsed.name, names),
         fmt::join(names, ", "));
  }
  if (parsed.source.empty()) {
    fail("`{} {}` says nothing of `{}`: a .npy file belongs behind the `=`{}", option, word, parsed.name,
         option == "--input" ? ", or `random`, `zeros` or `ones`" : "");
  }
  if (option == "--input" && !is_made_up(parsed.source) && !parsed.source.ends_with(".npy") &&
      !std::filesystem::exists(parsed.source)) {
    fail("`{} {}`: `{}` is no .npy file and none of `random`, `zeros` and `ones`{}", option, word, parsed.source,
         text::suggestion(parsed.source, {"random", "zeros", "ones"}));
  }
  return parsed;
}

Array read_npy_for(const std::string& name, Dtype wanted, const std::string& path) {
  Array array = read_npy(path);
  if (wanted == bf16 && array.dtype() == f32) {
    return array.cast(bf16);
  }
  if (array.dtype() != wanted) {
    fail("{}: `{}` is {}, and the file holds {}", path, name, tenon::name(wanted), tenon::name(array.dtype()));
  }
  return array;
}

/// In its own dtype from the start: a wider copy of it may not fit.
Array random_array(const std::string& name, Dtype dtype, const std::vector<int64_t>& dims, int64_t limit) {
  if (is_integer(dtype) && limit <= 0) {
    limit = 1;
  }
  std::mt19937_64 generator(hash_bytes(name));
  const auto uniform = [&] { return static_cast<double>(generator() >> 11) * 0x1p-53; };
  const auto row = static_cast<size_t>(dims.empty() ? 1 : std::max<int64_t>(dims.back(), 1));
  Array result = Array::uninitialized(dtype, dims);
  visit_dtype(dtype, [&]<class T>() {
    const std::span<T> values = result.mutable_values<T>();
    for (size_t i = 0; i < values.size(); ++i) {
      if (dtype == boolean) {
        values[i] = convert<T>(i % row == 0 || uniform() < 0.9 ? 1.0 : 0.0);
      } else if (is_integer(dtype)) {
        values[i] =
            convert<T>(std::min(std::floor(uniform() * static_cast<double>(limit)), static_cast<double>(limit - 1)));
      } else {
        values[i] = convert<T>(2 * uniform() - 1);
      }
    }
  });
  return result;
}

std::vector<Array> PreparedInputs::arrays() const {
  std::vector<Array> arrays;
  for (const NamedArray& input : inputs) {
    arrays.push_back(input.value);
  }
  return arrays;
}

PreparedInputs prepare_inputs(const ModelPorts& model, const Bindings& bindings, const std::vector<std::string>& words,
                              const BeforeInputs& before) {
  const Bindings sizes = without(bindings, model.decided);
  check_names(sizes, model.axes);
  std::vector<std::string> names = model.decided;
  for (const ModelInput& input : model.inputs) {
    names.push_back(input.name);
  }
  std::optional<std::string> rest;
  std::map<std::string, std::string> sources;
  for (const std::string& word : words) {
    if (is_made_up(word)) {
      if (rest) {
        fail("`--input {}`: `--input {}` is for all inputs already", word, *rest);
      }
      rest = word;
      continue;
    }
    const SourceWord parsed = parse_source("--input", word, names);
    if (!sources.emplace(parsed.name, parsed.source).second) {
      fail("`--input {}` is given twice", parsed.name);
    }
  }
  // Files first: they decide sizes.
  PreparedInputs prepared;
  std::vector<ConcreteInput> concrete;
  for (const auto& [name, shape, limit] : model.inputs) {
    const auto source = sources.find(name);
    NamedArray& input = prepared.inputs.emplace_back(NamedArray{
        .name = name, .value = {}, .source = source == sources.end() ? rest.value_or("random") : source->second});
    if (!is_made_up(input.source)) {
      input.value = read_npy_for(name, shape.dtype(), input.source);
      concrete.push_back({.name = name, .pattern = shape, .dtype = shape.dtype(), .dims = input.value.dims()});
    }
  }
  Bindings known = extract(concrete);
  for (const auto& [name, size] : sizes) {
    if (const auto other = known.find(name); other && *other != size) {
      fail("axis `{}`: --bind has {}, the files have {}", name, size, *other);
    }
    known.set(name, size);
  }
  prepared.bindings = complete_bindings(model, known);
  std::vector<Shape> shapes;
  for (const ModelInput& input : model.inputs) {
    shapes.push_back(resolve(input.shape, prepared.bindings));
  }
  require_memory_for_all(model.inputs, shapes);
  if (before && !before(prepared.bindings)) {
    return prepared;
  }
  for (size_t i = 0; i < prepared.inputs.size(); ++i) {
    NamedArray& input = prepared.inputs[i];
    const auto first = rest ? model.values.end() : model.values.find(input.name);
    if (first != model.values.end() && !sources.contains(input.name)) {
      input.value = first->second;
      input.source = "its first value";
    } else if (is_made_up(input.source)) {
      const std::optional<Extent>& limit = model.inputs[i].limit;
      input.value = make_up(input, shapes[i], limit ? evaluate(*limit, prepared.bindings) : kSmallNumber);
    }
  }
  return prepared;
}

std::vector<NamedArray> read_expected(const Graph& graph, const std::vector<std::string>& words) {
  std::vector<NamedArray> expected;
  std::vector<std::string> names;
  for (const Output& output : graph.outputs()) {
    names.push_back(output.name);
    expected.push_back({.name = output.name, .value = {}, .source = ""});
  }
  for (const std::string& word : words) {
    const SourceWord parsed = parse_source("--expect", word, names);
    const auto at = static_cast<size_t>(std::ranges::find(names, parsed.name) - names.begin());
    if (!expected[at].source.empty()) {
      fail("`--expect {}` is given twice", parsed.name);
    }
    expected[at].source = parsed.source;
    expected[at].value = read_npy_for(parsed.name, graph.outputs()[at].value.dtype(), parsed.source);
  }
  return expected;
}

}  // namespace tenon::cli
