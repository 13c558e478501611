#include "mesh/split/costs.h"

#include <algorithm>

#include "base/fail.h"
#include "base/json.h"
#include "base/read_file.h"

namespace tenon::mesh {
namespace {

constexpr int64_t kMostText = int64_t{1} << 24;

double positive(const JsonValue& value, const std::string& what, std::string_view name) {
  if (value.number() == nullptr || !(*value.number() > 0)) {
    fail("{}:{}: `{}` must be a number above 0", what, value.line(), name);
  }
  return *value.number();
}

const JsonValue::Object& object_of(const JsonValue& value, const std::string& what, std::string_view name) {
  if (value.object() == nullptr) fail("{}:{}: `{}` must be an object", what, value.line(), name);
  return *value.object();
}

LinkCosts link_of(const JsonValue& value, const std::string& what, std::string_view of) {
  LinkCosts costs;
  for (const auto& [name, member] : object_of(value, what, of)) {
    if (name == "latency_us") {
      costs.latency = positive(member, what, name) * 1e-6;
    } else if (name == "gigabytes_per_second") {
      costs.bytes_per_second = positive(member, what, name) * 1e9;
    } else {
      fail("{}:{}: there is no field `{}` in `{}`; there is: latency_us, gigabytes_per_second", what, member.line(),
           name, of);
    }
  }
  return costs;
}

std::string link_json(const LinkCosts& costs) {
  return fmt::format(R"({{"latency_us": {:.3f}, "gigabytes_per_second": {:.4f}}})", costs.latency * 1e6,
                     costs.bytes_per_second / 1e9);
}

}  // namespace

const LinkCosts& MeshCosts::along(const std::string& axis) const {
  const auto found = std::ranges::find(axes, axis, &std::pair<std::string, LinkCosts>::first);
  return found == axes.end() ? link : found->second;
}

MeshCosts parse_costs(std::string_view text, const std::string& what) {
  const JsonValue json = JsonValue::parse(text, what);
  MeshCosts costs;
  for (const auto& [name, member] : object_of(json, what, "the costs of a mesh")) {
    if (name == "work_per_second") {
      costs.work_per_second = positive(member, what, name);
    } else if (name == "link") {
      costs.link = link_of(member, what, name);
    } else if (name == "axes") {
      for (const auto& [axis, link] : object_of(member, what, name)) {
        costs.axes.emplace_back(axis, link_of(link, what, axis));
      }
    } else {
      fail("{}:{}: there is no field `{}`; there is: work_per_second, link, axes", what, member.line(), name);
    }
  }
  return costs;
}

MeshCosts read_costs(const std::filesystem::path& file) {
  return parse_costs(read_file(file.string(), kMostText), file.string());
}

std::string to_json(const MeshCosts& costs) {
  std::string text = fmt::format("{{\n  \"work_per_second\": {:.4g},\n  \"link\": {},\n  \"axes\": {{",
                                 costs.work_per_second, link_json(costs.link));
  for (bool is_first = true; const auto& [axis, link] : costs.axes) {
    text += fmt::format("{}\n    {}: {}", is_first ? "" : ",", json_quoted(axis), link_json(link));
    is_first = false;
  }
  return text + (costs.axes.empty() ? "}\n}\n" : "\n  }\n}\n");
}

}  // namespace tenon::mesh
