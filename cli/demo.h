// What `./dev run` shows.
#pragma once

namespace tenon {

/// Build a small sequence classifier with named axes, run it at five bindings and print a table.
void run_demo();

}  // namespace tenon
