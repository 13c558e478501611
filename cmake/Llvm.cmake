# TENON_LLVM: native code through LLVM. Without it kernels run in the interpreter of the loop IR.
option(TENON_LLVM "Make native code with LLVM 19" ON)

if(TENON_LLVM)
  find_package(LLVM 19.1 CONFIG QUIET PATHS /usr/lib/llvm-19 /usr/lib/llvm-19/lib/cmake/llvm)
  if(NOT LLVM_FOUND)
    message(FATAL_ERROR "TENON_LLVM=ON: LLVM 19 was not found; install llvm-19-dev or configure with -DTENON_LLVM=OFF")
  endif()
  # LLVM's headers are not held to our warnings.
  add_library(tenon_llvm INTERFACE)
  target_include_directories(tenon_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
  target_link_libraries(tenon_llvm INTERFACE LLVM)
  set(TENON_LLVM_INCLUDE ${LLVM_INCLUDE_DIRS} CACHE INTERNAL "For tools/check_headers.py")
endif()

# What to precompile for those who include LLVM: eleven seconds a source otherwise.
set(tenon_codegen_headers
  <llvm/IR/IRBuilder.h> <llvm/IR/Intrinsics.h> <llvm/IR/LLVMContext.h> <llvm/IR/Module.h>)
