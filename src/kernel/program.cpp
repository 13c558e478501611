#include "kernel/program.h"

#include <set>

namespace tenon {

Traffic traffic(const Program& program, const Step& step) {
  const auto bytes_of = [&](const std::vector<int>& buffers) {
    Extent bytes = 0;
    for (const int i : std::set(buffers.begin(), buffers.end())) {
      const ProgramBuffer& buffer = program.buffers.at(static_cast<size_t>(i));
      bytes += buffer.elements * static_cast<int64_t>(byte_size(buffer.dtype));
    }
    return bytes;
  };
  return {.read = bytes_of(step.reads), .written = bytes_of(step.writes)};
}

}  // namespace tenon
