#include "train/settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>

#include "base/fail.h"

namespace tenon::train {
namespace {

constexpr double kUsualMomentum = 0.9;

constexpr OptimizerKind kOptimizers[] = {
    {"sgd", "gradient descent", 1e-2, [](double rate) { return sgd({.learning_rate = rate}); }},
    {"momentum", "gradient descent with a momentum of 0.9", 1e-2,
     [](double rate) { return sgd({.learning_rate = rate, .momentum = kUsualMomentum}); }},
    {"adam", "Adam", 1e-3, [](double rate) { return adam({.learning_rate = rate}); }},
    {"adamw", "Adam with a weight decay of 0.01", 1e-3, [](double rate) { return adamw({.learning_rate = rate}); }},
};

template <class Number>
Number number_of(const TextMap& texts, const std::string& name, std::string_view file) {
  const auto found = texts.find(name);
  Number number{};
  const char* end = found == texts.end() ? nullptr : found->second.data() + found->second.size();
  if (end == nullptr || std::from_chars(found->second.data(), end, number).ptr != end) {
    fail("{}: no checkpoint of a training run: `{}` is {}", file, name,
         end == nullptr ? "missing" : fmt::format("`{}`", found->second));
  }
  return number;
}

}  // namespace

std::span<const OptimizerKind> optimizer_table() { return kOptimizers; }

const OptimizerKind& find_optimizer(std::string_view name) {
  std::vector<std::string_view> names;
  for (const OptimizerKind& kind : kOptimizers) {
    if (kind.name == name) {
      return kind;
    }
    names.push_back(kind.name);
  }
  fail("there is no optimizer `{}`; there is: {}", name, fmt::join(names, ", "));
}

int64_t number_in(const TextMap& texts, const std::string& name, std::string_view file) {
  return number_of<int64_t>(texts, name, file);
}

TextMap to_texts(const Settings& settings) {
  const ObjectiveOptions& objective = settings.objective;
  TextMap texts{{"loss", objective.loss},
                {"output", objective.output},
                {"axis", objective.axis ? std::to_string(*objective.axis) : ""},
                {"optimizer", settings.optimizer},
                {"rate", fmt::format("{}", settings.rate)},
                {"batch", std::to_string(settings.batch)},
                {"epochs", std::to_string(settings.epochs)},
                {"held_out", fmt::format("{}", settings.held_out)},
                {"seed", std::to_string(settings.seed)},
                {"frozen", std::to_string(settings.freeze.size())}};
  for (size_t i = 0; i < settings.freeze.size(); ++i) {
    texts[fmt::format("freeze.{}", i)] = settings.freeze[i];
  }
  return texts;
}

Settings settings_from(const TextMap& texts, std::string_view file) {
  const auto text = [&](const std::string& name) {
    const auto found = texts.find(name);
    if (found == texts.end()) {
      fail("{}: no checkpoint of a training run: `{}` is missing", file, name);
    }
    return found->second;
  };
  ObjectiveOptions objective{.loss = text("loss"), .output = text("output")};
  if (!text("axis").empty()) {
    objective.axis = number_of<int64_t>(texts, "axis", file);
  }
  Settings settings{.objective = std::move(objective),
                    .optimizer = text("optimizer"),
                    .rate = number_of<double>(texts, "rate", file),
                    .batch = number_of<int64_t>(texts, "batch", file),
                    .epochs = number_of<int64_t>(texts, "epochs", file),
                    .held_out = number_of<double>(texts, "held_out", file),
                    .seed = number_of<uint64_t>(texts, "seed", file)};
  const auto patterns = number_of<size_t>(texts, "frozen", file);
  for (size_t i = 0; i < patterns; ++i) {
    settings.freeze.push_back(text(fmt::format("freeze.{}", i)));
  }
  return settings;
}

}  // namespace tenon::train
