#include "files.h"

#include <fstream>

#include "base/fail.h"

namespace tenon {

void write_text(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) {
    fail("cannot write the file `{}`", path);
  }
}

}  // namespace tenon
