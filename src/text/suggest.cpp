#include "text/suggest.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace tenon::text {
namespace {

constexpr size_t kLongest = 64;  // longer names are not compared

/// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1);
  std::vector<size_t> previous(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  std::iota(previous.begin(), previous.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const bool same = a[i - 1] == b[j - 1];
      row[j] = std::min({previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, previous);
    std::swap(previous, row);
  }
  return previous[b.size()];
}

}  // namespace

std::string suggestion(std::string_view name, const std::vector<std::string>& names) {
  if (name.size() > kLongest) {
    return "";
  }
  const size_t near = std::max<size_t>(1, name.size() / 3);
  size_t best = near + 1;
  std::string_view nearest;
  for (const std::string& candidate : names) {
    const size_t longer = std::max(name.size(), candidate.size());
    if (longer - std::min(name.size(), candidate.size()) >= best || longer > kLongest + near) {
      continue;
    }
    const size_t distance = edit_distance(name, candidate);
    // A name of one or two letters is near to every other: nothing of it may be all replaced.
    if (distance < best && distance < longer) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest.empty() ? "" : fmt::format("; did you mean `{}`?", nearest);
}

}  // namespace tenon::text
