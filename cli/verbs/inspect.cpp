// `tenon inspect`: what a program file has in it.
#include <fmt/format.h>

#include <algorithm>

#include "base/fail.h"
#include "cli/models/load_graph.h"
#include "cli/print/json.h"
#include "cli/print/terminal.h"
#include "cli/print/units.h"
#include "cli/verb.h"
#include "tenon/program_file.h"

namespace tenon::cli {
namespace {

constexpr Option kInspectOptions[] = {
    {"--no-verify", "", "do not read weights to hold them against their checksums"},
};

constexpr Example kInspectExamples[] = {
    {"inspect mlp.tenon", "for which machines, how large, and whether it is whole"},
    {"inspect mlp.tenon --json", "for programs"},
};

std::string machine_text(const ProgramFileInfo& info, int machine) {
  return machine < 0 || machine >= std::ssize(info.machines) ? ""
                                                             : info.machines[static_cast<size_t>(machine)].machine.name;
}

void print_inspect_json(const ProgramFileInfo& info) {
  Json inputs = Json::array();
  for (const ProgramFileInput& input : info.inputs) {
    inputs.push(Json::object().set("name", input.name).set("shape", input.shape.to_string()));
  }
  Json outputs = Json::array();
  for (const ProgramFileOutput& output : info.outputs) {
    Json json = Json::object();
    json.set("name", output.name).set("shape", output.shape.to_string());
    if (output.aliases >= 0) {
      json.set("takes_over", info.inputs[static_cast<size_t>(output.aliases)].name);
    }
    outputs.push(json);
  }
  Json constraints = Json::array();
  for (const Constraint& each : info.constraints) {
    constraints.push(each.to_string());
  }
  Json machines = Json::array();
  for (const ProgramFileMachine& each : info.machines) {
    machines.push(
        Json::object().set("name", each.machine.name).set("code", each.code).set("runs_here", each.runs_here));
  }
  Json sections = Json::array();
  for (const ProgramFileSection& each : info.sections) {
    sections.push(Json::object()
                      .set("kind", each.kind)
                      .set("machine", each.machine)
                      .set("offset", each.offset)
                      .set("bytes", each.bytes)
                      .set("checksum", each.checksum)
                      .set("intact", each.is_intact));
  }
  Json metadata = Json::object();
  for (const auto& [key, value] : info.metadata) {
    metadata.set(key, value);
  }
  Json::object()
      .set("model", info.name)
      .set("tenon", info.tenon_version)
      .set("format", info.format_version)
      .set("bytes", info.bytes)
      .set("inputs", inputs)
      .set("outputs", outputs)
      .set("axes", info.axes)
      .set("constraints", constraints)
      .set("usual", info.usual.to_string())
      .set("machines", machines)
      .set("sections", sections)
      .set("metadata", metadata)
      .print();
}

void print_inspect_text(const std::string& title, const ProgramFileInfo& info) {
  fmt::print("{}: {}, {}, format {}, written by Tenon {}\n", bold(printable(title)), printable(info.name),
             bytes_text(info.bytes), info.format_version, printable(info.tenon_version));
  for (const ProgramFileInput& input : info.inputs) {
    fmt::print("  in  {}: {}\n", printable(input.name), printable(input.shape.to_string()));
  }
  for (const ProgramFileOutput& output : info.outputs) {
    fmt::print("  out {}: {}{}\n", printable(output.name), printable(output.shape.to_string()),
               output.aliases < 0 ? ""
                                  : fmt::format(", takes over `{}`",
                                                printable(info.inputs[static_cast<size_t>(output.aliases)].name)));
  }
  for (const Constraint& each : info.constraints) {
    fmt::print("  {}\n", printable(each.to_string()));
  }
  for (const ProgramFileMachine& each : info.machines) {
    fmt::print("  for {}: {}{}\n", printable(each.machine.name), printable(each.code),
               each.runs_here ? "" : ", which does not run here");
  }
  fmt::print("  {:<14} {:<14} {:>12} {:>12}   {:<32}\n", "section", "machine", "offset", "size", "checksum");
  for (const ProgramFileSection& each : info.sections) {
    fmt::print("  {:<14} {:<14} {:>12} {:>12}   {}{}\n", each.kind, printable(machine_text(info, each.machine)),
               each.offset, bytes_text(each.bytes), each.checksum, each.is_intact ? "" : red("  damaged"));
  }
  for (const auto& [key, value] : info.metadata) {
    fmt::print("  {} = {}\n", printable(key), printable(value));
  }
}

int run_inspect(const Arguments& arguments) {
  const ProgramFileInfo info = inspect_program(arguments.rest()[0], {.verify = !arguments.has("--no-verify")});
  if (arguments.has("--json")) {
    print_inspect_json(info);
  } else {
    print_inspect_text(title_of(arguments.rest()[0]), info);
  }
  return std::ranges::all_of(info.sections, &ProgramFileSection::is_intact) ? 0 : 1;
}

}  // namespace

const Verb kInspectVerb{.name = "inspect",
                        .words = "FILE.tenon",
                        .doc = "show what a program file has in it: inputs, machines, sections, checksums, metadata",
                        .about = "Nothing of the file is run. The status is 1 where a section is not what was written.",
                        .options = kInspectOptions,
                        .examples = kInspectExamples,
                        .run = run_inspect};

}  // namespace tenon::cli
