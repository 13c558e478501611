// Losses by name, what is trained, and data held against a model.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/error_text.h"
#include "tenon/interpreter.h"
#include "tenon/ops.h"
#include "train/dataset.h"
#include "train/trainable.h"

namespace tenon::train::objective_test {
namespace {

bool has_all(const std::string& text, const std::vector<std::string>& parts) {
  return std::ranges::all_of(parts, [&](const std::string& part) { return text.find(part) != std::string::npos; });
}

Model model_of(const Value& y, const std::vector<Value>& inputs, size_t data = 1) {
  Model model{.graph = Graph("m", inputs, {{"y", y}}), .data_inputs = data, .parameters = {}};
  for (size_t i = data; i < inputs.size(); ++i) {
    model.parameters.push_back({.name = "w" + std::to_string(i), .shape = inputs[i].shape()});
  }
  return model;
}

TEST(Objective, TargetsFollowTheOutput) {
  const auto target = [](const Shape& output, const ObjectiveOptions& options) {
    const Value x = input("x", output);
    return make_objective(model_of(x, {x}), options).target.to_string();
  };
  EXPECT_EQ(target(shape(f32, "batch", 3), {.loss = "mse"}), "f32[batch, 3]");
  EXPECT_EQ(target(shape(f32, "batch", 3), {.loss = "cross_entropy"}), "i64[batch]");
  EXPECT_EQ(target(shape(f32, "batch", "seq", 3), {.loss = "cross_entropy"}), "i64[batch, seq]");
  EXPECT_EQ(target(shape(f32, "batch", 3, "h", "w"), {.loss = "nll"}), "i64[batch, h, w]");
  EXPECT_EQ(target(shape(f32, "batch", 3, "h", 5), {.loss = "nll", .axis = -1}), "i64[batch, 3, h]");
}

TEST(Objective, EveryLossIsAScalarOfItsTarget) {
  const Value x = input("x", shape(f32, "batch", 3));
  const Model model = model_of(x, {x});
  for (const LossKind& kind : loss_table()) {
    const Objective objective = make_objective(model, {.loss = std::string(kind.name)});
    const Graph graph = score_graph(model, objective);
    const Array y = Array::full(f32, {2, 3}, 0.25);
    const Array target = kind.labels ? Array(i64, {2}) : Array::full(f32, {2, 3}, 0.75);
    const std::vector<Array> out = interpret(graph, {y, target});
    EXPECT_EQ(out[0].rank(), 0) << kind.name;
    EXPECT_NE(out[0].at(0), 0) << kind.name;
    ASSERT_EQ(out.size(), kind.labels ? 2u : 1u) << kind.name;
    if (kind.labels) {
      EXPECT_EQ(out[1].at(0), 2) << "the first of equal ones";
    }
  }
}

TEST(Objective, ErrorsSayWhatThereIs) {
  const Value x = input("x", shape(f32, "batch", "n"));
  const Value i = input("i", shape(i64, "batch"));
  EXPECT_EQ(error_text([] { find_loss("mean"); }),
            "there is no loss `mean`; there is: cross_entropy, nll, mse, l1, huber, bce, bce_logits, kl, hinge");
  EXPECT_EQ(error_text([&] { make_objective(model_of(x, {x}), {.output = "z"}); }),
            "`m` has no output `z`; there is: y");
  EXPECT_EQ(error_text([&] { make_objective(model_of(i, {i}), {}); }),
            "`m` cannot be trained by its output `y`, which is i64[batch]");
  EXPECT_EQ(error_text([&] { make_objective(model_of(x, {x}), {.loss = "nll"}); }),
            "nll takes a known number of classes, and axis 1 of the output `y` is n");
  const Value v = input("v", shape(f32, "batch"));
  EXPECT_EQ(error_text([&] { make_objective(model_of(v, {v}), {.loss = "nll"}); }),
            "nll takes an axis of examples and one of classes, and the output `y` is f32[batch]");
}

TEST(Freeze, ByPatternAndWhereNoGradientComes) {
  const Value x = input("x", shape(f32, "batch", 2));
  const Value a = input("a", shape(f32, 2));
  const Value b = input("b", shape(f32, 2));
  const Value c = input("c", shape(f32, 2));  // of which the output is not made
  const Value d = input("d", shape(f32, 2));  // compared alone
  const Graph graph("m", {x, a, b, c, d}, {{"y", x * a + b + cast(gt(d, 0), f32)}});
  const auto made = [&] {
    return trainable(graph,
                     {{"a", Array(f32, {2})}, {"b", Array(f32, {2})}, {"c", Array(f32, {2})}, {"d", Array(f32, {2})}});
  };
  const auto trained = [&](const std::vector<std::string>& patterns) {
    Trainable model = made();
    freeze(model, make_objective(model.training, {}), patterns);
    std::string names;
    for (const Parameter& parameter : model.training.parameters) {
      names += parameter.trainable ? parameter.name : "";
    }
    return names;
  };
  EXPECT_EQ(trained({}), "ab");
  EXPECT_EQ(trained({"[bc]"}), "a");
  EXPECT_EQ(error_text([&] { trained({"x*"}); }), "`--freeze x*` matches no parameter; there is: a, b, c, d");
  EXPECT_EQ(error_text([&] { trained({"*"}); }), "there is nothing to train in `m`: all of its parameters are frozen");
}

TEST(Dataset, ExamplesLieAlongTheBatch) {
  const std::vector<Value> inputs{input("tokens", shape(i64, "seq", "batch")), input("scale", shape(f32, 3)),
                                  input("target", shape(i64, "batch"))};
  Array tokens(i64, {2, 4});
  std::ranges::copy(std::vector<int64_t>{0, 1, 2, 3, 10, 11, 12, 13}, tokens.mutable_values<int64_t>().begin());
  const Dataset data =
      make_dataset(inputs, {tokens, Array(f32, {3}), Array::from<int64_t>({4}, {5, 6, 7, 8})}, {{"past", 2}});
  EXPECT_EQ(data.count, 4);
  EXPECT_EQ(data.sizes, (Bindings{{"past", 2}}));
  const std::vector<Array> batch = data.batch(std::vector<int64_t>{3, 1});
  EXPECT_EQ(batch[0].to_string(), "i64[2, 2] {3, 1, 13, 11}");
  EXPECT_EQ(batch[1].size(), 3);
  EXPECT_EQ(batch[2].to_string(), "i64[2] {8, 6}");
}

TEST(Dataset, ErrorsNameBothSides) {
  const std::vector<Value> inputs{input("x", shape(f32, "batch", 3)), input("target", shape(f32, "batch", 1))};
  const auto text = [&](std::vector<Array> arrays) {
    return error_text([&] { make_dataset(inputs, std::move(arrays)); });
  };
  EXPECT_TRUE(has_all(text({Array(f32, {4, 3}), Array(f32, {5, 1})}), {"`batch`", "`x` has 4", "`target` has 5"}));
  EXPECT_TRUE(has_all(text({Array(f32, {4, 2}), Array(f32, {4, 1})}), {"`x`", "2", "3"}));
  EXPECT_TRUE(has_all(text({Array(f64, {4, 3}), Array(f32, {4, 1})}), {"`x`", "f64", "f32"}));
  EXPECT_EQ(text({Array(f32, {0, 3}), Array(f32, {0, 1})}), "there are no examples: axis `batch` has size 0");
}

TEST(Dataset, TargetsFitTheLoss) {
  const Value x = input("x", shape(f32, "batch", 3));
  const Objective labels = make_objective(model_of(x, {x}), {.loss = "cross_entropy"});
  const Objective numbers = make_objective(model_of(x, {x}), {.loss = "bce"});
  EXPECT_EQ(fit_target(Array(u8, {2}), labels).dtype(), i64);
  EXPECT_EQ(fit_target(Array(boolean, {2, 3}), numbers).dtype(), f32);
  EXPECT_EQ(fit_target(Array(f64, {2, 3}), numbers).dtype(), f32);
  EXPECT_EQ(error_text([&] { fit_target(Array(f32, {2}), labels); }),
            "the target holds f32, and cross_entropy takes integers, the numbers of classes");
  EXPECT_EQ(error_text([&] { fit_target(Array(i64, {2, 3}), numbers); }),
            "the target holds i64, and bce compares with f32");
  EXPECT_EQ(error_text([&] { fit_target(Array::full(i32, {2}, 3), labels); }),
            "the target has a label 3, and there are 3 classes, from 0 to 2");
}

TEST(Dataset, OrdersAreDecidedBySeedAndRound) {
  const std::vector<int64_t> order = shuffled(100, 1, 2);
  EXPECT_EQ(order, shuffled(100, 1, 2));
  EXPECT_NE(order, shuffled(100, 1, 3));
  EXPECT_NE(order, shuffled(100, 2, 2));
  std::vector<int64_t> sorted = order;
  std::ranges::sort(sorted);
  for (int64_t i = 0; i < 100; ++i) {
    EXPECT_EQ(sorted[static_cast<size_t>(i)], i);
  }
}

}  // namespace
}  // namespace tenon::train::objective_test
