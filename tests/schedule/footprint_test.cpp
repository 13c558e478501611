// What facts say that ranges of a grid touch, against what its loops touch and what its interpreter needs.
#include "kernel/facts/footprint.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "compiler/pipeline.h"
#include "kernel/loop/loop_run.h"
#include "schedule/schedule.h"
#include "support/loop_launch.h"
#include "support/small_graph.h"
#include "support/touched_elements.h"

namespace tenon::schedule::footprint_test {
namespace {

Program program_of(const SmallGraph& graph) {
  std::vector<PassRun> runs;
  return make_program(compiler::optimize(make(graph), {}, runs));
}

/// Rows of an item.
struct Range {
  int64_t item = 0;
  int64_t begin = 0;
  int64_t end = 0;
};

/// Elements that the ranges of a footprint hold.
std::vector<bool> elements_of(const loops::Footprint& footprint, const Range& range, size_t elements,
                              const Bindings& bindings) {
  std::vector<bool> result(elements, footprint.whole);
  for (const loops::Touched& each : footprint.ranges) {
    const int64_t first = evaluate(loops::first_touched(each, range.item, range.begin, range.end), bindings);
    const int64_t last = evaluate(loops::last_touched(each, range.item, range.begin, range.end), bindings);
    for (int64_t i = first; i <= last; ++i) {
      result.at(static_cast<size_t>(i)) = true;
    }
  }
  return result;
}

/// All that is touched is named, and the ends of what is named are touched.
void expect_named(const loops::Footprint& footprint, const Range& range, const std::vector<bool>& touched,
                  const Bindings& bindings) {
  if (footprint.whole) {
    return;
  }
  const std::vector<bool> named = elements_of(footprint, range, touched.size(), bindings);
  for (size_t i = 0; i < touched.size(); ++i) {
    ASSERT_TRUE(named[i] || !touched[i]) << "element " << i;
  }
  const auto first = std::ranges::find(named, true) - named.begin();
  EXPECT_EQ(first, std::ranges::find(touched, true) - touched.begin()) << "the first";
  const auto last = std::find(named.rbegin(), named.rend(), true) - named.rbegin();
  EXPECT_EQ(last, std::find(touched.rbegin(), touched.rend(), true) - touched.rbegin()) << "the last";
}

/// Of the first and the last item: all rows, one, the last, two in the middle.
std::vector<Range> ranges_of(int64_t items, int64_t rows) {
  std::vector<Range> ranges;
  for (int64_t item = 0; item < items; item += std::max<int64_t>(items - 1, 1)) {
    ranges.push_back({item, 0, rows});
    for (const Range& each : {Range{item, 0, 1}, Range{item, rows - 1, rows}, Range{item, rows / 2, rows / 2 + 2}}) {
      if (each.begin >= 0 && each.end <= rows) {
        ranges.push_back(each);
      }
    }
  }
  return ranges;
}

struct Running {
  const loops::Kernel& kernel;
  const loops::KernelFacts& facts;
  Bindings bindings;

  int64_t value(const Extent& extent) const { return evaluate(extent, bindings); }

  /// Grid iterations before a row of an item.
  int64_t before(size_t phase, int64_t item, int64_t row) const {
    const loops::PhaseFacts& of = facts.phases[phase];
    const int64_t rows = value(of.rows);
    const int64_t all = value(of.items) * rows;
    return all == 0 ? 0 : (item * rows + row) * (value(of.grid) / all);
  }

