// Ranks as processes that MPI started. libtenon_mpi.so carries the bytes; it is opened when it is asked for, so nothing
// else of Tenon needs MPI.
#pragma once

#include <memory>

#include "mesh/exchange/communicator.h"

namespace tenon::mesh {

/// All processes that `mpirun` started, or this one where it started none.
class Processes : public Communicator {
 public:
  /// Ends all processes now, this one with `status`. For a rank that cannot go on: others may be waiting for it.
  virtual void abort(int status) = 0;
};

/// MPI begins with the first call and ends with the result's life; it cannot begin again. Error: this Tenon was built
/// without MPI, or the module or MPI itself cannot be loaded.
std::unique_ptr<Processes> open_processes();

/// What the module exports under kProcessesEntry. `interface` must be kProcessesInterface.
using ProcessesEntry = Processes* (*)(int interface);
inline constexpr const char* kProcessesEntry = "tenon_mpi_processes";
/// Changes with Processes and Communicator.
inline constexpr int kProcessesInterface = 1;

}  // namespace tenon::mesh
