// `tenon export`: a model as an ONNX file or as graph text.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <limits>

#include "base/fail.h"
#include "cli/models/files.h"
#include "cli/models/load_graph.h"
#include "cli/models/write_onnx.h"
#include "cli/print/json.h"
#include "cli/print/terminal.h"
#include "cli/print/units.h"
#include "cli/verb.h"
#include "tenon/text.h"

namespace tenon::cli {
namespace {

constexpr Option kExportOptions[] = {
    {"--external-data", "", "weights in FILE.onnx.data beside the model, which importing it maps; needed beyond 2 GB"},
    {"--opset", "N", "of the ONNX file, 17 to 24; 17 where it is not said, which has no form for bits of integers"},
};

constexpr Example kExportExamples[] = {
    {"export resnet18 resnet18.onnx", "a built-in model, its weights included"},
    {"export bert_base bert.onnx --external-data", "weights in bert.onnx.data"},
    {"export examples/block.graph block.onnx", "graph text"},
    {"export bits.graph bits.onnx --opset 18", "operators that newer versions of ONNX have"},
    {"export model.onnx model.graph", "the other way round"},
};

/// A built-in model keeps the names of its weights.
OnnxFile onnx_of(const std::string& word) {
  if (is_model_file(word)) {
    const GraphModel model = load_model(word, {.named_by_file = false});
    return {.graph = model.graph, .usual = model.typical};
  }
  const ModelEntry& entry = built_in_model(word);
  const Model model = entry.build();
  return {.graph = model.graph,
          .weights = model_weights(model, initial_values(model)),
          .usual = Bindings::parse(entry.typical)};
}

int run_export(const Arguments& arguments) {
  const std::string& path = arguments.rest()[1];
  const std::string ending = std::filesystem::path(path).extension();
  const bool external_data = arguments.has("--external-data");
  if (ending != ".onnx" && ending != ".graph") {
    fail("`{}`: the ending says what is written: FILE.onnx for ONNX, FILE.graph for graph text", path);
  }
  if (external_data && ending != ".onnx") {
    fail("`--external-data` is for ONNX files, and `{}` is graph text", path);
  }
  const std::optional<int64_t> opset = arguments.find_number("--opset");
  if (opset && ending != ".onnx") {
    fail("`--opset` is for ONNX files, and `{}` is graph text", path);
  }
  require_folder_of(path);
  const Progress progress;
  progress.show("loading");
  std::string name;
  std::string format = "graph text";
  if (ending == ".onnx") {
    OnnxFile file = onnx_of(arguments.rest()[0]);
    progress.show("exporting");
    file.external_data = external_data;
    file.opset = static_cast<int>(std::min<int64_t>(opset.value_or(file.opset), std::numeric_limits<int>::max()));
    format = fmt::format("ONNX opset {}", file.opset);
    write_onnx(path, file);
    name = file.graph.name();
  } else {
    const GraphModel model = load_model(arguments.rest()[0], {.named_by_file = false, .weights = true});
    progress.show("exporting");
    write_text(path, to_text(model.graph));
    name = model.graph.name();
  }
  progress.show("");
  const auto bytes = static_cast<int64_t>(std::filesystem::file_size(path));
  const std::string data = path + ".data";
  const int64_t beside =
      external_data && std::filesystem::exists(data) ? static_cast<int64_t>(std::filesystem::file_size(data)) : 0;
  if (arguments.has("--json")) {
    Json::object().set("model", name).set("file", path).set("bytes", bytes).set("external_bytes", beside).print();
    return 0;
  }
  fmt::print("{}: {}, {}\n", path, bytes_text(bytes), format);
  if (beside > 0) {
    fmt::print("{}: {} of weights\n", data, bytes_text(beside));
  }
  return 0;
}

}  // namespace

const Verb kExportVerb{
    .name = "export",
    .words = "MODEL FILE",
    .doc = "write a model as an ONNX file or as graph text",
    .about =
        "FILE.onnx: opset 17 unless told; names of axes become names of dimensions, so the file is good for every size "
        "as well, "
        "and "
        "the sizes that the model is usually run at are kept in it. FILE.graph: graph text. Weights of built-in models "
        "are part of both.",
    .options = kExportOptions,
    .examples = kExportExamples,
    .run = run_export};

}  // namespace tenon::cli
