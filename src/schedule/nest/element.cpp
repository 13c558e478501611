#include "schedule/nest/element.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/convert.h"
#include "base/fail.h"
#include "kernel/scalar/philox.h"
#include "ops/axes.h"

namespace tenon::schedule {

Position scaled(const Position& p, const Extent& by) {
  Position result{.affine = scale(p.affine, by), .dynamic = p.dynamic};
  for (Dynamic& part : result.dynamic) {
    part.scale *= by;
  }
  return result;
}

Position moved(const Position& p, const Extent& by) {
  return {.affine = add(p.affine, affine_constant(by)), .dynamic = p.dynamic};
}

Position sum(const Position& a, const Position& b) {
  Position result{.affine = add(a.affine, b.affine), .dynamic = a.dynamic};
  result.dynamic.insert(result.dynamic.end(), b.dynamic.begin(), b.dynamic.end());
  return result;
}

Position linear(const std::vector<Axis>& axes, const Point& point) {
  Position at;
  for (size_t i = 0; i < axes.size(); ++i) {
    at = sum(scaled(at, axes[i].extent()), point[i]);
  }
  return at;
}

Position stored_at(const StorageOrders& storage, const Value& value, const Point& point) {
  const std::vector<int>* order = storage.of(value);
  if (!order) {
    return linear(value.shape().axes(), point);
  }
  std::vector<Axis> axes;
  Point ordered;
  for (const int axis : *order) {
    axes.push_back(value.shape().axis(axis));
    ordered.push_back(point[static_cast<size_t>(axis)]);
  }
  return linear(axes, ordered);
}

const ScalarProgram& MapPrograms::of(const Map& map, const std::vector<Value>& operands) {
  std::vector<Dtype> dtypes;
  for (const Value& operand : operands) {
    dtypes.push_back(operand.dtype());
  }
  auto [at, is_new] = programs_.try_emplace({map.fn, map.dtype, dtypes});
  if (is_new) {
    at->second = flatten({instantiate(*map.fn, dtypes, map.dtype)});
  }
  return at->second;
}

Point ElementEmitter::iterate(const Value& value) {
  Point point(static_cast<size_t>(value.rank()));
  const std::vector<int>* order = storage_.of(value);
  AxisSet taken = 0;
  for (size_t i = 0; i < point.size(); ++i) {
    const size_t axis = order ? static_cast<size_t>((*order)[i]) : i;
    const Cover& cover = axes_.cover(value, static_cast<int>(axis), taken);
    taken |= cover.set;
    point[axis] = {.affine = cover.affine, .dynamic = {}};
  }
  return point;
}

int ElementEmitter::add_buffer(const Value& value, loops::Role role) {
  buffers_.push_back(value);
  kernel_.buffers.push_back({.dtype = value.dtype(), .role = role, .elements = value.shape().element_count()});
  return static_cast<int>(buffers_.size()) - 1;
}

int ElementEmitter::output_buffer(const Value& value) { return add_buffer(value, loops::Role::output); }

AxisSet ElementEmitter::axes_of_point(const Point& point) const {
  AxisSet set = 0;
  for (const Position& at : point) {
    set |= axes_of(at.affine);
    for (const Dynamic& part : at.dynamic) {
      set |= values_.axes(part.value);
    }
  }
  return set;
}

int ElementEmitter::emit(const Value& value, const Point& point, const Mask& mask) {
  std::vector<Asked>& asked = asked_[value];
  for (const Asked& before : asked) {
    if (before.point == point && before.mask == mask) {
      return before.value;
    }
  }
  for (int i = 0; i < value.rank(); ++i) {
    axes_.remember(value, i, point[static_cast<size_t>(i)].affine);
  }
  const int id = is_loaded_(value)
                     ? load(value, stored_at(storage_, value, point), mask)
                     : std::visit([&](const auto& op) { return element(op, value, point, mask); }, value.node().op);
  asked_[value].push_back({point, mask, id});
  return id;
}

int ElementEmitter::load(const Value& value, const Position& at, const Mask& mask) {
  const auto [buffer, is_new] = buffer_of_.try_emplace(value, 0);
  if (is_new) {
    buffer->second = add_buffer(value, loops::Role::input);
  }
  loops::Load load{.buffer = buffer->second, .at = at.affine, .inside = mask, .lookups = {}};
  for (const Dynamic& part : at.dynamic) {
    load.lookups.push_back({.value = part.value, .stride = part.scale, .size = part.size, .site = part.site});
  }
  return values_.load(std::move(load));
}

int ElementEmitter::position_value(const Position& at) {
  int value = values_.position(at.affine);
  for (const Dynamic& part : at.dynamic) {
    const int scaled_part =
        values_.compute(Prim::mul, Dtype::i64, {part.value, values_.position(affine_constant(part.scale))});
    value = values_.compute(Prim::add, Dtype::i64, {value, scaled_part});
  }
  return value;
}

template <class Kind>
  requires(AloneKind<Kind> || std::is_same_v<Kind, Input>)
int ElementEmitter::element(const Kind&, const Value& value, const Point&, const Mask&) {
  throw Refusal{fmt::format("{} is no loop", op_name(value.node().op)), {}};
}

int ElementEmitter::element(const Constant& op, const Value& value, const Point& point, const Mask& mask) {
  // A position that data decide is checked where it is loaded from.
  const bool is_looked_up = std::ranges::any_of(point, [](const Position& each) { return !each.dynamic.empty(); });
  if (op.value.size() == 1 && !is_looked_up) {
    const double number = op.value.at(0);
    const Dtype dtype = compute_dtype(value.dtype());
    // 64-bit integers beyond 2^53 are no doubles; a NaN may carry bits.
    if (!std::isnan(number) && (byte_size(dtype) < 8 || is_float(dtype) || std::fabs(number) < 0x1p53)) {
      return values_.constant(dtype, number);
    }
  }
  return load(value, stored_at(storage_, value, point), mask);
}

int ElementEmitter::element(const Iota& op, const Value& value, const Point& point, const Mask&) {
  Position at;
  if (value.rank() > 0) {
    at = scaled(point[static_cast<size_t>(op.axis)], op.step);
  }
  return values_.cast(values_.cast(position_value(moved(at, op.start)), compute_dtype(value.dtype())), value.dtype());
}

namespace {

/// Philox in primitives on u64: kernel/scalar/philox.h, an element at a time.
struct PhiloxValues {
  KernelValues& values;

