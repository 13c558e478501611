#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>
#include <vector>

#include "base/dtype_visit.h"
#include "library/library.h"
#include "library/radix.h"

namespace tenon::library {
namespace {

template <size_t Bytes>
using Unsigned =
    std::conditional_t<Bytes == 1, uint8_t,
                       std::conditional_t<Bytes == 2, uint16_t, std::conditional_t<Bytes == 4, uint32_t, uint64_t>>>;

/// Bits of infinity, above which the bits of a number without its sign are those of no number.
template <class T>
constexpr Unsigned<sizeof(T)> infinity_bits() {
  if constexpr (std::is_same_v<T, Half>) {
    return 0x7c00;
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return 0x7f80;
  } else {
    return std::bit_cast<Unsigned<sizeof(T)>>(std::numeric_limits<T>::infinity());
  }
}

/// Unsigned integers in the order of values: zeros are equal, NaNs are equal and the largest.
template <class T>
Unsigned<sizeof(T)> key_bits(T value) {
  using U = Unsigned<sizeof(T)>;
  constexpr U sign = static_cast<U>(U{1} << (8 * sizeof(T) - 1));
  const U bits = std::bit_cast<U>(value);
  if constexpr (is_float_type<T>) {
    const U magnitude = static_cast<U>(bits & static_cast<U>(~sign));
    if (magnitude > infinity_bits<T>()) {
      return std::numeric_limits<U>::max();
    }
    return magnitude == 0 ? sign : static_cast<U>((bits & sign) != 0 ? ~bits : bits | sign);
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<U>(bits ^ sign);
  } else {
    return bits;
  }
}

NarrowEntry make_entry(NarrowEntry, uint64_t key, int64_t index) {
  return {.bits = key << 32 | static_cast<uint64_t>(index)};
}
WideEntry make_entry(WideEntry, uint64_t key, int64_t index) {
  return {.key = key, .index = static_cast<uint64_t>(index)};
}

/// Lines beside each other that are ordered at once, so that rows are walked and not columns.
constexpr int64_t kMostTogether = 16;
constexpr int64_t kTogetherBytes = int64_t{1} << 20;

template <class Entry>
class LineSorter {
 public:
  LineSorter(const SortRoutine& step, std::span<const Memory> reads, std::span<const Memory> writes)
      : step_(step), reads_(reads), writes_(writes), lines_(lines_along(reads[0].dims, step.axis)) {
    const int64_t fit = kTogetherBytes / (lines_.count * static_cast<int64_t>(sizeof(Entry)));
    together_ = std::clamp<int64_t>(fit, 1, std::min(kMostTogether, lines_.inner));
    groups_ = (lines_.inner + together_ - 1) / together_;
  }

  void run(const Workers& workers) {
    for_rows(workers, lines_.outer * groups_, lines_.count * together_, [&](int64_t begin, int64_t end) {
      const auto count = static_cast<size_t>(lines_.count);
      std::vector<Entry> entries(count * static_cast<size_t>(together_));
      std::vector<Entry> spare(count);
      for (int64_t group = begin; group < end; ++group) {
        const int64_t column = group % groups_ * together_;
        const int64_t width = std::min(together_, lines_.inner - column);
        const int64_t first = group / groups_ * lines_.count * lines_.inner + column;
        visit_dtype(reads_[0].dtype, [&]<class T>() { order(reads_[0].values<T>() + first, width, entries, spare); });
        for (size_t i = 0; i < reads_.size(); ++i) {
          move(i, first, width, entries);
        }
      }
    });
  }

 private:
  template <class T>
  void order(const T* keys, int64_t width, std::vector<Entry>& entries, std::vector<Entry>& spare) const {
    using U = Unsigned<sizeof(T)>;
    for (int64_t i = 0; i < lines_.count; ++i) {
      for (int64_t line = 0; line < width; ++line) {
        const U ascending = key_bits(keys[i * lines_.inner + line]);
        const U key = step_.descending ? static_cast<U>(~ascending) : ascending;
        entries[static_cast<size_t>(line * lines_.count + i)] = make_entry(Entry{}, key, i);
      }
    }
    for (int64_t line = 0; line < width; ++line) {
      const auto count = static_cast<size_t>(lines_.count);
      sort_entries(std::span(entries).subspan(static_cast<size_t>(line) * count, count), std::span(spare), sizeof(T));
    }
  }

  void move(size_t operand, int64_t first, int64_t width, const std::vector<Entry>& entries) const {
    switch (byte_size(reads_[operand].dtype)) {
      case 1: return move_as<uint8_t>(operand, first, width, entries);
      case 2: return move_as<uint16_t>(operand, first, width, entries);
      case 4: return move_as<uint32_t>(operand, first, width, entries);
      default: return move_as<uint64_t>(operand, first, width, entries);
    }
  }

  template <class T>
  void move_as(size_t operand, int64_t first, int64_t width, const std::vector<Entry>& entries) const {
    const T* const from = reads_[operand].values<T>() + first;
    T* const to = writes_[operand].values<T>() + first;
    for (int64_t i = 0; i < lines_.count; ++i) {
      for (int64_t line = 0; line < width; ++line) {
        const auto source = static_cast<int64_t>(index_of(entries[static_cast<size_t>(line * lines_.count + i)]));
        to[i * lines_.inner + line] = from[source * lines_.inner + line];
      }
    }
  }

  const SortRoutine& step_;
  std::span<const Memory> reads_;
  std::span<const Memory> writes_;
  Lines lines_;
  int64_t together_ = 1;
  int64_t groups_ = 1;
};

}  // namespace

void run(const SortRoutine& step, std::span<const Memory> reads, std::span<const Memory> writes,
         const Workers& workers) {
  if (reads[0].size() == 0) {
    return;
  }
  const bool is_narrow = byte_size(reads[0].dtype) <= 4 &&
                         reads[0].dims[static_cast<size_t>(step.axis)] <= int64_t{std::numeric_limits<uint32_t>::max()};
  if (is_narrow) {
    LineSorter<NarrowEntry>(step, reads, writes).run(workers);
  } else {
    LineSorter<WideEntry>(step, reads, writes).run(workers);
  }
}

}  // namespace tenon::library
