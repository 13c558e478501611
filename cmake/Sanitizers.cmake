# TENON_SANITIZE: sanitizers for every target, as -fsanitize= takes them. The presets asan and tsan set it.
set(TENON_SANITIZE "" CACHE STRING "Sanitizers, for example address,undefined or thread")

if(TENON_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

if(TENON_SANITIZE)
  add_compile_options(-fsanitize=${TENON_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${TENON_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # The checks that g++ inserts confuse its own flow analysis; the other presets keep this warning.
    target_compile_options(tenon_warnings INTERFACE -Wno-maybe-uninitialized)
  endif()
endif()
