# Headers that nearly every source includes, parsed once: they take longer to parse than most sources take to compile.
# A source that counts on them without naming them fails in a tree without them, such as that of clang-tidy (`./dev lint`).
option(TENON_PRECOMPILED "Precompile headers that most sources include" ON)

set(tenon_headers_standard
  <algorithm> <array> <cmath> <cstddef> <cstdint> <functional> <iterator> <limits> <map> <memory> <numeric> <optional>
  <set> <span> <string> <string_view> <tuple> <unordered_map> <unordered_set> <utility> <variant> <vector>
  <fmt/format.h> <fmt/ranges.h>)
# For layers above ops/: graphs and the builders of their nodes.
set(tenon_headers_graph ${tenon_headers_standard}
  ${PROJECT_SOURCE_DIR}/src/ir/node.h ${PROJECT_SOURCE_DIR}/include/tenon/ops.h)
set(tenon_headers_test ${tenon_headers_standard} <gtest/gtest.h>)
set(tenon_headers_graph_test ${tenon_headers_graph} <gtest/gtest.h>)

# tenon_precompile(<target> standard|graph|test|graph_test [<header>...]): one of the lists above, made once for all targets; with
# further headers, for this target alone.
function(tenon_precompile target list)
  if(NOT TENON_PRECOMPILED)
    return()
  endif()
  if(ARGN)
    target_precompile_headers(${target} PRIVATE ${tenon_headers_${list}} ${ARGN})
    return()
  endif()
  set(maker tenon_precompiled_${list})
  if(NOT TARGET ${maker})
    file(WRITE ${CMAKE_BINARY_DIR}/${maker}.cpp "")
    add_library(${maker} OBJECT ${CMAKE_BINARY_DIR}/${maker}.cpp)
    # What defines macros must be the same here, and warnings do.
    target_link_libraries(${maker} PRIVATE fmt::fmt tenon_warnings)
    if(list MATCHES "test$")
      target_link_libraries(${maker} PRIVATE GTest::gtest)
      tenon_compile_as_test(${maker})
    endif()
    target_include_directories(${maker} PRIVATE
      ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include ${generated_include_dir})
    target_precompile_headers(${maker} PRIVATE ${tenon_headers_${list}})
    if(list MATCHES "^graph")
      add_dependencies(${maker} gen_elementwise_output)
    endif()
  endif()
  target_precompile_headers(${target} REUSE_FROM ${maker})
endfunction()

# tenon_compile_as_test(<target>): tests run once or twice for each time that they are compiled, so optimized trees
# compile them with -O1: two thirds of the time that -O2 takes. Precompiled headers are for one level: a target that uses
# the lists `test` and `graph_test` must call this.
function(tenon_compile_as_test target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

option(TENON_UNITY "Compile sources of a folder several at a time" ON)

# tenon_link_quickly(<target>): a third of the time that GNU's usual linker takes, for programs that are not installed:
# there are some sixty of them.
function(tenon_link_quickly target)
  if(TENON_GOLD AND NOT TENON_SANITIZE)
    target_link_options(${target} PRIVATE -fuse-ld=gold)
  endif()
endfunction()
if(CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)  # gold was tried there alone
  include(CheckLinkerFlag)
  check_linker_flag(CXX -fuse-ld=gold TENON_GOLD)
endif()

# tenon_join_sources(<target>): what several sources instantiate alike is compiled once for all of them. Names in their
# anonymous namespaces must differ; those of tests may not, as each test is in a namespace of its own
# (tools/check_types.py).
function(tenon_join_sources target)
  if(TENON_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
    if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
      target_compile_options(${target} PRIVATE -Wno-subobject-linkage)  # a source is no header, though it is included
    endif()
  endif()
endfunction()
