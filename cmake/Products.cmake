# The code of products for usual machines (src/native/linked_products.h), compiled while Tenon is built: our own emitter
# writes objects, which become the library tenon_products. What links tenon_native links it, too; no LLVM is in it.

set(tenon_product_slices 12)  # as many processes share the work

define_property(TARGET PROPERTY TENON_WITHOUT_PRODUCTS BRIEF_DOCS "Link no tenon_products: this program makes it")

# tenon_link_products(<target> BY <source>): <source>, built on top of codegen, writes what <target> is to link. Without
# codegen the table is empty.
function(tenon_link_products target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "BY" "")
  set(folder ${CMAKE_BINARY_DIR}/generated/products)
  set(table ${folder}/linked_products.cpp)
  file(MAKE_DIRECTORY ${folder})
  if(TARGET tenon_codegen)
    get_filename_component(program ${arg_BY} NAME_WE)
    add_executable(${program} ${arg_BY})
    set_target_properties(${program} PROPERTIES TENON_WITHOUT_PRODUCTS ON)
    target_include_directories(${program} PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(${program} PRIVATE tenon_codegen fmt::fmt tenon_warnings)
    math(EXPR last "${tenon_product_slices} - 1")
    foreach(slice RANGE ${last})
      add_custom_command(
        OUTPUT ${folder}/names_${slice}.txt
        COMMAND ${program} objects ${slice} ${tenon_product_slices} ${folder}
        DEPENDS ${program}
        COMMENT "Compiling products, slice ${slice} of 0 to ${last}"
        VERBATIM)
      list(APPEND names ${folder}/names_${slice}.txt)
    endforeach()
    set(objects ${folder}/products.o)
    add_custom_command(
      OUTPUT ${table} ${objects}
      COMMAND ${program} table ${tenon_product_slices} ${folder}
      COMMAND ${CMAKE_LINKER} -r -z noexecstack -o ${objects} @${folder}/objects.txt
      DEPENDS ${program} ${names}
      COMMENT "Writing the table of products"
      VERBATIM)
    set_source_files_properties(${objects} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  else()
    file(CONFIGURE OUTPUT ${table} CONTENT
"#include \"native/linked_products.h\"

namespace tenon::codegen {

std::span<const LinkedProducts> linked_products() { return {}; }

}  // namespace tenon::codegen
")
  endif()

  add_library(tenon_products STATIC ${table} ${objects})
  target_include_directories(tenon_products PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(tenon_products PRIVATE $<BUILD_INTERFACE:tenon_warnings>)
  # Only what is linked waits for it, not the layers between, of which codegen is one.
  set(waits $<NOT:$<OR:$<STREQUAL:$<TARGET_PROPERTY:TYPE>,STATIC_LIBRARY>,$<BOOL:$<TARGET_PROPERTY:TENON_WITHOUT_PRODUCTS>>>>)
  target_link_libraries(${target} INTERFACE $<${waits}:$<TARGET_NAME:tenon_products>>)
  set_property(GLOBAL APPEND PROPERTY TENON_INSTALLED tenon_products)
endfunction()
