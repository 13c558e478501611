# Language level, code generation that every target shares, and the compiler cache.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug or Release" FORCE)
endif()

# The layers also end up in a shared object, the Python module: code that may lie anywhere, and calls among the layers
# that nothing outside can replace.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_COMPILE_OPTIONS_PIE -fPIC)  # of programs, too: precompiled headers are made with one of the two
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)

# Results must be the same bits on every machine: a multiply and an add fuse only where Tenon's own rule says so.
add_compile_options(-ffp-contract=off)

if(TENON_RUN_ONLY)  # which compiles {fmt} in: headers are enough, and those of the host serve a cross compiler
  find_path(TENON_FMT_INCLUDE fmt/format.h REQUIRED)
  add_library(fmt::fmt INTERFACE IMPORTED)
  add_library(fmt::fmt-header-only INTERFACE IMPORTED)
  target_include_directories(fmt::fmt INTERFACE ${TENON_FMT_INCLUDE})
  target_include_directories(fmt::fmt-header-only INTERFACE ${TENON_FMT_INCLUDE})
  target_compile_definitions(fmt::fmt-header-only INTERFACE FMT_HEADER_ONLY=1)
else()
  find_package(fmt REQUIRED)
endif()
find_package(Threads REQUIRED)

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # ccache keeps what was compiled with precompiled headers only where it is told how they are named and may be trusted.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE_PROGRAM})
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    add_compile_options(-fpch-preprocess)
  endif()
endif()
