#include "generation/engine.h"

#include <algorithm>
#include <bit>
#include <chrono>

#include "base/fail.h"

namespace tenon::generation {
namespace {

constexpr int64_t kChunk = 512;  // tokens of prompts in one run, between which the others go on
constexpr int64_t kLeastCapacity = 64;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

void end(Request& request, std::string reason) {
  request.result.reason = std::move(reason);
  request.result.seconds = now() - request.begin;
}

}  // namespace

Request::Request(std::vector<int64_t> prompt, const GenerateOptions& asked)
    : tokens(std::move(prompt)),
      prompt_tokens(static_cast<int64_t>(tokens.size())),
      options(asked),
      sampler(asked.sampling),
      begin(now()) {}

Engine::Engine(const std::filesystem::path& model, const GeneratorOptions& options)
    : decoder_(model, options.load), options_(options), caches_(decoder_.cache_shapes()) {
  if (options.rows < 1) {
    fail("rows is {}, must be at least 1", options.rows);
  }
  if (options.cache_bytes < 0) {
    fail("cache_bytes is {}, must not be negative", options.cache_bytes);
  }
}

/// A power of 2, but no more than the context needs.
int64_t Engine::capacity_for(int64_t places) const {
  const auto power = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(1, places))));
  const int64_t context = (decoder_.facts().context + kLeastCapacity - 1) / kLeastCapacity * kLeastCapacity;
  return std::min(std::max(kLeastCapacity, power), context);
}

std::shared_ptr<Request> Engine::submit(const std::vector<int64_t>& prompt, const GenerateOptions& options) {
  const DecoderFacts& facts = decoder_.facts();
  const auto count = static_cast<int64_t>(prompt.size());
  if (prompt.empty()) {
    fail("the prompt has no tokens");
  }
  for (const int64_t token : prompt) {
    if (token < 0 || token >= facts.vocabulary) {
      fail("token {} is none of the {} that the model knows", token, facts.vocabulary);
    }
  }
  if (count >= facts.context) {
    fail("the prompt has {} tokens, the model's context {}", count, facts.context);
  }
  if (options.max_new_tokens < 1) {
    fail("max_new_tokens is {}, must be at least 1", options.max_new_tokens);
  }
  auto request = std::make_shared<Request>(prompt, options);
  request->most = std::min(options.max_new_tokens, facts.context - count + 1);
  request->result.prompt_tokens = count;
  const std::lock_guard lock(mutex_);
  const int64_t needed = caches_.bytes_of(1, capacity_for(request->needed()));
  if (options_.cache_bytes > 0 && needed > options_.cache_bytes) {
    fail(
        "{} tokens of the prompt and {} new ones take {} bytes of cache, and {} are allowed: ask for fewer, or allow "
        "more",
        count, request->most, needed, options_.cache_bytes);
  }
  waiting_.push_back(request);
  return request;
}

TokenGenerator::State Engine::state() {
  const std::lock_guard lock(mutex_);
  TokenGenerator::State state = state_;
  state.waiting = static_cast<int64_t>(waiting_.size());
  return state;
}

bool Engine::step() {
  const std::lock_guard lock(stepping_);
  drop_cancelled();
  admit();
  const bool has_work = !rows_.empty();
  const size_t decoding = decoding_;
  if (rows_.size() > decoding) {
    read();
  }
  if (decoding > 0) {
    decode(decoding);
  }
  drop_cancelled();
  const std::lock_guard of_state(mutex_);
  state_.running = static_cast<int64_t>(rows_.size());
  state_.cache_bytes = caches_.bytes();
  return has_work;
}

void Engine::drop_cancelled() {
  for (const std::shared_ptr<Request>& each : rows_) {
    if (each->is_cancelled && !each->is_ended()) {
      end(*each, "cancelled");
    }
  }
  remove_ended();
  const std::lock_guard lock(mutex_);
  std::erase_if(waiting_, [](const std::shared_ptr<Request>& each) {
    if (each->is_cancelled) {
      end(*each, "cancelled");
      each->is_done = true;
    }
    return each->is_cancelled.load();
  });
}

