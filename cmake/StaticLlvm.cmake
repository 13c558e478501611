# LLVM's static libraries instead of its shared one, for what is shipped: those that the code generator needs, for this
# processor and for ARM and x86, whose assembly `explain` shows.
foreach(target tenon::tenon_llvm tenon_llvm)
  if(TARGET ${target})
    get_target_property(aliased ${target} ALIASED_TARGET)
    if(aliased)
      set(target ${aliased})
    endif()
    find_program(TENON_LLVM_CONFIG llvm-config-19 PATHS /usr/lib/llvm-19/bin REQUIRED)
    execute_process(COMMAND ${TENON_LLVM_CONFIG} --link-static --libs orcjit passes x86 aarch64
                    OUTPUT_VARIABLE libraries OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    execute_process(COMMAND ${TENON_LLVM_CONFIG} --libdir OUTPUT_VARIABLE folder OUTPUT_STRIP_TRAILING_WHITESPACE)
    separate_arguments(libraries UNIX_COMMAND "${libraries}")
    set_target_properties(${target} PROPERTIES INTERFACE_LINK_LIBRARIES "-L${folder};${libraries};z;-l:libzstd.so.1;dl;m")
  endif()
endforeach()
