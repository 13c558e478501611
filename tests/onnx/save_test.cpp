// Networks in files: saved, loaded, run.
#include "tenon/save.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "support/arrays.h"
#include "support/error_text.h"
#include "tenon/load.h"
#include "tenon/modules.h"
#include "tenon/onnx.h"

namespace tenon::save_test {
namespace {

struct Net : nn::Module {
  nn::Conv2d conv = child("conv", nn::Conv2d(1, 2, {3}, {.padding = {1}}));
  nn::BatchNorm norm = child("norm", nn::BatchNorm(2));
  nn::MaxPool2d pool = child("pool", nn::MaxPool2d({2}));
  nn::Linear out = child("out", nn::Linear(8, 3));
  Tensor operator()(const Tensor& x) const { return out(pool(relu(norm(conv(x)))).flatten(1)); }
};

TEST(SaveOnnx, ANetworkRunsFromItsFileAtEveryBatch) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("tenon_save_" + std::to_string(::getpid()) + ".onnx");
  Net net;
  save_onnx(net, file, {{"image", tensor(Array(f32, {1, 1, 4, 4}), {"batch", 1, 4, 4})}});
  const LoadedModel model = load(file, {.onnx = {}, .compile = {.disk_cache = false}});
  EXPECT_EQ(model.inputs()[0], (OnnxPort{"image", shape(f32, "batch", 1, 4, 4)}));
  net.eval();
  for (const int64_t batch : {1, 3}) {
    const Array image = Array::full(f32, {batch, 1, 4, 4}, 0.25);
    EXPECT_TRUE(close(model.run({{"image", image}}).at("output"), net(tensor(image)).to_array(), 1e-4, 1e-5));
  }
  std::vector<OnnxWeight> weights;
  import_onnx(file, {.weights = &weights});
  std::vector<std::string> names;
  for (const OnnxWeight& weight : weights) {
    names.push_back(weight.name);
  }
  std::ranges::sort(names);
  EXPECT_EQ(names, (std::vector<std::string>{"conv.bias", "conv.weight", "norm.bias", "norm.running_mean",
                                             "norm.running_var", "norm.weight", "out.bias", "out.weight"}));
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace tenon::save_test
