// What sending and computing cost.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenon::mesh {

struct LinkCosts {
  double latency = 20e-6;         // of a collective, in seconds
  double bytes_per_second = 5e9;  // that a rank sends
};

struct MeshCosts {
  LinkCosts link = {};                                       // along axes that have no costs of their own
  std::vector<std::pair<std::string, LinkCosts>> axes = {};  // by the name of an axis of the mesh
  double work_per_second = 5e10;  // multiply-accumulates of a rank, or a tenth of it elements

  const LinkCosts& along(const std::string& axis) const;
};

/// {"work_per_second": 5e10, "link": {"latency_us": 20, "gigabytes_per_second": 5}, "axes": {"data": {...}}}; each may
/// be left out. Error, with the line: other fields, what is no number above 0.
MeshCosts parse_costs(std::string_view text, const std::string& what);
MeshCosts read_costs(const std::filesystem::path& file);
std::string to_json(const MeshCosts& costs);

}  // namespace tenon::mesh
