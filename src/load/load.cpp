#include "tenon/load.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <type_traits>

#include "base/fail.h"
#include "load/kept_load.h"
#include "shape/constraint_check.h"

namespace tenon {
namespace {

/// How many programs of a model whose shapes depend on values are kept.
constexpr size_t kMostPrograms = 16;

struct ProgramForValues {
  std::map<std::string, Array> values;  // of the inputs that decide shapes
  std::vector<OnnxAssumption> assumed;  // of sizes
  std::shared_ptr<const Executable> executable;

  bool takes(const std::map<std::string, Array>& inputs) const;
};

/// Longer lists of integers are data.
constexpr int64_t kMostSizes = 16;

bool are_sizes(const Array& array) {
  for (int64_t i = 0; i < array.size(); ++i) {
    if (array.at(i) < 1) {
      return false;
    }
  }
  return true;
}

/// Whether these inputs have the sizes that the program was made for. What no input shows is left to the run.
bool ProgramForValues::takes(const std::map<std::string, Array>& inputs) const {
  if (assumed.empty()) {
    return true;
  }
  std::vector<ConcreteInput> given;
  for (const Port& port : executable->inputs()) {
    const Array& input = inputs.at(port.name);
    given.push_back({.name = port.name, .pattern = port.shape, .dtype = input.dtype(), .dims = input.dims()});
  }
  const Bindings sizes = extract(given);
  return std::ranges::all_of(assumed, [&](const OnnxAssumption& each) {
    const auto is_bound = [&](const Extent& side) {
      return std::ranges::all_of(side.names(), [&](const std::string& name) { return sizes.find(name).has_value(); });
    };
    return !is_bound(each.relation.lhs) || !is_bound(each.relation.rhs) ||
           holds(each.relation.kind, evaluate(each.relation.lhs, sizes), evaluate(each.relation.rhs, sizes));
  });
}

bool same_values(const std::map<std::string, Array>& a, const std::map<std::string, Array>& b) {
  return std::ranges::equal(
      a, b, [](const auto& x, const auto& y) { return x.first == y.first && same_bits(x.second, y.second); });
}

}  // namespace

struct LoadedModel::State {
  std::filesystem::path file;
  LoadOptions options;
  OnnxSignature signature;
  std::mutex mutex;
  std::vector<std::string> value_inputs;                  // compiled for each value
  std::map<std::string, std::vector<std::string>> sizes;  // inputs whose elements are sizes, and the names of these
  std::deque<ProgramForValues> programs;                  // the last used first
  int compiles = 0;
  KeptLoad kept;                      // where the first program is kept for other processes
  std::atomic<bool> is_kept = false;  // written, or about to be

  State(const std::filesystem::path& path, const LoadOptions& loading)
      : file(path), options(loading), kept(path, loading) {}
  ~State() { keep(); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  bool open_kept();
  void import_and_compile();
  /// When an answer was given, or nobody asks for one: a first call does not wait for the disk.
  void keep();
  std::shared_ptr<const Executable> program_for(const Arrays& inputs);
  void compile_into(ProgramForValues& program, const Arrays* inputs);
  Graph donated(Graph graph) const;
  bool name_sizes(const std::string& input);
};

namespace {

/// Files have names that people know; that of the graph inside is often the exporter's.
Graph named(const Graph& graph, const std::string& name) {
  return {name, graph.inputs(), graph.outputs(), graph.relations()};
}

std::string list_names(const std::vector<OnnxPort>& ports) {
  std::string text;
  for (const OnnxPort& port : ports) {
    text += fmt::format("{}`{}`", text.empty() ? "" : ", ", port.name);
  }
  return text.empty() ? "none" : text;
}

/// "`a`, `c` are", "nothing is".
std::string list_given(const std::map<std::string, Array>& inputs) {
  std::string text;
  for (const auto& [name, _] : inputs) {
    text += fmt::format("{}`{}`", text.empty() ? "" : ", ", name);
  }
  return inputs.empty() ? "nothing is" : text + (inputs.size() == 1 ? " is" : " are");
}

/// Every input once, and no other.
void check_names(const std::vector<OnnxPort>& ports, const std::map<std::string, Array>& inputs) {
  for (const OnnxPort& port : ports) {
    if (!inputs.contains(port.name)) {
      fail("input `{}` is not given; the model takes {}, and {} given", port.name, list_names(ports),
           list_given(inputs));
    }
  }
  for (const auto& [name, _] : inputs) {
    if (std::ranges::find(ports, name, &OnnxPort::name) == ports.end()) {
      fail("the model has no input `{}`; it takes {}", name, list_names(ports));
    }
  }
}

}  // namespace

LoadedModel::LoadedModel(std::shared_ptr<State> state) : state_(std::move(state)) {}

const std::vector<OnnxPort>& LoadedModel::inputs() const { return state_->signature.inputs; }
const std::vector<std::string>& LoadedModel::output_names() const { return state_->signature.outputs; }

std::vector<std::string> LoadedModel::value_inputs() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->value_inputs;
}

int LoadedModel::compile_count() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->compiles;
}

