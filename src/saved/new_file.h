// A file that appears whole or not at all.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace tenon::saved {

/// Written beside its path under a name of its own, and renamed. What was not put in place goes with the object. Errors
/// name the path.
class NewFile {
 public:
  explicit NewFile(std::string path);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(std::span<const std::byte> bytes);
  /// Under its path, in the place of what was there; where `durable`, when it is on disk.
  void put_in_place(bool durable = true);

 private:
  [[noreturn]] void fail_to_write() const;

  std::string path_;
  std::string beside_;  // empty: it has no name yet, so that nothing is left of it however this process ends
  int descriptor_ = -1;
};

}  // namespace tenon::saved
