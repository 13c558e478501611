// Plans as JSON that can be read again, by people too: a line for each part.
#include <algorithm>

#include "partition/plan/part_nodes.h"
#include "partition/work/json_fields.h"
#include "partition/work/sized.h"

namespace tenon::partition {
namespace {

constexpr int64_t kVersion = 2;

std::string names(const std::vector<int>& operators, const WorkGraph& work) {
  std::string text;
  for (const int index : operators) {
    text += (text.empty() ? "" : ", ") + json_quoted(work.operators[static_cast<size_t>(index)].name);
  }
  return "[" + text + "]";
}

std::string figures_json(const Figures& f) {
  return fmt::format(
      R"("flops": {}, "bytes_read": {}, "bytes_written": {}, "weight_bytes": {}, "bytes_again": {}, "working_set": {}, "parallelism": {}, "seconds": {}, "joules": {})",
      f.flops, f.bytes_read, f.bytes_written, f.weight_bytes, f.bytes_again, f.working_set, f.parallelism, f.seconds,
      f.joules);
}

std::string part_json(const Part& part, const WorkGraph& work) {
  const std::string again = part.again.empty() ? "" : fmt::format(R"(, "again": {})", names(part.again, work));
  std::string nodes;  // for people: nobody reads them back
  for (const std::string& node : nodes_of(part, work)) {
    nodes += (nodes.empty() ? "" : ", ") + json_quoted(node);
  }
  return fmt::format(R"(    {{"operators": {}{}{}, "unit": {}, "tiles": {}, "why": {}, {}}})",
                     names(part.operators, work), again, nodes.empty() ? "" : fmt::format(R"(, "nodes": [{}])", nodes),
                     json_quoted(part.unit), part.tiles, json_quoted(part.why), figures_json(part.figures));
}

Figures read_figures(const JsonFields& from) {
  return {.flops = from.number("flops"),
          .bytes_read = from.integer("bytes_read", 0),
          .bytes_written = from.integer("bytes_written", 0),
          .weight_bytes = from.integer("weight_bytes", 0),
          .bytes_again = from.integer("bytes_again", 0),
          .working_set = from.integer("working_set", 0),
          .parallelism = from.integer("parallelism", 0),
          .seconds = from.number("seconds"),
          .joules = from.number("joules")};
}

std::vector<int> read_operators(const JsonFields& from, std::string_view key, const WorkGraph& work) {
  std::vector<int> result;
  for (const JsonValue& item : from.list(key)) {
    if (item.text() == nullptr) {
      fail("{}:{}: an operator must be a text, its name", from.what(), item.line());
    }
    try {
      result.push_back(work.find(*item.text()));
    } catch (const Error& error) {
      fail("{}:{}: {}", from.what(), item.line(), error.what());
    }
  }
  return result;
}

Part read_part(const JsonValue& value, const std::string& what, const WorkGraph& work) {
  const JsonFields from(value, what,
                        {"operators", "again", "nodes", "unit", "tiles", "why", "flops", "bytes_read", "bytes_written",
                         "weight_bytes", "bytes_again", "working_set", "parallelism", "seconds", "joules"});
  return {.operators = read_operators(from, "operators", work),
          .again = from.find("again") == nullptr ? std::vector<int>() : read_operators(from, "again", work),
          .unit = from.text("unit"),
          .tiles = from.integer("tiles", 1),
          .why = from.text("why"),
          .figures = read_figures(from)};
}

Transfer read_transfer(const JsonValue& value, const std::string& what, const WorkGraph& work) {
  const JsonFields from(value, what, {"tensor", "from", "to", "bytes"});
  const std::string name = from.text("tensor");
  const auto at = std::ranges::find(work.tensors, name, &WorkTensor::name);
  if (at == work.tensors.end()) {
    fail("{}:{}: there is no tensor `{}`", what, from.line(), name);
  }
  return {.tensor = static_cast<int>(at - work.tensors.begin()),
          .from = static_cast<int>(from.integer("from", 1)) - 1,
          .to = static_cast<int>(from.integer("to", 1)) - 1,
          .bytes = from.integer("bytes", 0)};
}

PartLimits read_limits(const JsonValue& value, const std::string& what) {
  const JsonFields from(value, what, {"flops", "parallelism"});
  return {.flops = from.number("flops"), .parallelism = from.integer("parallelism", 0)};
}

Totals read_totals(const JsonValue& value, const std::string& what) {
  const JsonFields from(
      value, what,
      {"flops", "bytes_moved", "transfer_bytes", "weight_bytes", "peak_bytes", "latency", "interval", "joules"});
  return {.flops = from.number("flops"),
          .bytes_moved = from.integer("bytes_moved", 0),
          .transfer_bytes = from.integer("transfer_bytes", 0),
          .weight_bytes = from.integer("weight_bytes", 0),
          .peak_bytes = from.integer("peak_bytes", 0),
          .latency = from.number("latency"),
          .interval = from.number("interval"),
          .joules = from.number("joules")};
}

}  // namespace

std::string to_json(const Plan& plan, const WorkGraph& work) {
  std::string text = fmt::format(
      "{{\n  \"tenon_plan\": {},\n  \"model\": {}, \"graph\": {}, \"hash\": {},\n  \"bindings\": {},\n"
      "  \"fuse\": {}, \"by\": {}, \"profile\": {},\n  \"devices\": {}, \"micro_batches\": {}, \"memory_limit\": {}, "
      "\"limits\": {{\"flops\": {}, \"parallelism\": {}}},\n",
      kVersion, json_quoted(plan.model), json_quoted(plan.graph), plan.hash, json_quoted(plan.bindings.to_string()),
      json_quoted(plan.fuse), json_quoted(plan.by), json_quoted(plan.profile), plan.devices, plan.micro_batches,
      plan.memory_limit, plan.limits.flops, plan.limits.parallelism);
  const Totals& t = plan.totals;
  text += fmt::format(
      "  \"totals\": {{\"flops\": {}, \"bytes_moved\": {}, \"transfer_bytes\": {}, \"weight_bytes\": {}, "
      "\"peak_bytes\": {}, \"latency\": {}, \"interval\": {}, \"joules\": {}}},\n  \"parts\": [\n",
      t.flops, t.bytes_moved, t.transfer_bytes, t.weight_bytes, t.peak_bytes, t.latency, t.interval, t.joules);
  for (size_t i = 0; i < plan.parts.size(); ++i) {
    text += part_json(plan.parts[i], work) + (i + 1 < plan.parts.size() ? ",\n" : "\n");
  }
  text += "  ],\n  \"transfers\": [\n";
  for (size_t i = 0; i < plan.transfers.size(); ++i) {
    const Transfer& each = plan.transfers[i];
    text += fmt::format(R"(    {{"tensor": {}, "from": {}, "to": {}, "bytes": {}}})",
                        json_quoted(work.tensors[static_cast<size_t>(each.tensor)].name), each.from + 1, each.to + 1,
                        each.bytes);
    text += i + 1 < plan.transfers.size() ? ",\n" : "\n";
  }
  return text + "  ]\n}\n";
}

Plan parse_plan(std::string_view json, std::string_view what_text, const WorkGraph& work) {
  const std::string what(what_text);
  const JsonValue value = JsonValue::parse(json, what);
  const JsonFields from(value, what,
                        {"tenon_plan", "model", "graph", "hash", "bindings", "fuse", "by", "profile", "devices",
                         "micro_batches", "memory_limit", "limits", "totals", "parts", "transfers"});
  if (const int64_t version = from.integer("tenon_plan", 1); version != kVersion) {
    fail("{}:{}: the plan is of version {}, and this reads version {}; make it again", what,
         from.at("tenon_plan").line(), version, kVersion);
  }
  Plan plan{.model = from.text("model"),
            .graph = from.text("graph"),
            .hash = static_cast<uint64_t>(from.integer("hash", 0)),
            .bindings = Bindings::parse(from.text("bindings")),
            .fuse = from.text("fuse"),
            .by = from.text("by"),
            .profile = from.text("profile"),
            .devices = from.integer("devices", 1),
            .micro_batches = from.integer("micro_batches", 1),
            .memory_limit = from.integer("memory_limit", 0),
            .limits = read_limits(from.at("limits"), what),
            .parts = {},
            .transfers = {},
            .totals = read_totals(from.at("totals"), what)};
  if (plan.graph != "model" && plan.graph != "optimized") {
    fail("{}:{}: `graph` must be `model` or `optimized`, not `{}`", what, from.at("graph").line(), plan.graph);
  }
  if (plan.model != work.graph.name()) {
    fail("{}:{}: the plan is of model `{}`, and this is `{}`, whose first operator is `{}`", what,
         from.at("model").line(), plan.model, work.graph.name(),
         work.operators.empty() ? "none" : work.operators[0].name);
  }
  for (const JsonValue& item : from.list("parts")) {
    plan.parts.push_back(read_part(item, what, work));
  }
  for (const JsonValue& item : from.list("transfers")) {
    plan.transfers.push_back(read_transfer(item, what, work));
  }
  return plan;
}

}  // namespace tenon::partition
