// Texts of a small decoder whose next token anybody can compute: the one that the tokens so far, which its cache holds,
// add up to.
#include "tenon/token_generator.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "support/error_text.h"
#include "tenon/build_program.h"
#include "tenon/indexing.h"
#include "tenon/ops.h"

namespace tenon::token_generator_test {
namespace {

constexpr int64_t kWords = 13;
constexpr int64_t kEnd = 12;  // no sum modulo 12 is

using Tokens = std::vector<int64_t>;

/// logits[batch, asked, words]: highest at the sum of all tokens up to the one asked for, modulo 12.
Graph decoder() {
  const Value ids = input("ids", shape(i64, "batch", "seq"));
  const Value begin = input("begin", shape(i64, "batch"));
  const Value last = input("last", shape(i64, "batch", "asked"));
  const Value cache = input("cache", shape(f32, "batch", "capacity", 1, 1));
  const Extent batch = Extent::name("batch");
  const Extent used = Extent::name("used");
  const Value places = expand_dims(begin, {1}) + iota(shape(i64, "batch", "seq"), 1);
  const Value rows = stack({iota(shape(i64, "batch", "seq"), 0), places}, -1);
  const Value written = scatter_nd(cache, rows, expand_dims(cast(ids, f32), {2, 3}));
  const Value seen = reshape(slice(written, {0, 0, 0, 0}, {batch, used, 1, 1}), {batch, 1, used});
  const Value end = expand_dims(expand_dims(begin, {1}) + last, {2});
  const Value counts = le(iota(shape(i64, 1, 1, used), 2), end);
  const Value sums = reduce_sum(select(counts, seen, 0), {2});
  const Value next = sums - floor(sums / 12.0) * 12.0;
  const Value word = cast(iota(shape(i64, 1, 1, kWords), 2), f32);
  const Value logits = -abs(word - expand_dims(next, {2}));
  return {"sums", {ids, begin, last, cache}, {{"logits", logits}, {"cache.new", written, 3}}};
}

constexpr const char* kFacts =
    R"({"ids": "ids", "begin": "begin", "last": "last", "logits": "logits", "size": "used",
        "caches": [["cache", "cache.new"]], "context": 700, "vocabulary": 13, "ends": [12], "is_batched": true})";

Tokens expected(Tokens prompt, int64_t count) {
  Tokens result;
  for (int64_t i = 0; i < count; ++i) {
    result.push_back(std::accumulate(prompt.begin(), prompt.end(), int64_t{0}) % 12);
    prompt.push_back(result.back());
  }
  return result;
}

class Texts : public testing::Test {
 protected:
  static std::string path(const std::string& name) {
    return (std::filesystem::path(testing::TempDir()) / ("tenon_generator_" + std::to_string(::getpid()) + name))
        .string();
  }
  static void SetUpTestSuite() { build_program(decoder(), path(".tenon"), {.metadata = {{"generation", kFacts}}}); }
  static void TearDownTestSuite() { std::filesystem::remove(path(".tenon")); }
};

TEST_F(Texts, OfAllLengthsFromOneProgram) {
  const TokenGenerator generator(path(".tenon"));
  EXPECT_EQ(generator.vocabulary(), kWords);
  EXPECT_EQ(generator.context(), 700);
  for (const size_t length : {size_t{1}, size_t{2}, size_t{63}, size_t{64}, size_t{65}, size_t{600}}) {
    const Tokens prompt(length, 5);
    const Generation result = generator.generate(prompt, {.max_new_tokens = 20});
    EXPECT_EQ(result.ids, expected(prompt, 20)) << length;
    EXPECT_EQ(result.reason, "length");
    EXPECT_EQ(result.prompt_tokens, static_cast<int64_t>(length));
    EXPECT_LE(result.first_seconds, result.seconds);
  }
}

