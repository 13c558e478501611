// What differs between two plans of one model.
#include <fmt/format.h>

#include <map>

#include "tenon/partition.h"

namespace tenon::partition {
namespace {

std::map<int, int> parts_of(const Plan& plan) {
  std::map<int, int> result;
  for (size_t p = 0; p < plan.parts.size(); ++p) {
    for (const int index : plan.parts[p].operators) {
      result.emplace(index, static_cast<int>(p));
    }
  }
  return result;
}

template <class T>
void compare(std::vector<std::string>& lines, std::string_view what, const T& a, const T& b) {
  if (a != b) {
    lines.push_back(fmt::format("{}: {} -> {}", what, a, b));
  }
}

}  // namespace

std::vector<std::string> differences(const Plan& a, const Plan& b, const WorkGraph& work) {
  std::vector<std::string> lines;
  compare(lines, "sizes", a.bindings.to_string(), b.bindings.to_string());
  compare(lines, "fuse", a.fuse, b.fuse);
  compare(lines, "by", a.by, b.by);
  compare(lines, "profile", a.profile, b.profile);
  compare(lines, "devices", a.devices, b.devices);
  compare(lines, "micro-batches", a.micro_batches, b.micro_batches);
  compare(lines, "memory limit", a.memory_limit, b.memory_limit);
  compare(lines, "FLOPs of a part", a.limits.flops, b.limits.flops);
  compare(lines, "parallelism of a part", a.limits.parallelism, b.limits.parallelism);
  compare(lines, "parts", a.parts.size(), b.parts.size());
  compare(lines, "transfers", a.transfers.size(), b.transfers.size());
  compare(lines, "bytes moved", a.totals.bytes_moved, b.totals.bytes_moved);
  compare(lines, "bytes transferred", a.totals.transfer_bytes, b.totals.transfer_bytes);
  compare(lines, "peak bytes", a.totals.peak_bytes, b.totals.peak_bytes);
  compare(lines, "latency in seconds", a.totals.latency, b.totals.latency);
  // Parts of both that share their first operator are the same part, grown or shrunk.
  const std::map<int, int> in_a = parts_of(a);
  const std::map<int, int> in_b = parts_of(b);
  for (const auto& [index, part] : in_a) {
    const int first = a.parts[static_cast<size_t>(part)].operators.front();
    const auto other = in_b.find(index);
    const auto head = in_b.find(first);
    if (other == in_b.end()) {
      lines.push_back(fmt::format("{}: in no part of the second", work.operators[static_cast<size_t>(index)].name));
    } else if (head != in_b.end() && head->second != other->second) {
      lines.push_back(fmt::format("{}: with {} in the first, apart from it in the second (part {} -> part {})",
                                  work.operators[static_cast<size_t>(index)].name,
                                  work.operators[static_cast<size_t>(first)].name, part + 1, other->second + 1));
    }
  }
  for (const auto& [index, part] : in_b) {
    const int first = b.parts[static_cast<size_t>(part)].operators.front();
    const auto other = in_a.find(index);
    const auto head = in_a.find(first);
    if (other != in_a.end() && head != in_a.end() && head->second != other->second) {
      lines.push_back(fmt::format("{}: apart from {} in the first, with it in the second (part {} -> part {})",
                                  work.operators[static_cast<size_t>(index)].name,
                                  work.operators[static_cast<size_t>(first)].name, other->second + 1, part + 1));
    }
  }
  return lines;
}

}  // namespace tenon::partition
