// Every rule of verify(), broken once.
#include <gtest/gtest.h>

#include "kernel/loop/loop_parse.h"
#include "support/loop_builder.h"
#include "support/loop_kernels.h"
#include "tenon/error.h"

namespace tenon::loop_verify_test {
namespace {

using loops::Role;

std::string complaint(const loops::Kernel& kernel) {
  try {
    verify(kernel);
  } catch (const InternalError& error) {
    return error.what();
  }
  return "no complaint";
}

TEST(LoopVerify, HandBuiltKernelsAreWellFormed) {
  for (const LoopCase& each : loop_cases()) {
    EXPECT_EQ(complaint(each.kernel), "no complaint") << each.name;
  }
}

/// y[r, c] = x[r, c], to be broken: statement 0 of the body is the loop over c.
struct Broken {
  LoopBuilder k{"broken"};
  int r = k.axis("r", 4);
  int c = k.vector_axis("c", 8);
  int x = k.input(f32, 32);
  int y = k.output(f32, 32);
  loops::Affine at = affine({{r, 8}, {c, 1}});

  /// A phase over r whose body runs in a loop over c.
  Broken& inside(const std::function<void()>& body) {
    k.phase({r}, [&] { k.loop(c, body); });
    return *this;
  }
  std::string complaint() { return loop_verify_test::complaint(k.kernel()); }
};

/// About a kernel with these phases over the same axes and buffers, and a row in scratch.
std::string complaint_of(const std::string& phases) {
  return complaint(loops::parse_kernel(R"(kernel broken
  axes    r: 4   c: 8 vector
  buffers b0 in f32[32]   b1 out f32[32]   b2 scratch f32[8])" +
                                       phases));
}

#define EXPECT_COMPLAINT(broken, text)                                  \
  do {                                                                  \
    const std::string said = broken;                                    \
    EXPECT_NE(said.find("kernel `broken`"), std::string::npos) << said; \
    EXPECT_NE(said.find(text), std::string::npos) << said;              \
  } while (false)

TEST(LoopVerify, NamesTheStatement) {
  Broken b;
  b.inside([&] { b.k.store(b.x, b.at, b.k.load(b.x, b.at)); });
  EXPECT_COMPLAINT(b.complaint(), "an input is written\n  at b0[8*r + c] = v0");
}

TEST(LoopVerify, AnInputAndAnOutputMayShareMemory) {
  Broken b;
  b.inside([&] { b.k.store(b.y, b.at, b.k.load(b.x, b.at)); });
  b.k.kernel().may_share = {{.input = b.x, .output = b.y}};
  EXPECT_EQ(b.complaint(), "no complaint");
  b.k.kernel().may_share = {{.input = b.y, .output = b.x}};
  EXPECT_COMPLAINT(b.complaint(), "b0 may not lie where b1 lies");
  b.k.kernel().may_share = {{.input = b.x, .output = 2}};
  EXPECT_COMPLAINT(b.complaint(), "buffers 0 and 2 share memory");
}

TEST(LoopVerify, ValuesAreVisibleInOpenBlocksAlone) {
  EXPECT_COMPLAINT(complaint_of(R"(
  phase grid(r)
    loop c
      v0 = load b0[8*r + c]
    b1[r] = v0
)"),
                   "v0 is not defined here\n  at b1[r] = v0");
  EXPECT_COMPLAINT(complaint_of(R"(
  phase grid(r)
    loop c
      v0 = load b0[8*r + c]
  phase grid(r)
    loop c
      b1[8*r + c] = v0
)"),
                   "v0 is not defined here");
}

TEST(LoopVerify, ValuesAreDefinedOnceInABlock) {
  Broken b;
  b.inside([&] { b.k.load(b.x, b.at); });
  b.k.kernel().phases.push_back(b.k.kernel().phases[0]);
  EXPECT_EQ(b.complaint(), "no complaint");  // another block may compute it again

  Broken twice;
  twice.inside([&] {
    const int one = twice.k.constant(f32, 1);
    twice.k.store(twice.y, twice.at, one);
  });
  loops::Block& block = std::get<loops::Loop>(twice.k.kernel().phases[0].body[0].what).body;
  block.insert(block.begin(), loops::Statement{loops::Define{0}});
  EXPECT_COMPLAINT(twice.complaint(), "the value is defined already");
}

TEST(LoopVerify, ReferencesExist) {
  Broken value;
  value.inside([&] { value.k.store(value.y, value.at, 7); });
  EXPECT_COMPLAINT(value.complaint(), "there is no value v7");

  Broken buffer;
  buffer.inside([&] { buffer.k.store(9, buffer.at, buffer.k.constant(f32, 1)); });
  EXPECT_COMPLAINT(buffer.complaint(), "there is no such buffer");

  Broken load;
  load.inside([&] { load.k.load(load.x, load.at); });
  std::get<loops::Load>(load.k.kernel().values[0].what).buffer = -1;
  EXPECT_COMPLAINT(load.complaint(), "there is no such buffer");

  Broken loop;
  loop.k.phase({}, [&] { loop.k.loop(5, [] {}); });
  EXPECT_COMPLAINT(loop.complaint(), "there is no such axis");

  Broken grid;
  grid.k.phase({5}, [] {});
  EXPECT_COMPLAINT(grid.complaint(), "the grid names axis 5 of 2");

  Broken define;
  define.inside([&] { define.k.load(define.x, define.at); });
  define.k.kernel().values.clear();
  EXPECT_COMPLAINT(define.complaint(), "there is no such value");

  Broken site;
  site.inside([&] {
    const int p = site.k.position(affine({}));
    site.k.load(site.x, affine({}), {}, {{.value = p, .stride = 1, .size = 32, .site = 0}});
  });
  EXPECT_COMPLAINT(site.complaint(), "there is no site 0");

  Broken accumulate;
  accumulate.inside([&] { accumulate.k.load(accumulate.x, accumulate.at); });
  std::get<loops::Loop>(accumulate.k.kernel().phases[0].body[0].what).body.push_back({loops::Accumulate{3}});
  EXPECT_COMPLAINT(accumulate.complaint(), "there is no such accumulator");

  Broken begins;
  begins.k.phase({}, [&] { begins.k.loop(begins.c, {3}, [] {}); });
  EXPECT_COMPLAINT(begins.complaint(), "there is no accumulator 3");
}

TEST(LoopVerify, AxesAreBound) {
  Broken load;
  load.k.phase({}, [&] { load.k.loop(load.c, [&] { load.k.load(load.x, load.at); }); });
  EXPECT_COMPLAINT(load.complaint(), "axis 0 is not bound\n  at v0 = load b0[8*r + c]");

  Broken bound;
  bound.k.phase({}, [&] { bound.k.load(bound.x, affine({}), {{.index = affine({{bound.r, 1}}), .size = 2}}); });
  EXPECT_COMPLAINT(bound.complaint(), "axis 0 is not bound");

  Broken position;
  position.k.phase({}, [&] { position.k.position(affine({{position.c, 1}})); });
  EXPECT_COMPLAINT(position.complaint(), "axis 1 is not bound");

  Broken twice;
  twice.k.phase({twice.r}, [&] { twice.k.loop(twice.r, [] {}); });
  EXPECT_COMPLAINT(twice.complaint(), "the axis is bound already\n  at loop r");

  Broken grid;
  grid.k.phase({grid.r, grid.r}, [] {});
  EXPECT_COMPLAINT(grid.complaint(), "the grid names an axis twice");
}

TEST(LoopVerify, AffinesAreCanonical) {
  Broken order;
  order.inside([&] { order.k.load(order.x, {.base = 0, .terms = {{order.c, 1}, {order.r, 8}}}); });
  EXPECT_COMPLAINT(order.complaint(), "the terms are not sorted by axis");

  Broken zero;
  zero.inside([&] { zero.k.load(zero.x, {.base = 0, .terms = {{zero.c, 0}}}); });
  EXPECT_COMPLAINT(zero.complaint(), "a term has scale 0");
}

TEST(LoopVerify, BuffersAreUsedByRole) {
  Broken output;
  output.inside([&] { output.k.load(output.y, output.at); });
  EXPECT_COMPLAINT(output.complaint(), "the buffer is read before it is written");

  Broken scratch;  // written in another phase, which had its own
  const int s = scratch.k.buffer(f32, Role::scratch, 8);
  scratch.inside([&] { scratch.k.store(s, affine({{scratch.c, 1}}), scratch.k.constant(f32, 1)); });
  scratch.inside([&] { scratch.k.load(s, affine({{scratch.c, 1}})); });
  EXPECT_COMPLAINT(scratch.complaint(), "the buffer is read before it is written");

  Broken partial;  // as the one above, but this one lives on
  const int p = partial.k.buffer(f32, Role::partial, 8);
  partial.inside([&] { partial.k.store(p, affine({{partial.c, 1}}), partial.k.constant(f32, 1)); });
  partial.inside([&] { partial.k.load(p, affine({{partial.c, 1}})); });
  EXPECT_EQ(partial.complaint(), "no complaint");
}

/// Rows that a loop writes from what `load` gives are read in the same iteration, or behind all of them.
std::string complaint_of_rows(const std::string& load, bool behind) {
  const std::string in = behind ? "" : "  ";
  return complaint_of("\n  phase grid()\n    loop r\n      loop c\n        v0 = " + load + "\n        b2[c] = v0\n" +
                      in + "    loop c\n" + in + "      v1 = load b2[c]\n" + in + "      b1[c] = v1\n");
}

TEST(LoopVerify, RowsInScratchAreReadInTheIterationThatWroteThem) {
  EXPECT_EQ(complaint_of_rows("load b0[8*r + c]", false), "no complaint");
  EXPECT_COMPLAINT(complaint_of_rows("load b0[8*r + c]", true), "the buffer is read before it is written");
}

TEST(LoopVerify, RowsInScratchThatAreTheSameInAllIterationsMayBeReadBehindThem) {
  EXPECT_EQ(complaint_of_rows("load b0[c]", true), "no complaint");
  EXPECT_COMPLAINT(complaint_of_rows("load b0[c] if 0 <= r < 3", true), "the buffer is read before it is written");
}

TEST(LoopVerify, TilesAndVectors) {
  Broken outside;
  const int t = outside.k.tile("t", 2, outside.r, 4, false);
  outside.k.phase({}, [&] { outside.k.loop(t, [] {}); });
  EXPECT_COMPLAINT(outside.complaint(), "the axis that counts its tiles is not bound outside\n  at loop t");

  Broken lanes;
  const int of_lanes = lanes.k.tile("t", 2, lanes.c, 4, false);
  lanes.inside([&] { lanes.k.loop(of_lanes, [] {}); });
  EXPECT_COMPLAINT(lanes.complaint(), "the axis that counts its tiles is vectorised");

  Broken none;
  none.k.tile("t", 2, 17, 4, false);
  EXPECT_COMPLAINT(none.complaint(), "axis `t` is a tile of no axis");

  Broken grid;
  const int in_grid = grid.k.tile("t", 2, grid.r, 4, false);
  grid.k.phase({grid.r, in_grid}, [] {});
  EXPECT_COMPLAINT(grid.complaint(), "the grid runs over a tile");

  Broken vector_grid;
  vector_grid.k.phase({vector_grid.c}, [] {});
  EXPECT_COMPLAINT(vector_grid.complaint(), "the grid runs over a vectorised axis");

  Broken nested;
  const int other = nested.k.vector_axis("d", 4);
  nested.inside([&] { nested.k.loop(other, [] {}); });
  EXPECT_COMPLAINT(nested.complaint(), "a vectorised loop inside another\n  at loop d");
}

TEST(LoopVerify, AccumulatorsBelongToOneLoop) {
  Broken outside;
  outside.inside([&] { outside.k.accumulate(outside.k.accumulator(ReduceOp::sum, f32), outside.k.constant(f32, 1)); });
  EXPECT_COMPLAINT(outside.complaint(), "the accumulator is fed outside of its loop\n  at a0 sum= v0");

  Broken twice;
  const int a = twice.k.accumulator(ReduceOp::sum, f32);
  twice.k.phase({twice.r},
                [&] { twice.k.loop(twice.c, {a}, [&] { twice.k.accumulate(a, twice.k.constant(f32, 1)); }); });
  auto& nest = std::get<loops::Loop>(twice.k.kernel().phases[0].body[0].what);
  nest.begins = {a, a};
  EXPECT_COMPLAINT(twice.complaint(), "accumulator a0 begins twice");

  Broken hungry;
  const int h = hungry.k.accumulator(ReduceOp::sum, f32);
  hungry.k.phase({hungry.r}, [&] { hungry.k.loop(hungry.c, {h}, [] {}); });
  EXPECT_COMPLAINT(hungry.complaint(), "accumulator a0 is never fed\n  at loop c begins a0");

  Broken early;  // used while the loop runs
  const int e = early.k.accumulator(ReduceOp::sum, f32);
  early.k.phase({early.r}, [&] {
    early.k.loop(early.c, {e}, [&] {
      early.k.accumulate(e, early.k.constant(f32, 1));
      early.k.store(early.y, early.at, early.k.result(e));
    });
  });
  EXPECT_COMPLAINT(early.complaint(), "v1 is not defined here");

  Broken defined;
  defined.inside([&] { defined.k.constant(f32, 1); });
  defined.k.kernel().accumulators.emplace_back();
  defined.k.kernel().values[0].what = loops::Result{0};
  EXPECT_COMPLAINT(defined.complaint(), "the loop of a0 defines its result");
}

TEST(LoopVerify, LoopsThatMayNotRun) {
  Broken number;
  number.k.phase({number.r}, [&] { number.k.loop_unless(number.c, number.k.constant(f32, 1), [] {}); });
  EXPECT_COMPLAINT(number.complaint(), "v0 is no bool\n  at loop c unless v0");

  Broken in_lanes;
  const int other = in_lanes.k.axis("d", 4);
  in_lanes.inside([&] { in_lanes.k.loop_unless(other, in_lanes.k.constant(boolean, 1), [] {}); });
  EXPECT_COMPLAINT(in_lanes.complaint(), "a loop that may not run is in lanes, or begins an accumulator");

  Broken later;  // what it writes may not be there
  const int once = later.k.axis("once", 1);
  const int scratch = later.k.buffer(f32, loops::Role::scratch, 1);
  later.k.phase({later.r}, [&] {
    later.k.loop_unless(once, later.k.constant(boolean, 1),
                        [&] { later.k.store(scratch, affine({}), later.k.constant(f32, 1)); });
    later.k.load(scratch, affine({}));
  });
  EXPECT_COMPLAINT(later.complaint(), "the buffer is read before it is written");
}

TEST(LoopVerify, AccumulatorsMatchTheirInput) {
  const auto fed = [](ReduceOp op, Dtype dtype, Dtype input, Dtype position, bool skips_nan = false) {
    Broken b;
    const int a = b.k.accumulator(op, dtype);
    b.k.kernel().accumulators.back().may_skip_nan = skips_nan;
    b.k.phase({b.r}, [&] {
      b.k.loop(b.c, {a}, [&] {
        const int at = position == boolean ? -1 : b.k.constant(position, 1);
        b.k.accumulate(a, b.k.constant(input, 1), at);
      });
    });
    return b.complaint();
  };
  EXPECT_EQ(fed(ReduceOp::sum, f32, f32, boolean), "no complaint");
  EXPECT_COMPLAINT(fed(ReduceOp::sum, f16, f32, boolean), "accumulates in f16");
  EXPECT_COMPLAINT(fed(ReduceOp::sum, boolean, boolean, boolean), "sum of bool");
  EXPECT_COMPLAINT(fed(ReduceOp::any, f32, f32, boolean), "any of f32");
  EXPECT_COMPLAINT(fed(ReduceOp::sum, f32, f64, boolean), "sum of f32 takes a f64");
  EXPECT_COMPLAINT(fed(ReduceOp::argmax, f32, f32, boolean), "argmax and argmin take a position");
  EXPECT_COMPLAINT(fed(ReduceOp::sum, f32, f32, i64), "argmax and argmin take a position");
  EXPECT_COMPLAINT(fed(ReduceOp::argmin, f32, f32, i32), "the position is no i64");
  EXPECT_EQ(fed(ReduceOp::argmin, f32, f32, i64), "no complaint");
  EXPECT_EQ(fed(ReduceOp::max, f32, f32, boolean, true), "no complaint");
  EXPECT_COMPLAINT(fed(ReduceOp::sum, f32, f32, boolean, true), "only extremes of floats may skip NaN");
  EXPECT_COMPLAINT(fed(ReduceOp::min, i32, i32, boolean, true), "only extremes of floats may skip NaN");
}

/// A body of one value, changed after it was built.
std::string changed(const std::function<void(LoopBuilder&, const Broken&)>& build,
                    const std::function<void(loops::Value&)>& change) {
  Broken b;
  b.inside([&] { build(b.k, b); });
  change(b.k.kernel().values.back());
  return b.complaint();
}

TEST(LoopVerify, DtypesAgree) {
  const auto to_f64 = [](loops::Value& value) { value.dtype = f64; };
  EXPECT_COMPLAINT(changed([](auto& k, auto& b) { k.load(b.x, b.at); }, to_f64), "a load of f32 gives f64");
  EXPECT_COMPLAINT(changed([](auto& k, auto& b) { k.position(b.at); }, to_f64), "a position is i64, not f64");
  const auto compare = [](auto& k, auto&) {
    const int v = k.constant(f32, 1);
    k.compute(Prim::lt, {v, v});
  };
  EXPECT_COMPLAINT(changed(compare, to_f64), "a comparison gives bool, not f64");
  const auto negate = [](auto& k, auto&) { k.compute(Prim::neg, {k.constant(f32, 1)}); };
  EXPECT_COMPLAINT(changed(negate, to_f64), "neg of f32 gives f64");
  const auto constant = [](auto& k, auto&) { k.constant(f32, 1); };
  EXPECT_COMPLAINT(changed(constant, [](auto& value) { value.dtype = f16; }), "a constant of f16");
  EXPECT_COMPLAINT(changed(negate, [](auto& value) { std::get<loops::Compute>(value.what).operand_dtype = i32; }),
                   "operand v0 is f32, not i32");
  EXPECT_COMPLAINT(changed(negate, [](auto& value) { std::get<loops::Compute>(value.what).operands.clear(); }),
                   "neg takes 1 operands");
  EXPECT_COMPLAINT(changed(constant, [](auto& value) { std::get<loops::Compute>(value.what).prim = Prim::argument; }),
                   "an argument is no value of a kernel");
  const auto select = [](auto& k, auto&) {
    const int v = k.constant(f32, 1);
    k.compute(Prim::select, {v, v, v});
  };
  EXPECT_COMPLAINT(changed(select, [](auto&) {}), "operand v0 is f32, not bool");
  const auto lookup = [](auto& k, auto& b) {
    k.site("here");
    k.load(b.x, b.at, {}, {{.value = k.constant(i32, 0), .stride = 1, .size = 1, .site = 0}});
  };
  EXPECT_COMPLAINT(changed(lookup, [](auto&) {}), "the position v0 is no i64");

  Broken store;
  store.inside([&] { store.k.store(store.y, store.at, store.k.constant(i32, 1)); });
  EXPECT_COMPLAINT(store.complaint(), "a i32 is stored in a buffer of f32");

  Broken result;
  result.k.phase({result.r},
                 [&] { result.k.reduce(result.c, ReduceOp::sum, f32, [&] { return result.k.constant(f32, 1); }); });
  result.k.kernel().values.back().dtype = f64;
  EXPECT_COMPLAINT(result.complaint(), "result v1 is f64, not f32");
}

}  // namespace
}  // namespace tenon::loop_verify_test
