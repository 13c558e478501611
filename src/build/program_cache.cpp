#include "build/program_cache.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "disk/content_hash.h"
#include "saved/write.h"
#include "tenon/error.h"

#ifdef TENON_WITH_LLVM
#include "disk/build_id.h"
#include "disk/cache_directory.h"
#include "disk/object_cache.h"
#include "native/code_generator.h"
#endif

namespace tenon {
namespace {

constexpr const char* kSuffix = ".tenon";

/// The clock of files may stand still for so long.
constexpr int64_t kSecond = 1'000'000'000;

int64_t nanoseconds(const timespec& time) { return int64_t{time.tv_sec} * kSecond + time.tv_nsec; }

/// All that the system says of a file but its name.
std::string facts_of(const struct stat& file) {
  return fmt::format("{} {} {} {} {}", file.st_dev, file.st_ino, file.st_size, nanoseconds(file.st_mtim),
                     nanoseconds(file.st_ctim));
}

/// Empty: programs of this build cannot be told from those of others.
std::string build_of_tenon() {
#ifdef TENON_WITH_LLVM
  std::string build = disk::build_id();
  const std::string generator = codegen::code_generator_file();
  if (generator.empty() || build.empty()) return build;
  struct stat file = {};
  if (::stat(generator.c_str(), &file) != 0) return "";
  return build + " " + facts_of(file);
#else
  return "";
#endif
}

}  // namespace

ProgramKey::ProgramKey() { add(build_of_tenon()); }

void ProgramKey::add(std::string_view text) { text_ += fmt::format("{}:{};", text.size(), text); }

void ProgramKey::add(const CompileOptions& options) {
  // All members, so that one that is added must be thought of here. The last two only watch.
  const auto& [fuse, native, disk_cache, most_row_bytes, least_shared_work, machine, winograd, pipelines, pipeline_rows,
               weights, precision, skip, sizes_from, on_pass, report] = options;
  add(fmt::format("{} {} {} {} {} {} {} {} {}", fuse, native, disk_cache, most_row_bytes, least_shared_work, winograd,
                  pipelines, pipeline_rows, weights ? name(*weights) : "none"));
  add(to_text(machine));
  add(name(precision));
  add(fmt::format("{} {}", skip, sizes_from));
  static_cast<void>(on_pass);
  static_cast<void>(report);
}

std::string ProgramKey::hex() const { return disk::to_hex(disk::content_hash(text_)); }

std::string file_identity(const std::string& path) {
  struct stat file = {};
  timespec now = {};
  if (::stat(path.c_str(), &file) != 0 || !S_ISREG(file.st_mode) || ::clock_gettime(CLOCK_REALTIME, &now) != 0) {
    return "";
  }
  const int64_t changed = std::max(nanoseconds(file.st_mtim), nanoseconds(file.st_ctim));
  if (nanoseconds(now) - changed < 2 * kSecond) {
    return "";
  }
  return facts_of(file);
}

struct ProgramCache::State {
#ifdef TENON_WITH_LLVM
  std::string path;
  disk::CacheDirectory directory;
  int64_t byte_limit;

  std::string file(const ProgramKey& key) const { return key.hex() + kSuffix; }

  void keep_bound(const std::string& newest) const {
    std::vector<disk::CacheFile> files = directory.list(kSuffix);
    std::ranges::sort(files, {}, &disk::CacheFile::used);
    int64_t bytes = 0;
    for (const disk::CacheFile& each : files) {
      bytes += static_cast<int64_t>(each.bytes);
    }
    for (const disk::CacheFile& each : files) {
      if (bytes <= byte_limit) break;
      if (each.name == newest) continue;
      directory.remove(each.name);
      bytes -= static_cast<int64_t>(each.bytes);
    }
  }
#endif
};

#ifdef TENON_WITH_LLVM

ProgramCache::ProgramCache(bool enabled, const std::string& directory, int64_t byte_limit) {
  const std::string path = directory.empty() ? disk::default_cache_directory() : directory;
  const char* const keep = std::getenv("TENON_KEEP");  // for programs that one cannot change
  const bool is_off = keep != nullptr && std::string_view(keep) == "0";
  if (!enabled || is_off || path.empty() || build_of_tenon().empty()) return;
  // NOLINTNEXTLINE(modernize-make-unique): a folder that is open is not moved
  auto state = std::unique_ptr<State>(
      new State{.path = path, .directory = disk::CacheDirectory(path), .byte_limit = byte_limit});
  if (state->directory.open()) state_ = std::move(state);
}

ProgramCache::Found ProgramCache::find(const ProgramKey& key) const {
  if (!state_) return {};
  const std::string path = state_->path + "/" + state_->file(key);
  struct stat file = {};
  timespec now = {};
  timespec running = {};
  if (::lstat(path.c_str(), &file) != 0 || !S_ISREG(file.st_mode)) return {};
  const bool has_clocks = ::clock_gettime(CLOCK_REALTIME, &now) == 0 && ::clock_gettime(CLOCK_BOOTTIME, &running) == 0;
  const bool is_of_now = has_clocks && nanoseconds(file.st_mtim) > nanoseconds(now) - nanoseconds(running);
  return {.path = path, .may_be_torn = !is_of_now};
}

void ProgramCache::use(const ProgramKey& key) const {
  if (!state_) return;
  const std::string path = state_->path + "/" + state_->file(key);
  ::utimensat(AT_FDCWD, path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

void ProgramCache::remove(const ProgramKey& key) const {
  if (state_) state_->directory.remove(state_->file(key));
}

void ProgramCache::store(const ProgramKey& key, const saved::SavedProgram& program) const {
  if (!state_ || saved::program_size(program) > state_->byte_limit) return;
  try {
    saved::write_program(program, state_->path + "/" + state_->file(key), {.durable = false});
    std::filesystem::permissions(state_->path + "/" + state_->file(key),
                                 std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    state_->keep_bound(state_->file(key));
  } catch (const std::filesystem::filesystem_error&) {  // NOLINT(bugprone-empty-catch): somebody else removed it
  } catch (const Error&) {                              // NOLINT(bugprone-empty-catch): no space, or no right to write
  }
}

#else

ProgramCache::ProgramCache(bool /*enabled*/, const std::string& /*directory*/, int64_t /*byte_limit*/) {}
ProgramCache::Found ProgramCache::find(const ProgramKey& /*key*/) const { return {}; }
void ProgramCache::use(const ProgramKey& /*key*/) const {}
void ProgramCache::remove(const ProgramKey& /*key*/) const {}
void ProgramCache::store(const ProgramKey& /*key*/, const saved::SavedProgram& /*program*/) const {}

#endif

ProgramCache::~ProgramCache() = default;

bool ProgramCache::enabled() const { return state_ != nullptr; }

}  // namespace tenon
