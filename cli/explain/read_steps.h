// What `tenon explain --json` printed, read again.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::cli {

/// A step as `explain --json` prints it.
struct ReadStep {
  std::string kind, operators, boundary;
  std::vector<std::string> nodes = {};           // of the model, that it came from
  std::string bytes_read, bytes_written, flops;  // expressions of the axes
  std::optional<double> bound_bytes = {};        // read and written, at the sizes of --bind
  std::optional<double> bound_read = {}, bound_written = {}, bound_flops = {};
  std::optional<double> microseconds = {};
};

/// What `explain --json` printed.
struct ReadProgram {
  std::string model, bindings;
  std::vector<ReadStep> steps = {};
  std::optional<double> arena_bytes = {};

  /// Sums over all steps; nothing where one of them lacks it.
  std::optional<double> bytes() const;
  std::optional<double> microseconds() const;
};

/// Error, which names `what`: it is not what `explain --json` prints.
ReadProgram read_program(std::string_view json, const std::string& what);

}  // namespace tenon::cli
