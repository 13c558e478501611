#include "explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "arguments.h"
#include "base/fail.h"
#include "compiler/inspect.h"
#include "load_graph.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

constexpr int64_t kMostConstantElements = 8;

constexpr Option kOptions[] = {
    {"--bind", "NAME=SIZE,...", "also the bytes of each step at these sizes"},
    {"--train", "", "one step of Adam on the model instead of the model"},
    {"--passes", "", "the passes with their times instead, and whether they changed the graph"},
    {"--after", "PASS", "the graph after this pass instead; PASS:2 after its second run"},
    {"--kernel", "N", "the loops of step N instead"},
    {"--asm", "N", "the assembly of step N instead"},
    {"--target", "NAME", "the machine for --asm instead of this one: x86-64-v3, armv8.2, ..."},
    {"--no-fuse", "", "every operation as a kernel of its own"},
    {"--skip", "PASS,...", "leave these passes out"},
};

/// What is shown in place of the list of steps: one at most.
constexpr std::string_view kViews[] = {"--passes", "--after", "--kernel", "--asm"};

void check(const Arguments& arguments) {
  if (arguments.rest().empty()) {
    fail("explain takes a built-in model or a file of graph text; `tenon explain --help` has examples");
  }
  if (arguments.rest().size() > 1) {
    fail("explain takes one model, not {}: {}", arguments.rest().size(), fmt::join(arguments.rest(), ", "));
  }
  std::vector<std::string_view> given;
  std::ranges::copy_if(kViews, std::back_inserter(given), [&](std::string_view view) { return arguments.has(view); });
  if (given.size() > 1) {
    fail("`{}` and `{}` cannot be shown at once", given[0], given[1]);
  }
  if (arguments.has("--target") && !arguments.has("--asm")) {
    fail("`--target` is the machine for `--asm`, which is not given");
  }
  if (arguments.has("--bind") && !given.empty()) {
    fail("`--bind` and `{}` cannot be shown at once", given[0]);
  }
}

/// As people write sizes: 512 B, 1.5 KiB, 12 MiB.
std::string bytes_text(int64_t bytes) {
  constexpr std::string_view units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit) {
    value /= 1024;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.4g} {}", value, units[unit]);
}

void check_names(const Bindings& bindings, const Executable& executable) {
  std::vector<std::string> names;
  for (const Port& port : executable.inputs()) {
    for (const Axis& axis : port.shape.axes()) {
      for (const std::string& name : axis.extent().names()) {
        if (std::ranges::find(names, name) == names.end()) {
          names.push_back(name);
        }
      }
    }
  }
  for (const auto& [name, size] : bindings) {
    if (std::ranges::find(names, name) == names.end()) {
      fail("`--bind {}={}`: no input has an axis of this name; {}", name, size,
           names.empty() ? "all sizes are known" : fmt::format("there is: {}", fmt::join(names, ", ")));
    }
  }
}

std::string bytes_table(const Executable& executable, const Bindings& bindings) {
  check_names(bindings, executable);
  const MemoryReport memory = executable.memory(bindings);
  std::string text = fmt::format("at {}:\n", bindings.to_string());
  const auto line = [&](const std::string& step, const std::string& reads, const std::string& writes) {
    text += fmt::format("  {:>4} {:>12} {:>12}\n", step, reads, writes);
  };
  line("step", "reads", "writes");
  int64_t read = 0;
  int64_t written = 0;
  for (size_t i = 0; i < executable.steps().size(); ++i) {
    const StepReport& step = executable.steps()[i];
    const int64_t in = evaluate(step.bytes_read, bindings);
    const int64_t out = evaluate(step.bytes_written, bindings);
    line(std::to_string(i + 1), bytes_text(in), bytes_text(out));
    read += in;
    written += out;
  }
  line("all", bytes_text(read), bytes_text(written));
  text += fmt::format("intermediates of {} share {}; outputs take {}\n", bytes_text(memory.intermediate_bytes),
                      bytes_text(memory.arena_bytes), bytes_text(memory.output_bytes));
  return text;
}

