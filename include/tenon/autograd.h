// Gradients of lazy tensors, beyond backward() of tenon/tensor.h. They are ordinary tensors: nothing runs until
// somebody looks, and in-place writes are differentiated through, because a write never destroys what was there.
#pragma once

#include <functional>
#include <vector>

#include "tenon/tensor.h"

namespace tenon {

struct GradOptions {
  Tensor seed = {};     ///< of y's shape; may be left out for a scalar
  bool create = false;  ///< gradients of these gradients can be taken
};
/// The gradients of `y` by each of `xs`; nothing is added to anybody's grad(). Zeros for one that y was not computed
/// from.
std::vector<Tensor> grad(const Tensor& y, const std::vector<Tensor>& xs, const GradOptions& options = {});

/// While it lives, what is computed on this thread passes no gradients on.
class NoGrad {
 public:
  NoGrad();
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  bool previous_;
};
/// While it lives, gradients are passed on, inside a NoGrad too.
class EnableGrad {
 public:
  EnableGrad();
  ~EnableGrad();
  EnableGrad(const EnableGrad&) = delete;
  EnableGrad& operator=(const EnableGrad&) = delete;

 private:
  bool previous_;
};
bool grad_enabled();

/// f(inputs), of which nothing but inputs and results is kept for gradients: what lies between is computed again. `f`
/// may look at what it computes, and write to tensors that it knows; under NoGrad it is called as it is.
std::vector<Tensor> checkpoint(const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& f,
                               const std::vector<Tensor>& inputs);

}  // namespace tenon
