#include "support/ptxas.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace tenon {

bool has_ptxas() {
  static const bool found = std::system("ptxas --version > /dev/null 2>&1") == 0;
  return found;
}

std::string assemble(const devices::Module& module) {
  const std::string stem = fmt::format("{}ptxas_{}", testing::TempDir(), getpid());
  const std::string source = stem + ".ptx";
  const std::string messages = stem + ".txt";
  std::string all;
  for (const devices::CodeObject& object : module.objects) {
    if (object.bytes->empty()) continue;
    std::ofstream(source).write(object.bytes->data(), static_cast<std::streamsize>(object.bytes->size()));
    const std::string command =
        fmt::format("ptxas -arch={} -O1 -o /dev/null {} > {} 2>&1", module.target, source, messages);
    if (std::system(command.c_str()) != 0) {
      std::stringstream text;
      text << std::ifstream(messages).rdbuf();
      all += text.str();
    }
  }
  std::filesystem::remove(source);
  std::filesystem::remove(messages);
  return all;
}

}  // namespace tenon