TEST_F(Texts, EndByTokensAndByTheContext) {
  const TokenGenerator generator(path(".tenon"));
  const Generation full = generator.generate(Tokens(699, 1), {.max_new_tokens = 20});
  EXPECT_EQ(full.reason, "context");
  EXPECT_EQ(full.ids.size(), 2);
  const Tokens all = expected({1, 2}, 10);  // 3, 6, 0, 0, ...
  Tokens told;
  const Generation stopped = generator.generate(
      {1, 2}, {.max_new_tokens = 10, .stop_ids = {0}, .on_token = [&](int64_t token) { told.push_back(token); }});
  EXPECT_EQ(stopped.reason, "stop");
  EXPECT_EQ(stopped.ids, (Tokens{3, 6}));
  EXPECT_EQ(told, stopped.ids);
}

/// Texts join and leave between steps, more of them than there are rows; each is what it is alone.
TEST_F(Texts, JoinAndLeaveBetweenSteps) {
  const TokenGenerator generator(path(".tenon"), {.rows = 4});
  std::mt19937 random(3);
  struct Asked {
    Tokens prompt;
    int64_t count;
    GenerationRequest request;
    bool is_cancelled = false;
  };
  std::vector<Asked> all;
  for (int i = 0; i < 40; ++i) {
    Tokens prompt(1 + random() % (i % 7 == 0 ? 600 : 30));
    for (int64_t& token : prompt)
      token = static_cast<int64_t>(random() % 12);
    const auto count = static_cast<int64_t>(1 + random() % 40);
    all.push_back({prompt, count, generator.submit(prompt, {.max_new_tokens = count})});
    for (size_t steps = random() % 4; steps > 0; --steps)
      generator.step();
    if (i % 10 == 3) {
      Asked& one = all[random() % all.size()];
      one.is_cancelled = !one.request.is_done();
      one.request.cancel();
    }
    EXPECT_LE(generator.state().running, 4);
  }
  while (generator.step()) {
  }
  for (const Asked& each : all) {
    ASSERT_TRUE(each.request.is_done());
    const Generation result = each.request.result();
    const Tokens right = expected(each.prompt, each.count);
    ASSERT_LE(result.ids.size(), right.size());
    EXPECT_EQ(result.ids, Tokens(right.begin(), right.begin() + static_cast<std::ptrdiff_t>(result.ids.size())));
    EXPECT_EQ(result.reason, each.is_cancelled ? "cancelled" : "length");
  }
  EXPECT_EQ(generator.state().waiting, 0);
  EXPECT_EQ(generator.state().running, 0);
}

TEST_F(Texts, OfSeveralThreads) {
  const TokenGenerator generator(path(".tenon"), {.rows = 3});
  std::vector<std::thread> threads;
  std::vector<int> wrong(6);
  for (size_t thread = 0; thread < wrong.size(); ++thread) {
    threads.emplace_back([&, thread] {
      for (int64_t i = 0; i < 5; ++i) {
        const Tokens prompt(thread + 1, i);
        wrong[thread] += generator.generate(prompt, {.max_new_tokens = 9}).ids == expected(prompt, 9) ? 0 : 1;
      }
    });
  }
  for (std::thread& each : threads)
    each.join();
  EXPECT_EQ(wrong, std::vector<int>(6));
}

TEST_F(Texts, CachesStayWithinTheirBytes) {
  const TokenGenerator generator(path(".tenon"), {.rows = 16, .cache_bytes = 2 * 128 * 4});
  const std::vector<Tokens> prompts(5, Tokens(100, 1));
  for (const Generation& each : generator.generate(prompts, {.max_new_tokens = 20})) {
    EXPECT_EQ(each.ids, expected(prompts[0], 20));
  }
  EXPECT_LE(generator.state().cache_bytes, 2 * 128 * 4);
  EXPECT_EQ(
      error_text([&] { generator.submit(Tokens(300, 1)); }),
      "300 tokens of the prompt and 128 new ones take 2048 bytes of cache, and 1024 are allowed: ask for fewer, or "
      "allow more");
}

