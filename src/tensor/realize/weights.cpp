#include "tensor/realize/weights.h"

#include <algorithm>

#include "base/refused.h"
#include "ir/node_number.h"
#include "ir/unify_names.h"
#include "tenon/ops.h"
#include "tenon/unsupported.h"
#include "tensor/realize/choose_weights.h"
#include "tensor/realize/programs.h"
#include "tensor/realize/weight_budget.h"
#include "tensor/record/leaf.h"

namespace tenon::tensors {
namespace {

constexpr uint32_t kFirstWait = 4;  // runs of a leaf before it is taken for a weight
constexpr uint32_t kLongestWait = 4096;
constexpr int64_t kWidened = 16;     // runs of a version after which weights are looked for that came later
constexpr int64_t kServedWell = 16;  // runs of a version for each that it waited

/// Guards Leaf::versions. Never destroyed, as other tables of lazy tensors.
std::mutex& versions_mutex() {
  static auto& instance = *new std::mutex;
  return instance;
}

std::shared_ptr<Leaf> shared_leaf(const Value& value) {
  const auto* input = value.node().as<Input>();
  return input == nullptr ? nullptr : std::static_pointer_cast<Leaf>(input->attached);
}

}  // namespace

struct LaidOut : Budgeted {
  explicit LaidOut(std::shared_ptr<const Program> made) : Budgeted(made->constant_bytes), program(std::move(made)) {}

  /// Whoever runs it keeps it until the end of the run. What dies with it dies outside of the lock.
  void drop() override {
    const std::shared_ptr<Leaf> had = owner.lock();
    if (had == nullptr) {
      return;
    }
    std::shared_ptr<LaidOut> last;
    const std::lock_guard lock(versions_mutex());
    const auto at = std::ranges::find(had->versions, this, &std::shared_ptr<LaidOut>::get);
    if (at != had->versions.end()) {
      last = std::move(*at);
      had->versions.erase(at);
    }
  }

