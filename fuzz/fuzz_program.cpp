// Any bytes as a program's file: a program that can be planned, or an Error, and nothing else. Checksums are made right
// before a file is loaded, so that what lies behind them is tried. Nothing is run: machine code is trusted.
// What compiles them is not in here: fuzz_seeds writes programs to begin with.
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "devices/module.h"
#include "native/code_image.h"
#include "saved/info_bytes.h"
#include "support/program_parts.h"
#include "tenon/error.h"

// NOLINTBEGIN(readability-identifier-naming): names of libFuzzer
extern "C" int LLVMFuzzerInitialize(int* count, char*** words);
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned int seed);
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);
// NOLINTEND(readability-identifier-naming)

namespace {

using tenon::Error;
using tenon::ProgramParts;
using tenon::saved::SectionKind;

/// Programs to begin with, of the folder that libFuzzer reads and writes.
std::vector<std::vector<std::byte>>& seeds() {
  static std::vector<std::vector<std::byte>> files;
  return files;
}

/// What an Error does not stop.
template <class Read>
auto tried(const Read& read, std::span<const std::byte> bytes) -> std::optional<decltype(read(bytes))> {
  try {
    return read(bytes);
  } catch (const Error&) {
    return std::nullopt;  // what is wrong is told
  }
}

/// Forms that a program's file contains, each on its own.
void read_alone(std::span<const std::byte> bytes) {
  (void)tried(tenon::devices::module_from_bytes, bytes);
  (void)tried(tenon::codegen::image_from_bytes, bytes);
  (void)tried(tenon::saved::info_from_bytes, bytes);
}

/// Loading machine code calls functions in it, and that is trusted: it is read here and not loaded.
bool has_machine_code(const ProgramParts& parts) {
  bool has_some = parts.header.sections > parts.sections.size();  // or there are sections that nobody looked at
  for (const ProgramParts::Section& section : parts.sections) {
    if (section.entry.kind != SectionKind::code) continue;
    const auto module = tried(tenon::devices::module_from_bytes, section.bytes);
    if (!module || module->format != tenon::devices::kImageCode) continue;
    has_some = true;
    for (const tenon::devices::CodeObject& object : module->objects) {
      (void)tried(tenon::codegen::image_from_bytes, std::as_bytes(std::span(*object.bytes)));
    }
  }
  return has_some;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* count, char*** words) {
  for (int i = 1; i < *count; ++i) {
    const std::filesystem::path folder = (*words)[i];
    if (!std::filesystem::is_directory(folder)) continue;
    for (const auto& file : std::filesystem::directory_iterator(folder)) {
      if (file.path().filename().string().starts_with("seed"))
        seeds().push_back(tenon::read_file(file.path().string()));
    }
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  read_alone(bytes);
  ProgramParts parts = tenon::take_apart(bytes);
  for (const ProgramParts::Section& section : parts.sections) {
    read_alone(section.bytes);
  }
  if (has_machine_code(parts)) return 0;
  (void)tried(tenon::load_bytes, bytes);
  if (parts.sections.empty()) return 0;
  if (const auto loaded = tried(tenon::load_bytes, tenon::put_together(std::move(parts)))) {
    tenon::plan_program(*loaded, 3);
  }
  return 0;
}

/// A section changes at a time, and the others move out of its way.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned int seed) {
  std::minstd_rand random(seed);
  const auto pick = [&](size_t count) { return static_cast<size_t>(random()) % count; };
  std::vector<std::byte> file(size);
  std::memcpy(file.data(), data, size);
  ProgramParts parts = tenon::take_apart(file);
  if (!seeds().empty() && (parts.sections.empty() || pick(64) == 0)) {
    parts = tenon::take_apart(seeds()[pick(seeds().size())]);
  }
  if (parts.sections.empty()) return LLVMFuzzerMutate(data, size, most);
  ProgramParts::Section& section = parts.sections[pick(parts.sections.size())];
  const size_t before = section.bytes.size();
  section.bytes.resize(before + 256);
  section.bytes.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(section.bytes.data()), before, before + 256));
  if (pick(32) == 0) {
    section.entry.kind = static_cast<SectionKind>(pick(8));
    section.entry.machine = static_cast<int32_t>(pick(3)) - 1;
  }
  file = tenon::put_together(std::move(parts));
  if (file.size() > most) return LLVMFuzzerMutate(data, size, most);
  std::memcpy(data, file.data(), file.size());
  return file.size();
}