  int number(uint64_t x) const { return values.constant(Dtype::u64, static_cast<double>(x)); }
  int apply(Prim prim, int a, int b) const { return values.compute(prim, Dtype::u64, {a, b}); }
  int low(int x) const { return apply(Prim::bit_and, x, number(0xffffffff)); }
  int high(int x) const { return apply(Prim::shr, x, number(32)); }

  /// Word `position` of the stream, in the low half of a u64.
  int word(int key, int stream, int position) const {
    const int block = apply(Prim::shr, position, number(2));
    std::array<int, 4> counter = {low(block), high(block), low(stream), high(stream)};
    std::array<int, 2> keys = {low(key), high(key)};
    for (int round = 0; round < 10; ++round) {
      const int a = apply(Prim::mul, number(0xD2511F53), counter[0]);
      const int b = apply(Prim::mul, number(0xCD9E8D57), counter[2]);
      counter = {apply(Prim::bit_xor, apply(Prim::bit_xor, high(b), counter[1]), keys[0]), low(b),
                 apply(Prim::bit_xor, apply(Prim::bit_xor, high(a), counter[3]), keys[1]), low(a)};
      keys = {low(apply(Prim::add, keys[0], number(0x9E3779B9))), low(apply(Prim::add, keys[1], number(0xBB67AE85)))};
    }
    const int lane = apply(Prim::bit_and, position, number(3));
    int word = counter[3];
    for (const int i : {2, 1, 0}) {
      const int here = values.compute(Prim::eq, Dtype::boolean, {lane, number(static_cast<uint64_t>(i))});
      word = values.select(here, counter[static_cast<size_t>(i)], word);
    }
    return word;
  }
};

}  // namespace

int ElementEmitter::element(const Random&, const Value& value, const Point& point, const Mask& mask) {
  const int key = emit(value.node().inputs[0], {}, mask);
  const int stream = emit(value.node().inputs[1], {}, mask);
  const int at = values_.cast(position_value(linear(value.shape().axes(), point)), Dtype::u64);
  const PhiloxValues philox{values_};
  if (value.dtype() == Dtype::u32) {
    return values_.cast(philox.word(key, stream, at), Dtype::u32);
  }
  const int first = philox.apply(Prim::mul, at, philox.number(2));
  const int low = philox.word(key, stream, first);
  const int high = philox.word(key, stream, philox.apply(Prim::add, first, philox.number(1)));
  return philox.apply(Prim::bit_or, low, philox.apply(Prim::shl, high, philox.number(32)));
}

int ElementEmitter::element(const Map& op, const Value& value, const Point& point, const Mask& mask) {
  std::vector<int> operands;
  for (const Value& operand : value.node().inputs) {
    operands.push_back(emit(operand, point, mask));
  }
  const int result = values_.run(programs_.of(op, value.node().inputs), operands);
  return values_.cast(result, value.dtype());  // half types round, as they would in memory
}

int ElementEmitter::element(const Concat& op, const Value& value, const Point& point, const Mask& mask) {
  const auto axis = static_cast<size_t>(op.axis);
  if (!point[axis].dynamic.empty()) {
    throw Refusal{"concat is read at computed positions", value};
  }
  Extent start = 0;
  int result = -1;
  for (const Value& operand : value.node().inputs) {
    Point at = point;
    at[axis] = moved(at[axis], -start);
    const Extent& size = operand.extent(op.axis);
    const loops::Bound bound{.index = at[axis].affine, .size = size};
    Mask inside = mask;
    inside.push_back(bound);
    const int here = emit(operand, at, inside);
    result = result < 0 ? here : values_.select(values_.condition({bound}), here, result);
    start += size;
  }
  return result;
}

int ElementEmitter::element(const Gather& op, const Value& value, const Point& point, const Mask& mask) {
  const Value& x = value.node().inputs[0];
  const Value& first = value.node().inputs[1];
  Point at(static_cast<size_t>(x.rank()));
  Point index_at(static_cast<size_t>(first.rank()));
  size_t axis = 0;
  for (size_t k = 0; k < op.x_batch.size(); ++k, ++axis) {
    at[static_cast<size_t>(op.x_batch[k])] = point[axis];
    index_at[static_cast<size_t>(op.index_batch[k])] = point[axis];
  }
  for (const int i : other_axes(first.rank(), op.index_batch)) {
    index_at[static_cast<size_t>(i)] = point[axis++];
  }
  std::vector<int> used = op.x_batch;
  used.insert(used.end(), op.axes.begin(), op.axes.end());
  for (const int i : other_axes(x.rank(), used)) {
    at[static_cast<size_t>(i)] = point[axis++];
  }
  std::vector<int> sites;
  for (size_t k = 0; k < op.axes.size(); ++k) {
    const Extent& size = x.extent(op.axes[k]);
    const int index = emit(value.node().inputs[1 + k], index_at, mask);
    const bool may_be_negative = is_signed_integer(values_.dtype(index));
    const int given = values_.cast(index, Dtype::i64);
    int position = given;  // what is beyond i64 stays negative, and so out of range
    if (may_be_negative) {
      const int from_end = values_.compute(Prim::add, Dtype::i64, {given, values_.position(affine_constant(size))});
      const int negative = values_.compute(Prim::lt, Dtype::boolean, {given, values_.constant(Dtype::i64, 0)});
      position = values_.select(negative, from_end, given);
    }
    const int site = static_cast<int>(kernel_.sites.size());
    std::string text = fmt::format("gather: position {} is out of range for axis {} of size {{size}}",
                                   may_be_negative ? "{given}" : "{position}", op.axes[k]);
    if (!value.node().place.empty()) {
      text += fmt::format("\n  at node \"{}\"", value.node().place);
    }
    kernel_.sites.push_back(std::move(text));
    sites.push_back(site);
    at[static_cast<size_t>(op.axes[k])] = {.affine = {},
                                           .dynamic = {{.value = position, .scale = 1, .size = size, .site = site}}};
  }
  // Where positions do not change along an axis of the result they are looked up outside of its loop, which may be
  // empty.
  Mask inside = mask;
  for (size_t i = 0; i < point.size(); ++i) {
    if (!is_subset(axes_of(point[i].affine), axes_of_point(at))) {
      inside.push_back({.index = {}, .size = value.extent(static_cast<int>(i))});
    }
  }
  const size_t first_value = kernel_.values.size();
  const int result = emit(x, at, inside);
  if (!std::ranges::all_of(sites, [&](int site) { return is_looked_up(site, first_value); })) {
    throw Refusal{"gather would not see positions that are out of range", x};
  }
  return result;
}

/// Positions are checked where something is loaded by them: of what is counted or repeated, nothing is.
bool ElementEmitter::is_looked_up(int site, size_t first_value) const {
  return std::any_of(kernel_.values.begin() + static_cast<std::ptrdiff_t>(first_value), kernel_.values.end(),
                     [&](const loops::Value& value) {
                       const auto* load = std::get_if<loops::Load>(&value.what);
                       return load && std::ranges::any_of(load->lookups, [&](const loops::Lookup& lookup) {
                                return lookup.site == site;
                              });
                     });
}

}  // namespace tenon::schedule