TEST_F(Texts, SeedsGiveTheSameText) {
  const TokenGenerator generator(path(".tenon"));
  const auto of_seed = [&](uint64_t seed) {
    return generator.generate({1}, {.max_new_tokens = 20, .sampling = {.temperature = 3, .seed = seed}}).ids;
  };
  EXPECT_EQ(of_seed(1), of_seed(1));
  EXPECT_NE(of_seed(1), of_seed(2));
}

TEST_F(Texts, WhatCannotBeIsTold) {
  const TokenGenerator generator(path(".tenon"));
  EXPECT_EQ(error_text([&] { generator.submit({}); }), "the prompt has no tokens");
  EXPECT_EQ(error_text([&] { generator.submit({1, 13}); }), "token 13 is none of the 13 that the model knows");
  EXPECT_EQ(error_text([&] { generator.submit({-1}); }), "token -1 is none of the 13 that the model knows");
  EXPECT_EQ(error_text([&] { generator.submit(Tokens(700, 1)); }),
            "the prompt has 700 tokens, the model's context 700");
  EXPECT_EQ(error_text([&] { generator.submit({1}, {.max_new_tokens = 0}); }),
            "max_new_tokens is 0, must be at least 1");
  EXPECT_EQ(error_text([&] { generator.submit({1}).result(); }),
            "the text is not done: TokenGenerator::step() brings it on");
  EXPECT_EQ(error_text([] { TokenGenerator(path(".tenon"), {.rows = 0}); }), "rows is 0, must be at least 1");
  EXPECT_EQ(error_text([] { TokenGenerator("nowhere"); }),
            "`nowhere` is neither a folder with a genai_config.json nor a program");
  build_program(decoder(), path("other.tenon"));
  EXPECT_NE(error_text([] { TokenGenerator(path("other.tenon")); }).find("is a program, but none that continues texts"),
            std::string::npos);
  for (const char* const facts : {"{", "[]", "{}", R"({"ids": 3})"}) {
    build_program(decoder(), path("other.tenon"), {.metadata = {{"generation", facts}}});
    EXPECT_NE(error_text([] { TokenGenerator(path("other.tenon")); }).find("its metadata"), std::string::npos) << facts;
  }
  std::filesystem::remove(path("other.tenon"));
}

/// Configurations of onnxruntime-genai that lie: one line that names the file.
TEST_F(Texts, FoldersThatAreNoModels) {
  const std::filesystem::path folder = path("folder");
  std::filesystem::create_directory(folder);
  const std::string whole =
      R"({"model": {"context_length": 8, "vocab_size": 4, "decoder": {"filename": "model.onnx", "num_hidden_layers": 1,
          "inputs": {"input_ids": "ids", "past_key_names": "k.%d", "past_value_names": "v.%d"},
          "outputs": {"logits": "y", "present_key_names": "K.%d", "present_value_names": "V.%d"}}}})";
  const auto error_of = [&](const std::string& text) {
    std::ofstream(folder / "genai_config.json") << text;
    return error_text([&] { TokenGenerator{folder}; });
  };
  EXPECT_NE(error_of("{").find("genai_config.json"), std::string::npos);
  EXPECT_NE(error_of("{}").find("has no entry 'model'"), std::string::npos);
  EXPECT_NE(error_of(R"({"model": 3})").find("the entry 'model' must be an object"), std::string::npos);
  EXPECT_NE(error_of(R"({"model": {"decoder": {"inputs": {}, "outputs": {}}}})").find("has no entry 'input_ids'"),
            std::string::npos);
  EXPECT_NE(error_of(whole).find("has no file `model.onnx`, which its genai_config.json names"), std::string::npos);
  std::string without = whole;
  without.replace(without.find("k.%d"), 4, "k");
  EXPECT_NE(error_of(without).find("the name `k` has no %d"), std::string::npos);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace tenon::token_generator_test