std::vector<OnnxAssumption> LoadedModel::assumptions() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->programs.empty() ? std::vector<OnnxAssumption>() : state_->programs.front().assumed;
}

Executable LoadedModel::executable() const {
  const std::scoped_lock lock(state_->mutex);
  if (state_->programs.empty()) {
    fail("the shapes of this model depend on the value of input `{}`: it is compiled when it runs",
         state_->value_inputs.at(0));
  }
  return *state_->programs.front().executable;
}

/// Names for the elements of an input that is a short list of integers; false when it is none, or has names already.
bool LoadedModel::State::name_sizes(const std::string& input) {
  const auto port = std::ranges::find(signature.inputs, input, &OnnxPort::name);
  if (port == signature.inputs.end() || sizes.contains(input) || !is_signed_integer(port->shape.dtype()) ||
      port->shape.rank() > 1 || port->shape.is_dynamic() || port->shape.size() > kMostSizes) {
    return false;
  }
  std::vector<std::string> names;
  for (int64_t i = 0; i < port->shape.size(); ++i) {
    names.push_back(fmt::format("{}[{}]", input, i));
  }
  sizes.emplace(input, std::move(names));
  return true;
}

Graph LoadedModel::State::donated(Graph graph) const {
  std::vector<Donation> pairs = options.donate;
  for (const Donation& found : options.donate_found ? find_donations(graph) : std::vector<Donation>()) {
    const auto is_same = [&](const Donation& pair) { return pair.input == found.input || pair.output == found.output; };
    if (std::ranges::none_of(pairs, is_same)) {
      pairs.push_back(found);
    }
  }
  return pairs.empty() ? graph : donate(graph, pairs);
}

/// The program of its values, for the sizes of `inputs` where given; OnnxValueNeeded where the values are not enough.
void LoadedModel::State::compile_into(ProgramForValues& program, const Arrays* inputs) {
  OnnxOptions onnx = options.onnx;
  onnx.values.insert(program.values.begin(), program.values.end());
  for (const auto& [input, names] : sizes) {
    if (!onnx.values.contains(input)) {
      onnx.sizes.emplace(input, names);
    }
  }
  for (const OnnxPort& port : inputs == nullptr ? std::vector<OnnxPort>() : signature.inputs) {
    onnx.dims[port.name] = inputs->at(port.name).dims();
  }
  std::vector<std::filesystem::path> files;
  onnx.assumed = &program.assumed;
  if (onnx.files == nullptr) onnx.files = &files;
  CompileOptions compiling = options.compile;
  compiling.sizes_from.insert(onnx.sizes.begin(), onnx.sizes.end());
  Graph graph = donated(named(import_onnx(file, onnx), file.filename().string()));
  ++compiles;
  const bool is_of_file_alone = inputs == nullptr && program.values.empty() && program.assumed.empty();
  program.executable =
      std::make_shared<const Executable>(is_of_file_alone ? kept.compile(std::move(graph), compiling, signature, files)
                                                          : compile(std::move(graph), compiling));
}

