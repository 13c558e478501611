// Steps of optimisers, as models for training have them.
#include "base/refused.h"
#include "onnx/import/registry.h"

namespace tenon::importer {
namespace {

constexpr std::string_view kDomain = "ai.onnx.preview.training";

/// Inputs are the rate, the number of steps so far, then `kinds` lists of equal length: parameters, gradients, states.
struct Lists {
  Value rate;
  Value count;
  std::vector<std::vector<Value>> of;
};

Lists read_lists(const NodeCall& call, size_t kinds) {
  if (call.count() < 2 || (call.count() - 2) % kinds != 0) {
    refuse("{} inputs are given, must be two and {} for each parameter", call.count(), kinds);
  }
  Lists lists{call.x(0), call.x(1), std::vector<std::vector<Value>>(kinds)};
  const size_t each = (call.count() - 2) / kinds;
  for (size_t i = 2; i < call.count(); ++i) {
    lists.of[(i - 2) / each].push_back(call.x(i));
  }
  return lists;
}

/// Results of all parameters of one kind after those of another.
Results in_order(const std::vector<std::vector<Value>>& kinds) {
  std::vector<Value> results;
  for (const std::vector<Value>& list : kinds) {
    results.insert(results.end(), list.begin(), list.end());
  }
  return results;
}

Value as_number(const Value& x, Dtype dtype) { return cast(x.rank() == 0 ? x : reshape(x, {}), dtype); }

Results adagrad(const NodeCall& call) {
  const Lists lists = read_lists(call, 3);
  const double epsilon = call.number_attribute("epsilon", 1e-6);
  const double decay = call.number_attribute("decay_factor", 0);
  const double norm = call.number_attribute("norm_coefficient", 0);
  std::vector<std::vector<Value>> results(2);
  for (size_t i = 0; i < lists.of[0].size(); ++i) {
    const Value& x = lists.of[0][i];
    const Value rate = as_number(lists.rate, x.dtype()) / (as_number(lists.count, x.dtype()) * decay + 1);
    const Value gradient = x * norm + lists.of[1][i];
    const Value squares = lists.of[2][i] + gradient * gradient;
    results[0].push_back(x - rate * gradient / (sqrt(squares) + epsilon));
    results[1].push_back(squares);
  }
  return in_order(results);
}

Results momentum(const NodeCall& call) {
  const Lists lists = read_lists(call, 3);
  const double alpha = call.number_attribute("alpha", 0);
  const double beta = call.number_attribute("beta", 0);
  const double norm = call.number_attribute("norm_coefficient", 0);
  const bool nesterov = call.text_attribute("mode", "standard") == "nesterov";
  std::vector<std::vector<Value>> results(2);
  for (size_t i = 0; i < lists.of[0].size(); ++i) {
    const Value& x = lists.of[0][i];
    const Value rate = as_number(lists.rate, x.dtype());
    const Value gradient = x * norm + lists.of[1][i];
    // The first step takes the gradient whole.
    const Value factor = select(gt(as_number(lists.count, Dtype::i64), 0), scalar(x.dtype(), beta), 1);
    const Value velocity = lists.of[2][i] * alpha + gradient * factor;
    results[0].push_back(x - rate * (nesterov ? gradient + velocity * alpha : velocity));
    results[1].push_back(velocity);
  }
  return in_order(results);
}

Results adam(const NodeCall& call) {
  const Lists lists = read_lists(call, 4);
  const double alpha = call.number_attribute("alpha", 0.9);
  const double beta = call.number_attribute("beta", 0.999);
  const double epsilon = call.number_attribute("epsilon", 1e-6);
  const double norm = call.number_attribute("norm_coefficient", 0);
  const double after = call.number_attribute("norm_coefficient_post", 0);
  std::vector<std::vector<Value>> results(3);
  for (size_t i = 0; i < lists.of[0].size(); ++i) {
    const Value& x = lists.of[0][i];
    const Value count = as_number(lists.count, x.dtype());
    const Value gradient = x * norm + lists.of[1][i];
    const Value mean = lists.of[2][i] * alpha + gradient * (1 - alpha);
    const Value square_mean = lists.of[3][i] * beta + gradient * gradient * (1 - beta);
    const Value corrected =
        sqrt(1.0 - pow(scalar(x.dtype(), beta), count)) / (1.0 - pow(scalar(x.dtype(), alpha), count));
    const Value rate =
        select(gt(count, 0), as_number(lists.rate, x.dtype()) * corrected, as_number(lists.rate, x.dtype()));
    const Value moved = x - rate * mean / (sqrt(square_mean) + epsilon);
    results[0].push_back(moved * (1 - after));
    results[1].push_back(mean);
    results[2].push_back(square_mean);
  }
  return in_order(results);
}

}  // namespace

std::vector<OperatorEntry> training_operators() {
  return {
      {kDomain, "Adagrad", 1, adagrad},
      {kDomain, "Momentum", 1, momentum},
      {kDomain, "Adam", 1, adam},
  };
}

}  // namespace tenon::importer
