// Profiles as JSON: every field is known, every reference is to something that is there.
#include <algorithm>
#include <set>

#include "partition/work/json_fields.h"
#include "tenon/dtype.h"
#include "tenon/partition.h"

namespace tenon::partition {
namespace {

using Table = std::vector<std::pair<std::string, double>>;

Table read_table(const JsonFields& from, std::string_view key, const std::set<std::string, std::less<>>& allowed) {
  const JsonValue& value = from.at(key);
  if (value.object() == nullptr || value.object()->empty()) {
    fail("{}:{}: `{}` must be an object with at least one number", from.what(), value.line(), key);
  }
  Table table;
  for (const auto& [name, member] : *value.object()) {
    if (!allowed.contains(name)) {
      fail("{}:{}: there is no field `{}` in `{}`; there is: {}", from.what(), member.line(), name, key,
           fmt::join(allowed, ", "));
    }
    if (member.number() == nullptr || !(*member.number() > 0)) {
      fail("{}:{}: `{}` of `{}` must be a number, more than 0", from.what(), member.line(), name, key);
    }
    table.emplace_back(name, *member.number());
  }
  return table;
}

std::set<std::string, std::less<>> dtype_names() {
  std::set<std::string, std::less<>> names{"any"};
  for (const Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::f16, Dtype::bf16, Dtype::i8, Dtype::i16, Dtype::i32,
                            Dtype::i64, Dtype::u8, Dtype::u16, Dtype::u32, Dtype::u64, Dtype::boolean}) {
    names.emplace(tenon::name(dtype));
  }
  return names;
}

std::set<std::string, std::less<>> role_names() {
  std::set<std::string, std::less<>> names;
  for (int i = 0; i <= static_cast<int>(Role::other); ++i) {
    names.emplace(name(static_cast<Role>(i)));
  }
  return names;
}

Memory read_memory(const JsonValue& value, const std::string& what) {
  const JsonFields from(value, what, {"name", "bytes", "bandwidth", "joules_per_byte", "cache"});
  return {.name = from.text("name"),
          .bytes = from.integer("bytes", 1),
          .bandwidth = from.positive("bandwidth"),
          .joules_per_byte = from.number_or("joules_per_byte", 0),
          .cache = from.find("cache") != nullptr && from.boolean("cache")};
}

Unit read_unit(const JsonValue& value, const std::string& what, const Profile& profile) {
  const JsonFields from(value, what, {"name", "count", "flops", "efficiency", "lanes", "memory", "joules_per_flop"});
  Unit unit{.name = from.text("name"),
            .count = from.integer("count", 1),
            .flops = read_table(from, "flops", dtype_names()),
            .efficiency = from.find("efficiency") == nullptr ? Table() : read_table(from, "efficiency", role_names()),
            .lanes = from.integer("lanes", 1),
            .memory = from.text("memory"),
            .joules_per_flop = from.number_or("joules_per_flop", 0)};
  for (const auto& [role, share] : unit.efficiency) {
    if (share > 1) {
      fail("{}:{}: `{}` of `efficiency` is {}, and none does more than its unit can: at most 1", what,
           from.at("efficiency").line(), role, share);
    }
  }
  if (std::ranges::find(profile.memories, unit.memory, &Memory::name) == profile.memories.end()) {
    fail("{}:{}: unit `{}` is said to have memory `{}`, which is not among `memories`", what, from.at("memory").line(),
         unit.name, unit.memory);
  }
  return unit;
}

/// Error: one without a name, or two of one name.
template <class T>
void check_names(const std::vector<T>& list, const JsonFields& from, std::string_view what) {
  for (size_t i = 0; i < list.size(); ++i) {
    const int line = (*from.at(what).list())[i].line();
    if (list[i].name.empty()) {
      fail("{}:{}: a name among `{}` is empty", from.what(), line, what);
    }
    if (std::ranges::find(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(i), list[i].name, &T::name) !=
        list.begin() + static_cast<std::ptrdiff_t>(i)) {
      fail("{}:{}: there are two `{}` among `{}`", from.what(), line, list[i].name, what);
    }
  }
}

std::string table_json(const Table& table) {
  std::string text;
  for (const auto& [key, value] : table) {
    text += fmt::format("{}\"{}\": {}", text.empty() ? "" : ", ", key, value);
  }
  return "{" + text + "}";
}

template <class T>
const T& named(const std::vector<T>& list, std::string_view name, std::string_view what, const std::string& profile) {
  const auto at = std::ranges::find(list, name, &T::name);
  if (at == list.end()) {
    fail("profile `{}` has no {} `{}`", profile, what, name);
  }
  return *at;
}

}  // namespace

const Unit& Profile::unit(std::string_view unit) const { return named(units, unit, "unit", name); }
const Memory& Profile::memory(std::string_view memory) const { return named(memories, memory, "memory", name); }

Profile parse_profile(std::string_view json, std::string_view what_text) {
  const std::string what(what_text);
  const JsonValue value = JsonValue::parse(json, what);
  const JsonFields from(value, what, {"name", "doc", "memories", "units", "link_bandwidth", "link_latency", "launch"});
  Profile profile{.name = from.text("name"),
                  .doc = from.find("doc") == nullptr ? "" : from.text("doc"),
                  .memories = {},
                  .units = {},
                  .link_bandwidth = from.positive("link_bandwidth"),
                  .link_latency = from.number("link_latency"),
                  .launch = from.number("launch")};
  for (const JsonValue& item : from.list("memories")) {
    profile.memories.push_back(read_memory(item, what));
  }
  if (profile.memories.empty()) {
    fail("{}:{}: there must be at least one memory", what, from.at("memories").line());
  }
  check_names(profile.memories, from, "memories");
  for (const JsonValue& item : from.list("units")) {
    profile.units.push_back(read_unit(item, what, profile));
  }
  if (profile.units.empty()) {
    fail("{}:{}: there must be at least one unit", what, from.at("units").line());
  }
  check_names(profile.units, from, "units");
  return profile;
}

std::string to_json(const Profile& profile) {
  std::string text = fmt::format(
      "{{\n  \"name\": {},\n  \"doc\": {},\n  \"launch\": {},\n  \"link_bandwidth\": {},\n"
      "  \"link_latency\": {},\n  \"memories\": [\n",
      json_quoted(profile.name), json_quoted(profile.doc), profile.launch, profile.link_bandwidth,
      profile.link_latency);
  for (const Memory& each : profile.memories) {
    text += fmt::format(R"(    {{"name": {}, "bytes": {}, "bandwidth": {}, "joules_per_byte": {}, "cache": {}}}{})",
                        json_quoted(each.name), each.bytes, each.bandwidth, each.joules_per_byte, each.cache,
                        &each == &profile.memories.back() ? "\n" : ",\n");
  }
  text += "  ],\n  \"units\": [\n";
  for (const Unit& each : profile.units) {
    const std::string efficiency =
        each.efficiency.empty() ? "" : fmt::format(", \"efficiency\": {}", table_json(each.efficiency));
    text += fmt::format(
        R"(    {{"name": {}, "count": {}, "flops": {}{}, "lanes": {}, "memory": {}, "joules_per_flop": {}}}{})",
        json_quoted(each.name), each.count, table_json(each.flops), efficiency, each.lanes, json_quoted(each.memory),
        each.joules_per_flop, &each == &profile.units.back() ? "\n" : ",\n");
  }
  return text + "  ]\n}\n";
}

}  // namespace tenon::partition
