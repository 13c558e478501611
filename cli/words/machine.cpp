#include "cli/words/machine.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/fail.h"
#include "cli/words/compile_options.h"
#include "tenon/gpu.h"

namespace tenon::cli {

Machine machine_of(const std::string& word) {
  const std::vector<std::string> names = machine_names();
  if (std::ranges::find(names, word) != names.end()) {
    return machine_named(word);
  }
  // A name that the system cannot look up is none of a file; whatever else is there, reading it says what it is.
  std::error_code error;
  if (!std::filesystem::exists(std::filesystem::symlink_status(word, error))) {
    fail("there is no machine `{}`: it is no file, and the names are {}", word, fmt::join(names, ", "));
  }
  return load_machine(word);
}

Machine machine_of(const Arguments& arguments) {
  auto given = arguments.find("--machine");
  if (given && arguments.has("--target")) {
    fail("`--machine` and `--target` are the same; give one of them");
  }
  given = given ? given : arguments.find("--target");
  const auto device = arguments.find(kDevice.name);
  if (given && device) {
    fail("`{}` is one of this machine, `--machine` another machine; give one of them", kDevice.name);
  }
  return given ? machine_of(*given) : machine_of_device(device.value_or("cpu"));
}

}  // namespace tenon::cli