/// The program for these inputs, made where there is none yet. The lock is held while compiling, so that many threads
/// with the same values compile once.
std::shared_ptr<const Executable> LoadedModel::State::program_for(const Arrays& inputs) {
  const std::scoped_lock lock(mutex);
  ProgramForValues wanted;
  for (const std::string& name : value_inputs) {
    wanted.values.emplace(name, inputs.at(name));
  }
  for (const auto& [name, _] : sizes) {
    if (!are_sizes(inputs.at(name))) {  // -1 and 0 have meanings of their own
      wanted.values.emplace(name, inputs.at(name));
    }
  }
  const auto found = std::ranges::find_if(programs, [&](const ProgramForValues& program) {
    return same_values(program.values, wanted.values) && program.takes(inputs);
  });
  if (found != programs.end()) {
    std::rotate(programs.begin(), found, found + 1);
    return programs.front().executable;
  }
  while (!wanted.executable) {
    try {
      compile_into(wanted, &inputs);
    } catch (const OnnxValueNeeded& needed) {
      // Known values may lead to where further ones count.
      const auto given = inputs.find(needed.input());
      if (given == inputs.end() || !wanted.values.insert(*given).second) {
        throw;
      }
      value_inputs.push_back(needed.input());
      programs.clear();
    }
  }
  programs.push_front(std::move(wanted));
  programs.resize(std::min(programs.size(), kMostPrograms));
  return programs.front().executable;
}

namespace {

/// Results by name, of inputs that are taken where `inputs` are to be given.
template <class Inputs>
LoadedModel::Arrays run_by_names(const Executable& executable, Inputs&& inputs, const RunOptions& options) {
  std::vector<Array> ordered;
  for (const Port& port : executable.inputs()) {
    if constexpr (std::is_const_v<std::remove_reference_t<Inputs>>) {
      ordered.push_back(inputs.at(port.name));
    } else {
      ordered.push_back(std::move(inputs.at(port.name)));
    }
  }
  std::vector<Array> results = executable.run(std::move(ordered), options);
  LoadedModel::Arrays outputs;
  for (size_t i = 0; i < results.size(); ++i) {
    outputs.emplace(executable.outputs()[i].name, std::move(results[i]));
  }
  return outputs;
}

}  // namespace

LoadedModel::Arrays LoadedModel::run(const Arrays& inputs, const RunOptions& options) const {
  check_names(this->inputs(), inputs);
  Arrays outputs = run_by_names(*state_->program_for(inputs), inputs, options);
  state_->keep();
  return outputs;
}

LoadedModel::Arrays LoadedModel::run(Arrays&& inputs, const RunOptions& options) const {
  check_names(this->inputs(), inputs);
  const std::shared_ptr<const Executable> executable = state_->program_for(inputs);
  Arrays outputs = run_by_names(*executable, inputs, options);
  state_->keep();
  return outputs;
}

void LoadedModel::State::keep() {
  if (!is_kept.load(std::memory_order_relaxed) && !is_kept.exchange(true)) {
    kept.keep();
  }
}

/// What another process compiled, or this one before.
bool LoadedModel::State::open_kept() {
  std::optional<KeptModelFile> found = kept.open();
  if (!found) {
    return false;
  }
  signature = std::move(found->signature);
  sizes = std::move(found->sizes);
  ProgramForValues program;
  program.executable = std::make_shared<const Executable>(std::move(found->executable));
  programs.push_front(std::move(program));
  return true;
}

void LoadedModel::State::import_and_compile() {
  signature = onnx_signature(file);
  std::erase_if(signature.inputs, [&](const OnnxPort& port) { return options.onnx.values.contains(port.name); });
  // Values that are sizes become names; a model that needs more than that of a value waits for it.
  while (programs.empty() && value_inputs.empty()) {
    try {
      ProgramForValues program;
      compile_into(program, nullptr);
      programs.push_front(std::move(program));
    } catch (const OnnxValueNeeded& needed) {
      if (!name_sizes(needed.input())) {
        sizes.erase(needed.input());
        value_inputs.push_back(needed.input());
      }
    }
  }
}

LoadedModel load(const std::filesystem::path& file, const LoadOptions& options) {
  auto state = std::make_shared<LoadedModel::State>(file, options);
  if (!state->open_kept()) {
    state->import_and_compile();
  }
  const bool donates = options.donate_found || !options.donate.empty();
  if (donates && !state->programs.empty()) {
    for (const Port& port : state->programs.front().executable->inputs()) {
      std::ranges::find(state->signature.inputs, port.name, &OnnxPort::name)->shape = port.shape;
    }
  }
  return LoadedModel(std::move(state));
}

}  // namespace tenon
