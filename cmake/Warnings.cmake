# tenon_warnings: an interface target with the warnings that Tenon's own code is held to, on g++ 12 and clang 19 alike.
add_library(tenon_warnings INTERFACE)
target_compile_options(tenon_warnings INTERFACE
  -Wall -Wextra -Wpedantic
  -Wshadow
  -Wconversion -Wsign-conversion -Wdouble-promotion
  -Wold-style-cast -Wcast-qual -Wcast-align
  -Wnon-virtual-dtor -Woverloaded-virtual -Wextra-semi
  -Wimplicit-fallthrough -Wformat=2 -Wundef -Wvla
  -Wmissing-declarations)

# g++ 12 reports copies inside std::string's operator+ that overlap or go too far, and do neither (GCC bug 105651, fixed
# in 13).
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(tenon_warnings INTERFACE -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow)
endif()

# clang looks into libstdc++ 12's std::stable_sort, which calls a function that C++17 deprecated.
if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
  target_compile_options(tenon_warnings INTERFACE -Wno-deprecated-declarations)
endif()

if(TENON_WERROR)
  target_compile_options(tenon_warnings INTERFACE -Werror)
endif()