void Engine::admit() {
  const std::lock_guard lock(mutex_);
  while (!waiting_.empty() && static_cast<int64_t>(rows_.size()) < options_.rows) {
    int64_t most = waiting_.front()->needed();
    for (const std::shared_ptr<Request>& each : rows_) {
      most = std::max(most, each->needed());
    }
    const int64_t needed = caches_.bytes_of(static_cast<int64_t>(rows_.size()) + 1, capacity_for(most));
    if (options_.cache_bytes > 0 && !rows_.empty() && needed > options_.cache_bytes) {
      return;
    }
    rows_.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
}

/// The next part of the first prompt, or the first whole prompts that make up one.
void Engine::read() {
  const size_t begin = decoding_;
  size_t last = begin + 1;
  if (decoder_.facts().is_batched && rows_[begin]->place == 0) {
    int64_t longest = rows_[begin]->prompt_tokens;
    for (; last < rows_.size(); ++last) {
      longest = std::max(longest, rows_[last]->prompt_tokens);
      if (static_cast<int64_t>(last - begin + 1) * longest > kChunk) {
        break;
      }
    }
  }
  run(begin, last, kChunk);
  while (decoding_ < rows_.size() && rows_[decoding_]->place == rows_[decoding_]->prompt_tokens) {
    ++decoding_;
  }
  remove_ended();
}

void Engine::decode(size_t count) {
  if (decoder_.facts().is_batched) {
    run(0, count, 1);
  } else {
    for (size_t row = 0; row < count; ++row) {
      run(row, row + 1, 1);
    }
  }
  remove_ended();
}

/// The next tokens of these rows, at most so many of each.
void Engine::run(size_t begin, size_t end_row, int64_t most_tokens) {
  Batch batch{.rows = static_cast<int64_t>(end_row - begin)};
  int64_t places = 0;
  for (size_t row = begin; row < end_row; ++row) {
    const Request& each = *rows_[row];
    const int64_t pending = std::min(most_tokens, static_cast<int64_t>(each.tokens.size()) - each.place);
    batch.begin.push_back(each.place);
    batch.last.push_back(pending - 1);
    batch.count = std::max(batch.count, pending);
    places = std::max(places, each.place);
  }
  for (size_t row = begin; row < end_row; ++row) {
    const auto from = rows_[row]->tokens.begin() + rows_[row]->place;
    const int64_t count = batch.last[row - begin] + 1;
    batch.ids.insert(batch.ids.end(), from, from + count);
    batch.ids.insert(batch.ids.end(), static_cast<size_t>(batch.count - count), 0);
  }
  try {
    const auto needed_rows = static_cast<int64_t>(rows_.size());
    int64_t rows = caches_.rows();
    while (rows < needed_rows) {
      rows = std::min(std::max<int64_t>(1, 2 * rows), options_.rows);
    }
    caches_.reserve(rows, capacity_for(places + batch.count));
    const std::vector<float> logits = decoder_.run(batch, caches_, static_cast<int64_t>(begin), options_.threads);
    const auto words = static_cast<size_t>(decoder_.facts().vocabulary);
    for (size_t row = begin; row < end_row; ++row) {
      Request& each = *rows_[row];
      each.place += batch.last[row - begin] + 1;
      if (each.place == static_cast<int64_t>(each.tokens.size())) {
        add_token(each, std::span(logits).subspan((row - begin) * words, words));
      }
    }
  } catch (const Error&) {  // of the run, which these requests have then; the others go on
    for (size_t row = begin; row < end_row; ++row) {
      rows_[row]->error = std::current_exception();
    }
  }
}

void Engine::add_token(Request& request, std::span<const float> logits) const {
  int64_t token = 0;
  try {
    token = request.sampler.choose(logits, request.tokens);
  } catch (const Error&) {
    request.error = std::current_exception();
    return;
  }
  if (request.result.first_seconds == 0) {
    request.result.first_seconds = now() - request.begin;
  }
  const auto is_in = [&](const std::vector<int64_t>& list) { return std::ranges::find(list, token) != list.end(); };
  if (is_in(decoder_.facts().ends) || is_in(request.options.stop_ids)) {
    end(request, "stop");
    return;
  }
  request.tokens.push_back(token);
  request.result.ids.push_back(token);
  if (request.options.on_token) {
    request.options.on_token(token);
  }
  if (request.new_tokens() == request.most) {
    end(request, request.most < request.options.max_new_tokens ? "context" : "length");
  }
}

void Engine::remove_ended() {
  for (size_t row = rows_.size(); row-- > 0;) {
    if (rows_[row]->is_ended()) {
      const std::shared_ptr<Request> ended = rows_[row];
      remove(row);
      ended->is_done = true;
    }
  }
}

/// The last text that decodes takes its place, and the last prompt that of the former.
void Engine::remove(size_t row) {
  if (row < decoding_) {
    put(--decoding_, row);
    row = decoding_;
  }
  put(rows_.size() - 1, row);
  rows_.pop_back();
}

void Engine::put(size_t source, size_t target) {
  if (source != target) {
    rows_[target] = rows_[source];
    if (rows_[target]->place > 0) {
      caches_.move(static_cast<int64_t>(source), static_cast<int64_t>(target), rows_[target]->place);
    }
  }
}

}  // namespace tenon::generation
