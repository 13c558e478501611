// The official ONNX tests: folders with a model, inputs and expected outputs, run in several ways.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace tenon {

enum class Outcome : unsigned char { passed, refused, wrong, crashed };

/// How a case is run.
enum class Way : unsigned char {
  interpreted,  // import, interpret
  compiled,     // import, compile, run
  named,        // the same, with every axis of two or more elements of every float input turned into a name
  exported,     // import, export, import again, interpret
};
std::vector<Way> all_ways();
std::string name(Way way);

struct CaseResult {
  Outcome outcome = Outcome::crashed;
  std::string reason;  // of anything but a pass
  std::string others;  // labels of steps that are not kernels, comma-separated
};

struct Conformance {
  std::vector<std::string> cases;                       // folder/name
  std::map<Way, std::vector<CaseResult>> results = {};  // one for each case

  int count(Way way, Outcome outcome) const;
};

struct ConformanceOptions {
  std::filesystem::path folder = "/usr/share/libonnx-testdata/data";
  std::vector<Way> ways = all_ways();
  std::string only = {};  // cases whose name contains this
  int jobs = 2;
};

/// Run every case below the folder. Each runs in a process of its own, with limits of time and memory, so that a crash
/// is a result. The caller must have no other threads.
Conformance run_conformance(const ConformanceOptions& options);

}  // namespace tenon
