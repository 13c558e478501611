// A compiled decoder: one call for prompts and for steps of several texts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "generation/caches.h"
#include "tenon/load.h"

namespace tenon::generation {

/// How a decoder is called. There are two forms: one is given where each text begins and whose logits are asked for,
/// and the size of what is read; the other a mask and positions, and the size of what is there.
struct DecoderFacts {
  std::string ids, logits;
  std::string begin, last;                                  // of the first form
  std::string mask, positions;                              // of the second; empty: it takes none
  std::string size;                                         // the axis that no input has
  std::vector<std::pair<std::string, std::string>> caches;  // inputs, and the outputs that take over their memory
  int64_t context = 0;
  int64_t vocabulary = 0;
  std::vector<int64_t> ends;  // tokens that end a text
  bool is_batched = true;     // texts of different lengths may share a run

  bool takes_begin() const { return !begin.empty(); }
};

/// What genai_config.json says, in its folder, and the model's file. Errors name the file and the entry.
std::pair<DecoderFacts, std::filesystem::path> read_genai_config(const std::filesystem::path& folder);
/// What Python wrote beside a program, under the key `generation` of its metadata. Error: it is none of these.
DecoderFacts parse_decoder_facts(const std::string& text, const std::string& what);

/// Tokens of a run: row i has its last token at last[i], and behind it whatever fills the row up.
struct Batch {
  int64_t rows = 0;
  int64_t count = 0;                // tokens of each row
  std::vector<int64_t> ids = {};    // [rows, count]
  std::vector<int64_t> begin = {};  // how many places of each text hold something
  std::vector<int64_t> last = {};   // of the tokens of each row
};

class Decoder {
 public:
  Decoder(const std::filesystem::path& model, const LoadOptions& options);

  const DecoderFacts& facts() const { return facts_; }
  const Executable& model() const { return *model_; }
  std::vector<CacheShape> cache_shapes() const;

  /// The logits behind the last token of each row, [rows, vocabulary]; the rows of the caches from `first` on hold all
  /// of `ids` then.
  std::vector<float> run(const Batch& batch, const Caches& caches, int64_t first, int threads) const;

 private:
  void find_ports();

  DecoderFacts facts_;
  std::optional<Executable> model_;
  std::vector<size_t> cache_inputs_, cache_outputs_;  // by the order of facts().caches
  size_t logits_ = 0;
  int64_t words_ = 0;  // that there are logits for
};

}  // namespace tenon::generation
