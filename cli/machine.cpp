#include "machine.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/fail.h"

namespace tenon::cli {

Machine machine_of(const Arguments& arguments) {
  auto given = arguments.find("--machine");
  if (given && arguments.has("--target")) {
    fail("`--machine` and `--target` are the same; give one of them");
  }
  given = given ? given : arguments.find("--target");
  if (!given) {
    return this_machine();
  }
  const std::vector<std::string> names = machine_names();
  if (std::ranges::find(names, *given) != names.end()) {
    return machine_named(*given);
  }
  // A name that the system cannot look up is none of a file; whatever else is there, reading it says what it is.
  std::error_code error;
  if (!std::filesystem::exists(std::filesystem::symlink_status(*given, error))) {
    fail("there is no machine `{}`: it is no file, and the names are {}", *given, fmt::join(names, ", "));
  }
  return load_machine(*given);
}

}  // namespace tenon::cli
