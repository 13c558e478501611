// Machines as text, and which facts they may have.
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "base/cpu_features.h"
#include "base/fail.h"
#include "base/read_file.h"
#include "tenon/machine.h"

namespace tenon {
namespace {

constexpr int64_t kMostFileBytes = int64_t{1} << 20;

struct MachineUnit {
  std::string_view name;
  int64_t size;
};
/// What numbers count, and how people write them: the largest unit first, the last one need not be named.
struct MachineQuantity {
  std::array<MachineUnit, 4> units;
  std::string_view words;  // in errors
  int64_t step = 1;        // numbers are multiples of it
};
constexpr MachineUnit kNoUnit{"", 1};
constexpr MachineUnit kKiBUnit{"KiB", int64_t{1} << 10};
constexpr MachineUnit kMiBUnit{"MiB", int64_t{1} << 20};
constexpr MachineUnit kGiBUnit{"GiB", int64_t{1} << 30};
constexpr MachineQuantity kCount{{kNoUnit, kNoUnit, kNoUnit, kNoUnit}, "a count"};
constexpr MachineQuantity kVectorBits{{kNoUnit, kNoUnit, kNoUnit, kNoUnit}, "bits in steps of 128", 128};
constexpr MachineQuantity kCacheBytes{{kMiBUnit, kKiBUnit, kNoUnit, kNoUnit},
                                      "the bytes of a cache, such as 512 KiB or 2 MiB,"};
constexpr MachineQuantity kMemoryBytes{{kGiBUnit, kMiBUnit, kKiBUnit, kNoUnit}, "bytes of memory, such as 80 GiB,"};
constexpr MachineQuantity kByteRate{{MachineUnit{"GB/s", 1'000'000'000}, kNoUnit, kNoUnit, kNoUnit},
                                    "the bytes of a second, such as 936 GB/s,"};
constexpr MachineQuantity kFrequency{{MachineUnit{"MHz", 1'000'000}, kNoUnit, kNoUnit, kNoUnit},
                                     "the cycles of a second, such as 1410 MHz,"};

/// A key whose value is a number. Where that may be 0 it may be left out, which says the same.
template <class Facts>
struct MachineNumber {
  std::string_view key;
  int64_t Facts::* member;
  int64_t least;
  int64_t most;
  const MachineQuantity* quantity;
};
constexpr int64_t kMostCount = int64_t{1} << 16;
constexpr int64_t kMostCacheBytes = int64_t{1} << 40;
constexpr int64_t kMostMemory = int64_t{1} << 50;

template <class Facts>
constexpr auto kNumbers = nullptr;
template <>
constexpr auto kNumbers<CpuMachine> = std::array{
    MachineNumber<CpuMachine>{"sve_bits", &CpuMachine::sve_bits, 0, 2048, &kVectorBits},
    MachineNumber<CpuMachine>{"cores", &CpuMachine::cores, 1, kMostCount, &kCount},
    MachineNumber<CpuMachine>{"first_cache", &CpuMachine::first_cache, 1, kMostCacheBytes, &kCacheBytes},
    MachineNumber<CpuMachine>{"second_cache", &CpuMachine::second_cache, 1, kMostCacheBytes, &kCacheBytes},
    MachineNumber<CpuMachine>{"last_cache", &CpuMachine::last_cache, 0, kMostCacheBytes, &kCacheBytes},
};
template <>
constexpr auto kNumbers<GpuMachine> = std::array{
    MachineNumber<GpuMachine>{"multiprocessors", &GpuMachine::multiprocessors, 1, kMostCount, &kCount},
    MachineNumber<GpuMachine>{"clock", &GpuMachine::clock, 1, int64_t{1} << 40, &kFrequency},
    MachineNumber<GpuMachine>{"memory", &GpuMachine::memory, 1, kMostMemory, &kMemoryBytes},
    MachineNumber<GpuMachine>{"bandwidth", &GpuMachine::bandwidth, 1, kMostMemory, &kByteRate},
    MachineNumber<GpuMachine>{"second_cache", &GpuMachine::second_cache, 1, kMostCacheBytes, &kCacheBytes},
    MachineNumber<GpuMachine>{"shared_memory", &GpuMachine::shared_memory, 1, kMostCacheBytes, &kCacheBytes},
    MachineNumber<GpuMachine>{"block_shared_memory", &GpuMachine::block_shared_memory, 1, kMostCacheBytes,
                              &kCacheBytes},
    MachineNumber<GpuMachine>{"registers", &GpuMachine::registers, 1, int64_t{1} << 24, &kCount},
    MachineNumber<GpuMachine>{"threads", &GpuMachine::threads, 1, kMostCount, &kCount},
    MachineNumber<GpuMachine>{"ptx", &GpuMachine::ptx, 10, 999, &kCount},
};

constexpr std::string_view kNameKey = "name";
constexpr std::string_view kInstructionsKey = "instructions";
constexpr std::string_view kFeaturesKey = "features";
constexpr std::string_view kArchitectureKey = "architecture";

/// Keys that are words, without the name.
template <class Facts>
constexpr auto kWordKeys = nullptr;
template <>
constexpr auto kWordKeys<CpuMachine> = std::array{kInstructionsKey, kFeaturesKey};
template <>
constexpr auto kWordKeys<GpuMachine> = std::array{kArchitectureKey};

template <class Facts>
std::vector<std::string_view> keys_of() {
  std::vector<std::string_view> keys{kNameKey};
  std::ranges::copy(kWordKeys<Facts>, std::back_inserter(keys));
  std::ranges::transform(kNumbers<Facts>, std::back_inserter(keys), &MachineNumber<Facts>::key);
  return keys;
}

template <class Facts>
bool may_be_left_out(std::string_view key) {
  const auto found = std::ranges::find(kNumbers<Facts>, key, &MachineNumber<Facts>::key);
  return key == kFeaturesKey || (found != kNumbers<Facts>.end() && found->least == 0);
}

template <class Facts>
std::string allowed(const MachineNumber<Facts>& number) {
  return fmt::format("it is {} from {} to {}", number.quantity->words, number.least, number.most);
}

template <class Facts>
bool is_allowed(const MachineNumber<Facts>& number, int64_t value) {
  return value >= number.least && value <= number.most && value % number.quantity->step == 0;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view spaces = " \t\r";
  const size_t first = text.find_first_not_of(spaces);
  return first == std::string_view::npos ? "" : text.substr(first, text.find_last_not_of(spaces) - first + 1);
}

template <class Facts>
std::optional<int64_t> parse_number(const MachineNumber<Facts>& number, std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit = trimmed(text.substr(static_cast<size_t>(end - text.data())));
  const auto* const found = std::ranges::find(number.quantity->units, unit, &MachineUnit::name);
  if (error != std::errc() || found == number.quantity->units.end() || value > number.most / found->size) {
    return std::nullopt;
  }
  return is_allowed(number, value * found->size) ? std::optional(value * found->size) : std::nullopt;
}

std::vector<std::string_view> features_of(InstructionSet set) {
  std::vector<std::string_view> names;
  for (const CpuFeatureRow& row : cpu_features()) {
    if (may_have(set, row.feature)) names.push_back(row.name);
  }
  return names;
}

/// Error: a feature that no processor of the set has.
void check_features(const CpuMachine& cpu, const std::string& where) {
  if (cpu.sve_bits > 0 && !is_arm(cpu.instructions)) {
    fail("{}: no processor of {} has SVE, and `sve_bits` is {}", where, name(cpu.instructions), cpu.sve_bits);
  }
  for (const CpuFeature feature : cpu.features) {
    if (may_have(cpu.instructions, feature)) continue;
    const auto names = features_of(cpu.instructions);
    fail("{}: no processor of {} has `{}`; {}", where, name(cpu.instructions), name(feature),
         names.empty() ? "it has no features" : fmt::format("there may be {}", fmt::join(names, ", ")));
  }
}

bool is_architecture(std::string_view text) {
  constexpr std::string_view prefix = "sm_";
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  if (text.ends_with('a')) text.remove_suffix(1);
  return text.size() >= 2 && text.size() <= 3 && text.find_first_not_of("0123456789") == std::string_view::npos;
}
constexpr std::string_view kArchitectures = "it is one as sm_80 or sm_90a";

void set_word(CpuMachine& cpu, std::string_view key, std::string_view value, const std::string& where) {
  if (key == kInstructionsKey) {
    const auto set = instruction_set_named(value);
    if (!set) {
      fail("{}: there are no instructions `{}`; there are {}", where, value, fmt::join(instruction_set_names(), ", "));
    }
    cpu.instructions = *set;
    return;
  }
  while (!value.empty()) {
    const size_t end = std::min(value.find(','), value.size());
    const std::string_view word = trimmed(value.substr(0, end));
    const auto found = std::ranges::find(cpu_features(), word, &CpuFeatureRow::name);
    if (found == cpu_features().end()) {
      std::vector<std::string_view> names;
      std::ranges::transform(cpu_features(), std::back_inserter(names), &CpuFeatureRow::name);
      fail("{}: there is no feature `{}`; there are {}", where, word, fmt::join(names, ", "));
    }
    cpu.features.insert(found->feature);
    value.remove_prefix(std::min(end + 1, value.size()));
  }
}

void set_word(GpuMachine& gpu, std::string_view /*key*/, std::string_view value, const std::string& where) {
  if (!is_architecture(value)) fail("{}: there is no architecture `{}`; {}", where, value, kArchitectures);
  gpu.architecture = value;
}

void check_words(const CpuMachine& cpu, const std::string& where) { check_features(cpu, where); }

void check_words(const GpuMachine& gpu, const std::string& where) {
  if (!is_architecture(gpu.architecture)) {
    fail("{}: there is no architecture `{}`; {}", where, gpu.architecture, kArchitectures);
  }
}

/// A line `key = value`, and where it is from.
struct MachineLine {
  std::string_view key;
  std::string_view value;
  std::string where;
};

/// `file` is empty, or where the text is from, for errors.
std::vector<MachineLine> lines_of(std::string_view text, const std::string& file) {
  std::vector<MachineLine> lines;
  for (int line = 1; !text.empty(); ++line) {
    const std::string where = fmt::format("{}{}line {}", file, file.empty() ? "" : ", ", line);
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view content = trimmed(text.substr(0, std::min(text.substr(0, end).find('#'), end)));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (content.empty()) continue;
    const size_t equals = content.find('=');
    if (equals == std::string_view::npos) fail("{}: `{}` is no line `key = value`", where, content);
    lines.push_back({trimmed(content.substr(0, equals)), trimmed(content.substr(equals + 1)), where});
  }
  return lines;
}

template <class Facts>
void set_key(Machine& machine, Facts& facts, const MachineLine& line) {
  if (line.key == kNameKey) {
    if (line.value.empty()) fail("{}: the name is empty", line.where);
    machine.name = line.value;
  } else if (std::ranges::find(kWordKeys<Facts>, line.key) != kWordKeys<Facts>.end()) {
    set_word(facts, line.key, line.value, line.where);
  } else {
    const auto* const number = std::ranges::find(kNumbers<Facts>, line.key, &MachineNumber<Facts>::key);
    const auto parsed = parse_number(*number, line.value);
    if (!parsed) fail("{}: `{}` is `{}`; {}", line.where, line.key, line.value, allowed(*number));
    facts.*number->member = *parsed;
  }
}

template <class Facts>
Machine machine_of_lines(const std::vector<MachineLine>& lines, const std::string& file) {
  const std::vector<std::string_view> keys = keys_of<Facts>();
  std::vector<std::string_view> missing = keys;
  Machine machine;
  Facts facts;
  for (const MachineLine& line : lines) {
    if (std::ranges::find(keys, line.key) == keys.end()) {
      fail("{}: there is no key `{}`; the keys are {}", line.where, line.key, fmt::join(keys, ", "));
    }
    if (std::erase(missing, line.key) == 0) fail("{}: `{}` is given a second time", line.where, line.key);
    set_key(machine, facts, line);
  }
  std::erase_if(missing, may_be_left_out<Facts>);
  if (!missing.empty()) {
    fail("{}{}a machine needs {} too", file, file.empty() ? "" : ": ", fmt::join(missing, ", "));
  }
  check_words(facts, file.empty() ? fmt::format("machine `{}`", machine.name) : file);
  machine.facts = std::move(facts);
  return machine;
}

Machine parse(std::string_view text, const std::string& file) {
  const std::vector<MachineLine> lines = lines_of(text, file);
  const bool is_gpu = std::ranges::find(lines, kArchitectureKey, &MachineLine::key) != lines.end();
  return is_gpu ? machine_of_lines<GpuMachine>(lines, file) : machine_of_lines<CpuMachine>(lines, file);
}

std::string number_text(const MachineQuantity& quantity, int64_t value) {
  for (const MachineUnit& unit : quantity.units) {
    if (unit.size > 1 && value % unit.size == 0) {
      return fmt::format("{} {}", value / unit.size, unit.name);
    }
  }
  return std::to_string(value);
}

std::string words_text(const CpuMachine& cpu) {
  std::vector<std::string_view> features;
  for (const CpuFeature feature : cpu.features) {
    features.push_back(name(feature));
  }
  return fmt::format("{} = {}\n", kInstructionsKey, name(cpu.instructions)) +
         (features.empty() ? "" : fmt::format("{} = {}\n", kFeaturesKey, fmt::join(features, ", ")));
}

std::string words_text(const GpuMachine& gpu) { return fmt::format("{} = {}\n", kArchitectureKey, gpu.architecture); }

}  // namespace

Machine parse_machine(std::string_view text) { return parse(text, ""); }

Machine load_machine(const std::string& path) {
  return parse(read_file(path, kMostFileBytes, "; a machine is a few lines"), path);
}

std::string to_text(const Machine& machine) {
  return std::visit(
      [&]<class Facts>(const Facts& facts) {
        std::string text = fmt::format("{} = {}\n", kNameKey, machine.name) + words_text(facts);
        for (const MachineNumber<Facts>& number : kNumbers<Facts>) {
          const int64_t value = facts.*number.member;
          if (value != 0 || !may_be_left_out<Facts>(number.key)) {
            text += fmt::format("{} = {}\n", number.key, number_text(*number.quantity, value));
          }
        }
        return text;
      },
      machine.facts);
}

void check_machine(const Machine& machine) {
  std::visit(
      [&]<class Facts>(const Facts& facts) {
        const std::string where = fmt::format("machine `{}`", machine.name);
        check_words(facts, where);
        for (const MachineNumber<Facts>& number : kNumbers<Facts>) {
          const int64_t value = facts.*number.member;
          if (!is_allowed(number, value)) fail("{}: `{}` is {}; {}", where, number.key, value, allowed(number));
        }
      },
      machine.facts);
}

}  // namespace tenon
