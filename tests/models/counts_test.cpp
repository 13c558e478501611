// Full-size models by inference alone: parameters and multiply-accumulates.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "shape/constraint_set.h"
#include "support/error_text.h"
#include "tenon/models.h"
#include "tenon/text.h"

namespace tenon::counts_test {
namespace {

int64_t macs(const Model& model, const Bindings& bindings) { return evaluate(count_macs(model.graph), bindings); }

const Bindings kImage{{"batch", 1}, {"height", 224}, {"width", 224}};

TEST(ModelCounts, Parameters) {
  EXPECT_EQ(find_model("resnet18").build().parameter_count(), 11'689'512);
  EXPECT_EQ(find_model("resnet50").build().parameter_count(), 25'557'032);
  EXPECT_EQ(find_model("mobilenet_v2").build().parameter_count(), 3'504'872);
  EXPECT_EQ(find_model("efficientnet_b0").build().parameter_count(), 5'288'548);
  EXPECT_EQ(find_model("vit_b16").build().parameter_count(), 86'567'656);
  EXPECT_EQ(find_model("bert_base").build().parameter_count(), 85'054'464);
  EXPECT_EQ(find_model("gpt2").build().parameter_count(), 124'439'808);
}

TEST(ModelCounts, MultiplyAccumulates) {
  EXPECT_NEAR(static_cast<double>(macs(find_model("resnet18").build(), kImage)) / 1e9, 1.814, 0.001);
  EXPECT_NEAR(static_cast<double>(macs(find_model("resnet50").build(), kImage)) / 1e9, 4.089, 0.001);
  EXPECT_NEAR(static_cast<double>(macs(find_model("mobilenet_v2").build(), kImage)) / 1e9, 0.301, 0.001);
  EXPECT_NEAR(static_cast<double>(macs(find_model("vit_b16").build(), {{"batch", 1}})) / 1e9, 17.564, 0.001);
  EXPECT_NEAR(static_cast<double>(macs(find_model("bert_base").build(), {{"batch", 1}, {"seq", 128}})) / 1e9, 11.174,
              0.001);
}

TEST(ModelCounts, AreExpressionsOfTheAxes) {
  const Extent count = count_macs(find_model("mlp").build().graph);
  EXPECT_EQ(count.to_string(), "668672*batch");
}

TEST(ModelTable, EveryModelBuildsPrintsAndReadsBack) {
  for (const ModelEntry& entry : model_table()) {
    const Model model = entry.build();
    EXPECT_EQ(model.graph.inputs().size(), model.data_inputs + model.parameters.size()) << entry.name;
    EXPECT_TRUE(parse_graph(to_text(model.graph)) == model.graph) << entry.name;
    EXPECT_FALSE(entry.doc.empty());
  }
  EXPECT_NE(error_text([] { find_model("alexnet"); }).find("there is no model called `alexnet`"), std::string::npos);
}

TEST(ModelTable, TrainingFormsHaveTheSameParametersAndUpdateStatistics) {
  const auto names = [](const Model& model) {
    std::vector<std::string> all;
    for (const Parameter& parameter : model.parameters) {
      all.push_back(parameter.name);
    }
    return all;
  };
  int forms = 0;
  for (const ModelEntry& entry : model_table()) {
    const Model model = entry.build();
    const bool has_statistics = std::ranges::any_of(model.parameters, [](const Parameter& p) { return !p.trainable; });
    EXPECT_EQ(entry.build_training != nullptr, has_statistics) << entry.name;
    if (entry.build_training != nullptr) {
      ++forms;
      const Model training = entry.build_training();
      EXPECT_EQ(names(model), names(training)) << entry.name;
      EXPECT_GT(training.graph.outputs().size(), model.graph.outputs().size()) << entry.name;
    }
  }
  EXPECT_EQ(forms, 5);
}

TEST(ModelOptions, AreChecked) {
  EXPECT_EQ(error_text([] { vit({.image = 10, .patch = 4}); }), "vit: option `patch` must divide the image's size");
  EXPECT_EQ(error_text([] { vit({.image = 8, .patch = 0}); }), "vit: option `patch` must divide the image's size");
  EXPECT_EQ(error_text([] { bert({.heads = 0}); }), "bert: option `heads` must divide the width");
  EXPECT_EQ(error_text([] { gpt2({.heads = 5}); }), "gpt2: option `heads` must divide the width");
  EXPECT_NE(error_text([] { unet({.levels = -1}); }), "no error");
  EXPECT_NE(error_text([] { mobilenet_v2({.width = std::nan("")}); }), "no error");
  EXPECT_NE(error_text([] { mlp({.layers = 0}); }), "no error");
}

TEST(ModelTable, SpatialAxesStaySymbolic) {
  const Model model = find_model("resnet18").build();
  EXPECT_EQ(model.graph.outputs()[0].value.shape().to_string(), "f32[batch, 1000]");
  EXPECT_EQ(macs(model, {{"batch", 2}, {"height", 224}, {"width", 224}}), 2 * macs(model, kImage));
  EXPECT_LT(macs(model, {{"batch", 1}, {"height", 97}, {"width", 131}}), macs(model, kImage));
}

}  // namespace
}  // namespace tenon::counts_test
