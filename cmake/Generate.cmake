# Headers that a program of ours writes while building. The target generated_headers makes all of them.
add_custom_target(generated_headers)

# tenon_generate_header(<header> BY <source> USING <layer> FOR <layer>)
#
# Build <source> as a program on top of the layer USING, run it as `<program> <output path>` to write <header> into the
# generated include folder, and make the layer FOR, and with it everything above, wait for that.
function(tenon_generate_header header)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "BY;USING;FOR" "")
  if(NOT EXISTS ${PROJECT_SOURCE_DIR}/${arg_BY})
    return()
  endif()
  get_filename_component(program ${arg_BY} NAME_WE)
  add_executable(${program} ${arg_BY})
  target_include_directories(${program} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${program} PRIVATE tenon_${arg_USING} fmt::fmt tenon_warnings)

  set(output ${generated_include_dir}/${header})
  get_filename_component(folder ${output} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${program} ${output}.new
    COMMAND ${CMAKE_COMMAND} -E copy_if_different ${output}.new ${output}  # equal text rebuilds nothing
    BYPRODUCTS ${output}.new
    DEPENDS ${program}
    COMMENT "Writing ${header}"
    VERBATIM)
  add_custom_target(${program}_output DEPENDS ${output})
  add_dependencies(tenon_${arg_FOR} ${program}_output)
  add_dependencies(generated_headers ${program}_output)
endfunction()
