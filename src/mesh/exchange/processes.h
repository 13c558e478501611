// Ranks as processes that MPI started. libtenon_mpi.so carries the bytes; it is opened when it is asked for, so nothing
// else of Tenon needs MPI.
#pragma once

#include <memory>
#include <optional>

#include "mesh/exchange/communicator.h"

namespace tenon::mesh {

/// All processes that `mpirun` started, or this one where it started none; or those of a communicator.
class Processes : public Communicator {
 public:
  /// Ends all processes now, this one with `status`. For a rank that cannot go on: others may be waiting for it.
  virtual void abort(int status) = 0;
  /// A collective that is not done after so many seconds is an Error: some rank is stuck. This group and its parts.
  virtual void set_patience(double seconds) = 0;
};

/// Whether this Tenon was built with MPI, so that its module lies where it is looked for.
bool has_processes();

/// MPI begins with the first call, unless the program has begun it, and ends with the life of the first result that has
/// all processes; it cannot begin again. It does not end where a rank gave up: others may never come. `communicator` is
/// MPI's handle as its C function MPI_Comm_c2f() gives it. Error: this Tenon was built without MPI, or the module or
/// MPI itself cannot be loaded; a communicator before MPI has begun.
std::unique_ptr<Processes> open_processes(std::optional<int> communicator = std::nullopt);

/// What the module exports under kProcessesEntry. `interface` must be kProcessesInterface; `communicator` may be null.
/// `raise` throws an Error with the text: the module has no errors of its own.
using ProcessesEntry = Processes* (*)(int interface, const int* communicator,
                                      void (*raise)(const std::string& problem));
inline constexpr const char* kProcessesEntry = "tenon_mpi_processes";
/// Changes with Processes and Communicator.
inline constexpr int kProcessesInterface = 4;

}  // namespace tenon::mesh
