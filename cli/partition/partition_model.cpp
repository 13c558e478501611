#include "cli/partition/partition_model.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/fail.h"
#include "base/read_file.h"
#include "cli/models/load_trainable.h"
#include "cli/models/model_ports.h"
#include "cli/partition/host_profile.h"
#include "compiler/lowered.h"

namespace tenon::cli {
namespace {

constexpr int64_t kMostProfile = int64_t{1} << 24;

void use_kernels(PartitionModel& model) {
  const Graph& graph = model.model.graph;
  CompileReport report;
  const compiler::Lowered lowered = compiler::lower(graph, {}, report);
  if (lowered.segments.size() != 1) {
    fail("strategy `compiler`: data decide sizes of `{}` while it runs, so it has no one list of kernels",
         graph.name());
  }
  const std::vector<std::vector<const Node*>>& steps = lowered.segments[0].nodes;
  model.work = partition::work_graph_of(lowered.segments[0].graph, steps);
  for (const std::vector<const Node*>& nodes : model.work.nodes) {
    const auto computes = [&](const std::vector<const Node*>& step) {
      return std::ranges::find(step, nodes.front()) != step.end();
    };
    model.step_of.push_back(static_cast<size_t>(std::ranges::find_if(steps, computes) - steps.begin()));
  }
}

/// `first`, and what `others` say of names that it does not have.
Bindings with_others(Bindings first, const Bindings& others) {
  for (const auto& [name, size] : others) {
    if (!first.find(name)) {
      first.set(name, size);
    }
  }
  return first;
}

}  // namespace

PartitionModel load_partition_model(const Arguments& arguments, bool compiled, const Bindings& usual) {
  PartitionModel result;
  const Bindings bound = Bindings::parse(arguments.find("--bind").value_or(""));
  const std::string& word = arguments.rest()[0];
  result.model = arguments.has("--train")
                     ? load_training_step(word, {}, "adam")
                     : load_model(word, {.weights = true, .inputs = {}, .sizes = with_others(bound, usual)});
  const std::vector<std::string> names = axis_names(result.model.graph);
  Bindings known;
  for (const auto& [name, size] : usual) {  // where the plan is of another model, whoever reads it says so
    if (std::ranges::find(names, name) != names.end()) {
      known.set(name, size);
    }
  }
  result.model.typical = with_others(std::move(known), result.model.typical);
  result.bindings = complete_bindings(ports_of(result.model), bound);
  if (compiled) {
    use_kernels(result);
  } else {
    result.work = partition::work_graph(result.model.graph);
  }
  return result;
}

partition::Profile profile_by_name(const std::string& name) {
  if (name == "host") {
    return host_profile();
  }
  if (name.find_first_of("./") != std::string::npos) {
    return partition::parse_profile(read_file(name, kMostProfile), name);
  }
  return partition::profile_named(name);
}

partition::Profile profile_of(const Arguments& arguments) {
  return profile_by_name(arguments.find("--profile").value_or("cpu64"));
}

int64_t parse_bytes(const std::string& text, std::string_view option) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string unit(end, text.data() + text.size());
  const int shift = unit.empty() || unit == "B" ? 0 : unit == "KiB" ? 10 : unit == "MiB" ? 20 : unit == "GiB" ? 30 : -1;
  if (error != std::errc() || shift < 0 || number < 1 || number > (int64_t{1} << 62) >> shift) {
    fail("`{} {}`: must be a number of bytes, at least 1, or of KiB, MiB or GiB, such as 256KiB", option, text);
  }
  return number << shift;
}

partition::PlanOptions plan_options(const Arguments& arguments) {
  partition::PlanOptions options;
  if (arguments.has("--fuse")) {
    options.fuse = arguments.list("--fuse");
  }
  const auto parts = arguments.find("--parts");
  options.parts = arguments.find_number("--parts", 0).value_or(0);
  options.by = arguments.find("--by").value_or(parts ? "parts" : "fusion");
  if (parts && options.by != "parts" && options.by != "pipeline") {
    fail("`--parts` is for `--by parts` and `--by pipeline`, not for `--by {}`", options.by);
  }
  const std::pair<const char*, const char*> only_for[] = {{"--imbalance", "parts"},
                                                          {"--micro-batches", "pipeline"},
                                                          {"--most-flops", "resources"},
                                                          {"--least-parallelism", "resources"}};
  for (const auto& [option, by] : only_for) {
    if (arguments.has(option) && options.by != by) {
      fail("`{}` is for `--by {}`, not for `--by {}`", option, by, options.by);
    }
  }
  options.imbalance = arguments.find_real("--imbalance").value_or(options.imbalance);
  options.micro_batches = arguments.find_number("--micro-batches", 1).value_or(1);
  options.limits.flops = arguments.find_real("--most-flops").value_or(0);
  if (arguments.has("--most-flops") && options.limits.flops < 1) {
    fail("`--most-flops {}`: must be at least 1", *arguments.find("--most-flops"));
  }
  options.limits.parallelism = arguments.find_number("--least-parallelism", 1).value_or(0);
  if (const auto limit = arguments.find("--memory")) {
    options.memory_limit = parse_bytes(*limit, "--memory");
  }
  return options;
}

}  // namespace tenon::cli
