// Features of texts whose words are numbers.
#include <algorithm>
#include <cmath>

#include "base/refused.h"
#include "onnx/import/registry.h"
#include "tenon/indexing.h"

namespace tenon::importer {
namespace {

/// n-grams of one length, as columns: words[k] is word k of each.
struct Grams {
  std::vector<std::vector<int64_t>> words;
  std::vector<int64_t> columns;  // of the result
};

std::vector<Grams> read_pool(const NodeCall& call) {
  const std::vector<int64_t> pool = call.list_attribute("pool_int64s");
  const std::vector<int64_t> starts = call.list_attribute("ngram_counts");
  const std::vector<int64_t> columns = call.list_attribute("ngram_indexes");
  if (pool.empty() && call.has_attribute("pool_strings")) {
    refuse("texts of strings are not supported");
  }
  std::vector<Grams> result;
  size_t gram = 0;
  for (size_t n = 0; n < starts.size(); ++n) {
    const int64_t end = n + 1 < starts.size() ? starts[n + 1] : static_cast<int64_t>(pool.size());
    const auto length = static_cast<int64_t>(n) + 1;
    if (starts[n] < 0 || end < starts[n] || end > static_cast<int64_t>(pool.size()) ||
        (end - starts[n]) % length != 0) {
      refuse("ngram_counts do not divide the pool");
    }
    Grams grams{.words = std::vector<std::vector<int64_t>>(n + 1), .columns = {}};
    for (int64_t at = starts[n]; at < end; at += length) {
      for (int64_t k = 0; k < length; ++k) {
        grams.words[static_cast<size_t>(k)].push_back(pool[static_cast<size_t>(at + k)]);
      }
      if (gram >= columns.size()) {
        refuse("there are more n-grams than ngram_indexes");
      }
      grams.columns.push_back(columns[gram++]);
    }
    result.push_back(std::move(grams));
  }
  return result;
}

/// How often each n-gram occurs in each row of x[row, word], the words `distance` apart: f32[row, gram].
Value count_grams(const Value& x, const Grams& grams, int64_t distance) {
  const auto length = static_cast<int64_t>(grams.words.size());
  const Extent places = x.extent(1) - (length - 1) * distance;
  Value matches;
  for (int64_t k = 0; k < length; ++k) {
    const Value words = slice(x, {0, k * distance}, {x.extent(0), places});
    const auto& list = grams.words[static_cast<size_t>(k)];
    const Value wanted = constant(Array::from({static_cast<int64_t>(list.size())}, list));
    const Value equal = eq(expand_dims(words, {2}), wanted);  // [row, place, gram]
    matches = matches ? logical_and(matches, equal) : equal;
  }
  return reduce_sum(cast(matches, Dtype::f32), {1});
}

Results tf_idf(const NodeCall& call) {
  const Value& x = call.x(0);
  const Value rows = cast(x.rank() == 1 ? expand_dims(x, {0}) : x, Dtype::i64);
  const std::optional<int64_t> words = rows.rank() == 2 ? rows.extent(1).constant() : std::nullopt;
  if (!words) {
    refuse("the number of words must be known, not {}", x.shape().to_string());
  }
  const int64_t shortest = call.attribute("min_gram_length");
  const int64_t longest = call.attribute("max_gram_length");
  const int64_t skips = call.attribute("max_skip_count");
  const std::vector<int64_t> all_columns = call.list_attribute("ngram_indexes");
  for (const int64_t column : all_columns) {
    if (column < 0) {
      refuse("an index of an n-gram is {}", column);
    }
  }
  const int64_t width = all_columns.empty() ? 0 : *std::ranges::max_element(all_columns) + 1;
  constexpr int64_t most_skips = 256;
  if (width < 0 || width > (1 << 20) || skips > most_skips || *words > (1 << 20)) {
    refuse("{} columns or {} skips are not supported", width, skips);
  }
  // Columns of counts, the first of them zeros for columns that no n-gram has.
  std::vector<Value> counts = {full(shape(Dtype::f32, rows.shape().axis(0), 1), 0)};
  std::vector<int64_t> source(static_cast<size_t>(width), 0);
  int64_t placed_grams = 1;
  for (const Grams& grams : read_pool(call)) {
    const auto length = static_cast<int64_t>(grams.words.size());
    if (length < shortest || length > longest || grams.columns.empty()) {
      continue;
    }
    std::optional<Value> sum;
    for (int64_t skip = 0; skip <= (length == 1 ? 0 : skips); ++skip) {
      if ((length - 1) * (skip + 1) < *words) {
        const Value found = count_grams(rows, grams, skip + 1);
        sum = sum ? *sum + found : found;
      }
    }
    if (!sum) {
      continue;
    }
    counts.push_back(*sum);
    for (const int64_t column : grams.columns) {
      source[static_cast<size_t>(column)] = placed_grams++;
    }
  }
  const Value table = counts.size() == 1 ? counts[0] : concat(counts, 1);
  const Value frequencies = take(table, constant(Array::from({width}, source)), 1);
  const std::string mode = call.text_attribute("mode", "TF");
  Value result = mode == "IDF" ? cast(gt(frequencies, 0), Dtype::f32) : frequencies;
  const std::vector<double> weights = call.numbers_attribute("weights");
  if (mode != "TF" && !weights.empty()) {
    std::vector<float> placed(static_cast<size_t>(width), 1.0F);
    for (size_t i = 0; i < weights.size() && i < all_columns.size(); ++i) {
      placed[static_cast<size_t>(all_columns[i])] = static_cast<float>(weights[i]);
    }
    result = result * constant(Array::from({width}, placed));
  }
  return x.rank() == 1 ? squeeze(result, {0}) : result;
}

}  // namespace

std::vector<OperatorEntry> text_operators() { return {{"", "TfIdfVectorizer", 9, tf_idf}}; }

}  // namespace tenon::importer
