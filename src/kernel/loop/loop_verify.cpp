#include "base/fail.h"
#include "kernel/loop/loop.h"
#include "kernel/loop/loop_print.h"
#include "kernel/loop/loop_verify_threads.h"
#include "kernel/loop/loop_writes.h"
#include "kernel/scalar/scalar_fn.h"

namespace tenon::loops {
namespace {

template <class T>
bool has(const std::vector<T>& list, int i) {
  return i >= 0 && static_cast<size_t>(i) < list.size();
}

template <class T>
decltype(auto) at(T& list, int i) {
  return list[static_cast<size_t>(i)];
}

/// Walks the kernel as it runs and keeps what is bound, visible, begun and written at each place.
class Verifier {
 public:
  explicit Verifier(const Kernel& kernel)
      : kernel_(kernel),
        bound_(kernel.axes.size()),
        visible_(kernel.values.size()),
        open_(kernel.accumulators.size()),
        fed_(kernel.accumulators.size()),
        written_(kernel.buffers.size()),
        writes_(kernel) {}

  void run() {
    for (const Axis& axis : kernel_.axes) {
      require(axis.tile_of < 0 || has(kernel_.axes, axis.tile_of), "axis `{}` is a tile of no axis", axis.name);
    }
    for (const MayShare& pair : kernel_.may_share) {
      require(has(kernel_.buffers, pair.input) && has(kernel_.buffers, pair.output), "buffers {} and {} share memory",
              pair.input, pair.output);
      const Buffer& from = at(kernel_.buffers, pair.input);
      const Buffer& to = at(kernel_.buffers, pair.output);
      require(from.role == Role::input && to.role == Role::output && byte_size(from.dtype) == byte_size(to.dtype),
              "b{} may not lie where b{} lies", pair.output, pair.input);
    }
    for (const Phase& phase : kernel_.phases) {
      check_phase(phase);
    }
  }

 private:
  template <class... Args>
  void require(bool holds, fmt::format_string<Args...> format, Args&&... args) const {
    TENON_CHECK(holds, "kernel `{}`: {}{}", kernel_.name, fmt::format(format, std::forward<Args>(args)...),
                here_ == nullptr ? "" : "\n  at " + describe(kernel_, *here_));
  }

  void check_phase(const Phase& phase) {
    here_ = nullptr;
    for (const int axis : phase.grid) {
      require(has(kernel_.axes, axis), "the grid names axis {} of {}", axis, kernel_.axes.size());
      require(!at(bound_, axis), "the grid names an axis twice");
      require(at(kernel_.axes, axis).tile_of < 0, "the grid runs over a tile");
      require(at(kernel_.axes, axis).binding != Binding::lanes, "the grid runs over a vectorised axis");
      at(bound_, axis) = true;
    }
    for (size_t i = 0; i < kernel_.buffers.size(); ++i) {  // scratch belongs to one iteration of one phase
      written_[i] = written_[i] && kernel_.buffers[i].role != Role::scratch;
    }
    writes_.clear();
    check_block(phase.body);
    for (const int axis : phase.grid) {
      at(bound_, axis) = false;
    }
  }

  /// What a block defines is visible to its end.
  void check_block(const Block& block) {
    const std::vector<bool> outside = visible_;
    for (const Statement& statement : block) {
      here_ = &statement;
      std::visit([&](const auto& what) { check(what); }, statement.what);
    }
    visible_ = outside;
  }

  void check(const Define& define) {
    require(has(kernel_.values, define.value), "there is no such value");
    const Value& value = at(kernel_.values, define.value);
    require(!at(visible_, define.value), "the value is defined already");
    std::visit([&](const auto& what) { check_value(what, value.dtype); }, value.what);
    make_visible(define.value);
  }

  void check(const Store& store) {
    require(has(kernel_.buffers, store.buffer), "there is no such buffer");
    const Buffer& buffer = at(kernel_.buffers, store.buffer);
    require(buffer.role != Role::input, "an input is written");
    check_affine(store.at);
    check_bounds(store.inside);
    check_use(store.value);
    require(compute_dtype(at(kernel_.values, store.value).dtype) == compute_dtype(buffer.dtype),
            "a {} is stored in a buffer of {}", name(at(kernel_.values, store.value).dtype), name(buffer.dtype));
    note_written({.buffer = store.buffer,
                  .at = &store.at,
                  .value = store.value,
                  .updates = buffer.role == Role::scratch && updates(kernel_, store)});
  }

