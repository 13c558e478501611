// Requests that share runs of a decoder: they join and leave between steps.
#pragma once

#include <atomic>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <vector>

#include "generation/decoder.h"
#include "tenon/token_generator.h"

namespace tenon::generation {

/// One prompt and what becomes of it. The engine alone changes it, under its lock; others read it when it is done.
struct Request {
  Request(std::vector<int64_t> prompt, const GenerateOptions& asked);

  std::vector<int64_t> tokens;  // of the prompt, then the new ones
  int64_t prompt_tokens = 0;
  int64_t most = 0;  // new tokens
  GenerateOptions options;
  Sampler sampler;
  int64_t place = 0;                       // how many tokens the caches hold
  std::atomic<bool> is_cancelled = false;  // somebody asked for it
  std::atomic<bool> is_done = false;       // set last
  Generation result = {};
  std::exception_ptr error = nullptr;
  double begin = 0;  // seconds of a clock

  int64_t new_tokens() const { return static_cast<int64_t>(tokens.size()) - prompt_tokens; }
  /// Places of the caches that it may come to.
  int64_t needed() const { return prompt_tokens + most - 1; }
  bool is_ended() const { return error != nullptr || !result.reason.empty(); }
};

using Requests = std::vector<std::shared_ptr<Request>>;

class Engine {
 public:
  Engine(const std::filesystem::path& model, const GeneratorOptions& options);

  const Decoder& decoder() const { return decoder_; }

  /// Waits for no step that goes on.
  std::shared_ptr<Request> submit(const std::vector<int64_t>& prompt, const GenerateOptions& options);
  bool step();
  TokenGenerator::State state();

 private:
  int64_t capacity_for(int64_t places) const;
  void drop_cancelled();
  void admit();
  void read();
  void decode(size_t count);
  void run(size_t begin, size_t end, int64_t most_tokens);
  void add_token(Request& request, std::span<const float> logits) const;
  void remove_ended();
  void remove(size_t row);
  void put(size_t source, size_t target);

  Decoder decoder_;
  GeneratorOptions options_;
  std::mutex stepping_;  // what a step changes
  std::mutex mutex_;     // the two below
  std::deque<std::shared_ptr<Request>> waiting_;
  TokenGenerator::State state_;
  Requests rows_;  // of the caches: the first ones decode, the others are prompts
  size_t decoding_ = 0;
  Caches caches_;
};

}  // namespace tenon::generation
