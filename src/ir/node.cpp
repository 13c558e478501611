#include "ir/node.h"

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "base/fail.h"
#include "base/hash.h"
#include "ir/intern_again.h"
#include "ir/node_number.h"
#include "ir/unify_names.h"

namespace tenon {
namespace {

/// What every Node is in memory.
struct NumberedNode : Node {
  uint64_t number = 0;
};

/// A weak table: it holds no reference, and a node that dies takes itself out.
class InternTable {
 public:
  /// `make` gives the node where there is none; it is called under a lock, and must not drop nodes.
  template <class Matches, class Make>
  Value find_or_add(uint64_t hash, const Matches& matches, const Make& make) {
    Shard& shard = shard_of(hash);
    const std::lock_guard lock(shard.mutex);
    const auto [begin, end] = shard.nodes.equal_range(hash);
    for (auto it = begin; it != end; ++it) {
      const Node* const node = it->second;
      if (matches(*node) && try_retain(*node)) {
        Value value(node, 0);
        node->references.fetch_sub(1, std::memory_order_relaxed);  // the Value holds its own
        return value;
      }
    }
    std::unique_ptr<NumberedNode> fresh = make();
    fresh->number = next_number_.fetch_add(1, std::memory_order_relaxed);
    shard.nodes.emplace(hash, fresh.get());
    return Value(fresh.release(), 0);
  }

  void erase(const Node* node) {
    Shard& shard = shard_of(node->hash);
    const std::lock_guard lock(shard.mutex);
    const auto [begin, end] = shard.nodes.equal_range(node->hash);
    for (auto it = begin; it != end; ++it) {
      if (it->second == node) {
        shard.nodes.erase(it);
        return;
      }
    }
  }

  size_t size() {
    size_t count = 0;
    for (Shard& shard : shards_) {
      const std::lock_guard lock(shard.mutex);
      count += shard.nodes.size();
    }
    return count;
  }

 private:
  struct Shard {
    std::mutex mutex;
    std::unordered_multimap<uint64_t, const Node*> nodes;
  };

  Shard& shard_of(uint64_t hash) { return shards_[(hash >> 56) % shards_.size()]; }

  /// A node whose last reference is gone must not come back: its holder is about to delete it.
  static bool try_retain(const Node& node) {
    uint32_t count = node.references.load(std::memory_order_relaxed);
    while (count != 0) {
      if (node.references.compare_exchange_weak(count, count + 1, std::memory_order_acq_rel)) {
        return true;
      }
    }
    return false;
  }

