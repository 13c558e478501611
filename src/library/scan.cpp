#include <algorithm>
#include <array>

#include "base/convert.h"
#include "kernel/scalar/accumulate.h"
#include "library/library.h"

namespace tenon::library {
namespace {

/// Columns that run along an axis together.
constexpr int64_t kColumns = 256;

template <class T, class Combine>
void scan_lines(const ScanRoutine& step, const T* x, T* y, const Lines& lines, const Workers& workers,
                const Combine& combine) {
  using A = Running<T>;
  const int64_t together = std::min(kColumns, lines.inner);
  const int64_t groups = (lines.inner + together - 1) / together;
  for_rows(workers, lines.outer * groups, lines.count * together, [&](int64_t begin, int64_t end) {
    std::array<A, kColumns> running;
    for (int64_t group = begin; group < end; ++group) {
      const int64_t column = group % groups * together;
      const int64_t width = std::min(together, lines.inner - column);
      const int64_t first = group / groups * lines.count * lines.inner + column;
      std::fill_n(running.begin(), width, start_of<T>(step.op));
      for (int64_t i = 0; i < lines.count; ++i) {
        const int64_t row = first + (step.reverse ? lines.count - 1 - i : i) * lines.inner;
        for (int64_t j = 0; j < width; ++j) {
          A& sum = running[static_cast<size_t>(j)];
          const A next = combine(sum, convert<A>(x[row + j]));
          y[row + j] = convert<T>(step.exclusive ? sum : next);
          sum = next;
        }
      }
    }
  });
}

}  // namespace

void run(const ScanRoutine& step, std::span<const Memory> reads, std::span<const Memory> writes,
         const Workers& workers) {
  if (reads[0].size() == 0) {
    return;
  }
  const Lines lines = lines_along(reads[0].dims, step.axis);
  visit_dtype(reads[0].dtype, [&]<class T>() {
    if constexpr (!std::is_same_v<T, bool>) {  // which is none of the numbers
      using A = Running<T>;
      const auto with = [&](const auto& combine) {
        scan_lines(step, reads[0].values<T>(), writes[0].values<T>(), lines, workers, combine);
      };
      switch (step.op) {
        case ReduceOp::sum: return with([](A a, A b) { return running_sum(a, b); });
        case ReduceOp::product: return with([](A a, A b) { return running_product(a, b); });
        case ReduceOp::max: return with([](A a, A b) { return running_extreme(a, b, true); });
        default: return with([](A a, A b) { return running_extreme(a, b, false); });
      }
    }
  });
}

}  // namespace tenon::library
