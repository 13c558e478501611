#include "build/kept_program.h"

#include <unistd.h>

#include <utility>

#include "base/background.h"
#include "base/fail.h"

namespace tenon {
namespace {

/// Keys of metadata: this and the path of a file, whose identity is the value.
constexpr std::string_view kFile = "file ";

std::string identity_of(const KeptModelKey& model) {
  return model.is_file ? file_identity(model.model) : std::string("built-in");
}

/// The path as it is given, where it is empty or there is no current folder: what reads the file says what is wrong.
std::string absolute_path(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  return (error ? path : absolute).lexically_normal().string();
}

bool is_watched(const CompileOptions& options) { return options.report != nullptr || options.on_pass; }

bool has_its_files(const ProgramFileInfo& info) {
  for (const auto& [key, value] : info.metadata) {
    if (key.starts_with(kFile) && file_identity(key.substr(kFile.size())) != value) {
      return false;
    }
  }
  return true;
}

/// Writes that were asked for. They are never destroyed, as objects of static lifetime may still ask; but a process
/// that ends waits for them. The child of a fork has no thread that would write.
class Writes {
 public:
  static BackgroundJobs& jobs() {
    static const Writes at_end;
    return *at_end.jobs_;
  }

 private:
  Writes() = default;
  ~Writes() {
    if (::getpid() == process_) jobs_->wait();
  }

  BackgroundJobs* const jobs_ = new BackgroundJobs();
  const pid_t process_ = ::getpid();
};

}  // namespace

KeptProgram::KeptProgram(const KeptModelKey& model, const CompileOptions& options) {
  const std::string identity = identity_of(model);
  cache_ = std::make_shared<const ProgramCache>(options.disk_cache && !identity.empty() && !options.machine.is_gpu() &&
                                                !is_watched(options));
  key_.add(model.is_file ? absolute_path(model.model) : model.model);
  key_.add(identity);
  for (const std::string& text : model.more) {
    key_.add(text);
  }
  key_.add(options);
}

std::optional<KeptExecutable> KeptProgram::open() const {
  const auto [path, may_be_torn] = cache_->find(key_);
  if (path.empty()) {
    return std::nullopt;
  }
  try {
    ProgramFileInfo info = inspect_program(path, {.verify = false});
    if (has_its_files(info)) {
      Executable executable = load_program(path, {.verify = may_be_torn});
      cache_->use(key_);
      return KeptExecutable{.info = std::move(info), .executable = std::move(executable)};
    }
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): it is damaged, and made anew
  }
  cache_->remove(key_);
  return std::nullopt;
}

Executable KeptProgram::compile(Graph&& graph, BuildOptions build, const std::vector<std::filesystem::path>& files) {
  bool keeps = enabled();
  for (const std::filesystem::path& file : files) {
    const std::string path = absolute_path(file);
    const std::string identity = file_identity(path);
    keeps = keeps && !identity.empty();
    build.metadata[std::string(kFile) + path] = identity;
  }
  if (!keeps) {
    return tenon::compile(std::move(graph), build.compile);
  }
  CompiledProgram compiled = compile_to_keep(std::move(graph), build);
  saved_ = std::move(compiled.saved);
  return std::move(compiled.executable);
}

void KeptProgram::keep() {
  if (const auto saved = std::exchange(saved_, nullptr)) {
    cache_->store(key_, *saved);
  }
}

void KeptProgram::keep_in_background() {
  if (saved_) {
    Writes::jobs().add(
        [key = key_, cache = cache_, saved = std::exchange(saved_, nullptr)] { cache->store(key, *saved); });
  }
}

void wait_for_kept_programs() { Writes::jobs().wait(); }

}  // namespace tenon
