#include <cmath>

#include "base/fail.h"
#include "tenon/autograd.h"
#include "tenon/modules.h"
#include "tensor/record/symbols.h"

namespace tenon::nn::init {
namespace {

/// The elements become offset + scale * drawn. They are drawn as one axis whose size is a symbol, and numbers are data:
/// one program begins all weights of all sizes.
void draw(Tensor x, bool normal, double offset, double scale, Generator* generator, Tensor::Where where) {
  const NoGrad none;
  const std::vector<int64_t> dims = x.dims();
  const std::vector<Axis> flat{Axis(tensors::symbol("elements", x.count()))};
  const Tensor drawn = normal ? Tensor::randn(flat, x.dtype(), generator) : Tensor::rand(flat, x.dtype(), generator);
  const Tensor made = drawn * Tensor::number(scale, x.dtype()) + Tensor::number(offset, x.dtype());
  const Array array = made.to_array(where).reshaped(dims);
  x.copy_(tensor(array, std::vector<Axis>(dims.begin(), dims.end())));
}

struct Fans {
  double in = 1;
  double out = 1;
};
Fans fans(const Tensor& x) {
  const std::vector<int64_t> dims = x.dims();
  if (dims.size() < 2) {
    fail("fan-in and fan-out need two axes, the tensor is {}", x.shape().to_string());
  }
  double window = 1;
  for (size_t i = 2; i < dims.size(); ++i) {
    window *= static_cast<double>(dims[i]);
  }
  return {static_cast<double>(dims[1]) * window, static_cast<double>(dims[0]) * window};
}

}  // namespace

void uniform_(Tensor x, double low, double high, Generator* generator, Tensor::Where where) {
  draw(x, false, low, high - low, generator, where);
}
void normal_(Tensor x, double mean, double deviation, Generator* generator, Tensor::Where where) {
  draw(x, true, mean, deviation, generator, where);
}
void constant_(Tensor x, double value) {
  const NoGrad none;
  const std::vector<int64_t> dims = x.dims();
  x.copy_(tensor(Array::full(x.dtype(), dims, value), std::vector<Axis>(dims.begin(), dims.end())));
}
void xavier_uniform_(Tensor x, double gain, Generator* generator, Tensor::Where where) {
  const Fans fan = fans(x);
  const double bound = gain * std::sqrt(6 / (fan.in + fan.out));
  uniform_(x, -bound, bound, generator, where);
}
void xavier_normal_(Tensor x, double gain, Generator* generator, Tensor::Where where) {
  const Fans fan = fans(x);
  normal_(x, 0, gain * std::sqrt(2 / (fan.in + fan.out)), generator, where);
}
void kaiming_uniform_(Tensor x, double a, Generator* generator, Tensor::Where where) {
  const double bound = std::sqrt(6 / ((1 + a * a) * fans(x).in));
  uniform_(x, -bound, bound, generator, where);
}
void kaiming_normal_(Tensor x, double a, Generator* generator, Tensor::Where where) {
  normal_(x, 0, std::sqrt(2 / ((1 + a * a) * fans(x).in)), generator, where);
}

}  // namespace tenon::nn::init
