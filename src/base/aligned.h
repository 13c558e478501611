// Memory for elements: aligned for vectors, in large pages where it is large.
#pragma once

#include <cstddef>
#include <new>

namespace tenon {

inline constexpr std::align_val_t kElementAlignment{64};

/// Uninitialised; freed by free_aligned(). std::bad_alloc when there is none.
std::byte* allocate_aligned(size_t bytes);

inline void free_aligned(std::byte* block) { ::operator delete(block, kElementAlignment); }

}  // namespace tenon
