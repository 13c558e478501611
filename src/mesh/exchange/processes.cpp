#include "mesh/exchange/processes.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "base/fail.h"

namespace tenon::mesh {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFile = "libtenon_mpi.so";

/// The program or library that this code is linked into.
fs::path own_file() {
  std::error_code none;
  Dl_info info{};
  const fs::path program = fs::read_symlink("/proc/self/exe", none);
  if (::dladdr(reinterpret_cast<const void*>(&own_file), &info) == 0 || info.dli_fname == nullptr) return program;
  const fs::path file = fs::weakly_canonical(info.dli_fname, none);
  return fs::is_regular_file(file, none) ? file : program;
}

/// Beside that file, in a build tree or a wheel, or in the folder of Tenon's libraries when they are installed.
std::vector<fs::path> places() {
  const fs::path folder = own_file().parent_path();
  return {folder / kFile, folder / "tenon" / kFile, (folder / ".." / "lib" / "tenon" / kFile).lexically_normal()};
}

[[noreturn]] void raise(const std::string& problem) { throw Error(problem); }

}  // namespace

bool has_processes() {
  std::error_code none;
  return std::ranges::any_of(places(), [&](const fs::path& file) { return fs::exists(file, none); });
}

std::unique_ptr<Processes> open_processes(std::optional<int> communicator) {
  void* module = nullptr;
  std::error_code none;
  for (const fs::path& file : places()) {
    if (!fs::exists(file, none)) continue;
    module = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (module == nullptr) fail("a mesh needs MPI, which cannot be loaded: {}", ::dlerror());
    break;
  }
  // Or wherever the program's own run path or LD_LIBRARY_PATH has it.
  if (module == nullptr) module = ::dlopen(kFile, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (module == nullptr) {
    fail(
        "a mesh of processes needs MPI, and `{}` is not there: install libopenmpi-dev (or another MPI) and build Tenon "
        "again; a mesh of threads (`--ranks threads`, `Mesh::run_as_threads`) needs none",
        kFile);
  }
  const auto entry = reinterpret_cast<ProcessesEntry>(::dlsym(module, kProcessesEntry));
  Processes* const processes =
      entry == nullptr ? nullptr : entry(kProcessesInterface, communicator ? &*communicator : nullptr, raise);
  if (processes == nullptr) fail("a mesh needs MPI, and `{}` belongs to another build of Tenon", kFile);
  return std::unique_ptr<Processes>(processes);
}

}  // namespace tenon::mesh
