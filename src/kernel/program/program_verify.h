// Whether a program that somebody else wrote holds together.
#pragma once

#include <vector>

#include "kernel/program/program.h"
#include "tenon/constraint.h"

namespace tenon {

/// An Error that says what does not: places in lists that are not there, roles, dtypes and numbers of operands that
/// differ from what kernels, routines and bodies take, sizes of buffers that differ from those of inputs, constants and
/// operands of routines, steps that write what nobody may, and regions that overlap. Programs of bodies included. What
/// passes can be planned, and specialised at sizes for which what is returned holds: sizes that must be equal and are
/// not known to be. What kernels do at their sizes is for their code to say: nobody checks that.
std::vector<Constraint> verify_program(const Program& program);

}  // namespace tenon
