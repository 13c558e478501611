#include "schedule/blocks/product_sums.h"

#include <utility>
#include <vector>

#include "schedule/blocks/phase_edit.h"
#include "schedule/blocks/statements.h"
#include "schedule/draft/affine.h"

namespace tenon::schedule {
namespace {

using loops::Affine;
using loops::Block;
using loops::Kernel;

std::vector<int> loads_of(Kernel& kernel, Block& block, const PartProduct& product, const SharedPart& part,
                          const Side& side, int step) {
  std::vector<int> all;
  for (int64_t i = 0; i < side.sums; ++i) {
    const Affine at = part.place(side.within(i), affine_axis(step));
    all.push_back(load_as(kernel, block, product.sum, part.buffer, at));
  }
  return all;
}

int product_of(Kernel& kernel, Block& block, Dtype dtype, int left, int right) {
  return define(block, add_compute(kernel, Prim::mul, dtype, dtype, {left, right}));
}

int total_of_two(Kernel& kernel, Block& block, Dtype dtype, int before, int more) {
  return define(block, add_compute(kernel, Prim::add, dtype, dtype, {before, more}));
}

int matrix_word(Kernel& kernel, Block& block, int value) {
  const int word = define(block, add_compute(kernel, Prim::reinterpret, Dtype::i32, Dtype::f32, {value}));
  const int bits = define(block, add_constant(kernel, Dtype::i32, kMatrixWordBits));
  const int kept = define(block, add_compute(kernel, Prim::bit_and, Dtype::i32, Dtype::i32, {word, bits}));
  return define(block, add_compute(kernel, Prim::reinterpret, Dtype::f32, Dtype::i32, {kept}));
}

}  // namespace

Block add_part(Kernel& kernel, const PartProduct& product) {
  const int step = add_axis(kernel, {.extent = product.steps, .name = "depth"});
  Block inner;
  const std::vector<int> left = loads_of(kernel, inner, product, product.left, product.rows, step);
  const std::vector<int> right = loads_of(kernel, inner, product, product.right, product.columns, step);
  std::vector<int> parts;
  for (const int l : left) {
    for (const int r : right) {
      parts.push_back(static_cast<int>(kernel.accumulators.size()));
      kernel.accumulators.push_back(
          {.op = ReduceOp::sum, .dtype = product.sum, .input = product_of(kernel, inner, product.sum, l, r)});
      inner.emplace_back(loops::Accumulate{parts.back()});
    }
  }
  Block block;
  block.emplace_back(loops::Loop{.axis = step, .begins = parts, .body = std::move(inner), .unless = -1});
  for (size_t i = 0; i < parts.size(); ++i) {
    const Affine at = affine_constant(static_cast<int64_t>(i));
    const int part = add_value(kernel, {.what = loops::Result{parts[i]}, .dtype = product.sum});
    const int before = load_as(kernel, block, product.sum, product.sums, at);
    write(block, product.sums, at, total_of_two(kernel, block, product.sum, before, part));
  }
  return block;
}

Block add_part_by_warps(Kernel& kernel, const PartProduct& product) {
  const int step = add_axis(kernel, {.extent = product.steps, .name = "depth"});
  Block inner;
  std::vector<int> left = loads_of(kernel, inner, product, product.left, product.rows, step);
  std::vector<int> right = loads_of(kernel, inner, product, product.right, product.columns, step);
  if (kernel.buffers[static_cast<size_t>(product.left.buffer)].dtype == Dtype::f32) {
    for (std::vector<int>* const values : {&left, &right}) {
      for (int& each : *values)
        each = matrix_word(kernel, inner, each);
    }
  }
  int64_t place = 0;
  for (const int l : left) {
    for (const int r : right) {
      const Affine at = affine_constant(place++);
      const int more = product_of(kernel, inner, product.sum, l, r);
      const int before = load_as(kernel, inner, product.sum, product.sums, at);
      write(inner, product.sums, at, total_of_two(kernel, inner, product.sum, before, more));
    }
  }
  Block block;
  block.push_back(loop_around(step, std::move(inner)));
  return block;
}

}  // namespace tenon::schedule
