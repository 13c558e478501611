# C, for the tests and examples of the C interface, by the compiler that belongs to that of C++: both bring sanitizers.
if(CMAKE_CXX_COMPILER_ID STREQUAL Clang AND NOT CMAKE_C_COMPILER)
  string(REPLACE "clang++" "clang" CMAKE_C_COMPILER ${CMAKE_CXX_COMPILER})
endif()
enable_language(C)
