#include "tenon/load.h"

#include <algorithm>
#include <deque>
#include <mutex>

#include "base/fail.h"

namespace tenon {
namespace {

/// How many programs of a model whose shapes depend on values are kept.
constexpr size_t kMostPrograms = 16;

struct Program {
  std::map<std::string, Array> values;  // of the inputs that decide shapes
  std::shared_ptr<const Executable> executable;
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
  std::deque<Program> programs;                           // the last used first
  int compiles = 0;

  std::shared_ptr<const Executable> program_for(const Arrays& inputs);
  Executable compile_for(const Arrays& values);
  bool name_sizes(const std::string& input);
};

namespace {

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

/// With these values of inputs; OnnxValueNeeded where they are not enough.
Executable LoadedModel::State::compile_for(const Arrays& values) {
  OnnxOptions onnx = options.onnx;
  onnx.values.insert(values.begin(), values.end());
  for (const auto& [input, names] : sizes) {
    if (!onnx.values.contains(input)) {
      onnx.sizes.emplace(input, names);
    }
  }
  CompileOptions compiling = options.compile;
  compiling.sizes_from.insert(onnx.sizes.begin(), onnx.sizes.end());
  Graph graph = import_onnx(file, onnx);
  ++compiles;
  return compile(std::move(graph), compiling);
}

/// The program for these inputs, made where there is none yet. The lock is held while compiling, so that many threads
/// with the same values compile once.
std::shared_ptr<const Executable> LoadedModel::State::program_for(const Arrays& inputs) {
  const std::scoped_lock lock(mutex);
  Program wanted;
  for (const std::string& name : value_inputs) {
    wanted.values.emplace(name, inputs.at(name));
  }
  for (const auto& [name, _] : sizes) {
    if (!are_sizes(inputs.at(name))) {  // -1 and 0 have meanings of their own
      wanted.values.emplace(name, inputs.at(name));
    }
  }
  const auto found = std::ranges::find_if(
      programs, [&](const Program& program) { return same_values(program.values, wanted.values); });
  if (found != programs.end()) {
    std::rotate(programs.begin(), found, found + 1);
    return programs.front().executable;
  }
  while (!wanted.executable) {
    try {
      wanted.executable = std::make_shared<const Executable>(compile_for(wanted.values));
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

LoadedModel::Arrays LoadedModel::run(const Arrays& inputs, const RunOptions& options) const {
  check_names(this->inputs(), inputs);
  const std::shared_ptr<const Executable> executable = state_->program_for(inputs);
  std::vector<Array> ordered;
  for (const Port& port : executable->inputs()) {
    ordered.push_back(inputs.at(port.name));
  }
  const std::vector<Array> results = executable->run(ordered, options);
  Arrays outputs;
  for (size_t i = 0; i < results.size(); ++i) {
    outputs.emplace(executable->outputs()[i].name, results[i]);
  }
  return outputs;
}

LoadedModel load(const std::filesystem::path& file, const LoadOptions& options) {
  auto state = std::make_shared<LoadedModel::State>();
  state->file = file;
  state->options = options;
  state->signature = onnx_signature(file);
  std::erase_if(state->signature.inputs, [&](const OnnxPort& port) { return options.onnx.values.contains(port.name); });
  // Values that are sizes become names; a model that needs more than that of a value waits for it.
  while (state->programs.empty() && state->value_inputs.empty()) {
    try {
      state->programs.push_front({{}, std::make_shared<const Executable>(state->compile_for({}))});
    } catch (const OnnxValueNeeded& needed) {
      if (!state->name_sizes(needed.input())) {
        state->sizes.erase(needed.input());
        state->value_inputs.push_back(needed.input());
      }
    }
  }
  return LoadedModel(std::move(state));
}

}  // namespace tenon
