// Built-in models: real architectures with named axes and deterministic random weights.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/array.h"
#include "tenon/graph.h"

namespace tenon {

/// How a weight begins.
enum class Init : uint8_t { zeros, ones, random };

/// A weight, or a statistic that training keeps (not trainable).
struct Parameter {
  std::string name;
  Shape shape;  // concrete
  Init init = Init::random;
  double scale = 1;  // standard deviation of random weights
  bool trainable = true;

  int64_t size() const { return shape.size(); }
};

/// A graph whose inputs are data, then parameters. In training form, outputs after the first ones update statistics in
/// place: they alias the parameter's input.
struct Model {
  Graph graph;
  size_t data_inputs = 0;
  std::vector<Parameter> parameters;  // input data_inputs + i of the graph is parameter i

  /// Trainable numbers.
  int64_t parameter_count() const;
};

/// The weight's first value: the same for the same name and shape, in every process.
Array initial_value(const Parameter& parameter);
std::vector<Array> initial_values(const Model& model);

/// The model with its first weights, or with these, as constants; the inputs left are the data. Error: a value of
/// another dtype or other sizes than its parameter.
Graph with_weights(const Model& model);
Graph with_weights(const Model& model, const std::vector<Array>& values);

/// Multiply-accumulates of all products and convolutions in the graph, those in bodies included.
Extent count_macs(const Graph& graph);

struct MlpOptions {
  int64_t inputs = 784, hidden = 512, outputs = 10;
  int layers = 3;
};
/// x[batch, inputs] to logits, relu between.
Model mlp(const MlpOptions& options = {});

struct CnnOptions {
  int64_t channels = 1, width = 16, classes = 10;
  int64_t image = 28;  // a multiple of 4
};
/// image[batch, channels, size, size] to logits: two convolutions with pooling and a dense layer.
Model small_cnn(const CnnOptions& options = {});

struct ResNetOptions {
  std::vector<int> blocks = {2, 2, 2, 2};
  bool bottleneck = false;
  int64_t width = 64, classes = 1000;
  bool training = false;  // normalise by the batch and update running statistics
};
/// image[batch, 3, height, width] to logits. The default is ResNet-18; {3, 4, 6, 3} with bottlenecks is ResNet-50.
Model resnet(const ResNetOptions& options = {});

struct MobileNetOptions {
  double width = 1;
  int64_t classes = 1000;
  bool training = false;
};
/// MobileNet-V2: image[batch, 3, height, width] to logits.
Model mobilenet_v2(const MobileNetOptions& options = {});
/// EfficientNet-B0: image[batch, 3, height, width] to logits.
Model efficientnet_b0(const MobileNetOptions& options = {});

struct VitOptions {
  int64_t image = 224, patch = 16, width = 768, hidden = 3072, classes = 1000;
  int layers = 12, heads = 12;
};
/// Vision transformer: image[batch, 3, image, image] to logits. The default is ViT-B/16.
Model vit(const VitOptions& options = {});

struct BertOptions {
  int layers = 12, heads = 12;
  int64_t width = 768, hidden = 3072;
  int64_t vocabulary = 0;  // 0: the encoder alone, on hidden states x[batch, seq, width]
  int64_t positions = 512;
};
/// The encoder with a padding mask[batch, seq] (bool, true where there is a token). With a vocabulary the inputs are
/// token and segment numbers instead of hidden states. The default is BERT-base.
Model bert(const BertOptions& options = {});

struct GptOptions {
  int layers = 12, heads = 12;
  int64_t width = 768, vocabulary = 50257, positions = 1024;
};
/// A GPT-2 style decoder with a key/value cache: tokens[batch, seq] after `past` cached ones give logits[batch, seq,
/// vocabulary], and the caches keys/values[layers, batch, heads, total, depth] with the new entries written in place.
Model gpt2(const GptOptions& options = {});

struct UnetOptions {
  int64_t channels = 3, width = 64, classes = 2;
  int levels = 4;
  bool training = false;
};
/// U-Net: image[batch, channels, height, width] to logits of the same size; both sizes multiples of 2^levels.
Model unet(const UnetOptions& options = {});

struct LstmOptions {
  int64_t vocabulary = 10000, width = 256, hidden = 512;
  int layers = 2;
};
/// LSTM language model: tokens[seq, batch] to logits[seq, batch, vocabulary].
Model lstm_lm(const LstmOptions& options = {});

/// A built-in model by name, at its full size.
struct ModelEntry {
  std::string_view name;
  std::string_view doc;
  std::string_view typical;  // a usual binding, as Bindings::parse reads it
  Model (*build)();
  /// With the same parameters, and norms by the batch that update statistics. Null where no norm has any: `build`.
  Model (*build_training)() = nullptr;
};
std::span<const ModelEntry> model_table();
/// An Error that lists the names there are.
const ModelEntry& find_model(std::string_view name);

}  // namespace tenon
