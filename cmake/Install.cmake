# What `cmake --install` puts where: headers, the layers' libraries, the package for find_package(Tenon), the command, its
# manual page and its completions.
include(CMakePackageConfigHelpers)

tenon_install_c_libraries()
if(TENON_RUN_ONLY)
  return()
endif()

get_property(layers GLOBAL PROPERTY TENON_INSTALLED)
set(parts tenon ${layers})
foreach(part tenon_llvm tenon_onnx_proto)
  if(TARGET ${part})
    list(APPEND parts ${part})
  endif()
endforeach()

install(TARGETS ${parts} EXPORT TenonTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/tenon)
foreach(module tenon_code_module tenon_mpi_module)
  if(TARGET ${module})
    install(TARGETS ${module} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/tenon)
  endif()
endforeach()
install(DIRECTORY include/tenon ${generated_include_dir}/tenon DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN *.h PATTERN *.inc)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Tenon)
install(EXPORT TenonTargets NAMESPACE tenon:: DESTINATION ${package_dir})
configure_package_config_file(cmake/TenonConfig.cmake.in ${CMAKE_BINARY_DIR}/TenonConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/TenonConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/TenonConfig.cmake ${CMAKE_BINARY_DIR}/TenonConfigVersion.cmake
        DESTINATION ${package_dir})

if(TARGET tenon_cli)
  install(TARGETS tenon_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  # Written by the command itself, when it is installed: from the table that its help comes from.
  install(CODE "
    set(root \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
    foreach(file \"${CMAKE_INSTALL_MANDIR}/man1/tenon.1 man\"
                 \"${CMAKE_INSTALL_DATADIR}/bash-completion/completions/tenon completion bash\"
                 \"${CMAKE_INSTALL_DATADIR}/zsh/site-functions/_tenon completion zsh\"
                 \"${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d/tenon.fish completion fish\")
      string(REPLACE \" \" \";\" words \"\${file}\")
      list(POP_FRONT words path)
      get_filename_component(folder \"\${root}/\${path}\" DIRECTORY)
      file(MAKE_DIRECTORY \"\${folder}\")
      message(STATUS \"Writing: \${root}/\${path}\")
      execute_process(COMMAND \"$<TARGET_FILE:tenon_cli>\" \${words} OUTPUT_FILE \"\${root}/\${path}\"
                      COMMAND_ERROR_IS_FATAL ANY)
    endforeach()")
endif()
