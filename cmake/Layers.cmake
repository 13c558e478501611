# One static library for each folder of src/, and the targets that gather them:
#   tenon, tenon::tenon   every layer behind the public headers; what users and examples link
#   tenon_internal        tenon, the headers of src/, {fmt} and our warnings; what the CLI, tests and benchmarks link

include(GNUInstallDirs)
set(generated_include_dir ${CMAKE_BINARY_DIR}/generated/include)
file(MAKE_DIRECTORY ${generated_include_dir})

add_library(tenon INTERFACE)
target_compile_features(tenon INTERFACE cxx_std_20)
add_library(tenon::tenon ALIAS tenon)

add_library(tenon_internal INTERFACE)
target_include_directories(tenon_internal INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(tenon_internal INTERFACE tenon tenon_warnings fmt::fmt)

# What libtenon_run is made of (cmake/RunLibrary.cmake).
set(tenon_run_layers base shape kernel library native disk devices runtime saved capi)

define_property(GLOBAL PROPERTY TENON_LAYERS BRIEF_DOCS "Names of the layers declared so far")
define_property(GLOBAL PROPERTY TENON_ABOVE_OPS BRIEF_DOCS "Names of the layers that see graphs")
define_property(GLOBAL PROPERTY TENON_INSTALLED BRIEF_DOCS "Targets of the layers, for cmake/Install.cmake")

# tenon_layer(<name> [DEPS layer...] [DIR folder] [ONLY pattern...] [EXCEPT pattern...] [ROOMS room...]
#             [HEADERS header...] [ALONE pattern...] [APART])
#
# Make tenon_<name> from src/<name>/ and its folders and add it to tenon. DIR names another folder of src/; ONLY and EXCEPT choose
# among its sources. DEPS must have been declared above. ROOMS is for tools/check_layers.py alone. HEADERS are
# precompiled for this layer beside those that all share. ALONE are sources that tenon_join_sources() must not join. A layer
# that is APART belongs to tenon where another layer links it. A
# folder without sources gives an interface target; a folder that does not exist gives nothing.
function(tenon_layer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "APART" "DIR" "DEPS;ONLY;EXCEPT;ROOMS;HEADERS;ALONE")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tenon_layer(${name}): what is '${arg_UNPARSED_ARGUMENTS}'?")
  endif()
  get_property(declared GLOBAL PROPERTY TENON_LAYERS)
  foreach(dep IN LISTS arg_DEPS)
    if(NOT dep IN_LIST declared)
      message(FATAL_ERROR "tenon_layer(${name}): ${dep} must be declared above it")
    endif()
  endforeach()
  set_property(GLOBAL APPEND PROPERTY TENON_LAYERS ${name})

  if(TENON_RUN_ONLY AND NOT name IN_LIST tenon_run_layers)
    return()
  endif()

  if(NOT arg_DIR)
    set(arg_DIR ${name})
  endif()
  set(folder ${PROJECT_SOURCE_DIR}/src/${arg_DIR})
  if(NOT IS_DIRECTORY ${folder})
    return()
  endif()

  if(NOT arg_ONLY)
    set(arg_ONLY *.cpp */*.cpp)
  endif()
  list(TRANSFORM arg_ONLY PREPEND ${folder}/)
  file(GLOB sources CONFIGURE_DEPENDS ${arg_ONLY})
  if(arg_EXCEPT)
    list(TRANSFORM arg_EXCEPT PREPEND ${folder}/)
    file(GLOB left_out CONFIGURE_DEPENDS ${arg_EXCEPT})
    list(REMOVE_ITEM sources ${left_out})
  endif()

  get_property(above_ops GLOBAL PROPERTY TENON_ABOVE_OPS)
  set(headers standard)
  foreach(each IN LISTS name arg_DEPS)
    if(each STREQUAL ops OR each IN_LIST above_ops)
      set(headers graph)
      set_property(GLOBAL APPEND PROPERTY TENON_ABOVE_OPS ${name})
    endif()
  endforeach()

  set(target tenon_${name})
  if(sources)
    add_library(${target} STATIC ${sources})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(${target} PRIVATE fmt::fmt $<BUILD_INTERFACE:tenon_warnings>)
    tenon_precompile(${target} ${headers} ${arg_HEADERS})
    tenon_join_sources(${target})
    if(arg_ALONE)
      list(TRANSFORM arg_ALONE PREPEND ${folder}/)
      file(GLOB alone CONFIGURE_DEPENDS ${arg_ALONE})
      set_source_files_properties(${alone} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
    set(scope PUBLIC)
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(${target} ${scope}
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<BUILD_INTERFACE:${generated_include_dir}>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${target} ${scope} Threads::Threads)
  foreach(dep IN LISTS arg_DEPS)
    if(TARGET tenon_${dep})
      target_link_libraries(${target} ${scope} tenon_${dep})
    endif()
  endforeach()
  if(NOT arg_APART)
    target_link_libraries(tenon INTERFACE ${target})
  endif()
  set_property(GLOBAL APPEND PROPERTY TENON_INSTALLED ${target})
endfunction()