  std::array<Shard, 64> shards_;
  std::atomic<uint64_t> next_number_ = 1;
};

/// Never destroyed, so that nodes in static variables may die after main.
InternTable& table() {
  static auto& instance = *new InternTable;
  return instance;
}

uint64_t unique_id(const Op& op) {
  if (const auto* input = std::get_if<Input>(&op)) {
    return input->id;
  }
  const auto* barrier = std::get_if<Barrier>(&op);
  return barrier != nullptr ? barrier->id : 0;
}

/// Deleting a node drops its inputs, which may delete them: a chain of any length is taken down by this loop, not by
/// recursion.
void destroy(const Node* dead) {
  thread_local std::vector<const Node*>* pending = nullptr;
  if (pending != nullptr) {
    pending->push_back(dead);
    return;
  }
  std::vector<const Node*> work{dead};
  pending = &work;
  while (!work.empty()) {
    const Node* node = work.back();
    work.pop_back();
    table().erase(node);
    delete static_cast<const NumberedNode*>(node);
  }
  pending = nullptr;
}

}  // namespace

Value::Value(const Node* node, int output) : node_(node), output_(output) {
  node_->references.fetch_add(1, std::memory_order_relaxed);
}

Value::Value(const Value& other) : node_(other.node_), output_(other.output_) {
  if (node_ != nullptr) {
    node_->references.fetch_add(1, std::memory_order_relaxed);
  }
}

Value::Value(Value&& other) noexcept : node_(std::exchange(other.node_, nullptr)), output_(other.output_) {}

Value& Value::operator=(Value other) noexcept {
  std::swap(node_, other.node_);
  std::swap(output_, other.output_);
  return *this;
}

Value::~Value() {
  if (node_ != nullptr && node_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    destroy(node_);
  }
}

std::string_view Value::name() const {
  const auto* input = node_ == nullptr ? nullptr : node_->as<Input>();
  return input == nullptr ? std::string_view() : std::string_view(input->name);
}

const Shape& Value::shape() const {
  if (node_ == nullptr) {
    fail("an empty Value has no shape");
  }
  return node_->shapes[static_cast<size_t>(output_)];
}

Value intern(Op op, std::vector<Value> inputs, std::vector<Shape> shapes, std::vector<Constraint> constraints) {
  auto node = std::make_unique<NumberedNode>();
  uint64_t hash = combine_hash(hash_structure(op), unique_id(op));
  for (const Value& value : inputs) {
    hash = combine_hash(hash, std::hash<Value>()(value));
  }
  for (const Shape& shape : shapes) {
    hash = combine_hash(hash, shape.hash());
  }
  node->op = std::move(op);
  node->inputs = std::move(inputs);
  node->shapes = std::move(shapes);
  node->constraints = std::move(constraints);
  node->place = build_context().place;
  node->hash = hash;
  const Node& fresh = *node;
  const auto matches = [&fresh](const Node& other) {
    return unique_id(other.op) == unique_id(fresh.op) && other.inputs == fresh.inputs && other.shapes == fresh.shapes &&
           same_structure(other.op, fresh.op);
  };
  return table().find_or_add(hash, matches, [&node] { return std::move(node); });
}

NodePattern::NodePattern(const Node& like)
    : op_(like.op),
      shapes_(like.shapes),
      constraints_(like.constraints),
      op_hash_(combine_hash(hash_structure(like.op), unique_id(like.op))) {
  for (const Shape& shape : shapes_) {
    shape_hashes_.push_back(shape.hash());
  }
}

Value NodePattern::intern(std::vector<Value> inputs) const {
  uint64_t hash = op_hash_;
  for (const Value& value : inputs) {
    hash = combine_hash(hash, std::hash<Value>()(value));
  }
  for (const uint64_t shape : shape_hashes_) {
    hash = combine_hash(hash, shape);
  }
  const auto matches = [&](const Node& other) {
    return unique_id(other.op) == unique_id(op_) && other.inputs == inputs && other.shapes == shapes_ &&
           same_structure(other.op, op_);
  };
  return table().find_or_add(hash, matches, [&] {
    auto node = std::make_unique<NumberedNode>();
    node->op = op_;
    node->inputs = std::move(inputs);
    node->shapes = shapes_;
    node->constraints = constraints_;
    node->place = build_context().place;
    node->hash = hash;
    return node;
  });
}

uint64_t node_number(const Node& node) { return static_cast<const NumberedNode&>(node).number; }

size_t live_node_count() { return table().size(); }

const KindInfo& kind_info(const Op& op) {
  return std::visit([]<class Kind>(const Kind&) -> const KindInfo& { return Kind::info; }, op);
}

std::string_view op_name(const Op& op) {
  const auto* map = std::get_if<Map>(&op);
  return map != nullptr ? map->fn->name : kind_info(op).name;
}

BuildContext& build_context() {
  thread_local BuildContext context;
  return context;
}

Place::Place(std::string place) : previous_(std::exchange(build_context().place, std::move(place))) {}
Place::~Place() { build_context().place = std::move(previous_); }

DataAxisScope::DataAxisScope() : previous_(std::exchange(build_context().data_axes, this)) {}
DataAxisScope::~DataAxisScope() { build_context().data_axes = previous_; }

std::string fresh_data_axis(std::string_view stem) {
  static std::atomic<uint64_t> next = 0;
  DataAxisScope* const scope = build_context().data_axes;
  if (scope == nullptr) {
    return fmt::format("{}_{}", stem, ++next);
  }
  std::string name;
  do {
    name = fmt::format("{}_{}", stem, ++scope->count);
  } while (scope->taken.contains(name));
  return name;
}

UnifyNames::UnifyNames() : previous_(std::exchange(build_context().unify_names, true)) {}
UnifyNames::~UnifyNames() { build_context().unify_names = previous_; }

}  // namespace tenon
