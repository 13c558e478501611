// A model whose runs are timed.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cost.h"
#include "load_graph.h"
#include "model_ports.h"
#include "program_file.h"
#include "stateful_run.h"
#include "stopwatch.h"
#include "tenon/compile.h"
#include "tenon/executable.h"

namespace tenon::cli {

/// How it is timed.
struct BenchSettings {
  size_t repeat = 3;
  double microseconds = 2e5;
  int threads = 0;
  bool flush_denormals = false;
};

/// A model that was compiled, for the sizes that it was read for; or a program that was built before.
struct Measured {
  std::string name = {};
  std::optional<GraphModel> model = {};  // without its graph, whose weights the program has; of a program: none
  CostModel cost = {};
  ModelPorts ports = {};
  std::vector<int> aliases = {};
  std::optional<Executable> executable = {};
  std::string code = {};
  Extent macs = 0;          // of products and convolutions
  double compile_time = 0;  // of the last compile
  int compiles = 0;

  explicit Measured(const std::string& program) {
    const ProgramFile file = open_program(program);
    name = file.info.name;
    ports = ports_of(file.info);
    aliases = file.aliases();
    executable = file.executable;
    code = file.code();
    for (const StepReport& step : executable->steps()) {
      macs += floordiv(step.flops, 2);
    }
    compile_time = file.load_us;
  }

  Measured(GraphModel loaded, CompileOptions options) : model(std::move(loaded)) { compile(std::move(options)); }

  void compile(CompileOptions options) {
    CompileReport report;
    options.report = &report;
    name = model->graph.name();
    ports = ports_of(*model);
    aliases = StatefulRun::aliases_of(model->graph);
    macs = count_macs(model->graph);
    cost = CostModel(model->graph);
    compile_time = microseconds([&] { executable = tenon::compile(std::move(model->graph), options); });
    code = report.code;
    ++compiles;
  }
};

}  // namespace tenon::cli
