#include "cli/models/load_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "base/fail.h"
#include "base/read_file.h"
#include "cli/models/npy.h"
#include "ir/data_axes.h"
#include "ir/node.h"
#include "shape/constraint_check.h"
#include "shape/constraint_set.h"
#include "shape/extent_names.h"
#include "tenon/tenon.h"
#include "text/suggest.h"

namespace tenon::cli {
namespace {

/// Of graph text, in bytes.
constexpr int64_t kMostText = int64_t{1} << 30;

Graph read_text(const std::string& path) {
  const std::string text = read_file(path, kMostText);
  if (text.empty()) {
    fail("the file `{}` is empty: there is no model in it", path);
  }
  try {
    return parse_graph(text);
  } catch (const Error& error) {
    fail("{}:{}", path, error.what());
  }
}

#ifdef TENON_WITH_ONNX

/// The value that an import needs, as the user gave it.
Array value_of(const std::string& name, const LoadGraphOptions& options, const Bindings& usual) {
  for (const std::string& word : options.inputs) {
    const std::string_view source = word.starts_with(name + '=') ? std::string_view(word).substr(name.size() + 1) : "";
    if (source.ends_with(".npy")) {
      return read_npy(source);
    }
    if (source == "zeros" || source == "ones") {  // of one element: the import makes it what the input is
      return Array::from<int64_t>({}, {source == "ones" ? 1 : 0});
    }
  }
  if (const auto found = options.values.find(name); found != options.values.end()) {
    return found->second;
  }
  for (const Bindings* sizes : {&options.sizes, &usual}) {
    if (const auto size = sizes->find(name)) {
      return Array::from<int64_t>({}, {*size});
    }
  }
  fail("the value of input `{}` decides a shape of the model; give it: --input {}=FILE.npy, or for a scalar --bind {}",
       name, shell_word(name), shell_word(algebra::quoted_name(name) + "=SIZE"));
}

/// The sizes of inputs that come from files: they decide branches that differ in shape.
std::map<std::string, std::vector<int64_t>> dims_of_files(const LoadGraphOptions& options) {
  std::map<std::string, std::vector<int64_t>> dims = options.dims;
  for (const std::string& word : options.inputs) {
    const size_t split = word.find('=');
    if (split != std::string::npos && word.ends_with(".npy") && std::filesystem::exists(word.substr(split + 1))) {
      dims[word.substr(0, split)] = read_npy(word.substr(split + 1)).dims();
    }
  }
  return dims;
}

/// Another program may have renamed an axis and kept what is written of it: no reason to refuse the model.
Bindings only_names_of(const Graph& graph, const Bindings& usual, const std::vector<std::string>& decided) {
  const std::vector<std::string> names = axis_names(graph);
  Bindings result;
  for (const auto& [name, size] : usual) {
    if (std::ranges::find(names, name) != names.end()) {
      result.set(name, size);
    } else if (std::ranges::find(decided, name) == decided.end()) {
      fmt::print(stderr, "tenon: note: the model has no axis `{}`, of which its metadata `tenon.usual` say {}={}\n",
                 name, algebra::quoted_name(name), size);
    }
  }
  return result;
}

GraphModel read_onnx(const std::string& path, const LoadGraphOptions& options) {
  OnnxOptions known;
  GraphModel model;
  Bindings usual;
  known.usual = &usual;
  known.assumed = &model.assumed;
  known.merged = &model.merged;
  known.files = &model.files;
  known.at = options.sizes;
  known.dims = model.dims = dims_of_files(options);
  std::vector<OnnxWeight> weights;
  known.weights = options.trained != nullptr ? &weights : nullptr;
  known.weights_unread = options.unread;
  while (true) {
    try {
      model.graph = import_onnx(path, known);
      for (const OnnxWeight& weight : weights) {
        options.trained->push_back({.name = weight.name, .value = weight.value, .trainable = !weight.statistic});
      }
      model.typical = only_names_of(model.graph, usual, model.decided);
      return model;
    } catch (const OnnxValueNeeded& needed) {
      const Array value = value_of(needed.input(), options, usual);
      known.values.emplace(needed.input(), value);
      model.decided.push_back(needed.input());
      model.decided_values.emplace(needed.input(), value);
    }
  }
}

#else

GraphModel read_onnx(const std::string& path, const LoadGraphOptions&) {
  fail("`{}`: this build reads no ONNX models (it was configured with TENON_ONNX=OFF)", path);
}

#endif

}  // namespace

bool is_read_for(const GraphModel& model, const Bindings& sizes) {
  return std::ranges::all_of(model.assumed, [&](const OnnxAssumption& each) {
    for (const Extent* side : {&each.relation.lhs, &each.relation.rhs}) {
      const auto names = side->names();
      if (!std::ranges::all_of(names, [&](const std::string& name) { return sizes.find(name).has_value(); })) {
        return true;
      }
    }
    return holds(each.relation.kind, evaluate(each.relation.lhs, sizes), evaluate(each.relation.rhs, sizes));
  });
}

std::string title_of(const std::string& word) {
  return is_model_file(word) ? std::filesystem::path(word).filename().string() : word;
}

bool is_model_file(std::string_view model) { return model.find_first_of("./") != std::string_view::npos; }

const ModelEntry& built_in_model(const std::string& name) {
  std::vector<std::string> names;
  for (const ModelEntry& entry : model_table()) {
    if (entry.name == name) {
      return entry;
    }
    names.emplace_back(entry.name);
  }
  fail("there is no model called `{}`{}\n  built-in models: {}\n  a file has a `.` or a `/` in its name", name,
       text::suggestion(name, names), fmt::join(names, ", "));
}

Graph with_name(const Graph& graph, std::string_view name) {
  return graph.name() == name ? graph : Graph(std::string(name), graph.inputs(), graph.outputs(), graph.relations());
}

GraphModel load_model(const std::string& model, const LoadGraphOptions& options) {
  if (is_model_file(model)) {
    if (is_program_file(model)) {
      fail(
          "`{}` is a program that was built, without the graph that it was built from; `tenon run`, `bench`, `check`, "
          "`explain` and `inspect` take it, and for all else there is its model",
          model);
    }
    const bool is_onnx = std::filesystem::path(model).extension() == ".onnx";
    GraphModel read =
        is_onnx ? read_onnx(model, options) : GraphModel{.graph = read_text(model), .typical = {}, .decided = {}};
    if (options.named_by_file) {
      read.graph = with_name(read.graph, title_of(model));
    }
    return read;
  }
  const ModelEntry& entry = built_in_model(model);
  const Model built = entry.build();  // `resnet18` and `resnet50` are of one builder, which knows none of the names
  return {.graph = with_name(options.weights ? with_weights(built) : built.graph, entry.name),
          .typical = Bindings::parse(entry.typical),
          .decided = {}};
}

std::vector<std::string> axis_names(const Graph& graph) {
  std::vector<std::string> names;
  const AxisNames late = data_axes(graph);
  const auto add = [&](const Shape& shape) {
    for (const Axis& axis : shape.axes()) {
      for (const std::string& name : axis.extent().names()) {
        if (!late.contains(name) && std::ranges::find(names, name) == names.end()) {
          names.push_back(name);
        }
      }
    }
  };
  for (const Value& value : graph.inputs()) {
    add(value.shape());
  }
  for (const Node* node : graph.nodes()) {
    std::ranges::for_each(node->shapes, add);
  }
  return names;
}

std::string shell_word(const std::string& text) {
  const auto is_plain = [](char c) {
    return algebra::continues_name(c) || std::string_view("=,:+-/@%").find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::ranges::all_of(text, is_plain)) {
    return text;
  }
  std::string quoted = "'";
  for (const char c : text) {
    quoted += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return quoted + "'";
}

std::string assumed_text(const GraphModel& model) {
  std::string text;
  for (const OnnxAssumption& each : model.assumed) {
    text += fmt::format("  assumes {}: {}{}\n", each.relation.to_string(), each.reason, describe_need(each.relation));
  }
  return text.empty() ? text : text + "  other sizes need another program: give them with --bind\n";
}

Json assumed_json(const GraphModel& model) {
  Json json = Json::array();
  for (const OnnxAssumption& each : model.assumed) {
    json.push(Json::object()
                  .set("relation", each.relation.to_string())
                  .set("reason", each.reason)
                  .set("needed_by", each.relation.needed_by)
                  .set("node", each.relation.place));
  }
  return json;
}

}  // namespace tenon::cli
