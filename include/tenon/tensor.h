// Lazy tensors: they record what is asked of them and compute it when somebody looks, in few fused kernels.
//
//   Tensor x = tensor(images, {"batch", 784});
//   Tensor h = relu(matmul(x, w) + b);
//   h.slice_axis(1, 0, 8) *= 0;                 // nothing has run yet
//   Array out = h.to_array();                   // one program, compiled once for every batch size
//
// A tensor is a cell (one storage) and a chain of views into it. A view and its base share the cell, so each sees what
// is written through the other; a write records a new value for the cell and runs nothing. What was computed from a
// tensor before a write keeps what it was.
//
// A tensor, and all that share its cell, belong to one thread at a time; others may be used elsewhere meanwhile.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/array.h"
#include "tenon/operand.h"
#include "tenon/shape.h"

namespace tenon {

namespace tensors {
struct Handle;  // src/tensor/record/cell.h
struct Access;
}  // namespace tensors

class Explanation;
class Generator;
class Tensor;
class TensorOperand;

/// A cheap handle: copies are the same tensor, clone() is not. Beside what is declared here it has a method for every
/// elementwise function (`x.relu()`, `x.relu_()` in place) and for every builder (`x.softmax(-1)`, `x.reshape({2,
/// -1})`), from tenon/tensor_methods.inc; the same as functions, with forms that write into a given tensor
/// (`softmax_out(y, x)`), are in tenon/tensor_ops.h, which this header includes. reshape, transpose, slices, flip and
/// the like are views.
class Tensor {
 public:
#include "tenon/tensor_methods.inc"

  using Where = std::source_location;

  /// No tensor; only good for assigning to, and for arguments that may be left out.
  Tensor() = default;
  explicit Tensor(std::shared_ptr<tensors::Handle> handle) : handle_(std::move(handle)) {}

  // --- Making. Further ones, from the builders: full, arange, linspace, eye, iota.

  static Tensor zeros(const std::vector<Axis>& axes, Dtype dtype = Dtype::f32);
  static Tensor ones(const std::vector<Axis>& axes, Dtype dtype = Dtype::f32);
  /// A rank-0 tensor of data: unlike a number in an expression it may change without a new program.
  static Tensor number(double value, Dtype dtype = Dtype::f32);
  /// Uniform in [0, 1), and normally distributed; from default_generator() where none is given.
  static Tensor rand(const std::vector<Axis>& axes, Dtype dtype = Dtype::f32, Generator* generator = nullptr);
  static Tensor randn(const std::vector<Axis>& axes, Dtype dtype = Dtype::f32, Generator* generator = nullptr);

  // --- What it is

  bool defined() const { return handle_ != nullptr; }
  /// With names where axes have some; `f32[batch, 784]`.
  Shape shape() const;
  Dtype dtype() const;
  int rank() const;
  /// The size of an axis, which keeps its name: `x.reshape({x.size(0), -1})` holds at every batch.
  Extent size(int axis) const;
  /// Sizes in numbers. What is built from them holds at these sizes alone and is another program at others. A size that
  /// data decide (nonzero) is computed for this.
  std::vector<int64_t> dims(Where where = Where::current()) const;
  int64_t dims(int axis, Where where = Where::current()) const;
  int64_t count(Where where = Where::current()) const;

  // --- Looking: what is asked for here is computed, together with every pending write that shares work with it. A look
  // that ends with an Error, or is cancelled, changes nothing: what was recorded is there for the next one. A write
  // that cannot be computed (a position out of range) says so at every look at what depends on it, and stops no others.

  Array to_array(Where where = Where::current()) const;
  /// The element of a tensor that has just one.
  double item(Where where = Where::current()) const;
  /// Whether its one element is not 0. Whether there is a tensor at all is defined().
  bool is_true(Where where = Where::current()) const;
  std::string to_string(int64_t limit = 64, Where where = Where::current()) const;
  /// Compute it and say how that was done: steps, times, bytes, memory (tenon/explain.h).
  Explanation explain(Where where = Where::current()) const;

  // --- Views under usual names

  /// All of reshape, with sizes that keep names.
  Tensor view(const std::vector<Axis>& to) const { return reshape(to); }
  Tensor permute(const std::vector<int64_t>& axes) const { return transpose(axes); }
  /// The last two axes exchanged.
  Tensor t() const;
  /// Element `i` of an axis, which disappears; a negative one counts from the end.
  Tensor select_at(int64_t i, int axis = 0) const;
  Tensor operator[](int64_t i) const { return select_at(i); }
  /// `length` elements of an axis, from `start` on, which counts from the end where it is negative. x[begin:end:step]
  /// is slice_axis(axis, begin, end, step).
  Tensor narrow(int axis, const Extent& start, const Extent& length) const;
  Tensor unsqueeze(int axis) const { return expand_dims({axis}); }
  /// All axes from `first` on as one.
  Tensor flatten(int first = 0) const;

  // --- Computing under usual names

  Tensor sum(const std::vector<int64_t>& axes = {}, bool keep = false) const { return reduce_sum(axes, keep); }
  Tensor mean(const std::vector<int64_t>& axes = {}, bool keep = false) const { return reduce_mean(axes, keep); }
  Tensor to(Dtype dtype) const;
  Tensor sort(int64_t axis = -1, bool descending = false) const;
  /// A tensor of its own with these elements.
  Tensor clone() const;

