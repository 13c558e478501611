// How the next token of a text is chosen.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace tenon {

/// The most likely token, unless `temperature` is above 0: then one by its probability.
struct SamplingOptions {
  double temperature = 0;
  int64_t top_k = 0;                  ///< of the so many most likely tokens; 0: of all
  double top_p = 1;                   ///< of the most likely ones that together have this probability
  double repetition_penalty = 1;      ///< logits of tokens that were there are divided by it, negative ones multiplied
  std::optional<uint64_t> seed = {};  ///< without one, other numbers each time
};

/// Chooses the tokens of one text, one after the other: the same seed and logits give the same tokens on every machine,
/// from C++ and from Python.
class Sampler {
 public:
  /// Error: an option that is out of its range.
  explicit Sampler(const SamplingOptions& options = {});

  const SamplingOptions& options() const { return options_; }

  /// A token; `seen` are those of the prompt and the new ones, which the penalty is for. Of equal ones the first.
  /// Error: no logits, a logit that is no number, a token in `seen` that has no logit.
  int64_t choose(std::span<const float> logits, std::span<const int64_t> seen);

 private:
  double next_number();

  SamplingOptions options_;
  uint64_t seed_ = 0;
  uint64_t drawn_ = 0;
};

}  // namespace tenon
