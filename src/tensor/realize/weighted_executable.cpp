#include "tenon/weighted_executable.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/refused.h"
#include "ir/node.h"
#include "ir/unify_names.h"
#include "passes/rewriting/rewrite.h"
#include "tenon/ops.h"
#include "tenon/unsupported.h"
#include "tensor/realize/choose_weights.h"
#include "tensor/realize/program.h"
#include "tensor/realize/weight_budget.h"

namespace tenon {
namespace {

constexpr uint32_t kFirstWait = 4;  // runs with an input before it is taken for a weight
constexpr uint32_t kLongestWait = 4096;
constexpr int64_t kWidened = 16;     // runs of a version after which weights are looked for that came later
constexpr int64_t kServedWell = 16;  // runs of a version for each that it waited
constexpr size_t kMostKnown = 256;   // contents of one input that are counted

/// The graph with constants where the inputs are read. They stay inputs, so that inputs keep their numbers.
Graph with_constants(const Graph& graph, const std::vector<size_t>& weights, const std::vector<Array>& arrays) {
  const UnifyNames lenient;
  std::unordered_map<Value, Value> known;
  for (const Value& in : graph.inputs()) {
    known.emplace(in, in);
  }
  for (size_t i = 0; i < weights.size(); ++i) {
    known[graph.inputs()[weights[i]]] = constant(arrays[i]);
  }
  std::vector<Value> roots;
  for (const Output& output : graph.outputs()) {
    roots.push_back(output.value);
  }
  const std::vector<Value> made = passes::rewrite_values(
      roots, std::move(known), [](const Node&, const auto&) { return std::optional<std::vector<Value>>(); });
  std::vector<Output> outputs = graph.outputs();
  for (size_t i = 0; i < outputs.size(); ++i) {
    outputs[i].value = made[i];
  }
  return {graph.name(), graph.inputs(), std::move(outputs), graph.relations()};
}

}  // namespace

struct WeightedExecutable::Version : tensors::Budgeted {
  Version(int64_t bytes, Executable made) : Budgeted(bytes), executable(std::move(made)) {}

  void drop() override;

  bool serves(std::span<const uint64_t> now) const {
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (now[inputs[i]] != contents[i]) {
        return false;
      }
    }
    return true;
  }

  Executable executable;
  std::vector<size_t> inputs;  // that are constants of it
  std::vector<uint64_t> contents;
  int64_t uses = 1;
  std::weak_ptr<State> owner;
};

/// Versions die outside of the lock: those who lend their arrays may need locks of their own to take them back.
struct WeightedExecutable::State {
  using Versions = std::vector<std::shared_ptr<Version>>;

  State(Graph of, std::vector<size_t> first, CompileOptions how)
      : graph(std::move(of)), options(std::move(how)), expected(std::move(first)), runs(graph.inputs().size()) {
    may_be.assign(graph.inputs().size(), true);
    for (const Output& output : graph.outputs()) {
      if (output.aliases >= 0) {
        may_be[static_cast<size_t>(output.aliases)] = false;  // written in place by every run
      }
    }
    useful = tensors::may_have_weights(graph, may_be);
  }

  Chosen general() {
    const std::lock_guard lock(general_mutex);
    const bool compiles = !general_program;
    if (compiles) {
      general_program = compile(graph, options);
    }
    return {.executable = *general_program, .compiled = compiles};
  }

  /// The version for a run, or nothing; `wanted` is then what a new one would have as constants.
  std::shared_ptr<Version> find(std::span<const uint64_t> contents, std::vector<size_t>& wanted) {
    const std::lock_guard lock(mutex);
    const auto at = std::ranges::find_if(versions, [&](const auto& version) { return version->serves(contents); });
    const std::shared_ptr<Version> found = at == versions.end() ? nullptr : *at;
    if (found != nullptr) {
      found->use();
      if (found->uses++ > kWidened) {
        return found;
      }
    }
    const std::vector<bool> still = stayed(contents);
    if (making || still == rejected || (found != nullptr && found->uses <= kWidened)) {
      return found;
    }
    wanted = tensors::choose_weights(graph, still);
    if (wanted.empty() || bytes_of(wanted) > tensors::weight_budget()) {
      rejected = still;
      wanted.clear();
    }
    if (found != nullptr && wanted.size() <= found->inputs.size()) {
      wanted.clear();
    }
    making = !wanted.empty();
    return found;
  }

  /// Counts a run, and says of each input whether it has been the same for long enough.
  std::vector<bool> stayed(std::span<const uint64_t> contents) {
    std::vector<bool> still(contents.size(), false);
    for (size_t i = 0; i < contents.size(); ++i) {
      if (contents[i] == 0 || !may_be[i]) {
        continue;
      }
      if (runs[i].size() >= kMostKnown) {
        runs[i].clear();
      }
      still[i] = ++runs[i][contents[i]] > wait;
    }
    for (const size_t i : expected) {
      still[i] = still[i] || (contents[i] != 0 && may_be[i]);
    }
    expected.clear();
    return still;
  }

