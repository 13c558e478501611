#include <fmt/format.h>

#include <algorithm>

#include "base/fail.h"
#include "base/json.h"
#include "base/read_file.h"
#include "generation/decoder.h"

namespace tenon::generation {
namespace {

constexpr int64_t kMostConfigBytes = int64_t{1} << 24;

/// Members of an object; errors say where it stands.
class Entries {
 public:
  Entries(const JsonValue& value, std::string what) : value_(value), what_(std::move(what)) {}

  const JsonValue& get(std::string_view key) const {
    const JsonValue* found = value_.find(key);
    if (found == nullptr) {
      fail("{} has no entry '{}'", what_, key);
    }
    return *found;
  }
  Entries inside(std::string_view key) const {
    const JsonValue& value = get(key);
    if (value.object() == nullptr) {
      wrong(key, "an object");
    }
    return {value, what_};
  }
  std::string text(std::string_view key) const {
    const std::string* text = get(key).text();
    return text != nullptr ? *text : wrong(key, "a text");
  }
  std::string text_or_none(std::string_view key) const { return value_.find(key) == nullptr ? "" : text(key); }
  int64_t count(std::string_view key) const {
    int64_t number = 0;
    if (!get(key).integer(number) || number < 1) {
      wrong(key, "a whole number above 0");
    }
    return number;
  }
  std::vector<int64_t> integers(std::string_view key) const {
    const JsonValue* value = value_.find(key);
    if (value == nullptr || value->is_null()) {
      return {};
    }
    const std::vector<JsonValue> several = value->list() != nullptr ? *value->list() : std::vector{*value};
    std::vector<int64_t> result;
    for (const JsonValue& each : several) {
      if (!each.integer(result.emplace_back())) {
        wrong(key, "a whole number or a list of them");
      }
    }
    return result;
  }
  [[noreturn]] std::string wrong(std::string_view key, std::string_view wanted) const {
    fail("{}: the entry '{}' must be {}", what_, key, wanted);
  }

 private:
  const JsonValue& value_;
  std::string what_;
};

/// `past_key_values.%d.key` of a layer.
std::string of_layer(const std::string& pattern, int64_t layer, const std::string& what) {
  const size_t at = pattern.find("%d");
  if (at == std::string::npos) {
    fail("{}: the name `{}` has no %d for the number of a layer", what, pattern);
  }
  return fmt::format("{}{}{}", pattern.substr(0, at), layer, pattern.substr(at + 2));
}

}  // namespace

std::pair<DecoderFacts, std::filesystem::path> read_genai_config(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "genai_config.json";
  const std::string what = fmt::format("`{}`", file.string());
  const JsonValue json = JsonValue::parse(read_file(file, kMostConfigBytes), what);
  const Entries model = Entries(json, what).inside("model");
  const Entries decoder = model.inside("decoder");
  const Entries takes = decoder.inside("inputs");
  const Entries gives = decoder.inside("outputs");
  DecoderFacts facts;
  facts.ids = takes.text("input_ids");
  facts.logits = gives.text("logits");
  facts.mask = takes.text_or_none("attention_mask");
  facts.positions = takes.text_or_none("position_ids");
  for (int64_t layer = 0; layer < decoder.count("num_hidden_layers"); ++layer) {
    for (const auto& [past, present] :
         {std::pair("past_key_names", "present_key_names"), std::pair("past_value_names", "present_value_names")}) {
      facts.caches.emplace_back(of_layer(takes.text(past), layer, what), of_layer(gives.text(present), layer, what));
    }
  }
  facts.context = model.count("context_length");
  facts.vocabulary = model.count("vocab_size");
  facts.ends = model.integers("eos_token_id");
  return {std::move(facts), folder / decoder.text("filename")};
}

DecoderFacts parse_decoder_facts(const std::string& text, const std::string& what) {
  const JsonValue json = JsonValue::parse(text, what);
  const Entries all(json, what);
  DecoderFacts facts;
  facts.ids = all.text("ids");
  facts.logits = all.text("logits");
  facts.begin = all.text_or_none("begin");
  facts.last = all.text_or_none("last");
  facts.mask = all.text_or_none("mask");
  facts.positions = all.text_or_none("positions");
  facts.size = all.text("size");
  facts.context = all.count("context");
  facts.vocabulary = all.count("vocabulary");
  facts.ends = all.integers("ends");
  const bool* is_batched = all.get("is_batched").boolean();
  facts.is_batched = is_batched != nullptr && *is_batched;
  const std::vector<JsonValue>* caches = all.get("caches").list();
  for (const JsonValue& each : caches != nullptr ? *caches : std::vector<JsonValue>()) {
    const std::vector<JsonValue>* pair = each.list();
    if (pair == nullptr || pair->size() != 2 || pair->front().text() == nullptr || pair->back().text() == nullptr) {
      all.wrong("caches", "a list of pairs of names");
    }
    facts.caches.emplace_back(*pair->front().text(), *pair->back().text());
  }
  if (facts.caches.empty() || facts.begin.empty() != facts.last.empty()) {
    all.wrong("caches", "those of a decoder");
  }
  return facts;
}

}  // namespace tenon::generation
