#include "library/few_bits/product.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <numeric>

#include "base/aligned.h"

namespace tenon::library::few_bits {
namespace {

/// Rows in this many bytes stay in the second cache while panels pass by.
constexpr int64_t kChunkBytes = int64_t{256} << 10;

struct Free {
  void operator()(void* memory) const { free_aligned(static_cast<std::byte*>(memory)); }
};

template <class Element>
using Buffer = std::unique_ptr<Element[], Free>;

template <class Element>
Buffer<Element> buffer(int64_t count) {
  return Buffer<Element>(reinterpret_cast<Element*>(allocate_aligned(static_cast<size_t>(count) * sizeof(Element))));
}

class Multiplication {
 public:
  Multiplication(const Kernels& kernels, const Product& product, const Workers& workers)
      : kernels_(kernels),
        p_(product),
        workers_(workers),
        block_(p_.block_words * 32 / p_.bits),
        whole_depth_(p_.blocks * block_) {}

  void run() {
    if (p_.rounds) {
      round_rows();
    } else {
      lay_out_rows();
    }
    const int64_t most = p_.rounds ? kernels_.integer_rows : kernels_.float_rows;
    const int64_t row_bytes = std::max<int64_t>(1, whole_depth_ * (p_.rounds ? 1 : 4));
    const int64_t chunk = std::max(most, kChunkBytes / row_bytes / most * most);
    for (int64_t first = 0; first < p_.rows; first += chunk) {
      multiply_rows(first, std::min(p_.rows, first + chunk));
    }
  }

 private:
  void round_rows() {
    bytes_ = buffer<int8_t>(p_.rows * whole_depth_);
    factors_ = buffer<float>(p_.rows * p_.blocks);
    sums_ = buffer<int32_t>(p_.rows * p_.blocks);
    starts_ = buffer<int32_t>(p_.rows * p_.blocks);
    for_rows(workers_, p_.rows, whole_depth_, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        kernels_.in_bytes({.row = p_.x + row * p_.depth,
                           .depth = p_.depth,
                           .block = block_,
                           .blocks = p_.blocks,
                           .bytes = bytes_.get() + row * whole_depth_,
                           .scales = factors_.get() + row * p_.blocks,
                           .sums = sums_.get() + row * p_.blocks,
                           .starts = starts_.get() + row * p_.blocks});
      }
    });
  }

  /// Whole blocks are read where they lie.
  void lay_out_rows() {
    if (whole_depth_ != p_.depth) {
      floats_ = buffer<float>(p_.rows * whole_depth_);
      for_rows(workers_, p_.rows, whole_depth_, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
          float* const to = floats_.get() + row * whole_depth_;
          std::copy_n(p_.x + row * p_.depth, p_.depth, to);
          std::fill(to + p_.depth, to + whole_depth_, 0.0F);
        }
      });
    }
    if (p_.zeros == nullptr) {
      return;
    }
    factors_ = buffer<float>(p_.rows * p_.blocks);
    for_rows(workers_, p_.rows, whole_depth_, [&](int64_t begin, int64_t end) {
      for (int64_t at = begin * p_.blocks; at < end * p_.blocks; ++at) {
        const float* const from = floats() + at * block_;
        factors_[static_cast<size_t>(at)] = std::accumulate(from, from + block_, 0.0F);
      }
    });
  }

  const float* floats() const { return floats_ ? floats_.get() : p_.x; }

  void multiply_rows(int64_t first, int64_t last) {
    const int64_t panels = (p_.columns + kPanel - 1) / kPanel;
    // A panel of 1,024 steps for one row takes as long as about 4,096 elements of other routines.
    const int64_t work = (last - first) * whole_depth_ * kPanel / 8;
    for_rows(workers_, panels, work, [&](int64_t begin, int64_t end) {
      for (int64_t panel = begin; panel < end; ++panel) {
        const int64_t most = p_.rounds ? kernels_.integer_rows : kernels_.float_rows;
        for (int64_t row = first; row < last; row += most) {
          multiply_tile(panel, row, std::min(most, last - row));
        }
      }
    });
  }

  void multiply_tile(int64_t panel, int64_t row, int64_t rows) {
    const int64_t at = panel * p_.blocks;
    const int64_t columns = std::min(kPanel, p_.columns - panel * kPanel);
    alignas(64) std::array<float, kPanel * kMostRows> part;
    float* const to = p_.y + row * p_.columns + panel * kPanel;
    Tile tile{.words = p_.words + at * p_.block_words * kPanel * kWordBytes,
              .scales = p_.scales + at * kPanel,
              .zeros = p_.zeros == nullptr ? nullptr : p_.zeros + at * kPanel,
              .blocks = p_.blocks,
              .block_words = p_.block_words,
              .left_row = whole_depth_,
              .out = columns == kPanel ? to : part.data(),
              .out_row = columns == kPanel ? p_.columns : kPanel};
    if (factors_) tile.left_scales = factors_.get() + row * p_.blocks;
    if (p_.rounds) {
      tile.left = bytes_.get() + row * whole_depth_;
      tile.left_sums = sums_.get() + row * p_.blocks;
      tile.left_starts = starts_.get() + row * p_.blocks;
    } else {
      tile.left = floats() + row * whole_depth_;
    }
    const auto& kernels = p_.rounds ? kernels_.integers : kernels_.floats;
    kernels[static_cast<size_t>(rows)][p_.zeros == nullptr ? 0 : 1](tile);
    if (columns < kPanel) {
      for (int64_t i = 0; i < rows; ++i) {
        std::copy_n(part.data() + i * kPanel, columns, to + i * p_.columns);
      }
    }
  }

  const Kernels& kernels_;
  const Product& p_;
  const Workers& workers_;
  const int64_t block_;
  const int64_t whole_depth_;
  Buffer<int8_t> bytes_;
  Buffer<float> floats_;
  Buffer<float> factors_;
  Buffer<int32_t> sums_, starts_;
};

}  // namespace

void multiply(const Kernels& kernels, const Product& product, const Workers& workers) {
  Multiplication(kernels, product, workers).run();
}

}  // namespace tenon::library::few_bits
