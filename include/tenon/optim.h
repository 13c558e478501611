// Training lazy tensors: optimisers over parameters, learning rates over time, clipping.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tenon/optimizers.h"
#include "tenon/safetensors.h"
#include "tenon/tensor.h"

namespace tenon::optim {

/// Parameters, the rule by which they change (tenon/optimizers.h), and its states.
///
///   optim::SGD step(net.parameters(), {.learning_rate = 0.1, .momentum = 0.9});
///   loss.backward();
///   step.step();        // recorded, like everything else
///   step.zero_grad();   // now nobody needs the old weights: they are updated in place
///   loss.item();        // one program computes loss, gradients and new weights
class Optimizer {
 public:
  Optimizer(std::vector<Tensor> parameters, UpdateRule rule, double learning_rate);

  /// Every parameter that has a gradient moves. What an earlier step has left pending is computed first; where that
  /// fails, its Error is thrown and undo_step() is the way on.
  void step(std::source_location where = std::source_location::current());
  /// No parameter has a gradient any more.
  void zero_grad();
  /// Takes back, of the last step, what has not been computed: after a look at the loss has said that the step cannot
  /// be (a label out of range). Parameters, states and counts are what they were before it. False where there is
  /// nothing.
  bool undo_step();

  double learning_rate() const { return rate_; }
  /// A new rate needs no new program.
  void set_learning_rate(double rate);
  int64_t steps() const { return steps_; }
  const std::vector<Tensor>& parameters() const { return parameters_; }

  /// States under `<parameter>.<state>`, parameters being numbers; the number of steps as `step`, and that of each
  /// parameter in `steps`.
  SafeTensors state(std::source_location where = std::source_location::current()) const;
  /// Checks the optimiser, every name and every size before it takes any.
  void load_state(const SafeTensors& state);

 private:
  std::vector<Tensor> parameters_;
  UpdateRule rule_;
  std::vector<std::vector<Tensor>> states_;
  std::vector<bool> moved_;      // which parameters the last step moved
  std::vector<int64_t> counts_;  // steps that each parameter has made: those in which it had a gradient
  Tensor rate_tensor_;
  double rate_ = 0;
  int64_t steps_ = 0;
};

struct SGD : Optimizer {
  explicit SGD(std::vector<Tensor> parameters, const SgdOptions& options = {});
};
struct Adam : Optimizer {
  explicit Adam(std::vector<Tensor> parameters, const AdamOptions& options = {});
};
struct AdamW : Optimizer {
  explicit AdamW(std::vector<Tensor> parameters, const AdamWOptions& options = {});
};

/// A learning rate by the number of the step, from 0: `optimizer.set_learning_rate(schedule(i))`.
using Schedule = std::function<double(int64_t step)>;
Schedule constant_rate(double rate);
/// Times `factor` after each `every` steps.
Schedule step_decay(double rate, int64_t every, double factor = 0.1);
Schedule exponential_decay(double rate, double factor);
/// From `rate` to `least` along half a cosine, over `steps`; then `least`.
Schedule cosine(double rate, int64_t steps, double least = 0);
/// Rising to the schedule's rate over the first `steps`.
Schedule with_warmup(int64_t steps, Schedule schedule);

/// Scales all gradients so that their common norm is at most `most`; gives what it was.
Tensor clip_grad_norm(const std::vector<Tensor>& parameters, double most);
/// Each element of each gradient into [-most, most].
void clip_grad_value(const std::vector<Tensor>& parameters, double most);

}  // namespace tenon::optim
