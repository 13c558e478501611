#include "kernel/scalar/scalar_eval.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/convert.h"
#include "kernel/scalar/scalar_ops.h"

namespace tenon {
namespace {

/// Elements per instruction: long enough to hide the dispatch, short enough for all registers to stay in cache.
constexpr int64_t kBlock = 256;

template <class T>
const T* elements(const std::byte* bytes) {
  return reinterpret_cast<const T*>(bytes);
}

/// T is the dtype of the operands.
template <class T>
void cast(Dtype to, const ScalarBlock& block) {
  const T* from = elements<T>(block.a);
  visit_dtype(to, [&]<class To>() {
    using Register = ComputeType<To>;
    auto* out = reinterpret_cast<Register*>(block.out);
    for (int64_t i = 0; i < block.count; ++i) {
      out[i] = convert<Register>(convert<To>(from[i]));
    }
  });
}

template <class T>
void run(const ScalarInstruction& in, const ScalarBlock& block) {
  const int64_t count = block.count;
  const T* a = elements<T>(block.a);
  const T* b = elements<T>(block.b);
  auto* out = reinterpret_cast<T*>(block.out);
  switch (in.prim) {
    case Prim::constant: std::fill_n(out, count, convert<T>(in.literal)); return;
    case Prim::cast: cast<T>(in.dtype, block); return;
    case Prim::reinterpret: std::memcpy(block.out, block.a, static_cast<size_t>(count) * sizeof(T)); return;
    case Prim::select: {
      const bool* condition = elements<bool>(block.a);
      const T* otherwise = elements<T>(block.c);
      for (int64_t i = 0; i < count; ++i) {
        out[i] = condition[i] ? b[i] : otherwise[i];
      }
      return;
    }
    case Prim::eq:
    case Prim::lt:
    case Prim::le:
      scalar::visit_comparison<T>(in.prim, [&](auto f) {
        auto* truth = reinterpret_cast<bool*>(block.out);
        for (int64_t i = 0; i < count; ++i) {
          truth[i] = f(a[i], b[i]);
        }
      });
      return;
    default: break;
  }
  if (in.b >= 0) {
    scalar::visit_binary<T>(in.prim, [&](auto f) {
      for (int64_t i = 0; i < count; ++i) {
        out[i] = f(a[i], b[i]);
      }
    });
  } else {
    scalar::visit_unary<T>(in.prim, [&](auto f) {
      for (int64_t i = 0; i < count; ++i) {
        out[i] = f(a[i]);
      }
    });
  }
}

}  // namespace

void evaluate(const ScalarInstruction& instruction, const ScalarBlock& block) {
  visit_dtype(instruction.prim == Prim::constant ? instruction.dtype : instruction.operand_dtype, [&]<class T>() {
    if constexpr (is_half_type<T>) {
      TENON_CHECK(false, "half types are computed in f32");
    } else {
      run<T>(instruction, block);
    }
  });
}

void evaluate(const ScalarProgram& program, std::span<const std::byte* const> args, std::span<std::byte* const> results,
              int64_t count) {
  constexpr size_t kSlotBytes = static_cast<size_t>(kBlock) * sizeof(double);
  const auto storage = std::make_unique_for_overwrite<std::byte[]>(program.code.size() * kSlotBytes);
  const auto slot = [&](int index) {
    return index < 0 ? nullptr : storage.get() + static_cast<size_t>(index) * kSlotBytes;
  };
  const auto bytes_of = [](const ScalarInstruction& in) { return byte_size(compute_dtype(in.dtype)); };
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t length = std::min(kBlock, count - begin);
    for (size_t i = 0; i < program.code.size(); ++i) {
      const ScalarInstruction& in = program.code[i];
      std::byte* const out = slot(static_cast<int>(i));
      if (in.prim == Prim::argument) {
        const std::byte* const from = args[static_cast<size_t>(in.a)] + static_cast<size_t>(begin) * bytes_of(in);
        std::memcpy(out, from, static_cast<size_t>(length) * bytes_of(in));
      } else {
        evaluate(in, {.a = slot(in.a), .b = slot(in.b), .c = slot(in.c), .out = out, .count = length});
      }
    }
    for (size_t i = 0; i < results.size(); ++i) {
      const int source = program.results[i];
      const size_t width = bytes_of(program.code[static_cast<size_t>(source)]);
      std::memcpy(results[i] + static_cast<size_t>(begin) * width, slot(source), static_cast<size_t>(length) * width);
    }
  }
}

}  // namespace tenon
