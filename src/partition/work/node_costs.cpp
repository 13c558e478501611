#include "partition/work/node_costs.h"

#include <algorithm>
#include <ranges>

#include "base/hash.h"
#include "ir/walk.h"
#include "kernel/scalar/prim_cost.h"
#include "kernel/scalar/scalar_fn.h"
#include "kernel/scalar/scalar_program.h"
#include "ops/macs.h"

namespace tenon::partition {
namespace {

/// The row of the scalar table in primitives, each at its cost; at least a move.
int64_t cost_of(const Node& node, const Map& map) {
  std::vector<Dtype> dtypes;
  for (const Value& operand : node.inputs) {
    dtypes.push_back(operand.dtype());
  }
  int64_t sum = 0;
  for (const ScalarInstruction& each : flatten({instantiate(*map.fn, dtypes, map.dtype)}).code) {
    sum += cost(each.prim, each.operand_dtype);
  }
  return std::max<int64_t>(sum, 1);
}

int64_t element_bytes(Dtype dtype) { return static_cast<int64_t>(byte_size(dtype)); }

Extent in_bodies(const Node& node, Extent (*count)(const Node&)) {
  const std::vector<Graph> bodies = called_graphs(node);
  if (bodies.empty()) {
    return 0;
  }
  Extent sum = 0;
  const size_t counted = node.as<If>() != nullptr ? 1 : bodies.size();  // of a conditional, one branch runs
  for (size_t i = 0; i < counted; ++i) {
    for (const Node* inner : bodies[i].nodes()) {
      sum += count(*inner);
    }
  }
  const auto* loop = node.as<Loop>();
  return loop != nullptr ? sum * loop->trips : sum;
}

bool is_leaf_or_view(const Node& node) {
  return node.as<Input>() != nullptr || node.as<Constant>() != nullptr || node.as<Iota>() != nullptr ||
         is_free_view(node);
}

Role role_of_body(const Graph& body) {
  bool has_row = false;
  Role most = Role::map;
  for (const Node* node : body.nodes()) {
    if (is_leaf_or_view(*node)) {
      continue;
    }
    const Role role = role_of(*node);
    if (role == Role::product || role == Role::depthwise || role == Role::other || role == Role::gather ||
        role == Role::window) {
      return role;
    }
    has_row |= role == Role::row;
    most = role == Role::move ? Role::move : most;
  }
  return has_row ? Role::row : most;
}

}  // namespace

Extent bytes_of(const Shape& shape) { return shape.element_count() * element_bytes(shape.dtype()); }

bool is_free_view(const Node& node) {
  return node.as<Reshape>() != nullptr || node.as<Broadcast>() != nullptr || node.as<Slice>() != nullptr;
}

Extent macs_of(const Node& node) { return macs(node) + in_bodies(node, macs_of); }

Extent flops_of(const Node& node) {
  if (const auto* map = node.as<Map>()) {
    return node.shapes[0].element_count() * cost_of(node, *map);
  }
  if (node.as<Reduce>() != nullptr || node.as<Scan>() != nullptr) {
    return node.inputs[0].shape().element_count();
  }
  if (const auto* window = node.as<Window>()) {
    int64_t size = 1;
    for (const int64_t each : window->size) {
      size *= each;
    }
    return node.shapes[0].element_count() * size;
  }
  return 2 * macs(node) + in_bodies(node, flops_of);
}

Role role_of(const Node& node) {
  if (node.as<Contract>() != nullptr) {
    return Role::product;
  }
  if (const auto* conv = node.as<Conv>()) {
    return conv->groups > 1 && node.inputs[1].extent(1) == Extent(1) ? Role::depthwise : Role::product;
  }
  if (node.as<Map>() != nullptr || node.as<Random>() != nullptr || node.as<Iota>() != nullptr) {
    return Role::map;
  }
  if (node.as<Reduce>() != nullptr) {
    return Role::row;
  }
  if (node.as<Window>() != nullptr) {
    return Role::window;
  }
  if (as_view(node.op) || node.as<Concat>() != nullptr) {
    return Role::move;
  }
  if (node.as<Gather>() != nullptr || node.as<Scatter>() != nullptr || node.as<Update>() != nullptr) {
    return Role::gather;
  }
  const auto* call = node.as<Call>();
  return call != nullptr ? role_of_body(call->body) : Role::other;
}

Extent parallelism_of(const Node& node, Role role) {
  if (role == Role::other) {
    Extent widest = 1;  // of what a loop or a conditional runs
    for (const Graph& body : called_graphs(node)) {
      for (const Node* inner : body.nodes()) {
        widest = is_leaf_or_view(*inner) ? widest : max(widest, parallelism_of(*inner, role_of(*inner)));
      }
    }
    return widest;
  }
  if (role == Role::row) {
    if (const auto* call = node.as<Call>()) {
      for (const Node* inner : call->body.nodes()) {
        if (inner->as<Reduce>() != nullptr) {
          return inner->shapes[0].element_count();
        }
      }
    }
  }
  return node.shapes[0].element_count();
}

Extent least_bytes_of(const Node& node, Role role) {
  const int64_t result = element_bytes(node.shapes[0].dtype());
  if (role == Role::other) {
    Extent most = 0;  // a loop or a conditional needs what the operations inside of it need
    for (const Graph& body : called_graphs(node)) {
      for (const Node* inner : body.nodes()) {
        if (!is_leaf_or_view(*inner)) {
          most = max(most, least_bytes_of(*inner, role_of(*inner)));
        }
      }
    }
    return most;
  }
  if (node.as<Contract>() != nullptr || node.as<Conv>() != nullptr) {
    Extent terms = 1;
    if (const auto* contract = node.as<Contract>()) {
      for (const int axis : contract->lhs_contract) {
        terms = terms * node.inputs[0].extent(axis);
      }
    } else {
      for (int axis = 1; axis < node.inputs[1].rank(); ++axis) {
        terms = terms * node.inputs[1].extent(axis);
      }
    }
    return terms * (element_bytes(node.inputs[0].dtype()) + element_bytes(node.inputs[1].dtype())) + result;
  }
  if (role == Role::row) {
    Extent read = 0;
    for (const Value& operand : node.inputs) {
      read = max(read, bytes_of(operand.shape()));
    }
    return ceildiv(read, max(parallelism_of(node, role), 1)) + result;
  }
  Extent sum = result;
  for (const Value& operand : node.inputs) {
    sum += element_bytes(operand.dtype());
  }
  if (const auto* window = node.as<Window>()) {
    int64_t size = 1;
    for (const int64_t each : window->size) {
      size *= each;
    }
    sum += size * element_bytes(node.inputs[0].dtype());
  }
  return sum;
}

uint64_t structure_of(const Node& node) {
  const auto* call = node.as<Call>();
  const std::string_view kind = call != nullptr ? std::string_view(call->body.name()) : op_name(node.op);
  uint64_t hash = combine_hash(hash_bytes(kind), node.shapes.size());
  hash = combine_hash(hash, static_cast<uint64_t>(role_of(node)));
  if (node.as<Conv>() != nullptr) {
    const Shape& weight = node.inputs[1].shape();
    const auto offsets = std::views::iota(2, weight.rank());
    const bool pointwise = std::ranges::all_of(offsets, [&](int axis) { return weight.extent(axis) == Extent(1); });
    hash = combine_hash(hash, pointwise ? 1 : 2);
  }
  return hash;
}

}  // namespace tenon::partition
