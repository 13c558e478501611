// What the pages say of their snippets, held against what comes out.
#pragma once

#include <cstdlib>
#include <iostream>

inline void require(bool holds, const char* what) {
  if (!holds) {
    std::cerr << "not so: " << what << "\n";
    std::exit(1);
  }
}
