#include "cli/bench/sweep.h"

#include <charconv>

#include "base/fail.h"
#include "cli/words/arguments.h"

namespace tenon::cli {
namespace {

constexpr size_t kMostSweepPoints = 10'000;

int64_t parse_size(const std::string& word, const std::string& text) {
  int64_t size = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (error != std::errc() || stop != text.data() + text.size() || size < 0) {
    fail("`--sweep {}`: `{}` is no size", word, text);
  }
  return size;
}

Sweep parse_sweep(const std::string& word) {
  const size_t equals = word.find('=');
  if (equals == std::string::npos || equals == 0) {
    fail("`--sweep {}` should be NAME=1,2,4 or NAME=16:512:16", word);
  }
  Sweep sweep{.axis = word.substr(0, equals), .sizes = {}};
  const std::string list = word.substr(equals + 1);
  const std::vector<std::string> range = split(list, ':');
  if (range.size() == 1) {
    for (const std::string& size : split(list, ',')) {
      sweep.sizes.push_back(parse_size(word, size));
    }
    return sweep;
  }
  const int64_t from = parse_size(word, range[0]);
  const int64_t to = parse_size(word, range[1]);
  const int64_t step = range.size() == 3 ? parse_size(word, range[2]) : 1;
  if (range.size() > 3 || step == 0 || to < from) {
    fail("`--sweep {}` should be NAME=FROM:TO:STEP, with a STEP above 0 and TO not below FROM", word);
  }
  if (static_cast<size_t>((to - from) / step) >= kMostSweepPoints) {
    fail("`--sweep {}`: more than {} sizes", word, kMostSweepPoints);
  }
  for (int64_t size = from; size <= to; size += step) {
    sweep.sizes.push_back(size);
  }
  return sweep;
}

}  // namespace

std::vector<Sweep> parse_sweeps(const std::vector<std::string>& words) {
  std::vector<Sweep> sweeps;
  for (const std::string& word : words) {
    sweeps.push_back(parse_sweep(word));
    for (size_t i = 0; i + 1 < sweeps.size(); ++i) {
      if (sweeps[i].axis == sweeps.back().axis) {
        fail("`--sweep` has axis `{}` twice", sweeps[i].axis);
      }
    }
  }
  return sweeps;
}

std::vector<Bindings> combinations(const std::vector<Sweep>& sweeps) {
  std::vector<Bindings> points{{}};
  for (const Sweep& sweep : sweeps) {
    if (points.size() * sweep.sizes.size() > kMostSweepPoints) {
      fail("the sweeps have more than {} combinations", kMostSweepPoints);
    }
    std::vector<Bindings> longer;
    for (const Bindings& point : points) {
      for (const int64_t size : sweep.sizes) {
        longer.push_back(point);
        longer.back().set(sweep.axis, size);
      }
    }
    points = std::move(longer);
  }
  return points;
}

}  // namespace tenon::cli
