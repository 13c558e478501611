// Library steps over memory at concrete sizes.
#pragma once

#include <cstddef>
#include <span>

#include "kernel/program/library_routine.h"
#include "library/workers.h"
#include "tenon/dtype.h"

namespace tenon::library {

/// An array that a step reads or writes: contiguous, in row-major order. `data` may be null where there are no
/// elements.
struct Memory {
  Dtype dtype = Dtype::f32;
  std::byte* data = nullptr;
  std::span<const int64_t> dims;

  int64_t size() const;
  template <class T>
  T* values() const {
    return reinterpret_cast<T*>(data);
  }
};

/// What is written overlaps nothing that is read, except that a scatter may write where the array lies that it changes.
/// Errors: a position out of range, in the interpreter's words; no memory. After an error what was written is
/// undefined.
void run(const LibraryRoutine& step, std::span<const Memory> reads, std::span<const Memory> writes,
         const Workers& workers);

// One for each alternative.
void run(const SortRoutine& step, std::span<const Memory> reads, std::span<const Memory> writes,
         const Workers& workers);
void run(const ScanRoutine& step, std::span<const Memory> reads, std::span<const Memory> writes,
         const Workers& workers);
void run(const ScatterRoutine& step, std::span<const Memory> reads, std::span<const Memory> writes,
         const Workers& workers);
void run(const PositionsRoutine& step, std::span<const Memory> reads, std::span<const Memory> writes,
         const Workers& workers);
void run(const FewBitsRoutine& step, std::span<const Memory> reads, std::span<const Memory> writes,
         const Workers& workers);

/// What it is called in graphs and reports.
std::string_view name(const LibraryRoutine& routine);

/// An array seen along one axis: element (o, i, j) lies at (o * count + i) * inner + j.
struct Lines {
  int64_t outer = 1;
  int64_t count = 1;
  int64_t inner = 1;
};
Lines lines_along(std::span<const int64_t> dims, int axis);

}  // namespace tenon::library
