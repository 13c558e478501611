// Machines as text, and which numbers they may have.
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "base/fail.h"
#include "base/read_file.h"
#include "tenon/machine.h"

namespace tenon {
namespace {

constexpr int64_t kMostFileBytes = int64_t{1} << 20;

/// The keys whose values are numbers.
struct MachineNumber {
  std::string_view key;
  int64_t Machine::* member;
  int64_t most;
  bool is_bytes;
};
constexpr std::array kNumbers = {
    MachineNumber{"cores", &Machine::cores, int64_t{1} << 16, false},
    MachineNumber{"first_cache", &Machine::first_cache, int64_t{1} << 40, true},
    MachineNumber{"second_cache", &Machine::second_cache, int64_t{1} << 40, true},
};
constexpr std::string_view kName = "name";
constexpr std::string_view kInstructions = "instructions";

struct ByteUnit {
  std::string_view name;
  int64_t bytes;
};
constexpr std::array kByteUnits = {ByteUnit{"MiB", int64_t{1} << 20}, ByteUnit{"KiB", int64_t{1} << 10},
                                   ByteUnit{"", 1}};

std::vector<std::string_view> machine_keys() {
  std::vector<std::string_view> keys{kName, kInstructions};
  std::ranges::transform(kNumbers, std::back_inserter(keys), &MachineNumber::key);
  return keys;
}

std::string allowed(const MachineNumber& number) {
  return number.is_bytes
             ? fmt::format("it is the bytes of a cache, such as 512 KiB or 2 MiB, from 1 to {}", number.most)
             : fmt::format("it is a count from 1 to {}", number.most);
}

bool is_allowed(const MachineNumber& number, int64_t value) { return value >= 1 && value <= number.most; }

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view spaces = " \t\r";
  const size_t first = text.find_first_not_of(spaces);
  return first == std::string_view::npos ? "" : text.substr(first, text.find_last_not_of(spaces) - first + 1);
}

std::optional<int64_t> parse_number(const MachineNumber& number, std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit = trimmed(text.substr(static_cast<size_t>(end - text.data())));
  const auto* const found = std::ranges::find(kByteUnits, unit, &ByteUnit::name);
  if (error != std::errc() || found == kByteUnits.end() || (!number.is_bytes && found->bytes > 1) ||
      value > number.most / found->bytes) {
    return std::nullopt;
  }
  return is_allowed(number, value * found->bytes) ? std::optional(value * found->bytes) : std::nullopt;
}

InstructionSet parse_instructions(std::string_view text, const std::string& where) {
  const std::vector<std::string> names = machine_names();  // one for each instruction set, in their order
  const auto found = std::ranges::find(names, text);
  if (found == names.end()) {
    fail("{}: there are no instructions `{}`; there are {}", where, text, fmt::join(names, ", "));
  }
  return static_cast<InstructionSet>(found - names.begin());
}

void set_key(Machine& machine, std::string_view key, std::string_view value, const std::string& where) {
  if (key == kName) {
    if (value.empty()) fail("{}: the name is empty", where);
    machine.name = value;
  } else if (key == kInstructions) {
    machine.instructions = parse_instructions(value, where);
  } else {
    const auto* const number = std::ranges::find(kNumbers, key, &MachineNumber::key);
    const auto parsed = parse_number(*number, value);
    if (!parsed) fail("{}: `{}` is `{}`; {}", where, key, value, allowed(*number));
    machine.*number->member = *parsed;
  }
}

/// `file` is empty, or where the text is from, for errors.
Machine parse(std::string_view text, const std::string& file) {
  const std::vector<std::string_view> keys = machine_keys();
  std::vector<std::string_view> missing = keys;
  Machine machine;
  for (int line = 1; !text.empty(); ++line) {
    const std::string where = fmt::format("{}{}line {}", file, file.empty() ? "" : ", ", line);
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view content = trimmed(text.substr(0, std::min(text.substr(0, end).find('#'), end)));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (content.empty()) continue;
    const size_t equals = content.find('=');
    if (equals == std::string_view::npos) fail("{}: `{}` is no line `key = value`", where, content);
    const std::string_view key = trimmed(content.substr(0, equals));
    if (std::ranges::find(keys, key) == keys.end()) {
      fail("{}: there is no key `{}`; the keys are {}", where, key, fmt::join(keys, ", "));
    }
    if (std::erase(missing, key) == 0) fail("{}: `{}` is given a second time", where, key);
    set_key(machine, key, trimmed(content.substr(equals + 1)), where);
  }
  if (!missing.empty()) {
    fail("{}{}a machine needs {} too", file, file.empty() ? "" : ": ", fmt::join(missing, ", "));
  }
  return machine;
}

std::string number_text(const MachineNumber& number, int64_t value) {
  for (const ByteUnit& unit : kByteUnits) {
    if (number.is_bytes && unit.bytes > 1 && value % unit.bytes == 0) {
      return fmt::format("{} {}", value / unit.bytes, unit.name);
    }
  }
  return std::to_string(value);
}

}  // namespace

Machine parse_machine(std::string_view text) { return parse(text, ""); }

Machine load_machine(const std::string& path) {
  return parse(read_file(path, kMostFileBytes, "; a machine is a few lines"), path);
}

std::string to_text(const Machine& machine) {
  std::string text = fmt::format("{} = {}\n{} = {}\n", kName, machine.name, kInstructions, name(machine.instructions));
  for (const MachineNumber& number : kNumbers) {
    text += fmt::format("{} = {}\n", number.key, number_text(number, machine.*number.member));
  }
  return text;
}

void check_machine(const Machine& machine) {
  for (const MachineNumber& number : kNumbers) {
    const int64_t value = machine.*number.member;
    if (!is_allowed(number, value)) {
      fail("machine `{}`: `{}` is {}; {}", machine.name, number.key, value, allowed(number));
    }
  }
}

}  // namespace tenon
