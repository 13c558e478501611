// Whether a program that somebody else wrote holds together.
#pragma once

#include "kernel/program/program.h"

namespace tenon {

/// An Error that says what does not: places in lists that are not there, roles, dtypes and numbers of operands that
/// differ from what kernels, routines and bodies take, sizes of buffers that differ from those of inputs, constants and
/// operands of routines, steps that write what nobody may, and regions that overlap. Programs of bodies included. What
/// passes can be planned and specialised. What kernels do at their sizes is for their code to say: nobody checks that.
void verify_program(const Program& program);

}  // namespace tenon