  std::shared_ptr<const Program> program;
  std::vector<size_t> leaves;   // that are constants of it
  std::vector<uint64_t> nodes;  // ... which these are: a leaf's elements do not change while its node lives
  std::shared_ptr<std::atomic<int64_t>> uses = std::make_shared<std::atomic<int64_t>>(0);
  std::weak_ptr<Leaf> owner;
};

namespace {

bool serves(const LaidOut& version, const Pending& pending) {
  for (size_t i = 0; i < version.leaves.size(); ++i) {
    if (node_number(pending.leaf(version.leaves[i]).node()) != version.nodes[i]) {
      return false;
    }
  }
  return true;
}

int64_t bytes_of(const Pending& pending, const std::vector<size_t>& leaves) {
  int64_t bytes = 0;
  for (const size_t leaf : leaves) {
    bytes += static_cast<int64_t>(elements_of(pending.leaf(leaf)).byte_count());
  }
  return bytes;
}

void count_runs(const Pending& pending) {
  for (size_t i = 0; i < pending.leaves().size(); ++i) {
    if (Leaf* const leaf = leaf_of(pending.leaf(i).node())) {
      ++leaf->runs;
    }
  }
}

/// Hand it to its largest weight. False where it is larger than the budget.
bool keep(const std::shared_ptr<LaidOut>& version, const Pending& pending) {
  const auto elements = [&](size_t leaf) { return elements_of(pending.leaf(leaf)).byte_count(); };
  const std::shared_ptr<Leaf> owner =
      shared_leaf(pending.leaf(*std::ranges::max_element(version->leaves, {}, elements)));
  version->owner = owner;
  if (!admit(version)) {
    return false;
  }
  const std::lock_guard lock(versions_mutex());
  owner->versions.push_back(version);
  return true;
}

/// The general program's graph, with constants where the leaves are used. They stay inputs, which nothing reads: leaves
/// keep their numbers.
Graph with_constants(const Program& general, const Pending& pending, const std::vector<size_t>& leaves) {
  const UnifyNames lenient;
  const std::vector<Value>& inputs = general.graph.inputs();
  const Pending plain = general.plain->remade(
      [](const Shape& shape) { return shape; }, [](const Op& op) { return op; },
      [&](size_t i, const Shape&) {
        return std::ranges::binary_search(leaves, i) ? constant(elements_of(pending.leaf(i))) : inputs[i];
      });
  return graph_of(plain, inputs, general.aliases);
}

}  // namespace

WeightPrograms::WeightPrograms(const Graph& graph, const std::vector<int>& aliases)
    : may_be_(graph.inputs().size(), true), wait_(kFirstWait) {
  for (const int alias : aliases) {
    if (alias >= 0) {
      may_be_[static_cast<size_t>(alias)] = false;  // written in place by every run
    }
  }
  useful_ = may_have_weights(graph, may_be_);
}

WeightPrograms::Found WeightPrograms::find(const Program& general, const Pending& pending) {
  if (!useful_) {
    return {};
  }
  std::vector<size_t> leaves;
  {
    const std::lock_guard lock(mutex_);
    count_runs(pending);
    const std::shared_ptr<LaidOut> version = serving(pending);
    if (version == nullptr || version->uses->fetch_add(1) == kWidened) {
      leaves = wanted(general.graph, pending);
    }
    if (version != nullptr && leaves.size() <= version->leaves.size()) {
      version->use();
      return {.program = version->program, .weights = static_cast<int>(version->leaves.size())};
    }
    if (leaves.empty() || making_ || bytes_of(pending, leaves) > weight_budget()) {
      return {};
    }
    if (version != nullptr) {
      version->drop();
    }
    making_ = true;
  }
  Found found = make(general, pending, leaves);
  const std::lock_guard lock(mutex_);
  making_ = false;
  return found;
}

/// The version whose weights these leaves are; those that died say how long the next one has to wait.
std::shared_ptr<LaidOut> WeightPrograms::serving(const Pending& pending) {
  std::shared_ptr<LaidOut> found;
  std::erase_if(made_, [&](const Made& one) {
    std::shared_ptr<LaidOut> version = one.version.lock();
    if (version == nullptr) {
      const int64_t uses = one.uses->load();
      wait_ = uses < wait_ ? std::min(2 * wait_, kLongestWait) : uses > kServedWell * wait_ ? kFirstWait : wait_;
    } else if (found == nullptr && serves(*version, pending)) {
      found = std::move(version);
    }
    return version == nullptr && found == nullptr;
  });
  return found;
}

/// What is to be constants, if leaves have stayed for long enough.
std::vector<size_t> WeightPrograms::wanted(const Graph& graph, const Pending& pending) {
  std::vector<bool> still(may_be_.size(), false);
  for (size_t i = 0; i < still.size(); ++i) {
    Leaf* const leaf = leaf_of(pending.leaf(i).node());
    still[i] = may_be_[i] && leaf != nullptr && leaf->runs > wait_ && leaf->array.place().kind == DeviceKind::cpu;
  }
  if (still == rejected_) {
    return {};
  }
  std::vector<size_t> leaves = choose_weights(graph, still);
  if (leaves.empty()) {
    rejected_ = std::move(still);
  }
  return leaves;
}

WeightPrograms::Found WeightPrograms::make(const Program& general, const Pending& pending,
                                           const std::vector<size_t>& leaves) {
  std::shared_ptr<Program> program;
  try {
    program = compile_program(with_constants(general, pending, leaves), general.aliases, compile_options());
    program->plain = general.plain;
  } catch (const Refused&) {
    return give_up();
  } catch (const Unsupported&) {
    return give_up();
  }
  const auto version = std::make_shared<LaidOut>(std::move(program));
  version->leaves = leaves;
  for (const size_t leaf : leaves) {
    version->nodes.push_back(node_number(pending.leaf(leaf).node()));
  }
  version->uses->store(1);
  if (!keep(version, pending)) {
    return give_up();
  }
  const std::lock_guard lock(mutex_);
  made_.push_back({.version = version, .uses = version->uses});
  return {.program = version->program, .weights = static_cast<int>(leaves.size()), .made = true};
}

/// The general program is all there will be.
WeightPrograms::Found WeightPrograms::give_up() {
  const std::lock_guard lock(mutex_);
  useful_ = false;
  return {};
}

}  // namespace tenon::tensors
