// `fuzz_seeds FOLDER` writes programs for fuzz_program to begin with. It is built with the tests, so that the fuzzer
// has no compiler in it, which would take longer to instrument than all that it tries.
#include <unistd.h>

#include <array>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "support/program_parts.h"
#include "support/random_graph.h"
#include "tenon/build_program.h"
#include "tenon/text.h"

namespace {

std::vector<std::byte> built(const tenon::Graph& graph) {
  const auto path = std::filesystem::temp_directory_path() / ("fuzz_seeds_" + std::to_string(::getpid()));
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

}  // namespace

int main(int count, char** words) try {
  if (count != 2) {
    std::cerr << "usage: fuzz_seeds FOLDER\n";
    return 1;
  }
  const std::filesystem::path folder = words[1];
  std::vector<tenon::Graph> graphs;
  for (const char* text : kGraphs) {
    graphs.push_back(tenon::parse_graph(text));
  }
  for (uint64_t seed = 0; seed < 24; ++seed) {
    graphs.push_back(tenon::random_graph(seed).graph);
  }
  for (size_t i = 0; i < graphs.size(); ++i) {
    tenon::write_file(folder / ("seed" + std::to_string(i)), built(graphs[i]));
  }
  return 0;
} catch (const std::exception& error) {
  std::cerr << "fuzz_seeds: " << error.what() << '\n';
  return 1;
}
