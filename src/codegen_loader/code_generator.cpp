#include "native/code_generator.h"

#include <dlfcn.h>
#include <fmt/ranges.h>
#include <link.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/fail.h"
#include "native/code_module.h"

namespace tenon::codegen {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFile = "libtenon_codegen.so";

/// The program or library that this code is linked into.
struct OwnFile {
  fs::path path;
  bool is_program = false;
};

int visit_own_file(dl_phdr_info* info, size_t /*size*/, void* data) {
  const auto here = reinterpret_cast<uintptr_t>(&visit_own_file);
  for (ElfW(Half) i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    const uintptr_t begin = info->dlpi_addr + header.p_vaddr;
    if (header.p_type != PT_LOAD || here < begin || here - begin >= header.p_memsz) continue;
    static_cast<OwnFile*>(data)->path = info->dlpi_name;
    return 1;
  }
  return 0;
}

OwnFile own_file() {
  OwnFile own;
  ::dl_iterate_phdr(visit_own_file, &own);
  own.is_program = own.path.empty();  // the loader has no name for it
  std::error_code none;
  if (own.is_program) own.path = fs::read_symlink("/proc/self/exe", none);
  constexpr std::string_view kReplaced = " (deleted)";  // by a newer one, while this runs
  const std::string text = own.path.string();
  if (own.is_program && text.ends_with(kReplaced)) own.path = text.substr(0, text.size() - kReplaced.size());
  return own;
}

/// Where the module may be: beside the file, in a build tree or a wheel; or in the folder of Tenon's libraries, seen
/// from an installed library or program.
std::vector<fs::path> module_folders(const fs::path& own) {
  std::error_code none;
  std::vector<fs::path> folders;
  for (const fs::path& file : {own, fs::weakly_canonical(own, none)}) {
    const fs::path folder = file.parent_path();
    for (const fs::path& each : {folder, folder / "tenon", (folder / TENON_LIBRARIES).lexically_normal()}) {
      if (std::ranges::find(folders, each) == folders.end()) folders.push_back(each);
    }
  }
  return folders;
}

std::string last_problem() {
  const char* const text = ::dlerror();
  return text == nullptr ? "" : text;
}

/// Empty: in none of these folders.
fs::path find_module(const std::vector<fs::path>& folders) {
  std::error_code none;
  for (const fs::path& folder : folders) {
    if (fs::exists(folder / kFile, none)) return folder / kFile;
  }
  return {};
}

void* open_module(const std::vector<fs::path>& folders) {
  const fs::path found = find_module(folders);
  const std::string file = found.empty() ? kFile : found.string();
  if (void* const module = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) return module;
  if (!found.empty()) fail("nothing can be compiled, because the code generator cannot be loaded: {}", last_problem());
  std::vector<std::string> names;
  for (const fs::path& folder : folders)
    names.push_back("`" + folder.string() + "`");
  fail(
      "nothing can be compiled, because `{}`, which comes with Tenon, is not in {}, nor where the system looks for "
      "libraries",
      kFile, fmt::join(names, ", "));
}

CodeGenerator& load_code_generator() {
  const OwnFile own = own_file();
  void* const module = open_module(module_folders(own.path));
  const auto entry = reinterpret_cast<ModuleEntry>(::dlsym(module, kModuleEntry));
  const ModuleHost host{.interface = module_interface(TENON_VERSION), .products = linked_products()};
  CodeGenerator* const generator = entry == nullptr ? nullptr : entry(&host);
  if (generator == nullptr) {
    fail("nothing can be compiled, because the `{}` of another build of Tenon was found for `{}`", kFile,
         own.path.string());
  }
  // The module has addresses of this file's products.
  if (!own.is_program) static_cast<void>(::dlopen(own.path.c_str(), RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE));
  return *generator;
}

}  // namespace

CodeGenerator& code_generator() {
  static CodeGenerator& generator = load_code_generator();  // after an error, the next call tries again
  return generator;
}

std::string code_generator_file() { return find_module(module_folders(own_file().path)).string(); }

}  // namespace tenon::codegen
