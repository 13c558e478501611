#include "generation/decoder.h"

#include <algorithm>

#include "base/fail.h"
#include "tenon/onnx.h"
#include "tenon/program_file.h"

namespace tenon::generation {
namespace {

constexpr int64_t kRead = 64;  // the places that are read are a multiple of this: few sizes, which are prepared once

std::pair<DecoderFacts, Executable> loaded_folder(const std::filesystem::path& folder, LoadOptions options) {
  auto [facts, file] = read_genai_config(folder);
  if (!std::filesystem::exists(file)) {
    fail("`{}` has no file `{}`, which its genai_config.json names", folder.string(), file.filename().string());
  }
  const OnnxSignature signature = onnx_signature(file);
  const auto find = [&](const std::string& name) {
    const auto at = std::ranges::find(signature.inputs, name, &OnnxPort::name);
    if (at == signature.inputs.end()) {
      fail("`{}` has no input `{}`, which its genai_config.json names", file.string(), name);
    }
    return at->shape;
  };
  find(facts.ids);
  for (std::string* name : {&facts.mask, &facts.positions}) {
    if (std::ranges::find(signature.inputs, *name, &OnnxPort::name) == signature.inputs.end()) {
      name->clear();
    }
  }
  for (const auto& [past, present] : facts.caches) {
    const Shape shape = find(past);
    if (shape.rank() != 4) {
      fail("`{}`: the cache `{}` is {}, must have four axes", file.string(), past, shape.to_string());
    }
    facts.size = shape.axis(2).to_string();
    options.donate.push_back({past, present});
  }
  for (const OnnxPort& input : signature.inputs) {
    const bool is_cache =
        std::ranges::find(facts.caches, input.name, &std::pair<std::string, std::string>::first) != facts.caches.end();
    if (!is_cache && input.name != facts.ids && input.name != facts.mask && input.name != facts.positions) {
      fail("`{}` takes `{}`, which no prompt gives: only decoders of texts are run", file.string(), input.name);
    }
  }
  facts.is_batched = signature.operators.contains("GroupQueryAttention");  // which tells texts apart by their masks
  const LoadedModel model = load(file, options);
  if (const std::vector<std::string> values = model.value_inputs(); !values.empty()) {
    fail("`{}` is compiled anew for each value of `{}`: it is no decoder of texts of all lengths", file.string(),
         values.front());
  }
  return {std::move(facts), model.executable()};
}

std::pair<DecoderFacts, Executable> loaded_program(const std::filesystem::path& file) {
  const ProgramFileInfo info = inspect_program(file.string(), {.verify = false});
  const auto found = info.metadata.find("generation");
  if (found == info.metadata.end()) {
    fail("`{}` is a program, but none that continues texts: `tenon generate FOLDER --save FILE` writes such",
         file.string());
  }
  return {parse_decoder_facts(found->second, "`" + file.string() + "`: its metadata"), load_program(file.string())};
}

/// Integers as an input has them.
Array integers_of(Dtype dtype, std::vector<int64_t> dims, const std::vector<int64_t>& values) {
  const Array wide = Array::from<int64_t>(std::move(dims), values);
  return dtype == Dtype::i64 ? wide : wide.cast(dtype);
}

size_t port_of(const std::vector<Port>& ports, const std::string& name, std::string_view what) {
  const auto at = std::ranges::find(ports, name, &Port::name);
  if (at == ports.end()) {
    fail("the decoder has no {} `{}`", what, name);
  }
  return static_cast<size_t>(at - ports.begin());
}

}  // namespace

Decoder::Decoder(const std::filesystem::path& model, const LoadOptions& options) {
  const bool is_folder = std::filesystem::is_directory(model);
  if (is_folder && std::filesystem::exists(model / "genai_config.json")) {
    auto [facts, executable] = loaded_folder(model, options);
    facts_ = std::move(facts);
    model_ = std::move(executable);
  } else if (!is_folder && is_program_file(model.string())) {
    auto [facts, executable] = loaded_program(model);
    facts_ = std::move(facts);
    model_ = std::move(executable);
  } else if (is_folder && std::filesystem::exists(model / "config.json")) {
    fail("`{}` is a folder of transformers: `tenon generate {} --save FILE` builds a program of it, which is run here",
         model.string(), model.string());
  } else {
    fail("`{}` is neither a folder with a genai_config.json nor a program", model.string());
  }
  find_ports();
}

void Decoder::find_ports() {
  const std::vector<Port>& inputs = model_->inputs();
  for (const auto& [past, present] : facts_.caches) {
    cache_inputs_.push_back(port_of(inputs, past, "input"));
    cache_outputs_.push_back(port_of(model_->outputs(), present, "output"));
  }
  logits_ = port_of(model_->outputs(), facts_.logits, "output");
  const Shape& logits = model_->outputs()[logits_].shape;
  const auto words = logits.rank() == 3 ? logits.extent(2).constant() : std::nullopt;
  if (!words || *words < facts_.vocabulary || model_->outputs().size() != cache_outputs_.size() + 1) {
    fail(
        "the decoder gives {} outputs, and its logits are {}: they must be of [texts, tokens, {} words], and all else "
        "caches",
        model_->outputs().size(), logits.to_string(), facts_.vocabulary);
  }
  words_ = *words;
}

std::vector<CacheShape> Decoder::cache_shapes() const {
  std::vector<CacheShape> shapes;
  for (const size_t input : cache_inputs_) {
    shapes.push_back(cache_shape_of(model_->inputs()[input]));
  }
  return shapes;
}

std::vector<float> Decoder::run(const Batch& batch, const Caches& caches, int64_t first, int threads) const {
  const std::vector<Port>& ports = model_->inputs();
  const int64_t most = *std::ranges::max_element(batch.begin);
  RunOptions options{.threads = threads};
  std::vector<Array> given;  // views look at them
  given.reserve(ports.size());
  std::vector<TensorView> inputs(ports.size());
  const auto give = [&](const std::string& name, std::vector<int64_t> dims, const std::vector<int64_t>& values) {
    const size_t at = port_of(ports, name, "input");
    given.push_back(integers_of(ports[at].shape.dtype(), std::move(dims), values));
    inputs[at] = view_of(given.back());
  };
  give(facts_.ids, {batch.rows, batch.count}, batch.ids);
  if (facts_.takes_begin()) {
    give(facts_.begin, {batch.rows}, batch.begin);
    give(facts_.last, {batch.rows, 1}, batch.last);
    const int64_t used = (most + batch.count + kRead - 1) / kRead * kRead;
    options.bindings.set(facts_.size, std::min(caches.capacity(), used));
  } else {
    const int64_t total = most + batch.count;
    std::vector<int64_t> mask;
    std::vector<int64_t> positions;
    for (size_t row = 0; row < static_cast<size_t>(batch.rows); ++row) {
      for (int64_t i = 0; i < total; ++i) {
        mask.push_back(i <= batch.begin[row] + batch.last[row] ? 1 : 0);
      }
      for (int64_t i = 0; i < batch.count; ++i) {
        positions.push_back(batch.begin[row] + i);
      }
    }
    if (!facts_.mask.empty()) {
      give(facts_.mask, {batch.rows, total}, mask);
    }
    if (!facts_.positions.empty()) {
      give(facts_.positions, {batch.rows, batch.count}, positions);
    }
    options.bindings.set(facts_.size, most);
  }

  const Dtype dtype = model_->outputs()[logits_].shape.dtype();
  const int64_t asked = facts_.takes_begin() ? 1 : batch.count;
  Array logits = Array::uninitialized(dtype, {batch.rows, asked, words_});
  std::vector<TensorView> outputs(model_->outputs().size());
  outputs[logits_] = writable_view_of(logits);
  const std::vector<TensorView> views = caches.of(first, first + batch.rows);
  for (size_t i = 0; i < views.size(); ++i) {
    inputs[cache_inputs_[i]] = views[i];
    outputs[cache_outputs_[i]] = views[i];
  }
  model_->run_into(inputs, outputs, options);

  const Array wide = dtype == Dtype::f32 ? logits : logits.cast(Dtype::f32);
  std::vector<float> result;
  for (int64_t row = 0; row < batch.rows; ++row) {
    const int64_t token = asked == 1 ? 0 : batch.last[static_cast<size_t>(row)];
    const auto of_token = wide.values<float>().subspan(static_cast<size_t>((row * asked + token) * words_),
                                                       static_cast<size_t>(facts_.vocabulary));
    result.insert(result.end(), of_token.begin(), of_token.end());
  }
  return result;
}

}  // namespace tenon::generation
