#include "tenon/autograd.h"

#include <unordered_set>

#include "base/fail.h"
#include "ir/unify_names.h"
#include "ops/builders/close_over.h"
#include "passes/autodiff/autodiff.h"
#include "tenon/autodiff.h"
#include "tenon/ops.h"
#include "tensor/record/leaf.h"
#include "tensor/record/record.h"

namespace tenon {

using namespace tensors;

namespace {

/// The leaves by which gradients are wanted, among all that `y` is computed from, in the order of the walk.
std::vector<Value> wanted_leaves(const Value& y) {
  std::vector<Value> found;
  std::unordered_set<const Node*> seen;
  std::vector<Value> work{y};
  while (!work.empty()) {
    const Value value = work.back();
    work.pop_back();
    if (!seen.insert(&value.node()).second) {
      continue;
    }
    if (const Leaf* leaf = leaf_of(value.node())) {
      if (!leaf->wants_gradient.expired()) {
        found.push_back(value);
      }
      continue;
    }
    work.insert(work.end(), value.node().inputs.begin(), value.node().inputs.end());
  }
  return found;
}

Value seed_value(const Tensor& y, const Tensor& seed) {
  if (!seed.defined()) {
    const Value& value = Access::handle(y).value();
    return value.rank() > 0 && y.count() == 1 ? full(value.shape(), 1) : Value();
  }
  if (seed.dims() != y.dims() || seed.dtype() != y.dtype()) {
    fail("the seed of a gradient is {}, must be {} as the tensor", seed.shape().to_string(), y.shape().to_string());
  }
  return reshape(read(seed), Access::handle(y).value().shape().axes());
}

/// A gradient as a tensor. Unless gradients of it are wanted, it passes none on.
Tensor gradient_tensor(const Value& g, int depth, bool create) {
  return create ? new_tensor(g, true, depth) : new_tensor(make_stand_in(g), false, depth);
}

/// gradients(), which finds the gradients of composites that it has met before on this thread.
std::vector<Value> known_gradients(const Value& y, const std::vector<Value>& xs, const Value& seed) {
  thread_local passes::GradientBodies bodies;
  passes::GradientBodies*& current = passes::GradientBodies::current();
  struct Restore {
    passes::GradientBodies*& current;
    passes::GradientBodies* previous;
    ~Restore() { current = previous; }
  } restore{current, std::exchange(current, &bodies)};
  const UnifyNames lenient;
  return gradients(y, xs, seed);
}

void require_tracked(const Tensor& y, const char* who) {
  if (!is_tracked(y)) {
    fail("{}: {} was not computed from anything that wants gradients (requires_grad_()){}", who, y.shape().to_string(),
         grad_enabled() ? ", or backward() was called before without `retain`" : "; gradients are off (NoGrad)");
  }
}

}  // namespace

bool grad_enabled() { return grad_mode(); }
NoGrad::NoGrad() : previous_(std::exchange(grad_mode(), false)) {}
NoGrad::~NoGrad() { grad_mode() = previous_; }
EnableGrad::EnableGrad() : previous_(std::exchange(grad_mode(), true)) {}
EnableGrad::~EnableGrad() { grad_mode() = previous_; }

Tensor& Tensor::requires_grad_(bool wanted) {
  Handle& handle = Access::handle(*this);
  Cell& cell = *handle.cell;
  if (!handle.path.empty()) {
    fail("requires_grad_() of a view, {}: ask it of the tensor that it is a view of", shape().to_string());
  }
  if (!is_float(dtype())) {
    fail("requires_grad_(): only floats have gradients, the tensor is {}", shape().to_string());
  }
  if (wanted == cell.wants_gradient || (wanted && cell.tracked)) {
    return *this;  // gradients flow through what was computed from a tensor that wants them, to that tensor
  }
  cell.wants_gradient = wanted;
  const Value next = make_stand_in(cell.value);  // what it came from gets no gradients
  if (wanted) {
    leaf_of(next.node())->wants_gradient = cell.weak_from_this();
  }
  const bool written = cell.written;
  set_value(cell, next);
  set_written(cell, written);
  cell.tracked = wanted;
  return *this;
}

bool Tensor::requires_grad() const { return is_tracked(*this); }

Tensor Tensor::grad() const { return Access::handle(*this).cell->gradient; }
void Tensor::set_grad(const Tensor& grad) {
  if (grad.defined() && (grad.dtype() != dtype() || grad.dims() != dims())) {
    fail("set_grad: the gradient is {}, the tensor is {}", grad.shape().to_string(), shape().to_string());
  }
  Access::handle(*this).cell->gradient = grad;
}

void Tensor::backward(const Tensor& seed, bool retain, bool create) const {
  require_tracked(*this, "backward()");
  Handle& handle = Access::handle(*this);
  const Value y = handle.value();
  const std::vector<Value> leaves = wanted_leaves(y);
  const std::vector<Value> found = known_gradients(y, leaves, seed_value(*this, seed));
  const int depth = 2 * handle.cell->depth + 1;
  for (size_t i = 0; i < leaves.size(); ++i) {
    const std::shared_ptr<Cell> cell = leaf_of(leaves[i].node())->wants_gradient.lock();
    if (!cell) {
      continue;
    }
    Tensor g = gradient_tensor(found[i], depth, create);
    if (cell->gradient.defined()) {
      const NoGrad none;
      g = create ? [&] {
        const EnableGrad all;
        return cell->gradient + g;
      }()
                 : cell->gradient + g;
    }
    cell->gradient = g;
  }
  if (!retain && !create && handle.path.empty() && !handle.cell->wants_gradient) {
    // The graph behind it is let go, as soon as the elements are known.
    set_value(*handle.cell, make_stand_in(y));
    handle.cell->tracked = false;
  }
}

std::vector<Tensor> grad(const Tensor& y, const std::vector<Tensor>& xs, const GradOptions& options) {
  require_tracked(y, "grad()");
  std::vector<Value> values;
  for (const Tensor& x : xs) {
    values.push_back(Access::handle(x).value());
  }
  const std::vector<Value> found = known_gradients(Access::handle(y).value(), values, seed_value(y, options.seed));
  std::vector<Tensor> result;
  for (const Value& g : found) {
    result.push_back(gradient_tensor(g, 2 * Access::handle(y).cell->depth + 1, options.create));
  }
  return result;
}

std::vector<Tensor> checkpoint(const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& f,
                               const std::vector<Tensor>& inputs) {
  if (!grad_mode()) {
    return f(inputs);  // nothing is kept for gradients anyway
  }
  // Each stands for the input, so that a look inside of `f`, or a write from there to a tensor outside, finds elements.
  std::vector<Value> parameters;
  std::vector<Tensor> stand_ins;
  for (const Tensor& in : inputs) {
    parameters.push_back(make_stand_in(Access::handle(in).value()));
    stand_ins.push_back(new_tensor(parameters.back(), is_tracked(in), 0));
  }
  std::vector<Value> outputs;
  std::vector<bool> tracked;
  for (const Tensor& out : f(stand_ins)) {
    outputs.push_back(Access::handle(out).value());
    tracked.push_back(is_tracked(out));
  }
  const ClosedBodies closed = close_over({{"checkpoint", parameters, outputs}});
  std::vector<Value> operands;
  for (const Tensor& in : inputs) {
    operands.push_back(read(in));
  }
  operands.insert(operands.end(), closed.captures.begin(), closed.captures.end());
  const UnifyNames lenient;
  std::vector<Tensor> results;
  for (const Value& value : call(closed.graphs[0], operands)) {
    results.push_back(new_tensor(value, tracked[results.size()], 1));
  }
  return results;
}

}  // namespace tenon
