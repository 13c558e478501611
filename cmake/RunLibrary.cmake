# libtenon_run, shared and static: what runs program files, with the C interface (tenon/c.h) and without LLVM, protobuf
# or {fmt}. It is made of the objects of layers, so that nothing is compiled twice, and exports what exports.map names.

set(tenon_exports ${PROJECT_SOURCE_DIR}/src/capi/exports.map)

# tenon_export_c_interface(<target>): of a shared library, these names and no others, under their version.
function(tenon_export_c_interface target)
  set_target_properties(${target} PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION 1 LINK_DEPENDS ${tenon_exports})
  target_include_directories(${target} INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_options(${target} PRIVATE -Wl,--version-script=${tenon_exports} -Wl,--gc-sections -Wl,--as-needed)
  if(NOT TENON_SANITIZE AND NOT TENON_FUZZ)
    target_link_options(${target} PRIVATE -Wl,-z,defs)  # the functions of sanitizers come from the program
  endif()
endfunction()

# What only libtenon_run is made of. {fmt} is compiled into it.
file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/capi/run_only/*.cpp)
list(FILTER sources EXCLUDE REGEX "/fmt_functions\\.cpp$")
add_library(tenon_run_only OBJECT ${sources})
target_include_directories(tenon_run_only PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(tenon_run_only PRIVATE fmt::fmt tenon_warnings)
tenon_precompile(tenon_run_only standard)
add_library(tenon_run_fmt OBJECT ${PROJECT_SOURCE_DIR}/src/capi/run_only/fmt_functions.cpp)
target_link_libraries(tenon_run_fmt PRIVATE fmt::fmt-header-only)

set(tenon_run_objects $<TARGET_OBJECTS:tenon_run_only> $<TARGET_OBJECTS:tenon_run_fmt>)
foreach(layer base shape kernel library native devices runtime saved capi)
  list(APPEND tenon_run_objects $<TARGET_OBJECTS:tenon_${layer}>)
endforeach()

add_library(tenon_run SHARED ${tenon_run_objects})
target_link_libraries(tenon_run PRIVATE Threads::Threads)
tenon_export_c_interface(tenon_run)
add_library(tenon::run ALIAS tenon_run)

add_library(tenon_run_static STATIC ${tenon_run_objects})
set_target_properties(tenon_run_static PROPERTIES OUTPUT_NAME tenon_run)
target_link_libraries(tenon_run_static INTERFACE Threads::Threads m)
target_include_directories(tenon_run_static INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
add_library(tenon::run_static ALIAS tenon_run_static)
