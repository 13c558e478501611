// The constants of a file as arrays that use them where they are.
#pragma once

#include <vector>

#include "saved/checked_file.h"
#include "saved/segments_bytes.h"

namespace tenon::saved {

/// Those that are used are held against their checksums, all at once. The file must outlive it.
class FileConstants {
 public:
  explicit FileConstants(const CheckedFile& file)
      : file_(file), places_(file.constants()), used_(places_.size(), false) {}

  /// Error: there is none of that number, or it has fewer bytes.
  Array operator()(const ConstantReference& reference);
  /// Error: one that was used is not what was written.
  void verify() const;

 private:
  const CheckedFile& file_;
  std::vector<ConstantPlace> places_;
  std::vector<bool> used_;
};

}  // namespace tenon::saved
