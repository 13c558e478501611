// What makes kernels callable: machine code where LLVM is there, the loop interpreter otherwise.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernel/abi.h"
#include "kernel/loop/loop.h"
#include "tenon/machine.h"

namespace tenon::compiler {

struct BackendOptions {
  bool native = true;
  bool disk_cache = true;
};

struct KernelCode {
  std::vector<KernelEntry> entries;  // one for each kernel
  std::vector<double> milliseconds;  // what each took
  std::shared_ptr<void> keep_alive;  // what the entries need to stay callable
  std::string description;
};

/// Of kernels that were made for `machine`. Error: native code, for instructions that this machine does not have.
KernelCode make_code(std::span<const loops::Kernel* const> kernels, const Machine& machine,
                     const BackendOptions& options);

/// Columns of the panels that a machine's code for products reads constant operands in; 0, in a build that makes none:
/// it takes them as they are.
int64_t panel_columns(const Machine& machine);
/// How many steps of a column lie side by side where it reads constant operands of bytes in them, too; 0: it does not.
int64_t bytes_together(const Machine& machine);

/// Of the vectors of a machine's code; where none is made, of the longest that there are.
int64_t vector_bytes(const Machine& machine);

/// Whether this build makes machine code.
bool has_native_code();

}  // namespace tenon::compiler
