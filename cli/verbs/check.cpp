// `tenon check`: what was compiled against the interpreter, and against what is expected.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>

#include "base/fail.h"
#include "cli/bench/difference.h"
#include "cli/bench/rounding.h"
#include "cli/mesh/mesh_ranks.h"
#include "cli/mesh/pipeline_ranks.h"
#include "cli/models/kept_model.h"
#include "cli/models/program_file.h"
#include "cli/print/cost.h"
#include "cli/print/interrupt.h"
#include "cli/print/json.h"
#include "cli/print/terminal.h"
#include "cli/verb.h"
#include "cli/words/compile_options.h"
#include "cli/words/donation.h"
#include "cli/words/inputs.h"
#include "ir/data_axes.h"
#include "tenon/tenon.h"

namespace tenon::cli {
namespace {

constexpr Option kCheckOptions[] = {
    {"--bind", "NAME=SIZE,...", "sizes of axes; files give theirs, built-in models have usual ones"},
    {"--input", "NAME=SOURCE", "a .npy file, `random` (the default), `zeros` or `ones`; without NAME=, for all inputs",
     true},
    {"--expect", "NAME=FILE.npy", "what output NAME should be", true},
    {"--tolerance", "X", "allow this error relative to the largest element (default: by the output's type)"},
    {"--threads", "N", "at most N threads"},
    {"--flush-denormals", "", "take numbers too small for full precision for 0: the interpreter keeps them"},
    kDevice,
    kDonate,
    kNoPipelines,
    kNoWinograd,
    kPipelineRows,
    kNoCacheOption,
    kWeights,
    kPrecision,
    kMesh,
    kShard,
    kRanks,
    kMeshPatience,
    kNetwork,
    kPipeline,
    kLongOption,
};

constexpr Example kCheckExamples[] = {
    {"check mlp", "is the compiled model right?"},
    {"check model.onnx --input x=x.npy --expect y=y.npy", "and does it give what another program gave?"},
    {"check mlp --mesh data=3 --shard batch=data --bind batch=7 --ranks threads", "and in parts, over three ranks?"},
    {"check bert_base --bind batch=2,seq=7 --tolerance 1e-5", "small sizes: the interpreter is slow"},
};

/// How often a difference may be what runs with roundings at random have at that element: the order of sums, which they
/// keep, and roundings inside of them count too.
constexpr double kRoundings = 64;
/// So many runs: that an element which roundings move stays where it is in all of them is not to be feared.
constexpr uint64_t kRoundingRuns = 4;

/// What the interpreter computes, and the sizes that data decided on the way.
struct Reference {
  std::vector<Array> outputs;
  Bindings sizes;
};

Reference reference(const Graph& graph, const std::vector<Array>& inputs, const Bindings& bindings) {
  std::vector<Output> outputs = graph.outputs();
  const auto deciding = binders(graph.nodes());
  for (const auto& [name, node] : deciding) {
    outputs.push_back({.name = "size of " + name, .value = Value(node, 1)});
  }
  const Graph observed(graph.name(), graph.inputs(), std::move(outputs), graph.relations());
  Reference result{.outputs = interpret(observed, inputs, {.bindings = bindings, .reference = true}),
                   .sizes = bindings};
  size_t next = graph.outputs().size();
  for (const auto& [name, node] : deciding) {
    result.sizes.set(name, static_cast<int64_t>(result.outputs[next++].at(0)));
  }
  return result;
}

/// What an output of the compiled model is held against.
struct Comparison {
  size_t output = 0;
  std::string against;
  Array wanted;
};

/// How far runs with roundings are from the exact one, element by element; nothing for integers.
std::vector<std::vector<double>> roundings(const Graph& graph, const Reference& exact, const std::vector<Array>& inputs,
                                           const Bindings& bindings, const ProductRounding& products) {
  std::vector<std::vector<double>> moves(exact.outputs.size());
  for (uint64_t seed = 0; seed < kRoundingRuns; ++seed) {
    const std::vector<Array> moved =
        interpret(with_roundings(graph, seed, products), inputs, {.bindings = bindings, .reference = true});
    for (size_t i = 0; i < moved.size(); ++i) {
      if (!is_float(graph.outputs()[i].value.dtype())) continue;
      moves[i].resize(static_cast<size_t>(moved[i].size()));
      for (size_t at = 0; at < moves[i].size(); ++at) {
        const auto element = static_cast<int64_t>(at);
        const double move = std::fabs(moved[i].at(element) - exact.outputs[i].at(element));
        moves[i][at] = std::isfinite(move) ? std::max(moves[i][at], move) : moves[i][at];
      }
    }
  }
  return moves;
}

/// Whether each error is within the tolerance or what roundings explain.
void allow_roundings(Difference& difference, const Array& got, const Array& wanted, const std::vector<double>& moves) {
  if (!difference.is_comparable() || std::ssize(moves) != got.size()) return;
  const double scale = difference.relative > 0 ? difference.largest / difference.relative : 0;
  difference.is_rounding = true;
  for (int64_t i = 0; i < got.size(); ++i) {
    const double error = std::fabs(got.at(i) - wanted.at(i));
    if (!std::isfinite(error) || error <= difference.tolerance * scale) continue;
    const double allowed = kRoundings * moves[static_cast<size_t>(i)];
    difference.is_rounding &= error <= allowed;
    difference.lost += allowed >= std::fabs(wanted.at(i)) ? 1 : 0;
  }
}

/// What is held against the interpreter: the graph compiled here, or a program that was built from it.
struct Subject {
  GraphModel model;
  ProductRounding products = {};
  std::optional<Executable> executable = {};  // a program's
};

/// As the program was built.
ProductRounding rounding_of(const ProgramFileInfo& info) {
  ProductRounding result;
  if (const auto found = info.metadata.find("precision"); found != info.metadata.end()) {
    result.precision = parse_precision(found->second).value_or(Precision::f32);
  }
  if (const auto found = info.metadata.find("weights"); found != info.metadata.end()) {
    result.weights = parse_weight_format(found->second);
  }
  return result;
}

Subject open_subject(const Arguments& arguments, const CompileOptions& compile) {
  const std::string& word = arguments.rest()[0];
  const Bindings bound = Bindings::parse(arguments.find("--bind").value_or(""));
  const LoadGraphOptions options{.weights = true, .inputs = arguments.all("--input"), .sizes = bound};
  if (is_mesh_program(word)) {
    return {.model = model_of(word, inspect_program(word, {.verify = false}), options)};
  }
  if (arguments.has(kMesh.name)) {
    return {.model = load_mesh_model(word, options)};
  }
  if (!is_program_file(word)) {
    return {.model = with_donations(arguments, load_model(word, options)),
            .products = {.precision = compile.precision, .weights = compile.weights}};
  }
  require_no_compile_options(arguments);
  ProgramFile file = open_program(word);
  return {.model = model_of(word, file.info, options),
          .products = rounding_of(file.info),
          .executable = std::move(file.executable)};
}

/// What `tenon run` would run. The model stays, for the interpreter.
Executable kept_or_compiled(KeptModel& kept, const GraphModel& model) {
  if (std::optional<ProgramFile> file = kept.open()) {
    return std::move(file->executable);
  }
  return kept.compile(GraphModel(model));
}

/// What the model computes in parts.
std::vector<Array> run_in_parts(const Arguments& arguments, const GraphModel& model, const PreparedInputs& prepared,
                                mesh::Communicator& world) {
  if (arguments.has(kPipeline.name)) {
    return compile_pipeline(arguments, model, prepared.bindings, world)->run(prepared.arrays(), prepared.bindings);
  }
  RankRun rank = is_program_file(arguments.rest()[0]) ? load_for_rank(arguments, open_mesh_program(arguments), world)
                                                      : compile_for_rank(arguments, model, prepared.bindings, world);
  return rank.program.run(rank.parts(prepared), prepared.bindings);
}

/// `world`: of a mesh, whose first rank compares.
int check_model(const Arguments& arguments, mesh::Communicator* world) {
  const Progress progress;
  progress.show("loading");
  const Bindings bound = Bindings::parse(arguments.find("--bind").value_or(""));
  CompileOptions compile_options;
  if (!is_program_file(arguments.rest()[0])) take_compile_options(arguments, compile_options);
  const Subject subject = open_subject(arguments, compile_options);
  const GraphModel& model = subject.model;
  const std::vector<NamedArray> expected = read_expected(model.graph, arguments.all("--expect"));
  const PreparedInputs prepared =
      prepare_inputs(ports_of(model), bound, arguments.all("--input"), [&](const Bindings& sizes) {
        announce_cost(CostModel(model.graph), sizes, arguments);
        return true;
      });
  const std::vector<Array> inputs = prepared.arrays();
  const auto tolerance = arguments.find_real("--tolerance");
  const auto threads = static_cast<int>(arguments.find_number("--threads", 1).value_or(0));
  progress.show("compiling");
  const std::vector<Array> compiled = [&] {  // the program's weights go before the interpreter makes its own
    if (world != nullptr) return run_in_parts(arguments, model, prepared, *world);
    KeptModel kept(arguments.rest()[0], arguments, compile_options);
    const Executable executable = subject.executable ? *subject.executable : kept_or_compiled(kept, model);
    const InterruptibleRun interruptible;
    std::vector<Array> outputs = executable.run(inputs, {.threads = threads,
                                                         .bindings = prepared.bindings,
                                                         .cancel = InterruptibleRun::token(),
                                                         .flush_denormals = arguments.has("--flush-denormals")});
    kept.keep();
    return outputs;
  }();
  if (world != nullptr && world->rank() != 0) return 0;
  progress.show("interpreting, which is slow");
  const Reference exact = reference(model.graph, inputs, prepared.bindings);
  progress.show("");
  const std::vector<double> bounds = rounding_bounds(model.graph, exact.sizes, subject.products);
  std::vector<Comparison> comparisons;
  for (size_t i = 0; i < compiled.size(); ++i) {
    comparisons.push_back({i, "interpreter", exact.outputs[i]});
    if (!expected[i].source.empty()) comparisons.push_back({i, "expected", expected[i].value});
  }
  std::vector<Difference> differences;
  const auto compare_all = [&](const std::vector<Array>& narrow) {
    differences.clear();
    for (const auto& [i, against, wanted] : comparisons) {
      const double allowed = is_float(compiled[i].dtype()) ? tolerance.value_or(bounds[i]) : 0;
      differences.push_back(compare(model.graph.outputs()[i].name, against, compiled[i], wanted, allowed,
                                    narrow.empty() ? nullptr : &narrow[i]));
    }
  };
  compare_all({});
  if (std::ranges::any_of(differences, [](const Difference& each) { return each.mismatched > 0; })) {
    progress.show("interpreting in the model's types");
    compare_all(interpret(model.graph, inputs, {.bindings = prepared.bindings}));
    progress.show("");
  }
  if (!tolerance && !std::ranges::all_of(differences, &Difference::ok)) {
    progress.show("interpreting with roundings");
    const std::vector<std::vector<double>> moves =
        roundings(model.graph, exact, inputs, prepared.bindings, subject.products);
    progress.show("");
    for (size_t i = 0; i < comparisons.size(); ++i) {
      const Comparison& each = comparisons[i];
      allow_roundings(differences[i], compiled[each.output], each.wanted, moves[each.output]);
    }
  }
  const bool ok = std::ranges::all_of(differences, &Difference::ok);
  if (arguments.has("--json")) {
    print_json(title_of(arguments.rest()[0]), prepared.bindings, subject.products, differences, ok);
  } else {
    print_text(title_of(arguments.rest()[0]), prepared.bindings, tolerance ? ProductRounding() : subject.products,
               differences);
  }
  return ok ? 0 : 1;
}

int run_check(const Arguments& arguments) {
  if (!arguments.has(kMesh.name) && !is_mesh_program(arguments.rest()[0])) {
    require_mesh_for_its_options(arguments);
    return check_model(arguments, nullptr);
  }
  refuse_beside_mesh(arguments, {"--device", "--donate", "--flush-denormals"});
  return on_ranks(arguments, [&](mesh::Communicator& world) { return check_model(arguments, &world); });
}

}  // namespace

const Verb kCheckVerb{
    .name = "check",
    .words = "MODEL",
    .doc = "hold a compiled model against the interpreter, and against expected outputs",
    .about =
        "The interpreter computes every float in 64 bits, slowly. For each output: the largest and the mean "
        "difference, and the largest relative to the output's largest element. The status is 1 where one is beyond "
        "its tolerance, or is infinite or NaN where the other side does not overflow the output's type and the model's "
        "own "
        "types do not overflow on the way. Tolerances: 1e-4 for "
        "f32, 1e-10 for f64, and integers agree exactly. Where f16 or bf16 are on the way to "
        "an "
        "output it follows from their epsilon (2^-10 and 2^-7): as many of them as the longest chain of operations "
        "that "
        "round to such a type, and sqrt(n) more for the longest sum, of n terms, over what was rounded; 0.5 at most. "
        "Where --precision or --weights round what products multiply, here or when the program was built, four times "
        "their epsilon (2^-10 for tf32 and f16, 2^-7 for bf16 and i8) times sqrt(n), for the longest chain of n "
        "products, is added, and the first line says so. "
        "Where terms cancel, nothing is left to hold an error against: an output beyond its default tolerance is "
        "computed "
        "four times more with every result on the way off by half a unit of its last place at random, and an element "
        "is right if it is off by at most 64 times as much as that moves it.",
    .options = kCheckOptions,
    .examples = kCheckExamples,
    .run = run_check};

}  // namespace tenon::cli
