// Runs a block some times on one thread, for somebody who counts what it does: `CASE on|off TIMES`.
#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

#include "support/numbers.h"
#include "support/pipeline_graphs.h"
#include "tenon/tenon.h"

int main(int argc, char** argv) {
  using tenon::Bindings;
  const std::string_view name = argc == 4 ? argv[1] : "";
  const bool is_dense = name == "dense_dense_norm";
  if (!is_dense && name != "inverted_residual") {
    fmt::print(stderr, "usage: bench_pipeline_bytes_steps dense_dense_norm|inverted_residual on|off TIMES\n");
    return 2;
  }
  const Bindings at = is_dense ? Bindings{{"rows", 4096}} : Bindings{{"batch", 1}, {"height", 112}, {"width", 112}};
  const tenon::Executable executable =
      tenon::compile(is_dense ? bench::dense_dense_norm(64) : bench::inverted_residual(16),
                     {.pipelines = std::string_view(argv[2]) == "on"});
  const tenon::Array x = bench::numbers(tenon::resolve(executable.inputs()[0].shape, at).dims());
  for (int i = std::atoi(argv[3]); i > 0; --i) {
    executable.run({x}, {.threads = 1});
  }
  fmt::print("{} bytes were never whole in memory\n", executable.counters().kept_bytes);
  return 0;
}
