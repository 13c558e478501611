// `tenon export`: a model as an ONNX file.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "base/fail.h"
#include "ir/node.h"
#include "json.h"
#include "load_graph.h"
#include "terminal.h"
#include "units.h"
#include "verb.h"

#ifdef TENON_WITH_ONNX
#include "tenon/onnx_export.h"
#endif

namespace tenon {
namespace {

constexpr Example kExamples[] = {
    {"export resnet18 resnet18.onnx", "a built-in model, its weights included"},
    {"export examples/block.graph block.onnx", "graph text"},
};

int run(const Arguments& arguments) {
#ifdef TENON_WITH_ONNX
  const std::string& path = arguments.rest()[1];
  const Progress progress;
  progress.show("loading");
  const GraphModel model = load_model(arguments.rest()[0], {.weights = true});
  progress.show("exporting");
  export_onnx(model.graph, path);
  progress.show("");
  const auto bytes = static_cast<int64_t>(std::filesystem::file_size(path));
  if (arguments.has("--json")) {
    Json::object().set("model", model.graph.name()).set("file", path).set("bytes", bytes).print();
  } else {
    fmt::print("{}: {}, ONNX opset 17\n", path, bytes_text(bytes));
  }
  return 0;
#else
  fail("`{}`: this build writes no ONNX models (it was configured with TENON_ONNX=OFF)", arguments.rest()[1]);
#endif
}

}  // namespace

const Verb kExportVerb{.name = "export",
                       .words = "MODEL FILE.onnx",
                       .doc = "write a model as an ONNX file",
                       .about =
                           "Opset 17; names of axes become names of dimensions, so the file is good for every size "
                           "as well. Weights of built-in models are part of it.",
                       .examples = kExamples,
                       .run = run};

}  // namespace tenon