  void run(size_t phase, const Range& range, std::vector<Array>& buffers) const {
    std::vector<void*> pointers;
    for (Array& each : buffers) {
      pointers.push_back(each.mutable_data());
    }
    std::vector<int64_t> sizes;
    std::ranges::transform(facts.sizes, std::back_inserter(sizes), [&](const Extent& size) { return value(size); });
    struct alignas(64) Line {
      std::byte bytes[64];
    };
    std::vector<Line> scratch(static_cast<size_t>(value(facts.scratch_bytes)) / 64 + 1);
    KernelStatus status;
    const KernelArgs args{.buffers = pointers.data(), .sizes = sizes.data(), .status = &status};
    loops::run(kernel, &args, static_cast<int64_t>(phase), before(phase, range.item, range.begin),
               before(phase, range.item, range.end), scratch.data());
  }
};

/// Other bytes wherever a footprint does not say that a range reads or writes.
std::vector<Array> scrambled(const Running& running, size_t phase, const Range& range,
                             const std::vector<Array>& buffers) {
  std::vector<Array> result = buffers;
  for (size_t b = 0; b < result.size(); ++b) {
    const auto elements = static_cast<size_t>(result[b].size());
    const std::vector<bool> read =
        elements_of(running.facts.phases[phase].buffers[b].reads, range, elements, running.bindings);
    const size_t bytes = byte_size(result[b].dtype());
    auto* const data = static_cast<unsigned char*>(static_cast<void*>(result[b].mutable_data()));
    for (size_t i = 0; i < elements * bytes; ++i) {
      data[i] = static_cast<unsigned char>(read[i / bytes] ? data[i] : data[i] ^ 0x15);
    }
  }
  return result;
}

/// A range needs nothing but what it is said to read, and writes nothing but what it is said to write.
void expect_enough(const Running& running, size_t phase, const Range& range, const std::vector<Array>& before) {
  std::vector<Array> one = before;
  std::vector<Array> other = scrambled(running, phase, range, before);
  const std::vector<Array> other_before = other;
  running.run(phase, range, one);
  running.run(phase, range, other);
  for (size_t b = 0; b < one.size(); ++b) {
    const size_t bytes = byte_size(one[b].dtype());
    const std::vector<bool> written = elements_of(running.facts.phases[phase].buffers[b].writes, range,
                                                  static_cast<size_t>(one[b].size()), running.bindings);
    for (size_t i = 0; i < written.size(); ++i) {
      const auto same = [&](const std::vector<Array>& x, const std::vector<Array>& y) {
        return std::memcmp(static_cast<const std::byte*>(x[b].data()) + i * bytes,
                           static_cast<const std::byte*>(y[b].data()) + i * bytes, bytes) == 0;
      };
      const bool changed = !same(one, before);
      ASSERT_TRUE(written[i] || (!changed && same(other, other_before))) << "b" << b << "[" << i << "] is written";
      ASSERT_TRUE(!changed || same(one, other)) << "b" << b << "[" << i << "] needs more";
    }
  }
}

void expect_footprints(const loops::Kernel& kernel, const loops::KernelFacts& facts, const Bindings& bindings) {
  SCOPED_TRACE(bindings.to_string() + "\n" + to_string(kernel));
  const Running running{kernel, facts, bindings};
  std::vector<Array> buffers = make_buffers(kernel, bindings_of(kernel, bindings), 3);
  for (size_t phase = 0; phase < kernel.phases.size(); ++phase) {
    const int64_t items = running.value(facts.phases[phase].items);
    const int64_t rows = running.value(facts.phases[phase].rows);
    for (const Range& range : ranges_of(items, rows)) {
      SCOPED_TRACE(fmt::format("phase {}, item {}, [{}, {})", phase, range.item, range.begin, range.end));
      const std::vector<TouchedElements> touched =
          touched_elements(kernel, kernel.phases[phase], running.before(phase, range.item, range.begin),
                           running.before(phase, range.item, range.end), bindings);
      for (size_t b = 0; b < kernel.buffers.size(); ++b) {
        SCOPED_TRACE(fmt::format("b{}", b));
        expect_named(facts.phases[phase].buffers[b].reads, range, touched[b].read, bindings);
        expect_named(facts.phases[phase].buffers[b].writes, range, touched[b].written, bindings);
      }
      expect_enough(running, phase, range, buffers);
      if (testing::Test::HasFailure()) {
        return;
      }
    }
    for (int64_t item = 0; item < items; ++item) {
      running.run(phase, {item, 0, rows}, buffers);
    }
  }
}

struct FootprintCase {
  SmallGraph graph;
  std::vector<Bindings> bindings;
  bool by_data = false;  // all of some input is named, because data decides what is read of it
};

void PrintTo(const FootprintCase& each, std::ostream* out) { *out << each.graph.name; }

class Footprints : public testing::TestWithParam<FootprintCase> {};

TEST_P(Footprints, AreWhatRangesOfTheGridTouch) {
  const Program program = program_of(GetParam().graph);
  ASSERT_EQ(program.facts.size(), program.kernels.size());
  bool by_data = false;
  for (size_t i = 0; i < program.kernels.size(); ++i) {
    for (const loops::PhaseFacts& phase : program.facts[i].phases) {
      for (const loops::BufferUse& use : phase.buffers) {
        by_data |= use.reads.whole;
        EXPECT_FALSE(use.writes.whole) << to_string(program.kernels[i]);
      }
    }
    if (program.facts[i].may_fail()) {
      continue;  // positions from random data would be out of range
    }
    for (const Bindings& bindings : GetParam().bindings) {
      expect_footprints(program.kernels[i], program.facts[i], bindings);
      if (HasFailure()) {
        return;
      }
    }
  }
  EXPECT_EQ(by_data, GetParam().by_data);
}

const std::vector<Bindings> kRows = {{{"m", 1}, {"n", 1}}, {{"m", 5}, {"n", 7}}, {{"m", 3}, {"n", 5000}}};
const std::vector<Bindings> kImages = {{{"b", 1}, {"h", 3}, {"v", 4}}, {{"b", 3}, {"h", 7}, {"v", 5}}};
const std::vector<Bindings> kProducts = {
    {{"m", 1}, {"n", 1}, {"k", 3}}, {{"m", 9}, {"n", 300}, {"k", 5}}, {{"m", 400}, {"n", 3}, {"k", 4}}};

INSTANTIATE_TEST_SUITE_P(
    All, Footprints,
    testing::Values(
        FootprintCase{{"elementwise", "a: f32[m, n], c: f32[m, n]", "y = relu(add(a, c))"}, kRows},
        FootprintCase{{"broadcast", "a: f32[m, n], c: f32[n]", "y = add(a, c); y1 = mul(a, c)"}, kRows},
        FootprintCase{{"transposed", "a: f32[m, n], c: f32[n, m]", "y = add(a, transpose(c, axes=[1, 0]))"}, kRows},
        FootprintCase{{"turned", "a: f32[m, n]", "y = exp(flip(a, axes=[0]))"}, kRows},
        FootprintCase{{"row", "a: f32[m, n]", "y = softmax(a)"}, kRows},
        FootprintCase{{"row_of_768", "a: f32[m, n, 768]", "y = layer_norm(a)"}, {{{"m", 2}, {"n", 3}}}},
        FootprintCase{{"sum_of_all", "a: f32[m, n]", "y = reduce_sum(a)"}, kRows},
        FootprintCase{{"sums_of_columns", "a: f32[m, n]", "y = reduce_sum(a, axes=[0])"}, kRows},
        FootprintCase{{"concatenation", "a: f32[m, n], c: f32[m, n]", "y = concat(exp(a), tanh(c), axis=0)"}, kRows},
        FootprintCase{{"product", "a: f32[m, k], c: f32[k, n], d: f32[n]", "y = relu(add(matmul(a, c), d))"},
                      kProducts},
        FootprintCase{{"product_alone", "a: f32[m, k], c: f32[k, n]", "y = matmul(a, c)"}, kProducts},
        FootprintCase{{"reduced_product", "a: f32[m, k], c: f32[k, n]",
                       "y = relu(matmul(a, c)); z = reduce_sum(y, "
                       "axes=[0]); y1 = z"},
                      kProducts},
        FootprintCase{
            {"convolution", "x: f32[b, 4, h, v], f: f32[8, 4, 3, 3]", "y = relu(conv(x, f, low=[1, 1], high=[1, 1]))"},
            kImages},
        FootprintCase{{"strided", "x: f32[b, 4, h, v], f: f32[8, 4, 3, 3]",
                       "y = conv(x, f, stride=[2, 2], low=[1, 1], high=[1, 1])"},
                      kImages},
        FootprintCase{{"depthwise", "x: f32[b, 4, h, v], f: f32[4, 1, 3, 3]",
                       "y = relu(conv(x, f, low=[1, 1], high=[1, 1], groups=4))"},
                      kImages},
        FootprintCase{{"winograd", "x: f32[b, 3, h, v], w: f32[64, 3, 1, 1], w1: f32[64, 64, 3, 3]",
                       "y = conv(relu(conv(x, w)), w1, low=[1, 1], high=[1, 1])"},
                      kImages},
        FootprintCase{{"gathered", "a: f32[m, n], i: i64[n]", "y = exp(gather(a, i, axes=[0]))"}, kRows, true}),
    [](const auto& each) { return each.param.graph.name; });

}  // namespace
}  // namespace tenon::schedule::footprint_test
