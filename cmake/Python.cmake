# TENON_PYTHON: the Python module `tenon._tenon`, by nanobind, which the Python that is found must have.
option(TENON_PYTHON "Build the Python module" OFF)

if(TENON_PYTHON)
  # The component of the stable ABI, where a wheel for it is built (python/pyproject.toml): with Python 3.12 and newer.
  find_package(Python 3.9 REQUIRED COMPONENTS Interpreter Development.Module ${SKBUILD_SABI_COMPONENT})
  execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
                  OUTPUT_VARIABLE nanobind_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed ERROR_QUIET)
  if(failed)
    message(FATAL_ERROR "TENON_PYTHON=ON: ${Python_EXECUTABLE} has no nanobind; install it, "
                        "or configure with -DTENON_PYTHON=OFF")
  endif()
  find_package(nanobind CONFIG REQUIRED)
endif()
