# libtenon_codegen.so: the code generator and LLVM as a shared object, for programs that open it when they compile for
# the first time (src/codegen_loader/). These set the property TENON_LOADS_CODEGEN; all others link the code generator.

set(tenon_code_module_source ${CMAKE_CURRENT_LIST_DIR}/../src/codegen/module/code_module.cpp)
set(tenon_code_module_includes ${CMAKE_CURRENT_LIST_DIR}/../src)

define_property(TARGET PROPERTY TENON_LOADS_CODEGEN BRIEF_DOCS "Open libtenon_codegen.so instead of linking LLVM")

# tenon_add_code_module(<library>): the target tenon_code_module, made of <library>, which is tenon_codegen or
# tenon::tenon_codegen.
function(tenon_add_code_module library)
  add_library(tenon_code_module MODULE ${tenon_code_module_source})
  set_target_properties(tenon_code_module PROPERTIES
    OUTPUT_NAME tenon_codegen TENON_WITHOUT_PRODUCTS ON LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_include_directories(tenon_code_module PRIVATE ${tenon_code_module_includes})
  target_link_libraries(tenon_code_module PRIVATE ${library} fmt::fmt)
  if(TARGET tenon_warnings)
    target_link_libraries(tenon_code_module PRIVATE tenon_warnings)
  endif()
  target_link_options(tenon_code_module PRIVATE -Wl,--exclude-libs,ALL -Wl,--gc-sections -Wl,--as-needed)
endfunction()

# tenon_use_code_module(<target>): a program or library that opens it. Building it builds the module.
function(tenon_use_code_module target)
  if(TARGET tenon_code_module)
    set_target_properties(${target} PROPERTIES TENON_LOADS_CODEGEN ON)
    add_dependencies(${target} tenon_code_module)
  endif()
endfunction()
