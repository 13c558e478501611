// Strategies, reasons, profiles and plans of small graphs.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "ir/node.h"
#include "support/error_text.h"
#include "support/random_dag.h"
#include "tenon/elementwise.h"
#include "tenon/indexing.h"
#include "tenon/interpreter.h"
#include "tenon/models.h"
#include "tenon/ops.h"
#include "tenon/partition.h"
#include "tenon/text.h"

namespace tenon::partition::plans_test {
namespace {

Graph residual_block() {
  return parse_graph(R"(
graph block(x: f32[batch, 8, 16, 16], w: f32[8, 8, 3, 3], v: f32[8, 8, 3, 3]) {
  a = relu(conv(x, w, low=[1, 1], high=[1, 1]))
  b = conv(a, v, low=[1, 1], high=[1, 1])
  return y=relu(add(b, x))
})");
}

const Bindings kBatch{{"batch", 2}};

std::vector<std::vector<std::string>> names_of(const WorkGraph& work, const Plan& plan) {
  std::vector<std::vector<std::string>> result;
  for (const Part& part : plan.parts) {
    auto& names = result.emplace_back();
    for (const int index : part.operators) {
      names.push_back(work.operators[static_cast<size_t>(index)].name);
    }
  }
  return result;
}

using Names = std::vector<std::vector<std::string>>;

TEST(Strategies, JoinChainsAndThenResiduals) {
  const WorkGraph work = work_graph(residual_block());
  const Profile profile = roomy_profile();
  EXPECT_EQ(names_of(work, make_plan(work, kBatch, profile, {.fuse = {"vertical"}})),
            (Names{{"conv1", "relu1"}, {"conv2"}, {"add1", "relu2"}}));
  EXPECT_EQ(names_of(work, make_plan(work, kBatch, profile, {.fuse = {"vertical", "residual"}})),
            (Names{{"conv1", "relu1"}, {"conv2", "add1", "relu2"}}));
}

TEST(Strategies, SayWhyNot) {
  const WorkGraph work = work_graph(residual_block());
  const Plan plan = make_plan(work, kBatch, roomy_profile(), {.fuse = {"vertical"}});
  EXPECT_EQ(why(work, plan, "conv1", "relu1"),
            "`conv1` and `relu1` are in one part, 1: vertical joins `conv1` and `relu1`");
  EXPECT_EQ(why(work, plan, "conv2", "add1"),
            "`conv2` and `add1` are in different parts, 2 and 3\n"
            "  vertical: `add1` reads 2 activations; a chain has one (strategy residual joins such)");
  EXPECT_EQ(error_text([&] { why(work, plan, "conv2", "conv7"); }),
            "there is no operator `conv7`; there are `conv1` to `conv2`");
}

TEST(Strategies, JoinBranchesOfOneInputThatMeet) {
  const WorkGraph work = work_graph(parse_graph(R"(
graph inception(x: f32[n, 8, 16, 16], a: f32[4, 8, 1, 1], b: f32[4, 8, 3, 3]) {
  return y=concat(conv(x, a), conv(x, b, low=[1, 1], high=[1, 1]), axis=1)
})"));
  EXPECT_EQ(names_of(work, make_plan(work, {{"n", 1}}, roomy_profile(), {.fuse = {"horizontal"}})),
            (Names{{"conv1", "conv2"}, {"concat1"}}));
}

TEST(Strategies, JoinRowsWithTheProductsAround) {
  const WorkGraph work = work_graph(parse_graph(R"(
graph heads(q: f32[b, s, 64], k: f32[b, t, 64], v: f32[b, t, 64]) {
  return y=attention(q, k, v)
})"));
  const Plan plan = make_plan(work, {{"b", 2}, {"s", 4}, {"t", 8}}, roomy_profile(), {.fuse = {"attention"}});
  EXPECT_EQ(plan.parts.size(), 1U);
  EXPECT_EQ(work.operators.size(), 4U);  // a product, its scale, rows, a product
}

TEST(Plans, ComeBackFromJsonAndDifferInLines) {
  const WorkGraph work = work_graph(residual_block());
  const Profile profile = roomy_profile();
  const Plan plan = make_plan(work, kBatch, profile, {.fuse = {"vertical"}});
  const Plan again = parse_plan(to_json(plan, work), "p.json", work);
  EXPECT_EQ(again, plan);
  verify(again, work, profile);
  EXPECT_EQ(differences(plan, again, work), std::vector<std::string>());
  const Plan other = make_plan(work, kBatch, profile, {.fuse = {"vertical", "residual"}});
  const std::vector<std::string> lines = differences(plan, other, work);
  EXPECT_NE(std::find(lines.begin(), lines.end(), "parts: 3 -> 2"), lines.end());
  EXPECT_NE(std::find(lines.begin(), lines.end(),
                      "add1: apart from conv2 in the first, with it in the second (part 3 -> part 2)"),
            lines.end());
}

TEST(Plans, CanBeAskedAtOtherSizes) {
  const WorkGraph work = work_graph(residual_block());
  const Profile profile = roomy_profile();
  const Plan small = make_plan(work, kBatch, profile, {});
  const Plan large = rebind(small, work, profile, {{"batch", 4}});
  EXPECT_EQ(large.parts.size(), small.parts.size());
  EXPECT_DOUBLE_EQ(large.totals.flops, 2 * small.totals.flops);
}

TEST(Plans, RefuseCirclesOrderAndOthersGraphs) {
  const WorkGraph work = work_graph(residual_block());
  const Profile profile = roomy_profile();
  const Plan plan = make_plan(work, kBatch, profile, {.fuse = {"vertical"}});
  Plan circle = plan;
  circle.parts[0].operators = {0, 3, 4};
  circle.parts[1].operators = {1, 2};
  circle.parts.pop_back();
  EXPECT_NE(error_text([&] { verify(circle, work, profile); }).find("in a circle: operator `relu1`"),
            std::string::npos);
  Plan turned = plan;
  std::swap(turned.parts[1], turned.parts[2]);
  EXPECT_EQ(error_text([&] { verify(turned, work, profile); }),
            "operator `add1` of part 2 reads `conv2`, which is in a later part, 3");
  Plan moon = plan;
  moon.parts[1].unit = "moon";
  EXPECT_EQ(
      error_text([&] { verify(moon, work, profile); }),
      "part 2, which begins with operator `conv2`, is placed on unit `moon`, which profile `roomy` does not have");
  std::string text = to_json(plan, work);
  text.replace(text.find("\"graph\": \"model\""), 16, "\"graph\": \"moon\"");
  EXPECT_EQ(error_text([&] { parse_plan(text, "p.json", work); }),
            "p.json:3: `graph` must be `model` or `optimized`, not `moon`");
  Plan missing = plan;
  missing.parts.pop_back();
  EXPECT_EQ(error_text([&] { verify(missing, work, profile); }), "operator `add1` is in no part of the plan");
  Plan wrong = plan;
  wrong.totals.bytes_moved += 1;
  EXPECT_NE(error_text([&] { verify(wrong, work, profile); }).find("totals are not the sum"), std::string::npos);
  const WorkGraph stranger = work_graph(parse_graph("graph block(x: f32[batch, 4]) {\n  return y=relu(x)\n}"));
  EXPECT_NE(error_text([&] { verify(plan, stranger, profile); }).find("with other operators"), std::string::npos);
}

TEST(Plans, NameTheOperatorThatDoesNotFit) {
  const WorkGraph work = work_graph(residual_block());
  Profile profile = roomy_profile();
  profile.memories.push_back({.name = "tiny", .bytes = 16, .bandwidth = 1e9});
  profile.units[0].memory = "tiny";
  EXPECT_NE(error_text([&] { make_plan(work, kBatch, profile, {}); }).find("operator `conv1` needs 580 bytes"),
            std::string::npos);
  profile.memories[1].bytes = 4096;
  EXPECT_GT(make_plan(work, kBatch, profile, {}).parts[0].tiles, 1);
}

TEST(Plans, CountPartsAndOperators) {
  const WorkGraph work = work_graph(residual_block());
  const Profile profile = roomy_profile();
  EXPECT_NE(error_text([&] { make_plan(work, kBatch, profile, {.by = "parts"}); }).find("at least 1"),
            std::string::npos);
  EXPECT_NE(error_text([&] {
              make_plan(work, kBatch, profile, {.fuse = {"none"}, .by = "parts", .parts = 6});
            }).find("6 parts cannot be made of 5 groups of operators, the last of which ends with `relu2`"),
            std::string::npos);
}

TEST(Profiles, BuiltInOnesComeBackFromJson) {
  for (const std::string& name : profile_names()) {
    const Profile profile = profile_named(name);
    EXPECT_EQ(profile.name, name);
    EXPECT_EQ(to_json(parse_profile(to_json(profile), name)), to_json(profile));
  }
}

TEST(Profiles, HaveNamesOfTheirOwnAndDoNoMoreThanTheyCan) {
  const auto error_of = [](std::string_view from, std::string_view to) {
    std::string text = to_json(roomy_profile());
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << text;
    text.replace(at, from.size(), to);
    return error_text([&] { parse_profile(text, "chip.json"); });
  };
  const std::string memory = roomy_profile().memories.front().name;
  EXPECT_NE(error_of("\"" + memory + "\"", "\"\"").find("is empty"), std::string::npos);
  EXPECT_NE(error_of("\"lanes\"", "\"efficiency\": {\"map\": 2}, \"lanes\"").find("at most 1"), std::string::npos);
}

TEST(Profiles, NameTheLineOfAFieldThatIsNotKnown) {
  std::string text = to_json(roomy_profile());
  const size_t at = text.find("\"bandwidth\"");
  text.replace(at, 11, "\"bandwith\"");
  const std::string error = error_text([&] { parse_profile(text, "chip.json"); });
  EXPECT_EQ(error.find("chip.json:8: there is no field `bandwith`"), 0U) << error;
}

Plan plan_of(const WorkGraph& work, const Bindings& bindings, std::vector<std::string> fuse) {
  return make_plan(work, bindings, roomy_profile(), {.fuse = std::move(fuse)});
}

TEST(Costs, StateThatIsUpdatedInPlaceMovesWhatChanges) {
  const WorkGraph work = work_graph(parse_graph(R"(
graph cache(x: f32[8], state: f32[1000, 8]) {
  a = relu(x)
  one = update_slice(state, reshape(a, [1, 8]), [3, 0])
  b = tanh(x)
  two = update_slice(one, reshape(b, [1, 8]), [4, 0])
  return y=add(a, b), new_state=two aliases state
})"));
  const Plan plan = plan_of(work, {}, {"none"});
  int64_t read = 0;
  int64_t written = 0;
  for (const Part& part : plan.parts) {
    read += part.figures.bytes_read;
    written += part.figures.bytes_written;
  }
  EXPECT_EQ(written, 5 * 32);               // three maps and two rows of the state
  EXPECT_EQ(read, 6 * 32);                  // what the maps read, and the new rows
  EXPECT_LT(plan.totals.peak_bytes, 1000);  // the state is not an activation
}

TEST(Costs, TablesAreReadWhereElementsArePicked) {
  const WorkGraph work = work_graph(parse_graph(R"(
graph table(words: f32[1000, 16], index: i64[4]) {
  return y=gather(words, index, axes=[0])
})"));
  const Plan plan = plan_of(work, {}, {"none"});
  EXPECT_EQ(plan.totals.bytes_moved, 4 * 8 + 2 * 4 * 16 * 4);
}

TEST(Costs, OfTilesAreNoMoreThanThoseOfOperatorsApart) {
  const WorkGraph work = work_graph(with_weights(find_model("small_cnn").build()));
  Profile profile = roomy_profile();
  profile.memories.push_back({.name = "small", .bytes = 4096, .bandwidth = 1e9, .cache = true});
  profile.units[0].memory = "small";
  const auto again = [](const Plan& plan) {
    int64_t sum = plan.totals.bytes_moved;
    for (const Part& part : plan.parts) {
      sum += part.figures.bytes_again;
    }
    return sum;
  };
  const Plan apart = make_plan(work, {{"batch", 64}}, profile, {.fuse = {"none"}});
  const Plan whole = make_plan(work, {{"batch", 64}}, profile, {.fuse = {"none"}, .by = "parts", .parts = 1});
  EXPECT_GT(whole.parts[0].figures.bytes_again, 0);
  EXPECT_LE(again(whole), again(apart));
}

/// Every operator a part, one run behind the other, against the whole.
void expect_parts_give_the_whole(const Graph& graph, const Bindings& bindings, std::map<std::string, Array> arrays) {
  std::vector<Array> inputs;
  for (const Value& value : graph.inputs()) {
    inputs.push_back(arrays.at(value.node().as<Input>()->name));
  }
  const std::vector<Array> whole = interpret(graph, inputs);
  const WorkGraph work = work_graph(graph);
  const Plan plan = make_plan(work, bindings, roomy_profile(), {.fuse = {"none"}});
  for (size_t i = 0; i < plan.parts.size(); ++i) {
    const Graph part = part_graph(work, plan, i);
    std::vector<Array> read;
    for (const Value& value : part.inputs()) {
      read.push_back(arrays.at(value.node().as<Input>()->name));
    }
    const std::vector<Array> outputs = interpret(part, read);
    for (size_t k = 0; k < outputs.size(); ++k) {
      arrays.insert_or_assign(part.outputs()[k].name, outputs[k]);
    }
  }
  for (size_t i = 0; i < whole.size(); ++i) {
    EXPECT_TRUE(same_bits(arrays.at(graph.outputs()[i].name), whole[i])) << graph.outputs()[i].name;
  }
}

TEST(PartGraphs, GiveTogetherWhatTheWholeGives) {
  expect_parts_give_the_whole(residual_block(), kBatch,
                              {{"x", Array::full(f32, {2, 8, 16, 16}, 0.25)},
                               {"w", Array::full(f32, {8, 8, 3, 3}, 0.5)},
                               {"v", Array::full(f32, {8, 8, 3, 3}, -0.125)}});
}

TEST(PartGraphs, ReadEachOfSeveralResultsOfAnOperator) {
  const Value x = input("x", shape(f32, 4, 6));
  const std::vector<Value> sorted = sort_together({x, exp(x)});
  Array numbers = Array::uninitialized(f32, {4, 6});
  for (int64_t i = 0; i < numbers.size(); ++i) {
    numbers.mutable_values<float>()[static_cast<size_t>(i)] = static_cast<float>(i * 7 % 11);
  }
  expect_parts_give_the_whole(Graph("sorted", {x}, {{.name = "y", .value = tanh(sorted[1]) - sorted[0]}}), {},
                              {{"x", numbers}});
}

}  // namespace
}  // namespace tenon::partition::plans_test
