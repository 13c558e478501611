# libtenon_mpi.so: collectives by MPI, which meshes of processes open at run time (src/mesh/exchange/processes.h). It is
# made where MPI is found; nothing else needs MPI.
option(TENON_MPI "Build the module that carries meshes over MPI, where MPI is found" ON)

if(TENON_MPI AND NOT TENON_RUN_ONLY)
  find_package(MPI QUIET COMPONENTS CXX)
endif()

# tenon_add_mpi_module(): the target tenon_mpi_module, where there is MPI.
function(tenon_add_mpi_module)
  if(NOT TARGET MPI::MPI_CXX)
    return()
  endif()
  add_library(tenon_mpi_module MODULE ${PROJECT_SOURCE_DIR}/src/mesh/mpi/module.cpp)
  set_target_properties(tenon_mpi_module PROPERTIES
    OUTPUT_NAME tenon_mpi LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_compile_features(tenon_mpi_module PRIVATE cxx_std_20)
  # Old bindings of MPI for C++ are left out; its headers are full of casts.
  target_compile_definitions(tenon_mpi_module PRIVATE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
  target_compile_options(tenon_mpi_module PRIVATE -Wno-old-style-cast)
  target_include_directories(tenon_mpi_module PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(tenon_mpi_module PRIVATE MPI::MPI_CXX tenon_warnings)
endfunction()
