// Runs of training: what they compile, what they learn, and that they go on as if nothing had been.
#include "train/trainer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "support/arrays.h"
#include "support/error_text.h"
#include "tenon/losses.h"
#include "tenon/ops.h"

namespace tenon::train::trainer_test {
namespace {

bool has_all(const std::string& text, const std::vector<std::string>& parts) {
  return std::ranges::all_of(parts, [&](const std::string& part) { return text.find(part) != std::string::npos; });
}

/// Points of two groups, and which group each is of.
std::vector<Array> points(int64_t count) {
  std::vector<Array> arrays{Array(f32, {count, 2}), Array(i64, {count})};
  for (int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<size_t>(i);
    const float side = i % 2 == 0 ? 1.0F : -1.0F;
    arrays[0].mutable_values<float>()[2 * at] = side * (0.5F + 0.01F * static_cast<float>(i % 17));
    arrays[0].mutable_values<float>()[2 * at + 1] = 0.1F * static_cast<float>(i % 5);
    arrays[1].mutable_values<int64_t>()[at] = i % 2;
  }
  return arrays;
}

Trainable small_mlp() {
  const Model model = mlp({.inputs = 2, .hidden = 8, .outputs = 2, .layers = 2});
  return {.training = model, .inference = model, .values = initial_values(model)};
}

Dataset data_for(const Trainable& model, const Objective& objective, std::vector<Array> arrays) {
  const Graph graph = loss_graph(model.training, objective);
  const auto columns = std::span(graph.inputs()).first(arrays.size());
  return make_dataset(columns, std::move(arrays));
}

const Settings kSettings{.optimizer = "adam", .rate = 0.05, .batch = 7, .epochs = 4, .held_out = 0.2, .seed = 3};

Trainer make_trainer(const Settings& settings = kSettings, int64_t count = 50) {
  Trainable model = small_mlp();
  const Objective objective = make_objective(model.training, settings.objective);
  freeze(model, objective, settings.freeze);
  Dataset data = data_for(model, objective, points(count));
  return {std::move(model), objective, settings, std::move(data)};
}

void run(Trainer& trainer, int64_t steps = 1'000'000) {
  for (int64_t i = 0; i < steps && !trainer.is_done(); ++i) {
    trainer.step();
  }
}

TEST(Trainer, LearnsWithBatchesOfAllSizesFromOneCompile) {
  Trainer trainer = make_trainer();
  EXPECT_EQ(trainer.trained_on(), 40);
  EXPECT_EQ(trainer.held_out(), 10);
  EXPECT_EQ(trainer.steps_per_epoch(), 6);  // five of 7 and one of 5
  run(trainer);
  EXPECT_EQ(trainer.steps(), 24);
  EXPECT_LT(trainer.losses().back(), trainer.losses().front() / 2);
  const Score score = trainer.validate();
  EXPECT_EQ(score.accuracy, 1.0);
  EXPECT_LT(score.loss, 0.3);
  EXPECT_EQ(trainer.program()->counters().specializations, 2) << "of one program: sizes 7 and 5";
}

TEST(Trainer, GivesTheSameBitsForTheSameSeedAlone) {
  Trainer a = make_trainer();
  Trainer b = make_trainer();
  Settings other = kSettings;
  other.seed = 4;
  Trainer c = make_trainer(other);
  run(a);
  run(b);
  run(c);
  EXPECT_EQ(a.losses(), b.losses());
  EXPECT_NE(a.losses(), c.losses());
}

TEST(Trainer, GoesOnFromACheckpointAsIfNothingHadBeen) {
  const std::filesystem::path file = std::filesystem::temp_directory_path() / "tenon_trainer_test.safetensors";
  for (const char* optimizer : {"momentum", "adamw"}) {
    Settings settings = kSettings;
    settings.optimizer = optimizer;
    Trainer whole = make_trainer(settings);
    run(whole);
    Trainer first = make_trainer(settings);
    run(first, 9);  // in the middle of an epoch
    first.validate();
    save_safetensors(file, first.checkpoint());
    const SafeTensors read = load_safetensors(file);
    EXPECT_EQ(settings_of(read, "f"), settings);
    Trainer second = make_trainer(settings);
    second.resume(read, "f");
    EXPECT_EQ(second.epoch(), 1);
    EXPECT_EQ(second.step_in_epoch(), 3);
    EXPECT_EQ(second.scores().size(), 1u);
    run(second);
    EXPECT_EQ(second.losses(), whole.losses());
    for (size_t i = 0; i < whole.values().size(); ++i) {
      EXPECT_TRUE(same_bits(whole.values()[i], second.values()[i]));
    }
  }
  std::filesystem::remove(file);
}

TEST(Trainer, FrozenParametersStayWhatTheyWere) {
  Settings settings = kSettings;
  settings.freeze = {"layers.0.*"};
  Trainer trainer = make_trainer(settings);
  run(trainer);
  const std::vector<Array> before = small_mlp().values;
  const std::vector<Array> after = trainer.values();
  EXPECT_TRUE(same_bits(before[0], after[0]));
  EXPECT_TRUE(same_bits(before[1], after[1]));
  EXPECT_FALSE(same_bits(before[2], after[2]));
}

TEST(Trainer, StatisticsOfBatchNormsMoveAndServeTheInferenceForm) {
  const auto build = [](bool training) {
    return resnet({.blocks = {1}, .width = 4, .classes = 2, .training = training});
  };
  Trainable model{.training = build(true), .inference = build(false), .values = initial_values(build(false))};
  const Objective objective = make_objective(model.training, {});
  freeze(model, objective, {});
  std::vector<Array> arrays{Array(f32, {6, 3, 8, 8}), points(6)[1]};
  for (int64_t i = 0; i < arrays[0].size(); ++i) {
    arrays[0].mutable_values<float>()[static_cast<size_t>(i)] = 3 + static_cast<float>(i % 7) * ((i / 192) % 2 ? 1 : 2);
  }
  Dataset data = data_for(model, objective, std::move(arrays));
  const std::vector<Parameter> parameters = model.training.parameters;
  const std::vector<Array> before = model.values;
  Trainer trainer(std::move(model), objective, {.rate = 0.01, .batch = 4, .epochs = 2}, std::move(data));
  run(trainer);
  bool moved = false;
  for (size_t i = 0; i < parameters.size(); ++i) {
    moved |= !parameters[i].trainable && !same_bits(before[i], trainer.values()[i]);
  }
  EXPECT_TRUE(moved);
  EXPECT_EQ(trainer.trained().inputs().size(), 1u);
}

TEST(Trainer, FixedBatchesLeaveTheRestOut) {
  const Value x = input("x", shape(f32, 4, 2));
  const Value w = input("w", shape(f32, 2, 2));
  Trainable model = trainable(Graph("fixed", {x, w}, {{"logits", matmul(x, w)}}), {{"w", Array(f32, {2, 2})}});
  const Objective objective = make_objective(model.training, {});
  freeze(model, objective, {});
  Dataset data = data_for(model, objective, points(10));
  EXPECT_EQ(data.fixed_batch, 4);
  Trainer trainer(std::move(model), objective, {.rate = 0.1, .batch = 32, .epochs = 1}, std::move(data));
  EXPECT_EQ(trainer.steps_per_epoch(), 2);
  run(trainer);
  EXPECT_LT(trainer.losses()[1], trainer.losses()[0]);
}

TEST(Trainer, RefusesCheckpointsOfOtherRunsAndTakesNothingOfThem) {
  Trainer trainer = make_trainer();
  run(trainer, 3);
  const SafeTensors good = trainer.checkpoint();
  const auto refused = [&](SafeTensors checkpoint) {
    Trainer fresh = make_trainer();
    const std::vector<Array> before = fresh.values();
    const std::string text = error_text([&] { fresh.resume(checkpoint, "f"); });
    EXPECT_TRUE(same_bits(before[0], fresh.values()[0]));
    EXPECT_EQ(fresh.steps(), 0);
    return text;
  };
  SafeTensors other = good;
  other.metadata["model"] = "resnet";
  EXPECT_EQ(refused(other), "f: a checkpoint of another model: of `resnet`, and this is `mlp`");
  other = good;
  other.metadata["examples"] = "51";
  EXPECT_EQ(refused(other), "f: a checkpoint of a run on 51 examples, and here are 50");
  other = good;
  other.arrays.erase(other.arrays.begin());
  EXPECT_EQ(refused(other), "f: a checkpoint of another model: it has no `layers.0.weight`");
  other = good;
  other.arrays[0].second = Array(f32, {2, 9});
  EXPECT_EQ(refused(other),
            "f: a checkpoint of another model: `layers.0.weight` is f32[2, 9] there and f32[2, 8] here");
  other = good;
  other.arrays[other.arrays.size() - 2].second = Array(f64, {1});
  EXPECT_TRUE(has_all(refused(other), {"3 steps", "f64[1]"}));
  EXPECT_EQ(error_text([] { settings_of({}, "f"); }), "f: no checkpoint of a training run: `format` is missing");
}

TEST(Trainer, NeedsExamplesOnBothSides) {
  Settings settings = kSettings;
  settings.held_out = 0.99;
  EXPECT_EQ(error_text([&] { make_trainer(settings, 2); }),
            "there are 2 examples, of which 2 are held out: batches of 1 cannot be made of both");
}

}  // namespace
}  // namespace tenon::train::trainer_test
