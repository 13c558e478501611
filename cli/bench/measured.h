// A model whose runs are timed.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/models/kept_model.h"
#include "cli/models/load_graph.h"
#include "cli/models/model_ports.h"
#include "cli/models/program_file.h"
#include "cli/models/stateful_run.h"
#include "cli/print/cost.h"
#include "cli/print/stopwatch.h"
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

/// A model that was compiled, now or by an earlier call, for the sizes that it was read for; or a program that was
/// built before.
struct Measured {
  std::string name = {};
  std::optional<GraphModel> model = {};  // without its graph, whose weights the program has; of a program: none
  CostModel cost = {};
  ModelPorts ports = {};
  std::vector<int> aliases = {};
  std::optional<Executable> executable = {};
  std::string code = {};
  Extent macs = 0;          // of products and convolutions
  double compile_time = 0;  // of the last compile, or of the load
  int compiles = 0;
  bool is_kept = false;  // compiled by an earlier call

  /// Of a file that was built.
  explicit Measured(const std::string& program) : Measured(open_program(program), 0) {
    for (const StepReport& step : executable->steps()) {
      macs += floordiv(step.flops, 2);
    }
  }
  /// Of a model that was kept.
  explicit Measured(ProgramFile kept) : Measured(kept, KeptModel::macs(kept.info)) { is_kept = true; }

  Measured(GraphModel loaded, KeptModel& kept) : model(std::move(loaded)) { compile(kept); }

  void compile(KeptModel& kept) {
    name = model->graph.name();
    ports = ports_of(*model);
    aliases = StatefulRun::aliases_of(model->graph);
    macs = count_macs(model->graph);
    cost = CostModel(model->graph);
    GraphModel given = *model;
    model->graph = Graph();  // its weights go with the copy
    compile_time = microseconds([&] { executable = kept.compile(std::move(given)); });
    code = executable->capabilities().code;
    ++compiles;
  }

 private:
  Measured(const ProgramFile& file, Extent products)
      : name(file.info.name),
        ports(ports_of(file.info)),
        aliases(file.aliases()),
        executable(file.executable),
        code(file.code()),
        macs(std::move(products)),
        compile_time(file.load_us) {}
};

}  // namespace tenon::cli
