// Graphviz's `dot`, as a program: no library of it, and no shell.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "base/fail.h"
#include "cli/explain/picture.h"
#include "cli/models/files.h"

extern char** environ;

namespace tenon::cli {
namespace {

/// A file that is gone with the object.
class TemporaryFile {
 public:
  TemporaryFile() {
    const char* folder = std::getenv("TMPDIR");
    path_ = std::string(folder != nullptr && *folder != '\0' ? folder : "/tmp") + "/tenon-XXXXXX";
    const int descriptor = mkstemp(path_.data());
    if (descriptor < 0) {
      fail("cannot make a temporary file `{}`", path_);
    }
    close(descriptor);
  }
  ~TemporaryFile() { unlink(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::string& path() const { return path_; }
  std::string read() const {
    std::ostringstream text;
    text << std::ifstream(path_, std::ios::binary).rdbuf();
    return text.str();
  }

 private:
  std::string path_;
};

}  // namespace

std::string layout_svg(const std::string& dot) {
  const TemporaryFile from;
  const TemporaryFile to;
  const TemporaryFile complaints;
  write_text(from.path(), dot);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, from.path().c_str(), O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, to.path().c_str(), O_WRONLY | O_TRUNC, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, complaints.path().c_str(), O_WRONLY | O_TRUNC, 0);
  std::string program = "dot";
  std::string format = "-Tsvg";
  std::array<char*, 3> words{program.data(), format.data(), nullptr};
  pid_t child = 0;
  const int error = posix_spawnp(&child, program.c_str(), &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  if (error == 0) {
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
  }
  if (error != 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 127)) {
    fail("a picture needs Graphviz's program `dot`, which is not here; install the package graphviz");
  }
  if (status != 0) {
    fail("Graphviz's program `dot` failed: {}", complaints.read());
  }
  return to.read();
}

}  // namespace tenon::cli
