// Programs become files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "saved/file_layout.h"
#include "saved/saved_program.h"

namespace tenon::saved {

/// Called now and then with the bytes written so far and those of the whole; may throw, which ends the writing.
using WriteProgress = std::function<void(int64_t done, int64_t of)>;

struct WriteOptions {
  WriteProgress progress = {};
  /// Wait until the disk has it. Else a file that was written just before the power failed may be damaged, which its
  /// checksums show.
  bool durable = true;
  /// The path that errors name, where it is another: of a file that becomes something else.
  std::string called = {};
};

/// Write the file beside `path`, under a name of its own, and put it in its place when it is whole: others see the old
/// one or the new one. After an error, be it of `progress`, nothing is left. Equal constants are written once.
/// Errors name the path: no folder, no space, no right to write.
void write_program(const SavedProgram& program, const std::string& path, const WriteOptions& options = {});
/// The same of any file that is laid out.
void write_file(const FileLayout& layout, const std::string& path, const WriteOptions& options = {});

/// Bytes of constants and code, about which the file is large.
int64_t program_size(const SavedProgram& program);

/// The same bytes in memory.
std::vector<std::byte> program_bytes(const SavedProgram& program);

}  // namespace tenon::saved
