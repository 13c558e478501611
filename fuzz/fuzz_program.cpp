// Any bytes as a program's file: a program that can be planned, or an Error, and nothing else. Checksums are made right
// before a file is loaded, so that what lies behind them is tried. Nothing is run: code is trusted.
// `fuzz_program seeds FOLDER` writes programs to begin with.
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
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

/// Forms that a program's file contains, each on its own.
void read_alone(std::span<const std::byte> bytes) {
  const auto try_one = [&](const auto& read) {
    try {
      (void)read(bytes);
    } catch (const Error&) {  // NOLINT(bugprone-empty-catch): what is wrong is to be told
    }
  };
  try_one(tenon::devices::module_from_bytes);
  try_one(tenon::codegen::image_from_bytes);
  try_one(tenon::saved::info_from_bytes);
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
  try {
    (void)tenon::load_bytes(bytes);
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): what is wrong is to be told
  }
  ProgramParts parts = tenon::take_apart(bytes);
  if (parts.sections.empty()) return 0;
  try {
    tenon::plan_program(tenon::load_bytes(tenon::put_together(std::move(parts))), 3);
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): what is wrong is to be told
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
