#include "cli/partition/partition_report.h"

#include <fmt/format.h>

#include "cli/print/terminal.h"
#include "cli/print/units.h"
#include "kernel/program/step_text.h"
#include "partition/plan/part_nodes.h"

namespace tenon::cli {

using partition::Part;
using partition::Plan;
using partition::PlanOptions;

namespace {

int64_t bytes_again(const partition::Plan& plan) {
  int64_t bytes = 0;
  for (const partition::Part& part : plan.parts) {
    bytes += part.figures.bytes_again;
  }
  return bytes;
}

Json figures_json(const Part& part) {
  const partition::Figures& f = part.figures;
  return Json::object()
      .set("unit", part.unit)
      .set("tiles", part.tiles)
      .set("flops", f.flops)
      .set("bytes_read", f.bytes_read)
      .set("bytes_written", f.bytes_written)
      .set("weight_bytes", f.weight_bytes)
      .set("working_set", f.working_set)
      .set("parallelism", f.parallelism)
      .set("seconds", f.seconds)
      .set("joules", f.joules)
      .set("why", part.why);
}

double macs_of(const PartitionModel& model) {
  Extent macs = 0;
  for (const partition::Operator& op : model.work.operators) {
    macs += op.macs;
  }
  return static_cast<double>(evaluate(macs, model.bindings));
}

}  // namespace

std::vector<Rung> ladder(const PartitionModel& model, const partition::Profile& profile) {
  const std::pair<const char*, PlanOptions> levels[] = {
      {"operators", {.fuse = {"none"}}},
      {"chains", {.fuse = {"vertical"}}},
      {"residual", {.fuse = {"vertical", "residual"}}},
      {"blocks", {.fuse = {"none"}, .by = "blocks"}},
  };
  std::vector<Rung> rungs;
  for (const auto& [name, options] : levels) {
    const Plan plan = make_plan(model.work, model.bindings, profile, options);
    const int64_t bytes = plan.totals.bytes_moved;
    const int64_t all = rungs.empty() ? bytes : rungs[0].bytes;
    rungs.push_back({.name = name,
                     .parts = plan.parts.size(),
                     .transfers = plan.transfers.size(),
                     .bytes = bytes,
                     .saved = all == 0 ? 0 : 1 - static_cast<double>(bytes) / static_cast<double>(all)});
  }
  return rungs;
}

std::string operators_text(const Part& part, const partition::WorkGraph& work, size_t most) {
  std::string text;
  for (size_t i = 0; i < part.operators.size() && i < most; ++i) {
    text += (i == 0 ? "" : " ") + work.operators[static_cast<size_t>(part.operators[i])].name;
  }
  if (part.operators.size() > most) {
    text += fmt::format(" ... ({} in all)", part.operators.size());
  }
  return (part.again.empty() ? "" : "again: ") + text;
}

namespace {

std::string counted(size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace

std::string plan_table(const Plan& plan, const PartitionModel& model) {
  std::string text = fmt::format("{}{}{} on {}: {}, {}, {:.3f} GMAC\n", bold(printable(plan.model)),
                                 plan.bindings.empty() ? "" : " at ", plan.bindings.to_string(), plan.profile,
                                 counted(model.work.operators.size(), "operator"), counted(plan.parts.size(), "part"),
                                 macs_of(model) / 1e9);
  text += fmt::format("  {:>4} {:<8} {:>5} {:>10} {:>11} {:>11} {:>11} {:>10}  {}\n", "part", "unit", "tiles", "FLOPs",
                      "reads", "writes", "works on", "time", "operators");
  for (size_t i = 0; i < plan.parts.size(); ++i) {
    const Part& part = plan.parts[i];
    const partition::Figures& f = part.figures;
    const std::vector<std::string> nodes = nodes_of(part, model.work);
    text += fmt::format("  {:>4} {:<8} {:>5} {:>10} {:>11} {:>11} {:>11} {:>10}  {}{}\n", i + 1, part.unit, part.tiles,
                        count_text(f.flops), bytes_text(f.bytes_read), bytes_text(f.bytes_written),
                        bytes_text(f.working_set), time_text(f.seconds * 1e6), operators_text(part, model.work, 4),
                        nodes.empty() ? "" : "; from " + printable(node_text(nodes, 1)));
  }
  const partition::Totals& t = plan.totals;
  text += fmt::format("  {} of {}; {} moved in all, {} of them weights; {} of activations at once\n",
                      counted(plan.transfers.size(), "transfer"), bytes_text(t.transfer_bytes),
                      bytes_text(t.bytes_moved), bytes_text(t.weight_bytes), bytes_text(t.peak_bytes));
  if (const int64_t again = bytes_again(plan); again > 0) {
    text += fmt::format("  {} more are read again by tiles\n", bytes_text(again));
  }
  text += fmt::format("  latency {}, a result every {}", time_text(t.latency * 1e6), time_text(t.interval * 1e6));
  text += t.joules > 0 ? fmt::format(", {:.3g} mJ a run\n", t.joules * 1e3) : "\n";
  return text;
}

std::string ladder_table(const std::vector<Rung>& rungs) {
  std::string text =
      fmt::format("  {:<10} {:>6} {:>10} {:>12} {:>7}\n", "level", "parts", "transfers", "moved", "saved");
  for (const Rung& rung : rungs) {
    text += fmt::format("  {:<10} {:>6} {:>10} {:>12} {:>6.1f}%\n", rung.name, rung.parts, rung.transfers,
                        bytes_text(rung.bytes), 100 * rung.saved);
  }
  return text;
}

Json plan_report(const Plan& plan, const PartitionModel& model, const std::vector<Rung>& rungs) {
  Json levels = Json::array();
  for (const Rung& rung : rungs) {
    levels.push(Json::object()
                    .set("level", rung.name)
                    .set("parts", rung.parts)
                    .set("transfers", rung.transfers)
                    .set("bytes", rung.bytes)
                    .set("saved", rung.saved));
  }
  Json parts = Json::array();
  for (const Part& part : plan.parts) {
    Json names = Json::array();
    for (const int index : part.operators) {
      names.push(model.work.operators[static_cast<size_t>(index)].name);
    }
    Json json = figures_json(part);
    json.set("operators", names).set("nodes", Json(nodes_of(part, model.work)));
    parts.push(json.set("recomputed", part.again.size()));
  }
  const partition::Totals& t = plan.totals;
  Json json = Json::object();
  json.set("model", plan.model).set("bindings", plan.bindings.to_string()).set("profile", plan.profile);
  json.set("fuse", plan.fuse).set("by", plan.by).set("operators", model.work.operators.size());
  json.set("gmac", macs_of(model) / 1e9).set("ladder", levels).set("transfers", plan.transfers.size());
  json.set("totals", Json::object()
                         .set("flops", t.flops)
                         .set("bytes_moved", t.bytes_moved)
                         .set("bytes_again", bytes_again(plan))
                         .set("transfer_bytes", t.transfer_bytes)
                         .set("weight_bytes", t.weight_bytes)
                         .set("peak_bytes", t.peak_bytes)
                         .set("latency", t.latency)
                         .set("interval", t.interval)
                         .set("joules", t.joules));
  return json.set("parts", parts);
}

}  // namespace tenon::cli
