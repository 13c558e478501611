// Random graphs, compiled and held against the interpreter, for as long as one likes.

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "support/differential.h"
#include "support/shrink_graph.h"
#include "tenon/text.h"

namespace {

constexpr const char* kUsage =
    "usage: soak [--count N] [--seconds S] [--first SEED] [--interpreted] [--print]\n"
    "  --count N       graphs to try (20000)\n"
    "  --seconds S     stop after so long\n"
    "  --first SEED    the first seed (1000000); further ones follow it\n"
    "  --interpreted   run the loops in their interpreter instead of machine code\n"
    "  --print         write each graph before it is tried\n"
    "A crash names the seed.\n";

struct Options {
  uint64_t count = 20000;
  double seconds = 1e9;
  uint64_t first = 1000000;
  bool native = true;
  bool print = false;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : nullptr;
    if (flag == "--interpreted") {
      options.native = false;
    } else if (flag == "--print") {
      options.print = true;
    } else if (flag == "--count" && value) {
      options.count = std::strtoull(argv[++i], nullptr, 10);
    } else if (flag == "--seconds" && value) {
      options.seconds = std::strtod(argv[++i], nullptr);
    } else if (flag == "--first" && value) {
      options.first = std::strtoull(argv[++i], nullptr, 10);
    } else {
      fmt::print(stderr, "{}", kUsage);
      std::exit(2);
    }
  }
  return options;
}

std::optional<std::string> difference(const tenon::RandomGraph& random, uint64_t seed, const Options& options) {
  for (const bool fuse : {true, false}) {
    if (auto found =
            tenon::find_difference(random, seed, {.fuse = fuse, .native = options.native, .disk_cache = false})) {
      return fmt::format("{}{}", fuse ? "" : "not fused, ", *found);
    }
  }
  return {};
}

volatile std::sig_atomic_t told = 0;
std::array<char, 64> crash_note{};

/// Written ahead, because a handler may not allocate.
void prepare_note(uint64_t seed) {
  *fmt::format_to_n(crash_note.data(), crash_note.size() - 1, "soak: crashed at seed {}\n", seed).out = '\0';
}

/// Says where, then dies of the signal as it would have.
void on_crash(int signal) {
  if (told == 0) {
    told = 1;
    [[maybe_unused]] const auto written = write(STDERR_FILENO, crash_note.data(), std::strlen(crash_note.data()));
  }
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
    std::signal(signal, on_crash);
  }
  const bool is_terminal = isatty(STDOUT_FILENO) != 0;
  const auto begin = std::chrono::steady_clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  uint64_t done = 0;
  uint64_t failures = 0;
  for (; done < options.count && elapsed() < options.seconds; ++done) {
    const uint64_t seed = options.first + done;
    prepare_note(seed);
    const tenon::RandomGraph random = tenon::random_graph(seed);
    if (options.print) {
      fmt::print("seed {}\n{}\n", seed, to_text(random.graph));
      std::fflush(stdout);
    }
    if (difference(random, seed, options)) {
      ++failures;
      const tenon::RandomGraph small =
          shrunk(random, [&](const tenon::RandomGraph& each) { return difference(each, seed, options).has_value(); });
      fmt::print("seed {}: {}\n{}\n", seed, difference(small, seed, options).value_or("it comes and goes"),
                 to_text(small.graph));
      std::fflush(stdout);
    }
    if (is_terminal && done % 100 == 0) {
      fmt::print("\r{} graphs, {} failures, {:.0f} s ", done, failures, elapsed());
      std::fflush(stdout);
    }
  }
  fmt::print("{}{} graphs, {} failures, {:.1f} s\n", is_terminal ? "\r" : "", done, failures, elapsed());
  return failures == 0 ? 0 : 1;
}