  void check(const Accumulate& accumulate) {
    require(has(kernel_.accumulators, accumulate.accumulator), "there is no such accumulator");
    require(at(open_, accumulate.accumulator), "the accumulator is fed outside of its loop");
    const Accumulator& into = at(kernel_.accumulators, accumulate.accumulator);
    const bool logical = into.op == ReduceOp::any || into.op == ReduceOp::all;
    require(compute_dtype(into.dtype) == into.dtype, "accumulates in {}", name(into.dtype));
    require(logical == (into.dtype == Dtype::boolean), "{} of {}", name(into.op), name(into.dtype));
    check_use(into.input);
    require(register_dtype(into.input) == into.dtype, "{} of {} takes a {}", name(into.op), name(into.dtype),
            name(register_dtype(into.input)));
    require(is_arg(into.op) == (into.position >= 0), "argmax and argmin take a position, others none");
    require(!into.may_skip_nan || ((into.op == ReduceOp::max || into.op == ReduceOp::min) && is_float(into.dtype)),
            "only extremes of floats may skip NaN");
    if (is_arg(into.op)) {
      check_use(into.position);
      require(register_dtype(into.position) == Dtype::i64, "the position is no i64");
    }
    at(fed_, accumulate.accumulator) = true;
  }

  void check(const Loop& loop) {
    const Statement* const here = here_;
    require(has(kernel_.axes, loop.axis), "there is no such axis");
    const Axis& axis = at(kernel_.axes, loop.axis);
    require(!at(bound_, loop.axis), "the axis is bound already");
    require(!(axis.binding == Binding::lanes && vectorized_), "a vectorised loop inside another");
    if (axis.tile_of >= 0) {
      require(at(bound_, axis.tile_of), "the axis that counts its tiles is not bound outside");
      require(at(kernel_.axes, axis.tile_of).binding != Binding::lanes, "the axis that counts its tiles is vectorised");
    }
    if (loop.unless >= 0) {
      check_use(loop.unless);
      require(register_dtype(loop.unless) == Dtype::boolean, "v{} is no bool", loop.unless);
      require(!vectorized_ && loop.begins.empty(), "a loop that may not run is in lanes, or begins an accumulator");
    }
    if (loop.digit) {
      check_affine(loop.digit->of);
      require(loop.unless < 0 && loop.begins.empty() && axis.binding == Binding::serial && axis.tile_of < 0,
              "a digit is a tile, in lanes or of threads, or begins an accumulator");
    }
    for (const int accumulator : loop.begins) {
      require(has(kernel_.accumulators, accumulator), "there is no accumulator {}", accumulator);
      require(!at(open_, accumulator), "accumulator a{} begins twice", accumulator);
      at(open_, accumulator) = true;
      at(fed_, accumulator) = false;
    }
    const bool outside = vectorized_;
    vectorized_ = outside || axis.binding == Binding::lanes;
    at(bound_, loop.axis) = true;
    const size_t first_write = writes_.count();
    const std::vector<bool> written = written_;
    check_block(loop.body);
    if (!loop.digit) {
      for (const int buffer : writes_.of_last_iteration(loop.axis, first_write, visible_)) {
        at(written_, buffer) = false;
      }
    }
    if (loop.unless >= 0) {
      written_ = written;
    }
    at(bound_, loop.axis) = false;
    vectorized_ = outside;

    here_ = here;
    for (const int accumulator : loop.begins) {
      require(at(fed_, accumulator), "accumulator a{} is never fed", accumulator);
      at(open_, accumulator) = false;
      define_results(accumulator);
    }
  }

  void check(const Product& product) {
    require(!vectorized_, "a product inside a vectorised loop");
    check_operand(product.left);
    check_operand(product.right);
    require(has(kernel_.buffers, product.work) && at(kernel_.buffers, product.work).role == Role::scratch,
            "b{} is no scratch", product.work);
    require(has(kernel_.buffers, product.tile.buffer), "there is no buffer b{}", product.tile.buffer);
    require(at(kernel_.buffers, product.tile.buffer).role != Role::input, "an input is written");
    check_affine(product.tile.at);
    require(product.tile.column == Extent(1), "the columns of the tile lie apart");
    require(product.tile.buffer != product.left.buffer && product.tile.buffer != product.right.buffer,
            "the product reads its tile");
    require(is_product(types_of(kernel_, product)), "no product has these types");
    require(product.adds_after < 0 || (has(kernel_.axes, product.adds_after) && at(bound_, product.adds_after)),
            "the axis that counts blocks of k is not bound outside");
    for (const std::vector<int>* axes : {&product.rows, &product.columns, &product.depth}) {
      for (const int axis : *axes) {
        require(has(kernel_.axes, axis) && !at(bound_, axis), "axis {} is bound outside, or there is none", axis);
        const int counter = at(kernel_.axes, axis).tile_of;
        require(counter < 0 || at(bound_, counter), "the axis that counts tiles of axis {} is not bound outside", axis);
        // Several axes are as one where the last tile of an inner one is not shorter: steps would be left out.
        const auto size = at(kernel_.axes, axis).extent.constant();
        const auto total = at(kernel_.axes, axis).total.constant();
        require(axis == axes->front() || counter < 0 || !size || !total || *size == 0 || *total % *size == 0 ||
                    runs_once(axes->front()),
                "the last tile of axis {} of a product is shorter, and another axis runs around it", axis);
      }
    }
    note_written({.buffer = product.tile.buffer, .at = &product.tile.at, .counts = product.adds_after});
  }

  void check(const Barrier&) const {}  // verify_threads() says where one may stand

  bool runs_once(int axis) const { return at(kernel_.axes, axis).extent == Extent(1); }

