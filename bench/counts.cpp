// How many kernels each of these graphs becomes, and the bytes that they move: for given machines, whatever the host
// is.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/count_graphs.h"
#include "support/report.h"
#include "tenon/compile.h"
#include "tenon/text.h"

namespace {

struct Row {
  const char* name;
  std::optional<int> tinygrad;  // kernels that tinygrad 0.13 makes; nothing where it was not counted
  int target;                   // at most this many
};

constexpr Row kRows[] = {
    {"elementwise_dag", 1, 1},
    {"two_outputs", 2, 1},
    {"two_reductions", 1, 1},
    {"sub_row_sum", 2, 1},
    {"nested_row_sum", 2, 1},
    {"nested_row_sum_map", 3, 1},
    {"shared_sum", 2, 1},
    {"views_only", 0, 0},
    {"mean", 1, 1},
    {"var", 2, 1},
    {"std", 2, 1},
    {"var_mean", 3, 1},
    {"argmax", 2, 1},
    {"max_argmax", 2, 1},
    {"softmax", 3, 1},
    {"log_softmax", 3, 1},
    {"logsumexp", 2, 1},
    {"softmax_backward", 4, 1},
    {"layer_norm_backward", 6, 2},
    {"layer_norm", 3, 1},
    {"rms_norm", 2, 1},
    {"group_norm", 3, 1},
    {"batch_norm_eval", 1, 1},
    {"batch_norm_train", 3, 1},
    {"batch_norm_train_stats", 6, 1},
    {"cross_entropy", 3, 1},
    {"embedding_sum_norm", std::nullopt, 1},
    {"concat_elementwise", 1, 1},
    {"adam_4", 18, 1},
    {"sgd_momentum_4", 8, 1},
    {"dense_gelu", 1, 1},
    {"ffn", 2, 2},
    {"swiglu", 2, 2},
    {"matmul_sum", 1, 1},
    {"conv_bn_relu_eval", 1, 1},
    {"conv_bn_relu_train", 7, 2},
    {"residual_block_eval", 2, 2},
    {"residual_block_train", 8, 4},
    {"squeeze_excite", 4, 3},
    {"depthwise_pointwise", 2, 2},
    {"attention", 4, 1},
    {"attention_causal", 4, 1},
    {"attention_mask", 4, 1},
    {"qkv_attention_out", 8, 3},
    {"attention_backward", 9, 3},
    {"transformer_block", 16, 7},
    {"reused_conv", 2, 2},
    {"reused_conv_both", 6, 6},
    {"lstm_cell", 3, 1},
    {"resnet18_eval", 19, 22},
    {"resnet50_eval", 51, 54},
    {"bert_base_eval", std::nullopt, 84},
    // with the lazy front end
    {"assign_relu", 2, 1},
    {"assign_transpose", 2, 2},
    {"assign_shared", 4, 1},
    {"resnet18_train_forward", 139, 36},
    {"resnet18_step", 477, 97},
};

/// Targets hold for each of them: with the longest vectors and the largest second cache that named machines have, and
/// with short vectors.
constexpr const char* kMachines[] = {"x86-64-v4", "armv8.2"};

constexpr int64_t kSize = 256;  // of every named axis, to add up bytes

int64_t at_size(const tenon::Extent& extent) {
  return extent.evaluate([](std::string_view) { return kSize; });
}

int64_t port_bytes(const std::vector<tenon::Port>& ports) {
  int64_t bytes = 0;
  for (const tenon::Port& port : ports) {
    bytes += at_size(port.shape.element_count()) * static_cast<int64_t>(tenon::byte_size(port.shape.dtype()));
  }
  return bytes;
}

/// What the steps of one graph do, in a line for people.
struct Measured {
  const char* machine = "";
  int kernels = 0;
  int copies = 0;
  int others = 0;
  int phases = 0;
  double moved = 0;  // bytes, times inputs and outputs once each

  int steps() const { return kernels + copies + others; }
};

Measured measure(const tenon::Graph& graph, const char* machine) {
  const tenon::Executable executable =
      tenon::compile(graph, {.native = false, .machine = tenon::machine_named(machine)});
  Measured result{.machine = machine};
  int64_t bytes = 0;
  for (const tenon::StepReport& step : executable.steps()) {
    result.kernels += step.kind == tenon::StepKind::kernel;
    result.copies += step.kind == tenon::StepKind::copy;
    result.others += step.kind != tenon::StepKind::kernel && step.kind != tenon::StepKind::copy;
    result.phases += step.phases;
    bytes += at_size(step.bytes_read) + at_size(step.bytes_written);
  }
  result.moved = static_cast<double>(bytes) /
                 static_cast<double>(port_bytes(executable.inputs()) + port_bytes(executable.outputs()));
  return result;
}

/// On the machine where it is the most steps; the note says which, where they differ.
Measured measure_worst(const tenon::Graph& graph, std::string& note) {
  std::optional<Measured> worst;
  bool differs = false;
  for (const char* machine : kMachines) {
    const Measured here = measure(graph, machine);
    differs = differs || (worst && worst->steps() != here.steps());
    worst = !worst || here.steps() > worst->steps() ? here : *worst;
  }
  if (differs) {
    note += fmt::format("{}on {}", note.empty() ? "" : "; ", worst->machine);
  }
  return *worst;
}

/// Each graph as text, for tools/compare_builds.py; whole models are built into the command.
int write_graphs(const std::filesystem::path& folder, const std::vector<bench::CountGraph>& graphs) {
  std::filesystem::create_directories(folder);
  for (const bench::CountGraph& each : graphs) {
    std::ofstream(folder / (each.name + ".graph")) << tenon::to_text(each.graph);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<bench::CountGraph> graphs = bench::count_graphs();
  std::ranges::move(bench::product_graphs(), std::back_inserter(graphs));
  if (argc == 3 && std::string_view(argv[1]) == "--write") {
    return write_graphs(argv[2], graphs);
  }
  bench::Report report(argc, argv);
  std::ranges::move(bench::model_graphs(), std::back_inserter(graphs));
  std::ranges::move(bench::tensor_graphs(), std::back_inserter(graphs));
  std::ranges::move(bench::tensor_models(), std::back_inserter(graphs));
  for (const Row& row : kRows) {
    if (!report.wants(row.name)) {
      continue;
    }
    std::string note = row.tinygrad ? fmt::format("tinygrad {}", *row.tinygrad) : "";
    const auto graph = std::ranges::find(graphs, row.name, &bench::CountGraph::name);
    if (graph == graphs.end()) {
      report.add_pending(row.name, "kernels", row.target, bench::Better::lower, note);
      continue;
    }
    const Measured measured = measure_worst(graph->graph, note);
    report.add(row.name, measured.steps(), "kernels", row.target, bench::Better::lower,
               fmt::format("{}{}{} phases, {} copies, {:.2f} x inputs and outputs moved", note,
                           note.empty() ? "" : "; ", measured.phases, measured.copies, measured.moved));
    if (graph->traffic > 0) {
      report.add(fmt::format("{}.bytes", row.name), measured.moved, "x inputs+outputs", graph->traffic);
    }
  }
  return report.finish();
}
