// `tenon export`: a model as an ONNX file or as graph text.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "base/fail.h"
#include "files.h"
#include "ir/node.h"
#include "json.h"
#include "load_graph.h"
#include "tenon/text.h"
#include "terminal.h"
#include "units.h"
#include "verb.h"

#ifdef TENON_WITH_ONNX
#include "tenon/onnx_export.h"
#endif

namespace tenon::cli {
namespace {

constexpr Option kOptions[] = {
    {"--external-data", "", "weights in FILE.onnx.data beside the model, which importing it maps; needed beyond 2 GB"},
};

constexpr Example kExamples[] = {
    {"export resnet18 resnet18.onnx", "a built-in model, its weights included"},
    {"export bert_base bert.onnx --external-data", "weights in bert.onnx.data"},
    {"export examples/block.graph block.onnx", "graph text"},
    {"export model.onnx model.graph", "the other way round"},
};

#ifdef TENON_WITH_ONNX
void write_onnx_file(const GraphModel& model, const std::string& path, bool external_data) {
  export_onnx(model.graph, path, {.external_data = external_data, .usual = model.typical});
}
#else
void write_onnx_file(const GraphModel&, const std::string& path, bool) {
  fail("`{}`: this build writes no ONNX models (it was configured with TENON_ONNX=OFF)", path);
}
#endif

int run(const Arguments& arguments) {
  const std::string& path = arguments.rest()[1];
  const std::string ending = std::filesystem::path(path).extension();
  const bool external_data = arguments.has("--external-data");
  if (ending != ".onnx" && ending != ".graph") {
    fail("`{}`: the ending says what is written: FILE.onnx for ONNX, FILE.graph for graph text", path);
  }
  if (external_data && ending != ".onnx") {
    fail("`--external-data` is for ONNX files, and `{}` is graph text", path);
  }
  const Progress progress;
  progress.show("loading");
  const GraphModel model = load_model(arguments.rest()[0], {.weights = true});
  progress.show("exporting");
  if (ending == ".onnx") {
    write_onnx_file(model, path, external_data);
  } else {
    write_text(path, to_text(model.graph));
  }
  progress.show("");
  const auto bytes = static_cast<int64_t>(std::filesystem::file_size(path));
  const std::string data = path + ".data";
  const int64_t beside =
      external_data && std::filesystem::exists(data) ? static_cast<int64_t>(std::filesystem::file_size(data)) : 0;
  if (arguments.has("--json")) {
    Json::object()
        .set("model", model.graph.name())
        .set("file", path)
        .set("bytes", bytes)
        .set("external_bytes", beside)
        .print();
    return 0;
  }
  fmt::print("{}: {}, {}\n", path, bytes_text(bytes), ending == ".onnx" ? "ONNX opset 17" : "graph text");
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
        "FILE.onnx: opset 17; names of axes become names of dimensions, so the file is good for every size as well, "
        "and "
        "the sizes that the model is usually run at are kept in it. FILE.graph: graph text. Weights of built-in models "
        "are part of both.",
    .options = kOptions,
    .examples = kExamples,
    .run = run};

}  // namespace tenon::cli
