// Run the official ONNX tests and say how many pass.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <set>
#include <sstream>
#include <string_view>
#include <thread>

#include "onnx/conformance.h"

namespace {

using namespace tenon;

constexpr const char* kUsage =
    "usage: conformance [--json] [--list] [--only TEXT] [--way N] [--write FILE.md] [FOLDER]\n"
    "  --json          one object a line for each way\n"
    "  --list          each case that does not pass, with its reason\n"
    "  --only TEXT     cases whose name contains TEXT\n"
    "  --way N         one way alone: 1 interpreter, 2 compiled, 3 compiled with named axes,\n"
    "                  4 exported and imported again\n"
    "  --write FILE    the page of the documentation with all that is refused\n";

struct Options {
  ConformanceOptions run;
  bool json = false;
  bool list = false;
  std::string write;
};

Options parse(int argc, char** argv) {
  Options options;
  options.run.jobs = static_cast<int>(std::thread::hardware_concurrency());
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : nullptr;
    if (flag == "--json") {
      options.json = true;
    } else if (flag == "--list") {
      options.list = true;
    } else if (flag == "--only" && value) {
      options.run.only = argv[++i];
    } else if (flag == "--way" && value && *value >= '1' && *value <= '4' && value[1] == 0) {
      options.run.ways = {all_ways()[static_cast<size_t>(*argv[++i] - '1')]};
    } else if (flag == "--write" && value) {
      options.write = argv[++i];
    } else if (!flag.starts_with("--")) {
      options.run.folder = flag;
    } else {
      fmt::print(stderr, "{}", kUsage);
      std::exit(2);
    }
  }
  return options;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string word(Outcome outcome) {
  constexpr const char* words[] = {"passed", "refused", "wrong", "crashed"};
  return words[static_cast<size_t>(outcome)];
}

void print_list(const Conformance& all) {
  for (const auto& [way, results] : all.results) {
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i].outcome != Outcome::passed) {
        std::string reason = results[i].reason;
        std::ranges::replace(reason, '\n', '|');
        fmt::print("{}\t{}\t{}\t{}\n", name(way), word(results[i].outcome), all.cases[i], reason);
      } else if (!results[i].others.empty()) {
        fmt::print("{}\tother\t{}\t{}\n", name(way), all.cases[i], results[i].others);
      }
    }
  }
}

void print_counts(const Conformance& all, bool json) {
  for (const auto& [way, results] : all.results) {
    const auto count = [&, w = way](Outcome outcome) { return all.count(w, outcome); };
    const auto format = json
                            ? R"({{"way": "{}", "passed": {}, "refused": {}, "wrong": {}, "crashed": {}, "total": {}}})"
                            : "{:<22}{:>6} passed {:>5} refused {:>4} wrong {:>4} crashed {:>6} in all";
    fmt::print("{}\n", fmt::format(fmt::runtime(format), name(way), count(Outcome::passed), count(Outcome::refused),
                                   count(Outcome::wrong), count(Outcome::crashed), results.size()));
  }
}

/// Reasons of a case, each with the ways that it holds for.
std::map<std::string, std::string> refusals(const Conformance& all, size_t i) {
  std::map<std::string, std::pair<std::string, size_t>> found;
  for (const auto& [way, results] : all.results) {
    if (results[i].outcome != Outcome::passed) {
      auto& [ways, count] = found[first_line(results[i].reason)];
      ways += (count++ == 0 ? "" : ", ") + name(way);
    }
  }
  std::map<std::string, std::string> result;
  for (const auto& [reason, ways] : found) {
    result[reason] = ways.second == all.results.size() ? "all" : ways.first;
  }
  return result;
}

/// How many compiled cases have a step of this label that is not a kernel.
std::map<std::string, int> other_labels(const Conformance& all) {
  std::map<std::string, int> counts;
  for (const auto& [way, results] : all.results) {
    for (size_t i = 0; way == Way::compiled && i < results.size(); ++i) {
      std::set<std::string> labels;
      std::istringstream list(results[i].others);
      for (std::string label; std::getline(list >> std::ws, label, ',');) {
        labels.insert(label);
      }
      for (const std::string& label : labels) {
        ++counts[label];
      }
    }
  }
  return counts;
}

/// What a page has from this heading on was written by hand, and stays.
constexpr std::string_view kByHand = "\n## Files of packages\n";

std::string written_by_hand(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  const size_t begin = text.str().find(kByHand);
  return begin == std::string::npos ? "" : text.str().substr(begin);
}

/// The page of the documentation.
void write_page(const Conformance& all, const std::string& file) {
  const std::string rest = written_by_hand(file);
  std::ofstream page(file);
  page << "# ONNX conformance\n\nThe official node and model tests of onnx 1.12, each run in four ways: interpreted; "
          "compiled; compiled with\nevery axis of two or more elements of every float input turned into a name; "
          "exported "
          "and imported again.\nWritten by `./dev conformance --write docs/conformance.md`.\n\n"
          "| way | passed | refused | wrong | crashed | total |\n|---|---|---|---|---|---|\n";
  for (const auto& [way, results] : all.results) {
    page << fmt::format("| {} | {} | {} | {} | {} | {} |\n", name(way), all.count(way, Outcome::passed),
                        all.count(way, Outcome::refused), all.count(way, Outcome::wrong),
                        all.count(way, Outcome::crashed), results.size());
  }
  page << "\nValues of inputs that decide shapes (a `shape`, `axes` or `k` input) are part of the import.\n"
          "\n## Steps that are not kernels\n\n| step | compiled cases |\n|---|---|\n";
  for (const auto& [label, count] : other_labels(all)) {
    page << fmt::format("| {} | {} |\n", label, count);
  }
  page << "\n## What is refused\n\n| case | ways | reason |\n|---|---|---|\n";
  for (size_t i = 0; i < all.cases.size(); ++i) {
    for (const auto& [reason, ways] : refusals(all, i)) {
      page << fmt::format("| {} | {} | {} |\n", all.cases[i], ways, reason);
    }
  }
  page << rest;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  try {
    const Conformance all = run_conformance(options.run);
    if (options.list) {
      print_list(all);
    }
    print_counts(all, options.json);
    if (!options.write.empty()) {
      write_page(all, options.write);
    }
    bool clean = true;
    for (const auto& [way, results] : all.results) {
      clean = clean && all.count(way, Outcome::wrong) == 0 && all.count(way, Outcome::crashed) == 0;
    }
    return clean ? 0 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "conformance: {}\n", error.what());
    return 2;
  }
}
