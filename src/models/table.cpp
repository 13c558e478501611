#include "base/fail.h"
#include "tenon/models.h"

namespace tenon {
namespace {

constexpr ModelEntry kModels[] = {
    {"mlp", "three dense layers on 784 inputs", "batch=1", [] { return mlp(); }},
    {"small_cnn", "two convolutions and a dense layer on 28 x 28 images", "batch=1", [] { return small_cnn(); }},
    {"resnet18", "ResNet-18", "batch=1, height=224, width=224", [] { return resnet(); },
     [] { return resnet({.training = true}); }},
    {"resnet50", "ResNet-50", "batch=1, height=224, width=224",
     [] { return resnet({.blocks = {3, 4, 6, 3}, .bottleneck = true}); },
     [] { return resnet({.blocks = {3, 4, 6, 3}, .bottleneck = true, .training = true}); }},
    {"mobilenet_v2", "MobileNet-V2", "batch=1, height=224, width=224", [] { return mobilenet_v2(); },
     [] { return mobilenet_v2({.training = true}); }},
    {"efficientnet_b0", "EfficientNet-B0", "batch=1, height=224, width=224", [] { return efficientnet_b0(); },
     [] { return efficientnet_b0({.training = true}); }},
    {"vit_b16", "vision transformer ViT-B/16", "batch=1", [] { return vit(); }},
    {"bert_base", "BERT-base encoder on hidden states", "batch=1, seq=128", [] { return bert(); }},
    {"bert_base_tokens", "BERT-base with embeddings", "batch=1, seq=128", [] { return bert({.vocabulary = 30522}); }},
    {"gpt2", "GPT-2 decoder with a key/value cache", "batch=1, seq=1, past=127, total=1024", [] { return gpt2(); }},
    {"unet", "U-Net of four levels", "batch=1, rows=16, columns=16", [] { return unet(); },
     [] { return unet({.training = true}); }},
    {"lstm_lm", "two-layer LSTM language model", "batch=1, seq=128", [] { return lstm_lm(); }},
};

}  // namespace

std::span<const ModelEntry> model_table() { return kModels; }

const ModelEntry& find_model(std::string_view name) {
  std::string names;
  for (const ModelEntry& entry : kModels) {
    if (entry.name == name) {
      return entry;
    }
    names += (names.empty() ? "" : ", ") + std::string(entry.name);
  }
  fail("there is no model called `{}`; there is: {}", name, names);
}

}  // namespace tenon
