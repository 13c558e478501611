// What `tenon version` shows.
#pragma once

namespace tenon {

/// Print the version, how kernels run in this build, the machine that code is made for, and where code is kept.
void print_version();

}  // namespace tenon