  int64_t bytes_of(const std::vector<size_t>& inputs) const {
    int64_t bytes = 0;
    for (const size_t i : inputs) {
      const Shape& shape = graph.inputs()[i].shape();
      bytes += shape.size() * static_cast<int64_t>(byte_size(shape.dtype()));
    }
    return bytes;
  }

  /// Nothing where a version cannot be made: the general program is all there will be.
  std::shared_ptr<Version> make(const std::shared_ptr<State>& self, std::span<const uint64_t> contents,
                                const std::vector<size_t>& inputs, const std::vector<Array>& arrays) {
    std::shared_ptr<tensors::Program> program;
    try {
      program = tensors::compile_program(with_constants(graph, inputs, arrays),
                                         std::vector<int>(graph.outputs().size(), -1), options);
    } catch (const Refused&) {
      useful = false;
    } catch (const Unsupported&) {
      useful = false;
    }
    if (program == nullptr) {
      return nullptr;
    }
    auto version = std::make_shared<Version>(program->constant_bytes, program->executable);
    version->inputs = inputs;
    for (const size_t i : inputs) {
      version->contents.push_back(contents[i]);
    }
    version->owner = self;
    if (!tensors::admit(version)) {
      useful = false;
    }
    return version;
  }

  /// Lets go of versions; the shorter they served, the longer the next one waits.
  template <class Fits>
  Versions take(const Fits& fits) {
    Versions taken;
    const std::lock_guard lock(mutex);
    for (const auto& version : versions) {
      if (fits(*version)) {
        taken.push_back(version);
      }
    }
    for (const auto& version : taken) {
      std::erase(versions, version);
      wait = version->uses < wait                 ? std::min(2 * wait, kLongestWait)
             : version->uses > kServedWell * wait ? kFirstWait
                                                  : wait;
    }
    return taken;
  }

  const Graph graph;
  const CompileOptions options;
  std::mutex general_mutex;
  std::optional<Executable> general_program;
  std::mutex mutex;
  std::vector<bool> may_be;                                  // of each input: whether it may be a constant
  std::atomic<bool> useful;                                  // a version could be faster, and could be made
  std::vector<size_t> expected;                              // until the first run
  std::vector<std::unordered_map<uint64_t, uint32_t>> runs;  // of each input, by what was in it
  std::vector<bool> rejected;                                // which inputs had stayed when that was not enough
  Versions versions;
  uint32_t wait = kFirstWait;
  bool making = false;
};

void WeightedExecutable::Version::drop() {
  if (const std::shared_ptr<State> state = owner.lock()) {
    state->take([&](const Version& version) { return &version == this; });
  }
}

WeightedExecutable::WeightedExecutable(Graph graph, std::vector<size_t> expected, CompileOptions options)
    : state_(std::make_shared<State>(std::move(graph), std::move(expected), std::move(options))) {}

WeightedExecutable::Chosen WeightedExecutable::choose(std::span<const uint64_t> contents,
                                                      const std::function<Array(size_t)>& elements) const {
  State& state = *state_;
  if (!state.useful) {
    return state.general();
  }
  std::vector<size_t> wanted;
  std::shared_ptr<Version> version = state.find(contents, wanted);
  if (wanted.empty()) {
    return version == nullptr
               ? state.general()
               : Chosen{.executable = version->executable, .weights = static_cast<int>(version->inputs.size())};
  }
  const auto done = [&](const std::shared_ptr<Version>& made) {
    const std::lock_guard lock(state.mutex);
    state.making = false;
    if (made != nullptr && state.useful) {
      state.versions.insert(state.versions.begin(), made);
    }
  };
  try {
    std::vector<Array> arrays;
    for (const size_t i : wanted) {
      arrays.push_back(elements(i));
    }
    const std::shared_ptr<Version> made = state.make(state_, contents, wanted, arrays);
    done(made);
    if (made != nullptr) {
      if (version != nullptr) {
        version->drop();
      }
      return {.executable = made->executable, .weights = static_cast<int>(wanted.size()), .compiled = true};
    }
  } catch (...) {
    done(nullptr);
    throw;
  }
  return state.general();
}

void WeightedExecutable::forget(uint64_t contents) const {
  state_->take(
      [&](const Version& version) { return std::ranges::find(version.contents, contents) != version.contents.end(); });
}

const Graph& WeightedExecutable::graph() const { return state_->graph; }

}  // namespace tenon
