// What `./dev run` shows.
#pragma once

namespace tenon {

/// Compile a small sequence classifier with named axes once, run it at five bindings and print a table: first and later
/// runs, the interpreter's time, the largest difference from it. Then the kernels.
void run_demo();

}  // namespace tenon