  void note_written(const Write& write) {
    if (!write.updates) {
      at(written_, write.buffer) = true;
    }
    writes_.add(write);
  }

  void check_operand(const Matrix& matrix) const {
    require(has(kernel_.buffers, matrix.buffer), "there is no buffer b{}", matrix.buffer);
    require(at(kernel_.buffers, matrix.buffer).role == Role::input || at(written_, matrix.buffer),
            "b{} is read before it is written", matrix.buffer);
    check_affine(matrix.at);
  }

  void define_results(int accumulator) {
    const Accumulator& from = at(kernel_.accumulators, accumulator);
    for (size_t i = 0; i < kernel_.values.size(); ++i) {
      const auto* result = std::get_if<Result>(&kernel_.values[i].what);
      if (result != nullptr && result->accumulator == accumulator) {
        const Dtype dtype = is_arg(from.op) ? Dtype::i64 : from.dtype;
        require(kernel_.values[i].dtype == dtype, "result v{} is {}, not {}", i, name(kernel_.values[i].dtype),
                name(dtype));
        make_visible(static_cast<int>(i));
      }
    }
  }

  void check_value(const Load& load, Dtype dtype) const {
    require(has(kernel_.buffers, load.buffer), "there is no such buffer");
    const Buffer& buffer = at(kernel_.buffers, load.buffer);
    require(dtype == compute_dtype(buffer.dtype), "a load of {} gives {}", name(buffer.dtype), name(dtype));
    require(buffer.role == Role::input || at(written_, load.buffer), "the buffer is read before it is written");
    check_affine(load.at);
    check_bounds(load.inside);
    for (const Lookup& lookup : load.lookups) {
      check_use(lookup.value);
      require(register_dtype(lookup.value) == Dtype::i64, "the position v{} is no i64", lookup.value);
      require(has(kernel_.sites, lookup.site), "there is no site {}", lookup.site);
    }
  }

  void check_value(const Position& position, Dtype dtype) const {
    require(dtype == Dtype::i64, "a position is i64, not {}", name(dtype));
    check_affine(position.at);
  }

  void check_value(const Compute& compute, Dtype dtype) const {
    require(compute.prim != Prim::argument, "an argument is no value of a kernel");
    require(compute.operands.size() == static_cast<size_t>(arity(compute.prim)), "{} takes {} operands",
            name(compute.prim), arity(compute.prim));
    const Dtype operands = compute.operand_dtype;
    for (size_t i = 0; i < compute.operands.size(); ++i) {
      check_use(compute.operands[i]);
      const Dtype expected = compute.prim == Prim::select && i == 0 ? Dtype::boolean : operands;
      require(register_dtype(compute.operands[i]) == expected, "operand v{} is {}, not {}", compute.operands[i],
              name(register_dtype(compute.operands[i])), name(expected));
    }
    switch (compute.prim) {
      case Prim::cast: return;
      case Prim::reinterpret:
        require(contains(Domain::words, operands) && dtype == reinterpreted(operands), "the bits of {} as {}",
                name(operands), name(dtype));
        return;
      case Prim::constant: require(compute_dtype(dtype) == dtype, "a constant of {}", name(dtype)); return;
      case Prim::eq:
      case Prim::lt:
      case Prim::le: require(dtype == Dtype::boolean, "a comparison gives bool, not {}", name(dtype)); return;
      default: require(dtype == operands, "{} of {} gives {}", name(compute.prim), name(operands), name(dtype)); return;
    }
  }

  void check_value(const Result& result, Dtype) const {
    require(false, "the loop of a{} defines its result", result.accumulator);
  }

  void check_affine(const Affine& affine) const {
    for (size_t i = 0; i < affine.terms.size(); ++i) {
      const Term& term = affine.terms[i];
      require(has(kernel_.axes, term.axis) && at(bound_, term.axis), "axis {} is not bound", term.axis);
      require(i == 0 || affine.terms[i - 1].axis < term.axis, "the terms are not sorted by axis, each once");
      require(term.scale != Extent(0), "a term has scale 0");
    }
  }

  void check_bounds(const std::vector<Bound>& bounds) const {
    for (const Bound& bound : bounds) {
      check_affine(bound.index);
    }
  }

  void check_use(int value) const {
    require(has(kernel_.values, value), "there is no value v{}", value);
    require(at(visible_, value), "v{} is not defined here", value);
  }

  void make_visible(int value) { at(visible_, value) = true; }

  Dtype register_dtype(int value) const { return compute_dtype(at(kernel_.values, value).dtype); }

  const Kernel& kernel_;
  const Statement* here_ = nullptr;
  std::vector<bool> bound_;    // axes
  std::vector<bool> visible_;  // values, in an open block
  std::vector<bool> open_;     // accumulators whose loop runs
  std::vector<bool> fed_;
  std::vector<bool> written_;  // buffers: what is read there now was written
  Writes writes_;              // of the phase
  bool vectorized_ = false;
};

}  // namespace

void verify(const Kernel& kernel) {
  Verifier(kernel).run();
  verify_threads(kernel);
}

}  // namespace tenon::loops
