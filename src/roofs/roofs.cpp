#include "roofs/roofs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <sstream>

namespace tenon::roofs {
namespace {

constexpr std::string_view kHead = "tenon roofs 2";
constexpr size_t kMostEntries = 64;

/// Linear in the number of threads between those that were measured.
double at_threads(const std::vector<Rates>& rates, int threads, const std::function<double(const Rates&)>& rate) {
  if (rates.empty()) {
    return 0;
  }
  const auto above = std::ranges::find_if(rates, [&](const Rates& each) { return each.threads >= threads; });
  if (above == rates.end()) {
    return rate(rates.back());
  }
  if (above == rates.begin() || above->threads == threads) {
    return rate(*above);
  }
  const Rates& below = *(above - 1);
  const double part = static_cast<double>(threads - below.threads) / (above->threads - below.threads);
  return std::lerp(rate(below), rate(*above), part);
}

}  // namespace

std::string_view name(Unit unit) {
  switch (unit) {
    case Unit::f32: return "f32";
    case Unit::f64: return "f64";
    case Unit::bf16: return "bf16";
    case Unit::i8: return "i8";
  }
  return "";
}

double Roofs::operations(Unit unit, int threads) const {
  return at_threads(rates, threads, [&](const Rates& each) { return each.operations[static_cast<size_t>(unit)]; });
}

double Roofs::bandwidth(size_t level, int threads) const {
  return at_threads(rates, threads, [&](const Rates& each) { return each.bytes[level]; });
}

double Roofs::capacity(size_t level, int threads) const {
  double bytes = 0;
  for (size_t i = 0; i <= level; ++i) {
    if (levels[i].bytes == 0) {
      return std::numeric_limits<double>::infinity();
    }
    bytes += static_cast<double>(levels[i].bytes) * (levels[i].shared ? 1 : threads);
  }
  return bytes;
}

void Roofs::raise_to(const Roofs& other) {
  if (levels != other.levels || rates.size() != other.rates.size()) {
    return;
  }
  for (size_t i = 0; i < rates.size(); ++i) {
    for (size_t k = 0; k < rates[i].operations.size(); ++k) {
      rates[i].operations[k] = std::max(rates[i].operations[k], other.rates[i].operations[k]);
    }
    for (size_t k = 0; k < rates[i].bytes.size(); ++k) {
      rates[i].bytes[k] = std::max(rates[i].bytes[k], other.rates[i].bytes[k]);
    }
  }
}

std::vector<Level> levels_of(const CpuMachine& machine) {
  std::vector<Level> levels = {{.name = "first cache", .bytes = machine.first_cache},
                               {.name = "second cache", .bytes = machine.second_cache}};
  if (machine.last_cache > 0) {
    levels.push_back({.name = "last cache", .bytes = machine.last_cache, .shared = true});
  }
  levels.push_back({.name = "memory", .shared = true});
  return levels;
}

std::string to_text(const Roofs& roofs) {
  std::string text = fmt::format("{}\n", kHead);
  for (const Level& level : roofs.levels) {
    text += fmt::format("level {} {} {}\n", level.bytes, level.shared ? 1 : 0, level.name);
  }
  for (const Rates& rates : roofs.rates) {
    text += fmt::format("threads {}", rates.threads);
    for (const std::vector<double>* list : {&rates.operations, &rates.bytes}) {
      for (const double each : *list) {
        text += fmt::format(" {:.6g}", each);
      }
    }
    text += '\n';
  }
  return text;
}

std::optional<Roofs> parse_roofs(std::string_view text) {
  std::istringstream lines{std::string(text)};
  std::string line;
  if (!std::getline(lines, line) || line != kHead) {
    return {};
  }
  Roofs roofs;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (word == "level" && roofs.rates.empty() && roofs.levels.size() < kMostEntries) {
      Level level;
      int shared = 0;
      words >> level.bytes >> shared;
      if (!words || level.bytes < 0 || words.get() != ' ' || !std::getline(words, level.name)) {
        return {};
      }
      level.shared = shared != 0;
      roofs.levels.push_back(level);
    } else if (word == "threads" && roofs.rates.size() < kMostEntries) {
      Rates rates{.operations = std::vector<double>(kUnits), .bytes = std::vector<double>(roofs.levels.size())};
      words >> rates.threads;
      for (std::vector<double>* list : {&rates.operations, &rates.bytes}) {
        for (double& each : *list) {
          if (!(words >> each) || !(each > 0)) {
            return {};
          }
        }
      }
      const int least = roofs.rates.empty() ? 1 : roofs.rates.back().threads + 1;
      if (!words || rates.threads < least || words >> word) {
        return {};
      }
      roofs.rates.push_back(rates);
    } else {
      return {};
    }
  }
  return roofs.levels.size() < 2 || roofs.rates.empty() ? std::nullopt : std::optional(roofs);
}

}  // namespace tenon::roofs
