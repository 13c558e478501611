#include "kernel/loop/loop_parse_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "kernel/scalar/scalar_fn.h"

namespace tenon::loops {
namespace {

/// Multiples of axes, then perhaps an extent.
Affine affine_of(const ParseScope& scope, const LineCursor& in, const std::vector<Summand>& sum) {
  Affine affine;
  for (const Summand& each : sum) {
    if (const auto axis = scope.axes.find(each.word()); axis != scope.axes.end()) {
      const Term term{.axis = axis->second, .scale = in.extent(each.scale + "1", each.at)};
      if (term.scale == Extent(0) || (!affine.terms.empty() && affine.terms.back().axis >= term.axis)) {
        in.fail_at(each.at, "the terms of a sum have the order of the axes, each once, and none is 0 times one");
      }
      affine.terms.push_back(term);
    } else if (&each != &sum.back()) {
      in.fail_at(each.at, fmt::format("expected a multiple of an axis, found `{}`", each.whole));
    } else {
      affine.base = in.extent(each.whole, each.at);
    }
  }
  return affine;
}

Affine take_affine(const ParseScope& scope, LineCursor& in) { return affine_of(scope, in, in.take_sum()); }

/// Names with dots between; since names have dots in them too, each is as long as can be.
std::vector<int> take_axes(const ParseScope& scope, LineCursor& in) {
  if (in.accept("1")) {
    return {};
  }
  const size_t begin = in.column();
  std::string_view rest = in.take_word("`1` or axes");
  std::vector<int> axes;
  while (!rest.empty()) {
    size_t end = rest.size();
    auto axis = scope.axes.find(rest);
    while (axis == scope.axes.end() && end != 0) {
      const size_t dot = rest.rfind('.', end - 1);
      end = dot == std::string_view::npos ? 0 : dot;
      axis = scope.axes.find(rest.substr(0, end));
    }
    if (axis == scope.axes.end()) {
      in.fail_at(begin, fmt::format("there is no axis `{}`", rest));
    }
    axes.push_back(axis->second);
    rest.remove_prefix(std::min(rest.size(), end + 1));
  }
  return axes;
}

int take_buffer(const ParseScope& scope, LineCursor& in) {
  const size_t begin = in.column();
  const int buffer = in.take_index('b');
  if (static_cast<size_t>(buffer) >= scope.kernel.buffers.size()) {
    in.fail_at(begin, fmt::format("there is no buffer b{}", buffer));
  }
  return buffer;
}

Dtype register_dtype(const ParseScope& scope, int value) {
  return compute_dtype(scope.kernel.values[static_cast<size_t>(value)].dtype);
}

std::vector<Bound> take_bounds(const ParseScope& scope, LineCursor& in) {
  std::vector<Bound> bounds;
  while (in.accept(bounds.empty() ? " if 0 <= " : " and 0 <= ")) {
    Bound bound{.index = take_affine(scope, in), .size = 0};
    in.expect(" < ");
    bound.size = in.take_extent();
    bounds.push_back(std::move(bound));
  }
  return bounds;
}

std::vector<Lookup> take_lookups(const ParseScope& scope, LineCursor& in) {
  std::vector<Lookup> lookups;
  while (in.accept(" with ")) {
    Lookup lookup{.value = take_value(scope, in), .stride = 0, .size = 0};
    in.expect(" < ");
    lookup.size = in.take_extent();
    in.expect(" or site ");
    const size_t begin = in.column();
    const int64_t site = in.take_natural();
    if (site >= static_cast<int64_t>(scope.kernel.sites.size())) {
      in.fail_at(begin, fmt::format("there is no site {}", site));
    }
    lookup.site = static_cast<int>(site);
    lookups.push_back(std::move(lookup));
  }
  return lookups;
}

/// What is looked up are the last summands of the position.
Value take_load(const ParseScope& scope, LineCursor& in) {
  Load load{.buffer = take_buffer(scope, in), .at = {}, .inside = {}, .lookups = {}};
  in.expect("[");
  std::vector<Summand> sum = in.take_sum();
  in.expect("]");
  load.inside = take_bounds(scope, in);
  load.lookups = take_lookups(scope, in);
  for (size_t i = load.lookups.size(); i-- > 0;) {
    Lookup& lookup = load.lookups[i];
    const std::string wanted = fmt::format("v{}", lookup.value);
    if (sum.empty() || sum.back().word() != wanted) {
      in.fail_at(sum.empty() ? in.column() : sum.back().at,
                 fmt::format("the position has no multiple of {} in its place, which is looked up", wanted));
    }
    lookup.stride = in.extent(sum.back().scale + "1", sum.back().at);
    sum.pop_back();
  }
  load.at = affine_of(scope, in, sum);
  const Dtype stored = scope.kernel.buffers[static_cast<size_t>(load.buffer)].dtype;
  return {.what = std::move(load), .dtype = compute_dtype(stored)};
}

Prim take_prim(LineCursor& in) {
  const size_t begin = in.column();
  const std::string_view word = in.take_word("`load`, `position` or a primitive");
  for (int i = 0; i <= static_cast<int>(Prim::select); ++i) {
    if (const auto prim = static_cast<Prim>(i); name(prim) == word && prim != Prim::argument) {
      return prim;
    }
  }
  in.fail_at(begin, word == "result" ? "a result stands right behind the loop that begins its accumulator"
                                     : fmt::format("there is no primitive `{}`", word));
}

Value take_compute(const ParseScope& scope, LineCursor& in) {
  const Prim prim = take_prim(in);
  in.expect(" ");
  std::optional<Dtype> said;
  if (prim == Prim::constant || prim == Prim::cast) {
    said = take_dtype(in);
    in.expect(" ");
  }
  if (prim == Prim::constant) {
    return {.what = Compute{.prim = prim, .operand_dtype = *said, .operands = {}, .literal = in.take_number()},
            .dtype = *said};
  }
  Compute compute{.prim = prim, .operands = {}};
  for (int i = 0; i < arity(prim); ++i) {
    in.expect(i == 0 ? "" : ", ");
    compute.operands.push_back(take_value(scope, in));
  }
  compute.operand_dtype = register_dtype(scope, compute.operands.back());
  const bool compares = prim == Prim::eq || prim == Prim::lt || prim == Prim::le;
  if (prim == Prim::reinterpret && contains(Domain::words, compute.operand_dtype)) {  // else the verifier complains
    said = reinterpreted(compute.operand_dtype);
  }
  const Dtype dtype = compares ? Dtype::boolean : said.value_or(compute.operand_dtype);
  return {.what = std::move(compute), .dtype = dtype};
}

/// The last summand is the distance of rows and that of columns.
Matrix take_matrix(const ParseScope& scope, LineCursor& in) {
  Matrix matrix{.buffer = take_buffer(scope, in), .at = {}, .row = 0, .column = 0};
  in.expect("[");
  std::vector<Summand> sum = in.take_sum();
  LineCursor distances = in.part(sum.back().at, in.column());
  if (sum.size() < 2) {
    distances.fail("expected a position, then ` + (`, the distances of rows and of columns, `)`");
  }
  distances.expect("(");
  matrix.row = distances.take_extent();
  distances.expect(", ");
  matrix.column = distances.take_extent();
  distances.expect(")");
  distances.expect_done();
  in.expect("]");
  sum.pop_back();
  matrix.at = affine_of(scope, in, sum);
  return matrix;
}

Product take_product(const ParseScope& scope, LineCursor& in) {
  Product product;
  product.tile = take_matrix(scope, in);
  const bool adds = in.accept(" += ");
  if (!adds) {
    in.expect(" = ");
  }
  product.left = take_matrix(scope, in);
  in.expect(" * ");
  product.right = take_matrix(scope, in);
  if (in.accept(" in panels of ")) {
    product.panel = in.take_natural();
    if (in.accept(", ")) {
      product.together = in.take_natural();
      in.expect(" together");
    }
  }
  in.expect(" over ");
  product.rows = take_axes(scope, in);
  in.expect(" by ");
  product.columns = take_axes(scope, in);
  in.expect(" by ");
  product.depth = take_axes(scope, in);
  if (adds) {
    in.expect(" after the first ");
    product.adds_after = take_axis(scope, in);
  }
  return product;
}

}  // namespace

int take_axis(const ParseScope& scope, LineCursor& in) {
  const size_t begin = in.column();
  const std::string_view name = in.take_word("an axis");
  const auto axis = scope.axes.find(name);
  if (axis == scope.axes.end()) {
    in.fail_at(begin, fmt::format("there is no axis `{}`", name));
  }
  return axis->second;
}

int take_value(const ParseScope& scope, LineCursor& in) {
  const size_t begin = in.column();
  const int value = in.take_index('v');
  if (!scope.values.contains(value)) {
    in.fail_at(begin, fmt::format("v{} is not defined above", value));
  }
  return value;
}

Dtype take_dtype(LineCursor& in) {
  const size_t begin = in.column();
  const std::string_view name = in.take_word("a dtype");
  const std::optional<Dtype> dtype = parse_dtype(name);
  if (!dtype) {
    in.fail_at(begin, fmt::format("there is no dtype `{}`", name));
  }
  return *dtype;
}

Digit take_digit(const ParseScope& scope, LineCursor& in) {
  Digit digit{.of = {}, .apart = in.take_extent()};
  in.expect(" of ");
  digit.of = take_affine(scope, in);
  return digit;
}

Value take_definition(const ParseScope& scope, LineCursor& in) {
  if (in.accept("load ")) {
    return take_load(scope, in);
  }
  if (in.accept("position ")) {
    return {.what = Position{take_affine(scope, in)}, .dtype = Dtype::i64};
  }
  return take_compute(scope, in);
}

Accumulator take_accumulator(const ParseScope& scope, LineCursor& in) {
  Accumulator into;
  const size_t begin = in.column();
  const std::string_view word = in.take_word("a reduction");
  const auto names = spellings(ReduceOp{});
  const auto op = std::ranges::find(names, word);
  if (op == names.end()) {
    in.fail_at(begin, fmt::format("there is no reduction `{}`", word));
  }
  into.op = static_cast<ReduceOp>(op - names.begin());
  in.expect("= ");
  into.input = take_value(scope, in);
  into.dtype = register_dtype(scope, into.input);
  if (in.accept(" at ")) {
    into.position = take_value(scope, in);
  }
  into.may_skip_nan = in.accept(" but NaN");
  return into;
}

Statement take_written(const ParseScope& scope, LineCursor& in) {
  const LineCursor begin = in;
  const int buffer = take_buffer(scope, in);
  in.expect("[");
  const std::vector<Summand> sum = in.take_sum();
  in.expect("]");
  if (in.at(" += ") || in.at(" = b")) {
    in = begin;
    return {take_product(scope, in)};
  }
  in.expect(" = ");
  const int value = take_value(scope, in);
  return {Store{.buffer = buffer, .at = affine_of(scope, in, sum), .inside = take_bounds(scope, in), .value = value}};
}

}  // namespace tenon::loops