void print_passes(const CompileReport& report) {
  fmt::print("  {:<22} {:>9}  {}\n", "pass", "ms", "changed the graph");
  double total = 0;
  for (const PassRun& run : report.passes) {
    fmt::print("  {:<22} {:>9.2f}  {}\n", run.name, run.milliseconds, run.changed ? "yes" : "no");
    total += run.milliseconds;
  }
  const std::string code = fmt::format("{} kernels: {}", report.kernels, report.code);
  fmt::print("  {:<22} {:>9.2f}\n  {:<22} {:>9.2f}  {}\n", "schedule", report.schedule_ms, "code", report.codegen_ms,
             code);
  fmt::print("  {:<22} {:>9.2f}\n", "all", total + report.schedule_ms + report.codegen_ms);
}

/// The graph after a pass, by `name` (its last run) or `name:2` (its second).
const Graph& graph_after(const std::string& pass, const std::vector<PassRun>& runs) {
  const size_t colon = pass.find(':');
  const std::string name = pass.substr(0, colon);
  std::vector<const PassRun*> found;
  for (const PassRun& run : runs) {
    if (run.name == name) {
      found.push_back(&run);
    }
  }
  if (found.empty()) {
    fail("no pass called `{}` ran; there is: {}", name, fmt::join(compile_passes(), ", "));
  }
  for (size_t i = 0; i < found.size(); ++i) {
    if (colon == std::string::npos ? i + 1 == found.size() : pass.substr(colon + 1) == std::to_string(i + 1)) {
      return found[i]->after;
    }
  }
  fail("`--after {}`: pass `{}` ran {} times", pass, name, found.size());
}

}  // namespace

std::string explain_help() {
  return fmt::format(
      "usage: tenon explain MODEL [options]\n\n"
      "Compiles MODEL, a built-in model (`tenon models` lists them) or a file of graph text, and prints the steps "
      "that\n"
      "run it: the operators in each, the bytes it reads and writes, and why it ends where it does.\n\n{}\n"
      "examples:\n"
      "  tenon explain mlp                                      what runs, and why it is not fewer kernels\n"
      "  tenon explain bert_base --bind batch=8,seq=128         and how many bytes that moves\n"
      "  tenon explain examples/softmax.graph --kernel 1        the loops of one step\n"
      "  tenon explain examples/softmax.graph --asm 1 --target armv8.2\n"
      "  tenon explain resnet18 --passes                        where the time to compile goes\n"
      "  tenon explain mlp --after recognize_composites         the graph in the middle of it\n"
      "  tenon explain mlp --train --no-fuse                    what fusion is worth\n",
      describe(kOptions));
}

void explain(std::span<const std::string> words) {
  const Arguments arguments(words, kOptions);
  check(arguments);
  const Graph graph = load_graph(arguments.rest()[0], arguments.has("--train"));
  CompileReport report;
  CompileOptions options{.fuse = !arguments.has("--no-fuse"), .skip = arguments.list("--skip"), .report = &report};
  if (const auto step = arguments.find_number("--kernel")) {
    fmt::print("{}", step_loops(graph, *step, options));
    return;
  }
  if (const auto step = arguments.find_number("--asm")) {
    fmt::print("{}", step_assembly(graph, *step, arguments.find("--target").value_or("host"), options));
    return;
  }
  // Machine code says nothing about steps. It is made where its time is asked for, and then not taken from disk.
  options.native = arguments.has("--passes");
  options.disk_cache = false;
  const Executable executable = compile(graph, options);
  if (arguments.has("--passes")) {
    print_passes(report);
  } else if (const auto pass = arguments.find("--after")) {
    fmt::print("{}", to_text(graph_after(*pass, report.passes), {.max_constant_elements = kMostConstantElements}));
  } else {
    const auto sizes = arguments.find("--bind");
    const std::string table = sizes ? '\n' + bytes_table(executable, Bindings::parse(*sizes)) : "";
    fmt::print("{}{}", executable.explain(), table);
  }
}

}  // namespace tenon