  // --- Writing, lazily, through whatever views this tensor is. Values broadcast to its shape; another dtype, or a
  // shape that does not fit, is an Error. So is a view whose elements lie on each other (broadcast).

  Tensor& copy_(const TensorOperand& value);
  Tensor& fill_(double value);
  Tensor& zero_() { return fill_(0); }
  /// `value` where the mask, which broadcasts, is true.
  Tensor& masked_fill_(const Tensor& mask, double value);
  /// `value` at positions along an axis, whose place the axes of `index` take: `x.put_(i, v)` is x[i] = v. `op` may be
  /// add, mul, max or min instead. Of several values for one place the last is set.
  Tensor& put_(const Tensor& index, const Tensor& value, int axis = 0, std::string_view op = "set");
  Tensor& operator+=(const TensorOperand& y);
  Tensor& operator-=(const TensorOperand& y);
  Tensor& operator*=(const TensorOperand& y);
  Tensor& operator/=(const TensorOperand& y);

  // --- Gradients; more in tenon/autograd.h

  /// Gradients are wanted by this tensor: of what is computed from it from now on, its `grad()` gets them.
  Tensor& requires_grad_(bool wanted = true);
  bool requires_grad() const;
  /// Add the gradients of this scalar, or of sum(this * seed), to grad() of every tensor that wants them and that it
  /// was computed from. With `retain`, gradients can be taken of it again; with `create`, of the gradients.
  void backward(const Tensor& seed = {}, bool retain = false, bool create = false) const;
  /// What backward() added up; not defined before it has.
  Tensor grad() const;
  void set_grad(const Tensor& grad);
  /// The same elements, through which no gradient flows.
  Tensor detach() const;

 private:
  friend struct tensors::Access;
  std::shared_ptr<tensors::Handle> handle_;
};

/// A tensor, or a number that takes its dtype from the tensors beside it.
class TensorOperand {
 public:
  TensorOperand(Tensor tensor) : content_(std::move(tensor)) {}
  TensorOperand(double number) : content_(number) {}
  template <std::integral T>
    requires(!std::same_as<T, bool> && !std::same_as<T, char>)
  TensorOperand(T number) : content_(Operand(number).number()) {}

  const Tensor* tensor() const { return std::get_if<Tensor>(&content_); }
  double number() const { return std::get<double>(content_); }

 private:
  std::variant<Tensor, double> content_;
};

/// A tensor of the elements of an array, which is shared and not copied. Axes may be named: `{"batch", 784}`; programs
/// hold for every size of a named one. Without names, axes are constants until this line of the program has been
/// reached with another size: from then on they are symbols too.
Tensor tensor(Array array, const std::vector<Axis>& axes = {},
              std::source_location where = std::source_location::current());
/// Of a list of numbers.
Tensor tensor(std::initializer_list<double> values, Dtype dtype = Dtype::f32,
              std::source_location where = std::source_location::current());

/// Compute these, and every pending write that shares work with them, as one program.
void realize(const std::vector<Tensor>& tensors, std::source_location where = std::source_location::current());

/// Take back what was written to these since their elements were last computed: the way on from a write that cannot be
/// computed. Error for a tensor with writes whose elements were never known.
void discard_writes(const std::vector<Tensor>& tensors);

/// A tensor as the argument of `<<`, which remembers the place.
struct PrintedTensor {
  PrintedTensor(const Tensor& printed, std::source_location at = std::source_location::current())
      : tensor(printed), where(at) {}
  const Tensor& tensor;
  std::source_location where;
};
std::ostream& operator<<(std::ostream& out, const PrintedTensor& printed);

/// Where random numbers come from: a key, and a counter that every draw moves on. The same seed gives the same numbers,
/// on every machine and at every number of threads.
class Generator {
 public:
  explicit Generator(uint64_t seed = 0);
  void seed(uint64_t seed);
  /// The next draw: key and counter, u64 scalars.
  std::pair<Tensor, Tensor> next();

  uint64_t key() const { return key_number_; }
  uint64_t counter() const { return counter_; }
  /// Go on where another stood.
  void set(uint64_t key, uint64_t counter);

 private:
  uint64_t key_number_ = 0;
  uint64_t counter_ = 0;
  Tensor key_;
};
/// What rand, randn and dropout use where nobody gives them another: one for all threads.
Generator& default_generator();
void manual_seed(uint64_t seed);

// Builders whose arguments the table of tenon/tensor_ops.h has in another order.

/// As einsum() of values.
Tensor einsum(std::string_view equation, const std::vector<Tensor>& operands);
void einsum_out(Tensor out, std::string_view equation, const std::vector<Tensor>& operands);
/// The elements ordered along an axis, as sort() of values; argsort() gives their positions.
Tensor sort(const Tensor& x, int64_t axis = -1, bool descending = false);
void sort_out(Tensor out, const Tensor& x, int64_t axis = -1, bool descending = false);
/// All of the tensors, ordered along `axis` as the first one is.
std::vector<Tensor> sort_together(const std::vector<Tensor>& tensors, int64_t axis = -1, bool descending = false);

}  // namespace tenon

#include "tenon/tensor_ops.h"  // IWYU pragma: export
