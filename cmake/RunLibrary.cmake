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
target_compile_options(tenon_run_fmt PRIVATE -Os -ffunction-sections -fdata-sections)  # it makes messages

set(tenon_run_objects $<TARGET_OBJECTS:tenon_run_only> $<TARGET_OBJECTS:tenon_run_fmt>)
foreach(layer IN LISTS tenon_run_layers)
  list(APPEND tenon_run_objects $<TARGET_OBJECTS:tenon_${layer}>)
endforeach()

# Layers have much that no program in a file calls, such as writing files and reading loops as text: the linker leaves
# out what has a section of its own.
foreach(layer ${tenon_run_layers})
  target_compile_options(tenon_${layer} PRIVATE -ffunction-sections -fdata-sections)
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

# libtenon: the same functions with the compiler, by which tenon_load() takes ONNX models, too.
function(tenon_add_compiler_library)
  add_library(tenon_c SHARED $<TARGET_OBJECTS:tenon_capi> $<TARGET_OBJECTS:tenon_capi_models>)
  set_target_properties(tenon_c PROPERTIES OUTPUT_NAME tenon)
  target_link_libraries(tenon_c PRIVATE tenon_load tenon_saved fmt::fmt)
  tenon_use_code_module(tenon_c)
  tenon_export_c_interface(tenon_c)
  add_library(tenon::c ALIAS tenon_c)
endfunction()

# tenon_install_c_libraries(): the libraries with the C interface, their header, pkg-config's files and the package
# TenonRun. The component `run` is what programs need that have no compiler with them.
function(tenon_install_c_libraries)
  install(TARGETS tenon_run tenon_run_static DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT run)
  install(FILES include/tenon/c.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tenon COMPONENT run)
  set(package ${CMAKE_INSTALL_LIBDIR}/cmake/TenonRun)
  configure_package_config_file(cmake/TenonRunConfig.cmake.in ${CMAKE_BINARY_DIR}/TenonRunConfig.cmake
    INSTALL_DESTINATION ${package} PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
  write_basic_package_version_file(${CMAKE_BINARY_DIR}/TenonRunConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${CMAKE_BINARY_DIR}/TenonRunConfig.cmake ${CMAKE_BINARY_DIR}/TenonRunConfigVersion.cmake
          DESTINATION ${package} COMPONENT run)

  # From lib/pkgconfig back to the prefix, so that an installed tree may be moved.
  file(RELATIVE_PATH back /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  string(REGEX REPLACE "/$" "" back ${back})
  set(name tenon_run)
  set(library tenon_run)
  set(description "Runs programs that Tenon compiled, without the compiler")
  set(private "-lstdc++ -lm -lpthread")
  configure_file(cmake/library.pc.in ${CMAKE_BINARY_DIR}/tenon_run.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/tenon_run.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT run)
  if(TARGET tenon_c)
    install(TARGETS tenon_c EXPORT TenonTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
    set(name tenon)
    set(library tenon)
    set(description "The tensor compiler Tenon with its C interface")
    set(private "")
    configure_file(cmake/library.pc.in ${CMAKE_BINARY_DIR}/tenon.pc @ONLY)
    install(FILES ${CMAKE_BINARY_DIR}/tenon.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  endif()
endfunction()
