// Language models: prompts and new tokens as ids, several texts at once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tenon/load.h"
#include "tenon/sampling.h"

namespace tenon {

struct GeneratorOptions {
  int64_t rows = 16;        ///< texts that run at a time; others wait
  int64_t cache_bytes = 0;  ///< at most so many bytes of keys and values; 0: as many as `rows` texts take
  int threads = 0;          ///< at most so many; 0: as many as the machine has
  LoadOptions load = {};    ///< of an ONNX decoder
};

struct GenerateOptions {
  int64_t max_new_tokens = 128;
  SamplingOptions sampling = {};
  std::vector<int64_t> stop_ids = {};  ///< tokens that end the text, beside those of the model
  /// Told of each new token as soon as it is there, on the thread that steps. It may call cancel() and submit(),
  /// and must not throw.
  std::function<void(int64_t token)> on_token = {};
};

/// What one prompt gave.
struct Generation {
  std::vector<int64_t> ids;  ///< of the new tokens, without the one that ended the text
  int64_t prompt_tokens = 0;
  std::string reason;        ///< why it ended: "stop" (a token), "length", "context" or "cancelled"
  double first_seconds = 0;  ///< to the first token
  double seconds = 0;        ///< in all
};

namespace generation {
class Engine;
struct Request;
}  // namespace generation

/// A prompt that was submitted. A handle, cheap to copy.
class GenerationRequest {
 public:
  bool is_done() const;
  /// What it gave; the Error of its run. Error: it is not done.
  Generation result() const;
  /// It leaves when the step is over that runs now, and its place is free.
  void cancel() const;

 private:
  friend class TokenGenerator;
  explicit GenerationRequest(std::shared_ptr<generation::Request> request) : request_(std::move(request)) {}

  std::shared_ptr<generation::Request> request_;
};

/// A decoder that is compiled once and continues prompts of any length. Requests join and leave between steps; keys and
/// values stay where they are, and a step writes the places of its tokens. A handle, cheap to copy. All functions may
/// be called from several threads; steps run one after the other.
///   TokenGenerator generator("folder");
///   generator.generate({1, 5, 9}, {.max_new_tokens = 40}).ids
class TokenGenerator {
 public:
  /// A folder of onnxruntime-genai's model builder (genai_config.json and an ONNX decoder), or a program that Python's
  /// `TokenGenerator.save()` or `tenon generate FOLDER --save FILE` wrote. Errors name the file and what is wrong with
  /// it.
  explicit TokenGenerator(const std::filesystem::path& model, const GeneratorOptions& options = {});

  int64_t vocabulary() const;  ///< token ids are below it
  int64_t context() const;     ///< tokens of a prompt and its text together
  const Executable& model() const;

  /// Continues a prompt, together with those that were submitted.
  Generation generate(const std::vector<int64_t>& prompt, const GenerateOptions& options = {}) const;
  /// Several at once, in their order.
  std::vector<Generation> generate(std::span<const std::vector<int64_t>> prompts,
                                   const GenerateOptions& options = {}) const;

  /// A prompt that joins the others; step() brings all of them on. Error: no tokens, a token that the model does not
  /// know, more than its context or `cache_bytes` hold, an option that is out of its range.
  GenerationRequest submit(const std::vector<int64_t>& prompt, const GenerateOptions& options = {}) const;
  /// A part of a prompt, then a token for each text that runs; whether there was anything to do.
  bool step() const;

  /// How many requests wait or run, and bytes of keys and values.
  struct State {
    int64_t waiting = 0;
    int64_t running = 0;
    int64_t cache_bytes = 0;
  };
  State state() const;

 private:
  std::shared_ptr<generation::Engine> engine_;
};

}  // namespace tenon
