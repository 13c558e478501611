// What every benchmark prints: one figure a line, for people as a table, for programs as JSON.
#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

enum class Better { lower, higher };

/// One figure. No value: not measured yet. No target: there is nothing to miss.
struct Figure {
  std::string name;
  std::optional<double> value;
  std::string unit;
  std::optional<double> target;
  Better better = Better::lower;
  std::string note;  // shown in the table only

  /// Whether the target is met: never by a value that is not finite. Nothing where value or target is missing.
  std::optional<bool> ok() const;
};

/// Collects figures and prints them on a stream that it does not own.
///
/// With `--json` each figure is printed at once as an object with the keys name, value, unit, target and ok, absent
/// or not finite ones null. Otherwise finish() prints an aligned table. Not for use by several threads.
class Report {
 public:
  explicit Report(bool json, std::FILE* out = stdout) : json_(json), only_(), out_(out) {}

  /// For main(): understands `--json` and `--only TEXT`; prints the usage and exits with status 2 on anything else.
  Report(int argc, char** argv);

  void add(std::string name, double value, std::string unit, std::optional<double> target = std::nullopt,
           Better better = Better::lower, std::string note = "");

  /// A figure that cannot be measured yet: value and ok are null.
  void add_pending(std::string name, std::string unit, std::optional<double> target = std::nullopt,
                   Better better = Better::lower, std::string note = "");

  bool json() const { return json_; }
  /// Whether a figure of this name is asked for: all are, or `--only` is part of it.
  bool wants(std::string_view name) const { return name.find(only_) != std::string_view::npos; }

  /// Print what is left to print; 0 when no target was missed, else 1. Meant as the result of main().
  int finish();

 private:
  void record(Figure figure);

  bool json_;
  std::string only_;
  std::FILE* out_;
  std::vector<Figure> figures_;
  int missed_ = 0;
};

}  // namespace bench
