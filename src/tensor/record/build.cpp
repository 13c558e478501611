// The functions of tenon/tensor_ops.h: rows of the scalar table and entries of the catalog over tensors.
#include <fmt/format.h>

#include "base/fail.h"
#include "ops/catalog/catalog.h"
#include "ops/make.h"
#include "tenon/operand.h"
#include "tenon/tensor.h"
#include "tensor/record/argument.h"
#include "tensor/record/call_memo.h"
#include "tensor/record/record.h"

namespace tenon::tensors {
namespace {

/// Hands a builder its arguments. Tensors are read first to last: `values` are what they hold, in that order.
class Reader : public ArgumentReader {
 public:
  Reader(const std::vector<Argument>& arguments, std::span<const Value> values)
      : arguments_(arguments), values_(values) {}

  bool given(size_t i) const override {
    return i < arguments_.size() && !std::holds_alternative<std::monostate>(arguments_[i].content());
  }
  void read(size_t i, Value& to) override {
    get<Tensor>(i);
    to = next();
  }
  void read(size_t i, std::vector<Value>& to) override {
    for (size_t k = 0; k < get<std::vector<Tensor>>(i).size(); ++k) {
      to.push_back(next());
    }
  }
  void read(size_t i, Operand& to) override {
    const auto& operand = get<TensorOperand>(i);
    to = operand.tensor() != nullptr ? Operand(next()) : Operand(operand.number());
  }
  void read(size_t i, int64_t& to) override { to = get<int64_t>(i); }
  void read(size_t i, double& to) override { to = get<double>(i); }
  void read(size_t i, bool& to) override { to = get<bool>(i); }
  void read(size_t i, std::string& to) override { to = get<std::string_view>(i); }
  void read(size_t i, Dtype& to) override { to = get<Dtype>(i); }
  void read(size_t i, Extent& to) override { to = get<Extent>(i); }
  void read(size_t i, Shape& to) override { to = get<Shape>(i); }
  void read(size_t i, std::vector<int64_t>& to) override { to = get<std::vector<int64_t>>(i); }
  void read(size_t i, std::vector<Extent>& to) override { to = get<std::vector<Extent>>(i); }
  void read(size_t i, std::vector<Axis>& to) override { to = get<std::vector<Axis>>(i); }

 private:
  template <class T>
  const T& get(size_t i) const {
    const T* found = std::get_if<T>(&arguments_[i].content());
    TENON_CHECK(found != nullptr, "argument {} of a builder is of another type", i);
    return *found;
  }

  const Value& next() {
    TENON_CHECK(used_ < values_.size(), "a builder reads a tensor twice");
    return values_[used_++];
  }

  const std::vector<Argument>& arguments_;
  std::span<const Value> values_;
  size_t used_ = 0;
};

std::vector<Tensor> tensors_of(const std::vector<Argument>& arguments) {
  std::vector<Tensor> found;
  for (const Argument& argument : arguments) {
    if (const auto* one = std::get_if<Tensor>(&argument.content())) {
      found.push_back(*one);
    } else if (const auto* list = std::get_if<std::vector<Tensor>>(&argument.content())) {
      found.insert(found.end(), list->begin(), list->end());
    } else if (const auto* operand = std::get_if<TensorOperand>(&argument.content());
               operand != nullptr && operand->tensor() != nullptr) {
      found.push_back(*operand->tensor());
    }
  }
  return found;
}

}  // namespace

Tensor map(std::string_view row, std::initializer_list<TensorOperand> operands) {
  std::vector<Tensor> tensors;
  for (const TensorOperand& operand : operands) {
    if (operand.tensor() != nullptr) {
      tensors.push_back(*operand.tensor());
    }
  }
  return record(tensors,
                [&](Sizes sizes) -> std::vector<Value> {
                  std::vector<Operand> values;
                  for (const TensorOperand& operand : operands) {
                    values.push_back(operand.tensor() != nullptr ? Operand(read(*operand.tensor(), sizes))
                                                                 : Operand(operand.number()));
                  }
                  return {tenon::map(row, values)};
                })
      .front();
}

std::vector<Tensor> build(std::string_view builder, const std::vector<Argument>& arguments) {
  const CatalogEntry* entry = find_builder(builder);
  TENON_CHECK(entry != nullptr, "no builder is called {}", builder);
  if (entry->is_view) {
    return record_views(std::get<Tensor>(arguments[0].content()), [&](const Value& base) {
      Reader reader(arguments, {&base, 1});
      return entry->build(*entry, reader);
    });
  }
  const std::vector<Tensor> tensors = tensors_of(arguments);
  return record(tensors, [&](Sizes sizes) {
    std::vector<Value> operands;
    for (const Tensor& tensor : tensors) {
      operands.push_back(read(tensor, sizes));
    }
    CallKey key = call_key(*entry, arguments, operands);
    if (auto known = remembered_call(key, operands)) {
      return *std::move(known);
    }
    Reader reader(arguments, operands);
    std::vector<Value> results = entry->build(*entry, reader);
    remember_call(std::move(key), operands, results);
    return results;
  });
}

namespace {

void require_same(const Tensor& out, const Tensor& value) {
  if (out.dtype() != value.dtype() || out.dims() != value.dims()) {
    fail("out: the result is {}, the tensor that it is written to is {}", value.shape().to_string(),
         out.shape().to_string());
  }
}

}  // namespace

void write_out(Tensor out, const Tensor& value) {
  require_same(out, value);
  out.copy_(value);
}

void write_out(const std::vector<Tensor>& out, const std::vector<Tensor>& values) {
  if (out.size() != values.size()) {
    fail("out: there are {} results and {} tensors to write them to", values.size(), out.size());
  }
  std::vector<Tensor> results;  // as they are before anything is written: they may be views of what is written
  for (size_t i = 0; i < out.size(); ++i) {
    require_same(out[i], values[i]);
    results.push_back(values[i].clone());
  }
  for (size_t i = 0; i < out.size(); ++i) {
    write_out(out[i], results[i]);
  }
}

}  // namespace tenon::tensors

namespace tenon {

Tensor einsum(std::string_view equation, const std::vector<Tensor>& operands) {
  return tensors::build("einsum", {operands, equation}).front();
}
void einsum_out(Tensor out, std::string_view equation, const std::vector<Tensor>& operands) {
  tensors::write_out(std::move(out), einsum(equation, operands));
}

std::vector<Tensor> sort_together(const std::vector<Tensor>& tensors, int64_t axis, bool descending) {
  if (tensors.empty()) {
    fail("sort_together: there is nothing to sort");
  }
  return tensors::build("sort",
                        {tensors[0], std::vector<Tensor>(tensors.begin() + 1, tensors.end()), axis, descending});
}
Tensor sort(const Tensor& x, int64_t axis, bool descending) { return sort_together({x}, axis, descending).front(); }
void sort_out(Tensor out, const Tensor& x, int64_t axis, bool descending) {
  tensors::write_out(std::move(out), sort(x, axis, descending));
}
Tensor Tensor::sort(int64_t axis, bool descending) const { return tenon::sort(*this, axis, descending); }

}  // namespace tenon

#include "tensor/record/tensor_bodies.inc"  // made by tools/gen_tensor_bodies.cpp
