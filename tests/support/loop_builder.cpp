#include "support/loop_builder.h"

#include <algorithm>

namespace tenon {
namespace {

/// Appends and gives the position.
template <class T>
int append(std::vector<T>& list, T element) {
  list.push_back(std::move(element));
  return static_cast<int>(list.size()) - 1;
}

template <class T>
T& at(std::vector<T>& list, int i) {
  return list.at(static_cast<size_t>(i));
}

Dtype result_dtype(Prim prim, Dtype operands) {
  return prim == Prim::eq || prim == Prim::lt || prim == Prim::le ? Dtype::boolean : operands;
}

}  // namespace

loops::Affine affine(std::vector<loops::Term> terms, const Extent& base) {
  std::ranges::sort(terms, {}, &loops::Term::axis);
  loops::Affine result{.base = base, .terms = {}};
  for (loops::Term& term : terms) {
    if (!result.terms.empty() && result.terms.back().axis == term.axis) {
      result.terms.back().scale += term.scale;
    } else {
      result.terms.push_back(std::move(term));
    }
  }
  std::erase_if(result.terms, [](const loops::Term& term) { return term.scale == Extent(0); });
  return result;
}

int LoopBuilder::axis(std::string name, Extent extent) {
  return append(kernel_.axes, {.extent = std::move(extent), .name = std::move(name)});
}

int LoopBuilder::vector_axis(std::string name, Extent extent) {
  return append(kernel_.axes, {.extent = std::move(extent), .name = std::move(name), .binding = loops::Binding::lanes});
}

int LoopBuilder::tile(std::string name, Extent extent, int tile_of, Extent total, bool vectorized) {
  return append(kernel_.axes, {.extent = std::move(extent),
                               .name = std::move(name),
                               .tile_of = tile_of,
                               .total = std::move(total),
                               .binding = vectorized ? loops::Binding::lanes : loops::Binding::serial});
}

int LoopBuilder::buffer(Dtype dtype, loops::Role role, Extent elements) {
  return append(kernel_.buffers, {.dtype = dtype, .role = role, .elements = std::move(elements)});
}

int LoopBuilder::site(std::string text) { return append(kernel_.sites, std::move(text)); }

void LoopBuilder::phase(std::vector<int> grid, const Body& body) {
  open_.emplace_back();
  body();
  kernel_.phases.push_back({.grid = std::move(grid), .body = std::move(open_.back())});
  open_.pop_back();
}

void LoopBuilder::loop(int axis, std::vector<int> begins, const Body& body) {
  open_.emplace_back();
  body();
  loops::Loop loop{.axis = axis, .begins = std::move(begins), .body = std::move(open_.back())};
  open_.pop_back();
  add({std::move(loop)});
}

void LoopBuilder::loop_unless(int axis, int holds, const Body& body) {
  open_.emplace_back();
  body();
  loops::Loop loop{.axis = axis, .begins = {}, .body = std::move(open_.back()), .unless = holds};
  open_.pop_back();
  add({std::move(loop)});
}

int LoopBuilder::load(int buffer, loops::Affine at_position, std::vector<loops::Bound> inside,
                      std::vector<loops::Lookup> lookups) {
  return define({.what = loops::Load{.buffer = buffer,
                                     .at = std::move(at_position),
                                     .inside = std::move(inside),
                                     .lookups = std::move(lookups)},
                 .dtype = compute_dtype(at(kernel_.buffers, buffer).dtype)});
}

int LoopBuilder::position(loops::Affine at_position) {
  return define({.what = loops::Position{std::move(at_position)}, .dtype = Dtype::i64});
}

int LoopBuilder::constant(Dtype dtype, double literal) {
  return define(
      {.what = loops::Compute{.prim = Prim::constant, .operand_dtype = dtype, .operands = {}, .literal = literal},
       .dtype = dtype});
}

int LoopBuilder::cast(int value, Dtype to) {
  return define({.what = loops::Compute{.prim = Prim::cast,
                                        .operand_dtype = compute_dtype(at(kernel_.values, value).dtype),
                                        .operands = {value}},
                 .dtype = to});
}

int LoopBuilder::compute(Prim prim, std::vector<int> operands) {
  const int typical = operands.at(prim == Prim::select ? 1 : 0);
  const Dtype dtype = compute_dtype(at(kernel_.values, typical).dtype);
  return define({.what = loops::Compute{.prim = prim, .operand_dtype = dtype, .operands = std::move(operands)},
                 .dtype = result_dtype(prim, dtype)});
}

void LoopBuilder::store(int buffer, loops::Affine at_position, int value, std::vector<loops::Bound> inside) {
  add({loops::Store{.buffer = buffer, .at = std::move(at_position), .inside = std::move(inside), .value = value}});
}

int LoopBuilder::accumulator(ReduceOp op, Dtype dtype) {
  return append(kernel_.accumulators, {.op = op, .dtype = dtype, .input = -1});
}

void LoopBuilder::accumulate(int accumulator, int value, int position) {
  at(kernel_.accumulators, accumulator).input = value;
  at(kernel_.accumulators, accumulator).position = position;
  add({loops::Accumulate{accumulator}});
}

int LoopBuilder::result(int accumulator) {
  const loops::Accumulator& from = at(kernel_.accumulators, accumulator);
  return append(kernel_.values,
                {.what = loops::Result{accumulator}, .dtype = is_arg(from.op) ? Dtype::i64 : from.dtype});
}

int LoopBuilder::reduce(int axis, ReduceOp op, Dtype dtype, const std::function<int()>& body) {
  const int into = accumulator(op, dtype);
  loop(axis, {into}, [&] { accumulate(into, body()); });
  return result(into);
}

int LoopBuilder::define(loops::Value value) {
  const int result = append(kernel_.values, std::move(value));
  add({loops::Define{result}});
  return result;
}

void LoopBuilder::add(loops::Statement statement) { open_.back().push_back(std::move(statement)); }

}  // namespace tenon
