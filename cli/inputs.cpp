#include "inputs.h"

#include <algorithm>
#include <map>
#include <random>

#include "base/fail.h"
#include "base/hash.h"
#include "index_limits.h"
#include "ir/node.h"
#include "npy.h"
#include "text/suggest.h"

namespace tenon {
namespace {

constexpr int64_t kSmallNumber = 10;

struct Word {
  std::string name, source;
};

Word parse_word(std::string_view option, const std::string& word, const std::vector<std::string>& names) {
  const size_t equals = word.rfind('=');
  if (equals == std::string::npos) {
    fail("`{} {}` should be NAME={}", option, word, word);
  }
  Word parsed{word.substr(0, equals), word.substr(equals + 1)};
  if (std::ranges::find(names, parsed.name) == names.end()) {
    fail("`{} {}`: there is no `{}`{}\n  there is: {}", option, word, parsed.name, text::suggestion(parsed.name, names),
         fmt::join(names, ", "));
  }
  return parsed;
}

bool is_made_up(std::string_view source) { return source == "random" || source == "zeros"; }

/// Files in the port's dtype: bf16, which NumPy has not, comes as f32.
Array read_for(const std::string& name, Dtype wanted, const std::string& path) {
  Array array = read_npy(path);
  if (wanted == bf16 && array.dtype() == f32) {
    return array.cast(bf16);
  }
  if (array.dtype() != wanted) {
    fail("{}: `{}` is {}, and the file holds {}", path, name, tenon::name(wanted), tenon::name(array.dtype()));
  }
  return array;
}

Array random_array(const std::string& name, Dtype dtype, const std::vector<int64_t>& dims, int64_t limit) {
  if (is_integer(dtype) && limit <= 0) {
    limit = 1;
  }
  std::mt19937_64 generator(hash_bytes(name));
  const auto uniform = [&] { return static_cast<double>(generator() >> 11) * 0x1p-53; };
  Array wide(f64, dims);
  auto values = wide.mutable_values<double>();
  const auto row = static_cast<size_t>(dims.empty() ? 1 : std::max<int64_t>(dims.back(), 1));
  for (size_t i = 0; i < values.size(); ++i) {
    if (dtype == boolean) {
      values[i] = i % row == 0 || uniform() < 0.9 ? 1 : 0;
    } else if (is_integer(dtype)) {
      values[i] = std::min(std::floor(uniform() * static_cast<double>(limit)), static_cast<double>(limit - 1));
    } else {
      values[i] = 2 * uniform() - 1;
    }
  }
  return wide.cast(dtype);
}

/// The bindings that are no values of inputs which the import took already.
Bindings without(const Bindings& bindings, const std::vector<std::string>& decided) {
  Bindings rest;
  for (const auto& [name, size] : bindings) {
    if (std::ranges::find(decided, name) == decided.end()) {
      rest.set(name, size);
    }
  }
  return rest;
}

}  // namespace

std::vector<Array> PreparedInputs::arrays() const {
  std::vector<Array> arrays;
  for (const NamedArray& input : inputs) {
    arrays.push_back(input.value);
  }
  return arrays;
}

PreparedInputs prepare_inputs(const GraphModel& model, const Bindings& bindings,
                              const std::vector<std::string>& words) {
  const Graph& graph = model.graph;
  const Bindings sizes = without(bindings, model.decided);
  check_names(sizes, graph);
  std::vector<std::string> names = model.decided;
  for (const Value& value : graph.inputs()) {
    names.push_back(value.node().as<Input>()->name);
  }
  std::string rest = "random";
  std::map<std::string, std::string> sources;
  for (const std::string& word : words) {
    if (is_made_up(word)) {
      rest = word;
      continue;
    }
    const Word parsed = parse_word("--input", word, names);
    if (!sources.emplace(parsed.name, parsed.source).second) {
      fail("`--input {}` is given twice", parsed.name);
    }
  }
  // Files first: they decide sizes.
  PreparedInputs prepared;
  std::vector<ConcreteInput> concrete;
  for (const Value& value : graph.inputs()) {
    const std::string& name = value.node().as<Input>()->name;
    const auto source = sources.find(name);
    NamedArray& input = prepared.inputs.emplace_back(
        NamedArray{.name = name, .value = {}, .source = source == sources.end() ? rest : source->second});
    if (!is_made_up(input.source)) {
      input.value = read_for(name, value.dtype(), input.source);
      concrete.push_back({.name = name, .pattern = value.shape(), .dtype = value.dtype(), .dims = input.value.dims()});
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
  const std::vector<std::optional<Extent>> limits = index_limits(graph);
  for (size_t i = 0; i < prepared.inputs.size(); ++i) {
    NamedArray& input = prepared.inputs[i];
    if (is_made_up(input.source)) {
      const Shape shape = resolve(graph.inputs()[i].shape(), prepared.bindings);
      const int64_t limit = limits[i] ? evaluate(*limits[i], prepared.bindings) : kSmallNumber;
      input.value = input.source == "zeros" ? Array(shape.dtype(), shape.dims())
                                            : random_array(input.name, shape.dtype(), shape.dims(), limit);
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
    const Word parsed = parse_word("--expect", word, names);
    const auto at = static_cast<size_t>(std::ranges::find(names, parsed.name) - names.begin());
    if (!expected[at].source.empty()) {
      fail("`--expect {}` is given twice", parsed.name);
    }
    expected[at].source = parsed.source;
    expected[at].value = read_for(parsed.name, graph.outputs()[at].value.dtype(), parsed.source);
  }
  return expected;
}

}  // namespace tenon
