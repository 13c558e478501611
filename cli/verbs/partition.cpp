// `tenon partition`: how a model maps onto hardware.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/fail.h"
#include "base/json.h"
#include "base/read_file.h"
#include "cli/mesh/mesh_ranks.h"
#include "cli/mesh/partition_mesh.h"
#include "cli/mesh/partition_ranks.h"
#include "cli/models/files.h"
#include "cli/partition/partition_page.h"
#include "cli/partition/partition_report.h"
#include "cli/partition/partition_run.h"
#include "cli/partition/partition_why.h"
#include "cli/print/terminal.h"
#include "cli/verb.h"

namespace tenon::cli {
namespace {

using partition::Plan;

constexpr int64_t kMostPlan = int64_t{1} << 28;

constexpr Option kPartitionOptions[] = {
    {"--bind", "NAME=SIZE,...", "sizes of axes; built-in models have usual ones"},
    {"--train", "", "one step of Adam on the model instead of the model"},
    {"--profile", "NAME", "hardware: cpu64 (the default), gpu108, tpu, kpu256, `host` (measured), or a file .json"},
    {"--fuse", "LIST",
     "strategies, in order: none, vertical, depthwise, residual, horizontal, elementwise, attention, "
     "compiler (default: vertical,residual)"},
    {"--by", "fusion|parts|blocks|resources|pipeline", "what parts are (default: each fused group)"},
    {"--parts", "N", "by parts: so many; by pipeline: devices"},
    {"--imbalance", "X", "by parts: arithmetic of a part beyond the mean (default 0.1)"},
    {"--micro-batches", "N", "by pipeline: runs that are on their way at once"},
    {"--most-flops", "X", "by resources: arithmetic of a part; a group that has more is done in tiles"},
    {"--least-parallelism", "N", "by resources: groups with so many independent results are not joined with others"},
    {"--memory", "BYTES", "keep activations within so many bytes (or KiB, MiB, GiB): compute some again"},
    {"--plan", "FILE.json", "take this plan, with its sizes, instead of making one, and verify it"},
    {"--write", "FILE.json", "write the plan", false, true},
    {"--why", "OPERATOR", "why OPERATOR and the second word are or are not in one part, instead"},
    {"--diff", "FILE.json", "what differs between this plan and the one that is named instead of MODEL"},
    {"--run", "", "compile and run each part by itself and compare with the whole"},
    {"--export", "DIR", "write each part as an ONNX model, and a manifest"},
    {"--html", "FILE.html", "write a page: the graph with its parts, costs, roofline, memory", false, true},
    {"--compare", "FILE.json", "show this plan beside the other on the page"},
    {"--svg", "FILE.svg", "write the graph with its parts as a picture", false, true},
    {"--dot", "FILE.dot", "... in Graphviz's language", false, true},
    {"--mesh", "NAME=N,...",
     "on a mesh of ranks instead, which need not be there: time, memory and bytes of a rank, and how weights lie best"},
    kShard,
    kMeshRanks,
    kNetwork,
    kMeasure,
    kMeshPatience,
    {"--plot", "FILE.svg", "with --run: draw what was estimated for parts against what was measured", false, true},
};

constexpr Example kPartitionExamples[] = {
    {"partition resnet18", "fused parts and what they move"},
    {"partition resnet18 --by blocks --profile kpu256", "residual blocks, on a grid of tiles"},
    {"partition bert_base --parts 4 --imbalance 0.1 --write p.json", "four parts with few bytes between them"},
    {"partition bert_base --plan p.json --run", "the same, run part by part against the whole"},
    {"partition resnet18 --why conv1 relu1", "why two operators are in one part"},
    {"partition resnet18 --by resources --most-flops 300e6", "parts that fit a memory and are no larger than that"},
    {"partition --diff a.json b.json", "what differs between two plans"},
    {"partition vit_b16 --by pipeline --parts 4 --micro-batches 8 --profile gpu108", "stages on four devices"},
    {"partition mobilenet_v2 --html page.html", "a page to look at"},
    {"partition bert_base --profile host --fuse compiler --run --plot e.svg",
     "kernels on this machine, estimated and measured"},
    {"partition bert_base --train --ranks 1024 --bind batch=4096,seq=128",
     "meshes of 1,024 ranks that nobody has here, best first, and how the weights lie on the best"},
    {"partition bert_base --ranks 2 --run", "stages on two ranks, each by itself, against the whole; also with mpirun"},
    {"partition mlp --train --bind batch=512 --memory 6MiB --run", "a training step within less memory"},
};

std::string text_field(const JsonValue& plan, std::string_view key, const std::string& file) {
  const JsonValue* value = plan.find(key);
  if (value == nullptr || value->text() == nullptr) {
    fail("{}:{}: this is no plan: it has no text `{}`", file, plan.line(), key);
  }
  return *value->text();
}

/// Names of operators and tensors that files use, as a graph that has nothing else.
partition::WorkGraph names_of(const std::vector<const JsonValue*>& plans, const std::string& model) {
  std::set<std::string> operators;
  std::set<std::string> tensors;
  const auto texts = [](const JsonValue* list, std::set<std::string>& into) {
    for (const JsonValue& each : list != nullptr && list->list() != nullptr ? *list->list() : JsonValue::List()) {
      if (each.text() != nullptr) into.insert(*each.text());
    }
  };
  for (const JsonValue* plan : plans) {
    for (const std::string_view key : {"parts", "transfers"}) {
      const JsonValue* list = plan->find(key);
      for (const JsonValue& each : list != nullptr && list->list() != nullptr ? *list->list() : JsonValue::List()) {
        if (each.object() == nullptr) continue;
        texts(each.find("operators"), operators);
        const JsonValue* tensor = each.find("tensor");
        if (tensor != nullptr && tensor->text() != nullptr) tensors.insert(*tensor->text());
      }
    }
  }
  partition::WorkGraph work;
  work.graph = Graph(model, {}, {});
  for (const std::string& name : operators) {
    work.operators.emplace_back().name = name;
  }
  for (const std::string& name : tensors) {
    work.tensors.emplace_back().name = name;
  }
  return work;
}

int print_differences(const Arguments& arguments) {
  const std::string first = *arguments.find("--diff");
  const std::string& second = arguments.rest()[0];
  const std::string a_text = read_file(first, kMostPlan);
  const std::string b_text = read_file(second, kMostPlan);
  const JsonValue a = JsonValue::parse(a_text, first);
  const JsonValue b = JsonValue::parse(b_text, second);
  const std::string model = text_field(a, "model", first);
  const partition::WorkGraph names = names_of({&a, &b}, model);
  const Plan x = parse_plan(a_text, first, names);
  const Plan y = parse_plan(b_text, second, names);
  if (x.hash != y.hash) {
    fail("the plans are of different graphs: {} has {} parts of `{}`, {} has {} of `{}`", first, x.parts.size(),
         names.operators.empty() ? "nothing" : names.operators[0].name, second, y.parts.size(), y.model);
  }
  const std::vector<std::string> lines = differences(x, y, names);
  if (arguments.has("--json")) {
    Json::object().set("differences", lines).print();
    return 0;
  }
  for (const std::string& line : lines) {
    fmt::print("{}\n", line);
  }
  fmt::print("{}", lines.empty() ? "the plans are the same\n" : "");
  return 0;
}

bool is_compiled(const std::vector<std::string>& fuse) { return std::ranges::find(fuse, "compiler") != fuse.end(); }

/// A plan that was made is taken as it is: what says how to make one is for another call.
void require_no_other_plan(const Arguments& arguments) {
  for (const std::string_view option : {"--fuse", "--by", "--parts", "--imbalance", "--micro-batches", "--memory",
                                        "--most-flops", "--least-parallelism"}) {
    if (arguments.has(option)) {
      fail("`{}` says how a plan is made, and `--plan` takes one that was: leave one of them out", option);
    }
  }
}

/// A file's plan, verified against the model.
Plan read_plan(const std::string& file, const PartitionModel& model, partition::Profile& profile, bool profile_given) {
  const std::string text = read_file(file, kMostPlan);
  const Plan plan = parse_plan(text, file, model.work);
  if (plan.profile != profile.name && profile_given) {
    fail("{}: the plan is for profile `{}`, and `--profile` is `{}`; its first operator is `{}`", file, plan.profile,
         profile.name, model.work.operators.empty() ? "none" : model.work.operators[0].name);
  }
  const std::vector<std::string> built_in = partition::profile_names();
  if (plan.profile != profile.name) {
    if (plan.profile != "host" && std::ranges::find(built_in, plan.profile) == built_in.end()) {
      fail("{}: the plan is for profile `{}`, which is not built in: name its file by `--profile`", file, plan.profile);
    }
    profile = profile_by_name(plan.profile);
  }
  if (plan.profile == "host") {  // was measured at another time: the parts stay, figures are of now
    return rebind(plan, model.work, profile, plan.bindings);
  }
  verify(plan, model.work, profile);
  return plan;
}

/// A model and its plan: made, or that of `--plan`.
struct Planned {
  PartitionModel model;
  partition::Profile profile;
  Plan plan;
  bool is_compiled = false;
};

Planned plan_model(const Arguments& arguments, const partition::PlanOptions& options) {
  const auto plan_file = arguments.find("--plan");
  bool compiled = is_compiled(options.fuse);
  Bindings usual;
  if (plan_file) {
    require_no_other_plan(arguments);
    const JsonValue plan = JsonValue::parse(read_file(*plan_file, kMostPlan), *plan_file);
    compiled = text_field(plan, "graph", *plan_file) == "optimized";
    usual = Bindings::parse(text_field(plan, "bindings", *plan_file));
  }
  PartitionModel model = load_partition_model(arguments, compiled, usual);
  partition::Profile profile = profile_of(arguments);
  Plan plan = plan_file ? read_plan(*plan_file, model, profile, arguments.has("--profile"))
                        : make_plan(model.work, model.bindings, profile, options);
  if (model.bindings != plan.bindings) {
    plan = rebind(plan, model.work, profile, model.bindings);
  }
  return {.model = std::move(model), .profile = std::move(profile), .plan = std::move(plan), .is_compiled = compiled};
}

/// `--ranks N --run`.
int run_on_ranks(const Arguments& arguments) {
  for (const std::string_view option : {"--mesh", "--shard", "--measure", "--network", "--why", "--diff", "--export",
                                        "--html", "--compare", "--svg", "--dot", "--plot", "--write"}) {
    if (arguments.has(option)) fail("`{}` does not go with `--ranks N --run`", option);
  }
  constexpr int64_t most = 4096;
  const int64_t given = *arguments.find_number(kMeshRanks.name, 1);
  if (given > most) fail("`{} {}`: there may be {} ranks", kMeshRanks.name, given, most);
  const auto ranks = static_cast<int>(given);
  return on_processes_or_threads(arguments, ranks, [&](mesh::Communicator& world) {
    partition::PlanOptions options = plan_options(arguments);
    if (!arguments.has("--by") && !arguments.has("--plan")) {
      options.by = "pipeline";
      options.parts = ranks;
    }
    const Planned planned = plan_model(arguments, options);
    return run_plan_on_ranks(arguments, planned.model, planned.plan, world);
  });
}

int run_partition(const Arguments& arguments) {
  if (arguments.has(kMeshRanks.name) && arguments.has("--run")) {
    return run_on_ranks(arguments);
  }
  if (is_about_mesh(arguments)) {
    return partition_mesh(arguments);
  }
  if (arguments.has("--diff")) {
    return print_differences(arguments);
  }
  const partition::PlanOptions options = plan_options(arguments);
  if (const auto folder = arguments.find("--export")) {
    require_not_within(arguments, *folder);
  }
  const auto first = arguments.find("--why");
  if (first && arguments.rest().size() < 2) {
    fail("`--why {}` needs a second operator: tenon partition MODEL --why {} OTHER", *first, *first);
  }
  if (!first && arguments.rest().size() > 1) {
    fail("what is `{}`? A second word is for --why", arguments.rest()[1]);
  }
  const auto [model, profile, plan, compiled] = plan_model(arguments, options);
  if (first) {
    const PartitionWhy why = partition_why(model, plan, *first, arguments.rest()[1]);
    arguments.has("--json") ? why_json(why).print() : fmt::print("{}\n", printable_lines(why.text));
    return 0;
  }
  if (const auto file = arguments.find("--write")) {
    write_text(*file, to_json(plan, model.work));
  }
  if (const auto folder = arguments.find("--export")) {
    export_parts(model, plan, *folder);
  }
  std::vector<PlanRun> runs;
  if (arguments.has("--run")) {
    constexpr size_t repeats = 3;
    runs.push_back(run_plan(model, plan, repeats));
  }
  const std::vector<Rung> rungs = compiled ? std::vector<Rung>() : ladder(model, profile);
  write_pages(arguments, model, plan, profile, rungs, runs);
  if (arguments.has("--json")) {
    Json json = plan_report(plan, model, rungs);
    if (!runs.empty()) {
      json.set("run", run_json(runs[0]));
    }
    json.print();
  } else {
    fmt::print("{}{}{}", plan_table(plan, model), rungs.empty() ? "" : "\n" + ladder_table(rungs),
               runs.empty() ? "" : "\n" + run_table(runs[0], plan));
  }
  return runs.empty() || std::ranges::all_of(runs[0].outputs, &OutputMatch::ok) ? 0 : 1;
}

}  // namespace

const Verb kPartitionVerb{
    .name = "partition",
    .words = "MODEL [OPERATOR]",
    .doc = "cut a model into parts for hardware: what fuses, what moves, what it costs; prove, draw and run the plan",
    .about =
        "Makes operators with their costs of MODEL, joins them by strategies, cuts them into parts, places these on a "
        "hardware profile and estimates them. Every plan is verified: each operator once, no circles between parts, "
        "transfers complete, memories kept, totals the sum of the parts.",
    .options = kPartitionOptions,
    .examples = kPartitionExamples,
    .run = run_partition};

}  // namespace tenon::cli
