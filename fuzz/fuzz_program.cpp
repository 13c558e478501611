// Any bytes as a program's file: a program that can be planned, or an Error, and nothing else. Checksums are made right
// before a file is loaded, so that what lies behind them is tried. Nothing is run: machine code is trusted.
// `fuzz_program seeds FOLDER` writes programs to begin with.
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <random>
#include <string>
#include <string_view>

#include "devices/module.h"
#include "native/code_image.h"
#include "saved/info_bytes.h"
#include "support/program_parts.h"
#include "support/random_graph.h"
#include "tenon/build_program.h"
#include "tenon/error.h"
#include "tenon/text.h"

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

std::vector<std::byte> built(const tenon::Graph& graph) {
  const auto path = std::filesystem::temp_directory_path() / ("fuzz_program_" + std::to_string(::getpid()));
  tenon::build_program(graph, path.string(), {.compile = {.native = false}});
  std::vector<std::byte> bytes = tenon::read_file(path.string());
  std::filesystem::remove(path);
  return bytes;
}

/// Every kind of step, control flow, sizes that data decide, outputs that take over inputs, and regions.
constexpr std::array kGraphs = {
    "graph g(x: f32[row, col], w: f32[col, 8]) { return y=softmax(matmul(exp(x), w), -1) }",
    "graph g(x: f32[row, 8]) {\n  kept = compress(x, ge(reshape(slice(x, [0, 0], [row, 1]), [row]), 0), axis=0, "
    "name=kept)\n  return y=softmax(kept, -1)\n}",
    "graph g(x: f32[4, row], state: f32[4, row]) {\n  a = sort(x, axis=1)\n  return a=a, next=add(state, a) aliases "
    "state\n}",
};

const std::vector<std::vector<std::byte>>& seeds() {
  static const std::vector<std::vector<std::byte>> files = [] {
    std::vector<std::vector<std::byte>> all;
    for (const char* text : kGraphs) {
      all.push_back(built(tenon::parse_graph(text)));
    }
    for (uint64_t seed = 0; seed < 24; ++seed) {
      all.push_back(built(tenon::random_graph(seed).graph));
    }
    return all;
  }();
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
  if (*count != 3 || std::string_view((*words)[1]) != "seeds") return 0;
  const std::filesystem::path folder = (*words)[2];
  for (size_t i = 0; i < seeds().size(); ++i) {
    tenon::write_file(folder / ("seed" + std::to_string(i)), seeds()[i]);
  }
  std::exit(0);  // NOLINT(concurrency-mt-unsafe): nothing else runs yet
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
  if (parts.sections.empty() || pick(64) == 0) {
    parts = tenon::take_apart(seeds()[pick(seeds().size())]);
  }
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
