// How the functions of tenon/tensor_ops.h reach the tables that they are made from.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/tensor.h"

namespace tenon::tensors {

/// An argument of a builder; one that was left out is empty.
class Argument {
 public:
  using Content =
      std::variant<std::monostate, Tensor, std::vector<Tensor>, TensorOperand, int64_t, double, bool, std::string_view,
                   Dtype, Extent, Shape, std::vector<int64_t>, std::vector<Extent>, std::vector<Axis>>;

  template <class T>
  Argument(const T& value) : content_(std::in_place_type<T>, value) {}
  Argument(const Tensor& tensor) {
    if (tensor.defined()) {
      content_ = tensor;
    }
  }
  template <class T>
  Argument(const std::optional<T>& value) {
    if (value) {
      content_.emplace<T>(*value);
    }
  }
  /// Text may be left out, too.
  Argument(std::string_view text) {
    if (!text.empty()) {
      content_ = text;
    }
  }

  const Content& content() const { return content_; }

 private:
  Content content_;
};

/// The row of the scalar table over tensors and numbers; at least one tensor.
Tensor map(std::string_view row, std::initializer_list<TensorOperand> operands);
/// The results of the builder of that name.
std::vector<Tensor> build(std::string_view builder, const std::vector<Argument>& arguments);
/// out[:] = value, whose shape and dtype must be out's.
void write_out(Tensor out, const Tensor& value);
void write_out(const std::vector<Tensor>& out, const std::vector<Tensor>& values);

}  // namespace tenon::tensors
