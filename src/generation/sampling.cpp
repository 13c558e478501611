#include "tenon/sampling.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "base/fail.h"
#include "kernel/scalar/philox.h"

namespace tenon {
namespace {

/// Tokens that are sorted first where only some of the most likely ones may be chosen.
constexpr size_t kMany = 1024;

void require(bool is_right, std::string_view name, double value) {
  if (!is_right) {
    fail("{} is {}, which is out of its range", name, value);
  }
}

/// So many tokens, the most likely one first; of equals the first.
std::vector<size_t> most_likely(std::span<const double> logits, size_t count) {
  std::vector<size_t> tokens(logits.size());
  std::iota(tokens.begin(), tokens.end(), size_t{0});
  const auto is_before = [&](size_t a, size_t b) { return logits[a] != logits[b] ? logits[a] > logits[b] : a < b; };
  if (count < tokens.size()) {
    std::nth_element(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(count), tokens.end(), is_before);
    tokens.resize(count);
  }
  std::ranges::sort(tokens, is_before);
  return tokens;
}

/// Candidates and how likely they are, not divided by what all are together.
struct Candidates {
  std::vector<size_t> tokens;  // empty: all, in their own order
  std::vector<double> likely;
};

double sum_of(std::span<const double> numbers) { return std::accumulate(numbers.begin(), numbers.end(), 0.0); }

Candidates candidates_of(std::span<const double> logits, double best, const SamplingOptions& options) {
  const auto likely_of = [&](double logit) { return std::exp((logit - best) / options.temperature); };
  Candidates all;
  const auto take = [&](size_t count) {
    all.tokens = most_likely(logits, count);
    all.likely.clear();
    for (const size_t token : all.tokens) {
      all.likely.push_back(likely_of(logits[token]));
    }
  };
  const size_t top = options.top_k == 0 ? logits.size() : std::min(logits.size(), static_cast<size_t>(options.top_k));
  if (top < logits.size()) {
    take(top);
  } else {
    std::ranges::transform(logits, std::back_inserter(all.likely), likely_of);
  }
  if (options.top_p == 1) {
    return all;
  }
  const double most = options.top_p * sum_of(all.likely);
  if (all.tokens.empty()) {
    take(std::min(kMany, logits.size()));
    if (sum_of(all.likely) < most) {
      take(logits.size());
    }
  }
  // A token may be chosen while those before it have less than `top_p` together.
  double sum = 0;
  size_t count = 0;
  while (count < all.likely.size() && (count == 0 || sum < most)) {
    sum += all.likely[count++];
  }
  all.tokens.resize(count);
  all.likely.resize(count);
  return all;
}

}  // namespace

Sampler::Sampler(const SamplingOptions& options) : options_(options) {
  require(std::isfinite(options.temperature) && options.temperature >= 0, "temperature", options.temperature);
  require(options.top_k >= 0, "top_k", static_cast<double>(options.top_k));
  require(options.top_p > 0 && options.top_p <= 1, "top_p", options.top_p);
  require(std::isfinite(options.repetition_penalty) && options.repetition_penalty > 0, "repetition_penalty",
          options.repetition_penalty);
  if (options.seed) {
    seed_ = *options.seed;
  } else {
    std::random_device device;
    seed_ = uint64_t{device()} << 32 | device();
  }
}

double Sampler::next_number() {
  const uint64_t high = random_word(seed_, 0, 2 * drawn_);
  const uint64_t low = random_word(seed_, 0, 2 * drawn_ + 1);
  ++drawn_;
  return static_cast<double>((high << 32 | low) >> 11) * 0x1p-53;
}

int64_t Sampler::choose(std::span<const float> logits, std::span<const int64_t> seen) {
  if (logits.empty()) {
    fail("there are no logits to choose from");
  }
  for (const float logit : logits) {
    if (std::isnan(logit)) {
      fail("the model gave logits that are no numbers (NaN)");
    }
  }
  if (options_.temperature == 0 && options_.repetition_penalty == 1) {
    return std::ranges::max_element(logits) - logits.begin();
  }
  std::vector<double> numbers(logits.begin(), logits.end());
  if (options_.repetition_penalty != 1) {
    for (const int64_t token : seen) {
      if (token < 0 || token >= static_cast<int64_t>(logits.size())) {
        fail("token {} has no logit among {}", token, logits.size());
      }
      // From the logit that was given: a token that was there twice is less likely once.
      const auto given = static_cast<double>(logits[static_cast<size_t>(token)]);
      const double penalty = options_.repetition_penalty;
      numbers[static_cast<size_t>(token)] = given > 0 ? given / penalty : given * penalty;
    }
  }
  const auto best = std::ranges::max_element(numbers);
  if (options_.temperature == 0) {
    return best - numbers.begin();
  }
  if (std::isinf(*best)) {
    return best - numbers.begin();  // next to it nothing is likely
  }
  const Candidates all = candidates_of(numbers, *best, options_);
  const double place = next_number() * sum_of(all.likely);
  double sum = 0;
  size_t at = 0;
  for (; at + 1 < all.likely.size(); ++at) {
    sum += all.likely[at];
    if (sum > place) {
      break;
    }
  }
  return static_cast<int64_t>(all.tokens.empty() ? at : all.tokens[at]);
}

}  // namespace tenon
