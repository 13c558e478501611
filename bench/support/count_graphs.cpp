#include "support/count_graphs.h"

#include <fmt/format.h>

#include <functional>

#include "tenon/tenon.h"

namespace bench {

using namespace tenon;  // NOLINT: the graphs read like the documentation

namespace {

Value rows(const std::string& name = "x") { return input(name, shape(f32, "row", "col")); }
Value columns(const std::string& name) { return input(name, shape(f32, "col")); }

Graph graph_of(std::vector<Value> inputs, const std::vector<Value>& outputs) {
  std::vector<Output> named;
  for (size_t i = 0; i < outputs.size(); ++i) {
    named.push_back({.name = fmt::format("y{}", i), .value = outputs[i]});
  }
  return {std::move(inputs), std::move(named)};
}

/// Applies `f` to one matrix.
Graph over_rows(const std::function<std::vector<Value>(const Value&)>& f) {
  const Value x = rows();
  return graph_of({x}, f(x));
}

Graph elementwise_dag() {
  const Value a = rows("a");
  const Value b = columns("b");
  const Value c = input("c", shape(i32, "col", "row"));
  const Value d = input("d", shape(f16, "row", 1));
  const Value scaled = a * b + cast(transpose(c), f32);
  const Value gate = sigmoid(cast(broadcast_to(d, a.shape().axes()), f32));
  const Value wide = max(scaled, gate) - min(scaled, gate);
  return graph_of({a, b, c, d}, {select(gt(wide, 0.5), tanh(wide) * gate, abs(scaled) + wide)});
}

Graph views_only() {
  const Value x = input("x", shape(f32, "batch", 6, "col"));
  return graph_of({x}, {reshape(x, {"batch", 2, 3, "col"}), transpose(x, {2, 0, 1}), slice_axis(x, 1, 2, 4)});
}

Graph softmax_backward() {
  const Value y = rows("y");
  const Value g = rows("g");
  return graph_of({y, g}, {y * (g - reduce_sum(y * g, {-1}, true))});
}

Graph layer_norm_backward() {
  const Value x = rows();
  const Value scale = columns("scale");
  const Value bias = columns("bias");
  const Graph forward({x, scale, bias}, {{.name = "y", .value = layer_norm(x, scale, bias)}});
  return differentiate(forward, {.keep_outputs = false, .seed_input = true});
}

Value image(const std::string& name = "x") { return input(name, shape(f32, "batch", "channel", "height", "width")); }
Value channels(const std::string& name) { return input(name, shape(f32, "channel")); }

Graph group_norm_graph() {
  const Value x = input("x", shape(f32, "batch", 32, "height", "width"));
  const Value scale = input("scale", shape(f32, 32));
  const Value bias = input("bias", shape(f32, 32));
  return graph_of({x, scale, bias}, {group_norm(x, scale, bias, 8)});
}

Graph batch_norm_eval() {
  const Value x = image();
  const Value scale = channels("scale");
  const Value bias = channels("bias");
  const Value mean = channels("mean");
  const Value variance = channels("variance");
  return graph_of({x, scale, bias, mean, variance}, {batch_norm(x, scale, bias, mean, variance)});
}

Graph batch_norm_train(bool with_statistics) {
  const Value x = image();
  const Value scale = channels("scale");
  const Value bias = channels("bias");
  const Value mean = channels("mean");
  const Value variance = channels("variance");
  const BatchNorm norm = batch_norm_training(x, scale, bias, mean, variance);
  if (!with_statistics) {
    return graph_of({x, scale, bias, mean, variance}, {norm.y});
  }
  return graph_of({x, scale, bias, mean, variance}, {norm.y, norm.running_mean, norm.running_variance});
}

Graph cross_entropy_graph() {
  const Value logits = input("logits", shape(f32, "batch", "class"));
  const Value labels = input("labels", shape(i64, "batch"));
  return graph_of({logits, labels}, {cross_entropy(logits, labels, {.ignore_index = {}})});
}

Graph embedding_sum_norm() {
  const Value words = input("words", shape(f32, 1000, 768));
  const Value positions = input("positions", shape(f32, 512, 768));
  const Value types = input("types", shape(f32, 2, 768));
  const Value word = input("word", shape(i64, "batch", "seq"));
  const Value position = input("position", shape(i64, "batch", "seq"));
  const Value type = input("type", shape(i64, "batch", "seq"));
  const Value scale = input("scale", shape(f32, 768));
  const Value bias = input("bias", shape(f32, 768));
  const Value sum = take(words, word) + take(positions, position) + take(types, type);
  return graph_of({words, positions, types, word, position, type, scale, bias}, {layer_norm(sum, scale, bias)});
}

Graph concat_elementwise() {
  const Value a = input("a", shape(f32, "row", "m"));
  const Value b = input("b", shape(f32, "row", "n"));
  const Value c = input("c", shape(f32, "row", 5));
  return graph_of({a, b, c}, {relu(concat({a * 2.0, b + 1.0, -c}, 1)) * 3.0});
}

Graph optimizer_step(const UpdateRule& optimizer) {
  const std::vector<Shape> shapes = {shape(f32, 64, 32), shape(f32, 64), shape(f32, 10, 64), shape(f32, 10)};
  const Value count = input("count", shape(i64));
  std::vector<Value> inputs{count};
  std::vector<Value> outputs{count + scalar(i64, 1)};
  for (size_t i = 0; i < shapes.size(); ++i) {
    OptimizerStep step;
    step.parameter = input(fmt::format("p{}", i), shapes[i]);
    step.gradient = input(fmt::format("g{}", i), shapes[i]);
    inputs.push_back(step.parameter);
    inputs.push_back(step.gradient);
    for (const std::string& state : optimizer.states) {
      step.states.push_back(input(fmt::format("{}{}", state, i), shapes[i]));
      inputs.push_back(step.states.back());
    }
    step.count = count;
    const OptimizerResult result = optimizer.update(step);
    outputs.push_back(result.parameter);
    outputs.insert(outputs.end(), result.states.begin(), result.states.end());
  }
  return graph_of(std::move(inputs), outputs);
}

}  // namespace

std::vector<CountGraph> count_graphs() {
  const Value a = rows("a");
  const Value b = rows("b");
  const Value x = rows("x");
  const Value y = rows("y");
  const Value scale = columns("scale");
  const Value bias = columns("bias");
  const Value all = reduce_sum(x);
  const Value nested = reduce_sum(a + reduce_sum(a, {-1}, true), {-1}, true);
  return {
      {"elementwise_dag", elementwise_dag()},
      {"two_outputs", graph_of({a, b}, {a + b, (a + b) * 2.0})},
      {"two_reductions", graph_of({x, y}, {reduce_sum(x, {-1}) + reduce_max(y, {-1})})},
      {"sub_row_sum", graph_of({a}, {a - reduce_sum(a, {1}, true)})},
      {"nested_row_sum", graph_of({a}, {nested})},
      {"nested_row_sum_map", graph_of({a}, {a + nested})},
      {"shared_sum", graph_of({x}, {all + 2.0, all + 4.0})},
      {"views_only", views_only()},
      {"mean", over_rows([](const Value& v) { return std::vector{reduce_mean(v, {-1})}; })},
      {"var", over_rows([](const Value& v) { return std::vector{variance(v, {-1}, false, 0)}; })},
      {"std", over_rows([](const Value& v) { return std::vector{standard_deviation(v, {-1}, false, 0)}; })},
      {"var_mean",
       over_rows([](const Value& v) { return std::vector{variance(v, {-1}, false, 0), reduce_mean(v, {-1})}; })},
      {"argmax", over_rows([](const Value& v) { return std::vector{argmax(v, -1)}; })},
      {"max_argmax", over_rows([](const Value& v) { return std::vector{reduce_max(v, {-1}), argmax(v, -1)}; })},
      {"softmax", over_rows([](const Value& v) { return std::vector{softmax(v)}; })},
      {"log_softmax", over_rows([](const Value& v) { return std::vector{log_softmax(v)}; })},
      {"logsumexp", over_rows([](const Value& v) { return std::vector{logsumexp(v, {-1})}; })},
      {"softmax_backward", softmax_backward()},
      {"layer_norm_backward", layer_norm_backward(), 0},
      {"layer_norm", graph_of({x, scale, bias}, {layer_norm(x, scale, bias)})},
      {"rms_norm", graph_of({x, scale}, {rms_norm(x, scale)})},
      {"group_norm", group_norm_graph()},
      {"batch_norm_eval", batch_norm_eval()},
      {"batch_norm_train", batch_norm_train(false)},
      {"batch_norm_train_stats", batch_norm_train(true)},
      {"cross_entropy", cross_entropy_graph()},
      {"embedding_sum_norm", embedding_sum_norm()},
      {"concat_elementwise", concat_elementwise()},
      {"adam_4", optimizer_step(adam())},
      {"sgd_momentum_4", optimizer_step(sgd({.learning_rate = 0.1, .momentum = 0.9}))},
  };
}

}  // namespace bench
