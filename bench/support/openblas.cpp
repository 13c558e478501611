#include "support/openblas.h"

#include <dlfcn.h>

#include <cstdlib>
#include <memory>

#include "native/target.h"

namespace bench {

const OpenBlas* OpenBlas::find() {
  static const std::unique_ptr<const OpenBlas> found = []() -> std::unique_ptr<const OpenBlas> {
    // Processors that are newer than the library get its slowest kernels unless it is told what they can do.
    if (tenon::codegen::host_target().vector_bits == 512) setenv("OPENBLAS_CORETYPE", "SkylakeX", /*replace=*/0);
    void* const library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return nullptr;
    const auto set_threads = reinterpret_cast<void (*)(int)>(dlsym(library, "openblas_set_num_threads"));
    const auto core = reinterpret_cast<const char* (*)()>(dlsym(library, "openblas_get_corename"));
    std::unique_ptr<OpenBlas> blas(new OpenBlas);
    blas->sgemm_ = reinterpret_cast<Sgemm>(dlsym(library, "cblas_sgemm"));
    if (set_threads == nullptr || core == nullptr || blas->sgemm_ == nullptr) return nullptr;
    set_threads(1);
    blas->set_threads_ = set_threads;
    blas->core_ = core();
    return blas;
  }();
  return found.get();
}

void OpenBlas::multiply(const tenon::ProductCall& call) const {
  constexpr int kRowMajor = 101;
  constexpr int kPlain = 111;
  constexpr int kTransposed = 112;
  const bool left = call.left_depth != 1;
  const bool right = call.right_column != 1;
  const auto size = [](int64_t value) { return static_cast<int>(value); };
  sgemm_(kRowMajor, left ? kTransposed : kPlain, right ? kTransposed : kPlain, size(call.rows), size(call.columns),
         size(call.depth), 1, static_cast<const float*>(call.left), size(left ? call.left_depth : call.left_row),
         static_cast<const float*>(call.right), size(right ? call.right_column : call.right_depth),
         call.accumulate != 0 ? 1.0f : 0.0f, static_cast<float*>(call.tile), size(call.tile_row));
}

}  // namespace bench
