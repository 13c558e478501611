#include "onnx/conformance.h"

#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/fail.h"
#include "onnx/conformance_case.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kSeconds = 120;
constexpr rlim_t kBytes = rlim_t{12} << 30;

struct Child {
  pid_t process = 0;
  int pipe = -1;
  std::string text;  // outcome, then reason, then others, with a 0 behind each
  Way way = Way::interpreted;
  size_t index = 0;
};

[[noreturn]] void run_child(const fs::path& folder, Way way, int pipe) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  const rlimit limit{kBytes, kBytes};
  ::setrlimit(RLIMIT_AS, &limit);
#endif
  ::alarm(kSeconds);
  const CaseResult result = run_case(folder, way);
  std::string text(1, static_cast<char>(result.outcome));
  text += result.reason + '\0' + result.others + '\0';
  for (size_t at = 0; at < text.size();) {
    const ssize_t written = ::write(pipe, text.data() + at, text.size() - at);
    if (written <= 0) {
      break;
    }
    at += static_cast<size_t>(written);
  }
  ::_exit(0);
}

Child start(const fs::path& folder, Way way, size_t index) {
  std::array<int, 2> ends{};
  TENON_CHECK(::pipe(ends.data()) == 0);
  const pid_t process = ::fork();
  TENON_CHECK(process >= 0);
  if (process == 0) {
    ::close(ends[0]);
    run_child(folder, way, ends[1]);
  }
  ::close(ends[1]);
  return {.process = process, .pipe = ends[0], .text = {}, .way = way, .index = index};
}

/// What the child said, once it has ended.
CaseResult finish(const Child& child) {
  int status = 0;
  ::waitpid(child.process, &status, 0);
  ::close(child.pipe);
  if (WIFSIGNALED(status)) {
    return {
        .outcome = Outcome::crashed, .reason = fmt::format("signal {}", ::strsignal(WTERMSIG(status))), .others = {}};
  }
  const size_t end = child.text.find('\0', 1);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || end == std::string::npos) {
    return {.outcome = Outcome::crashed, .reason = "ended without a result", .others = {}};
  }
  return {.outcome = static_cast<Outcome>(child.text[0]),
          .reason = child.text.substr(1, end - 1),
          .others = child.text.substr(end + 1, child.text.size() - end - 2)};
}

/// Read from all; those that have closed their end are finished and leave the list.
void collect(std::vector<Child>& running, Conformance& into) {
  std::vector<pollfd> waits;
  for (const Child& child : running) {
    waits.push_back({.fd = child.pipe, .events = POLLIN, .revents = 0});
  }
  ::poll(waits.data(), waits.size(), -1);
  for (size_t i = running.size(); i > 0; --i) {
    if (waits[i - 1].revents == 0) {
      continue;
    }
    Child& child = running[i - 1];
    std::array<char, 4096> block{};
    const ssize_t count = ::read(child.pipe, block.data(), block.size());
    if (count > 0) {
      child.text.append(block.data(), static_cast<size_t>(count));
      continue;
    }
    into.results[child.way][child.index] = finish(child);
    running.erase(running.begin() + static_cast<std::ptrdiff_t>(i - 1));
  }
}

std::vector<fs::path> find_cases(const fs::path& folder, const std::string& only) {
  if (!fs::is_directory(folder)) {
    fail("there is no folder `{}`", folder.string());
  }
  std::vector<fs::path> cases;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().filename() == "model.onnx" && entry.path().string().find(only) != std::string::npos) {
      cases.push_back(entry.path().parent_path());
    }
  }
  std::ranges::sort(cases);
  return cases;
}

}  // namespace

std::vector<Way> all_ways() { return {Way::interpreted, Way::compiled, Way::named, Way::exported}; }

std::string name(Way way) {
  switch (way) {
    case Way::interpreted: return "interpreter";
    case Way::compiled: return "compiled";
    case Way::named: return "named axes";
    case Way::exported: return "exported";
  }
  TENON_CHECK(false);
}

int Conformance::count(Way way, Outcome outcome) const {
  return static_cast<int>(std::ranges::count(results.at(way), outcome, &CaseResult::outcome));
}

Conformance run_conformance(const ConformanceOptions& options) {
  const std::vector<fs::path> folders = find_cases(options.folder, options.only);
  Conformance all;
  for (const fs::path& folder : folders) {
    all.cases.push_back(folder.lexically_relative(options.folder).string());
  }
  std::vector<Child> running;
  for (const Way way : options.ways) {
    all.results[way].resize(folders.size());
    for (size_t i = 0; i < folders.size(); ++i) {
      while (running.size() >= static_cast<size_t>(std::max(options.jobs, 1))) {
        collect(running, all);
      }
      running.push_back(start(folders[i], way, i));
    }
  }
  while (!running.empty()) {
    collect(running, all);
  }
  return all;
}

}  // namespace tenon
