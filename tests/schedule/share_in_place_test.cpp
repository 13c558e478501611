// Which scratch is written in place of another.
#include "schedule/nest/share_in_place.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "compiler/pipeline.h"
#include "kernel/loop/loop.h"
#include "schedule/schedule.h"
#include "support/small_graph.h"

namespace tenon::schedule {
namespace {

constexpr int kTile = 3;    // that the product leaves,
constexpr int kStored = 4;  // and what is made of it

loops::Affine at_element() { return {.base = 0, .terms = {{.axis = 0, .scale = 4}, {.axis = 1, .scale = 1}}}; }

loops::Statement over_elements(loops::Block body) {
  loops::Statement inner{loops::Loop{.axis = 1, .begins = {}, .body = std::move(body)}};
  loops::Block rows;
  rows.push_back(std::move(inner));
  return {loops::Loop{.axis = 0, .begins = {}, .body = std::move(rows)}};
}

/// t = a * b; s = exp(t); y = s, for 4 by 4.
loops::Kernel exp_of_a_product() {
  loops::Kernel kernel;
  kernel.name = "exp of a product";
  kernel.axes.assign(3, {.extent = 4, .name = "i"});
  kernel.buffers = {{.dtype = f32, .role = loops::Role::input, .elements = 16},
                    {.dtype = f32, .role = loops::Role::input, .elements = 16},
                    {.dtype = u8, .role = loops::Role::scratch, .elements = kProductScratchBytes},
                    {.dtype = f32, .role = loops::Role::scratch, .elements = 16},
                    {.dtype = f32, .role = loops::Role::scratch, .elements = 16},
                    {.dtype = f32, .role = loops::Role::output, .elements = 16}};
  const auto load = [](int buffer) {
    return loops::Value{.what = loops::Load{.buffer = buffer, .at = at_element(), .inside = {}, .lookups = {}},
                        .dtype = f32};
  };
  kernel.values = {load(kTile),
                   {.what = loops::Compute{.prim = Prim::exp, .operand_dtype = f32, .operands = {0}}, .dtype = f32},
                   load(kStored)};
  const auto matrix = [](int buffer) { return loops::Matrix{.buffer = buffer, .at = {}, .row = 4, .column = 1}; };
  loops::Phase phase;
  phase.body.push_back({loops::Product{.left = matrix(0),
                                       .right = matrix(1),
                                       .tile = matrix(kTile),
                                       .rows = {0},
                                       .columns = {1},
                                       .depth = {2},
                                       .work = 2}});
  phase.body.push_back(
      over_elements({{loops::Define{0}},
                     {loops::Define{1}},
                     {loops::Store{.buffer = kStored, .at = at_element(), .inside = {}, .value = 1}}}));
  phase.body.push_back(
      over_elements({{loops::Define{2}}, {loops::Store{.buffer = 5, .at = at_element(), .inside = {}, .value = 2}}}));
  kernel.phases.push_back(std::move(phase));
  return kernel;
}

loops::Block& innermost(loops::Kernel& kernel, size_t statement) {
  auto& rows = std::get<loops::Loop>(kernel.phases[0].body[statement].what);
  return std::get<loops::Loop>(rows.body[0].what).body;
}

int place_of_stored(const loops::Kernel& kernel) {
  loops::verify(kernel);
  return find_in_place(kernel)[kStored];
}

TEST(ShareInPlace, WhatIsReadForTheLastTimeGivesItsPlace) { EXPECT_EQ(place_of_stored(exp_of_a_product()), kTile); }

TEST(ShareInPlace, WhatIsReadAgainStays) {
  loops::Kernel kernel = exp_of_a_product();
  innermost(kernel, 2).insert(innermost(kernel, 2).begin(), {loops::Define{0}});
  EXPECT_EQ(place_of_stored(kernel), kStored);
}

TEST(ShareInPlace, OtherPlacesAreNoPlaceForIt) {
  loops::Kernel kernel = exp_of_a_product();
  auto& store = std::get<loops::Store>(innermost(kernel, 1).back().what);
  store.at = {.base = 0, .terms = {{.axis = 0, .scale = 1}, {.axis = 1, .scale = 4}}};
  EXPECT_EQ(place_of_stored(kernel), kStored);
}

TEST(ShareInPlace, ATileThatIsAddedToStays) {
  loops::Kernel kernel = exp_of_a_product();
  kernel.axes.push_back({.extent = 2, .name = "block"});
  auto& product = std::get<loops::Product>(kernel.phases[0].body[0].what);
  product.adds_after = 3;
  loops::Block inside = std::move(kernel.phases[0].body);
  kernel.phases[0].body.clear();
  kernel.phases[0].body.push_back({loops::Loop{.axis = 3, .begins = {}, .body = std::move(inside)}});
  EXPECT_EQ(find_in_place(kernel)[kStored], kStored);
}

TEST(ShareInPlace, AnotherDtypeStays) {
  loops::Kernel kernel = exp_of_a_product();
  kernel.buffers[kStored].dtype = i32;
  EXPECT_EQ(find_in_place(kernel)[kStored], kStored);
}

/// Two products, a softmax between: the scores and what they become are one tile.
TEST(ShareInPlace, AttentionHasOneTileOfScores) {
  for (const char* const dtype : {"f32", "f64"}) {
    std::vector<PassRun> runs;
    const std::string inputs =
        std::string("q: ") + dtype + "[b, s, 64], k: " + dtype + "[b, t, 64], v: " + dtype + "[b, t, 64]";
    const Program program =
        make_program(compiler::optimize(make({"attention", inputs, "y = attention(q, k, v)"}), {}, runs));
    ASSERT_EQ(program.kernels.size(), 2U);
    Bindings bindings;
    bindings.set("b", 2);
    bindings.set("s", 5000);
    bindings.set("t", 5000);
    const loops::Kernel& streamed = program.kernels[1];
    const int64_t bytes = evaluate(loops::scratch_bytes(streamed).substitute(streamed.arguments), bindings);
    EXPECT_LE(bytes, int64_t{1} << 20) << dtype;
    EXPECT_GT(bytes, kProductScratchBytes) << dtype;
  }
}

}  // namespace
}  // namespace tenon::schedule
