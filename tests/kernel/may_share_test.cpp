// Which outputs of a kernel may lie where an input lies, and what kernels say of it.
#include <gtest/gtest.h>

#include <string>

#include "kernel/facts/in_place.h"
#include "kernel/loop/loop_parse.h"
#include "support/loop_builder.h"

namespace tenon::loops::may_share_test {
namespace {

const Extent kN = Extent::name("n");

/// y[i] = x[at], by the grid.
Kernel copied_from(const Affine& at, Dtype from = f32, Dtype to = f32) {
  LoopBuilder k("copy");
  const int i = k.axis("i", kN);
  const int x = k.input(from, kN);
  const int y = k.output(to, kN);
  k.phase({i}, [&] {
    const int element = k.load(x, at);
    k.store(y, affine({{i, 1}}), from == to ? element : k.cast(element, to));
  });
  return k.kernel();
}

const std::vector<MayShare> kBoth = {{.input = 0, .output = 1}};

TEST(MayShare, ElementByElement) {
  EXPECT_EQ(find_may_share(copied_from(affine({{0, 1}}))), kBoth);
  EXPECT_EQ(find_may_share(copied_from(affine({{0, 1}}), i32, f32)), kBoth) << "elements of the same size";
  EXPECT_TRUE(find_may_share(copied_from(affine({{0, 1}}), f32, f64)).empty()) << "of another size";
}

TEST(MayShare, NotFromElsewhere) { EXPECT_TRUE(find_may_share(copied_from(affine({{0, -1}}, kN - 1))).empty()); }

TEST(MayShare, NotWhatIsReadAgain) {
  LoopBuilder k("twice");  // for each j all of x is read, also what the j before overwrote
  const int j = k.axis("j", 3);
  const int i = k.axis("i", kN);
  const int x = k.input(f32, kN);
  const int y = k.output(f32, kN);
  k.phase({},
          [&] { k.loop(j, [&] { k.loop(i, [&] { k.store(y, affine({{i, 1}}), k.load(x, affine({{i, 1}}))); }); }); });
  EXPECT_TRUE(find_may_share(k.kernel()).empty());
}

TEST(MayShare, NotWhatIsReadAfterwards) {
  LoopBuilder k("after");
  const int i = k.axis("i", kN);
  const int x = k.input(f32, kN);
  const int y = k.output(f32, kN);
  const int z = k.output(f32, kN);
  k.phase({}, [&] {
    k.loop(i, [&] { k.store(y, affine({{i, 1}}), k.load(x, affine({{i, 1}}))); });
    k.loop(i, [&] { k.store(z, affine({{i, 1}}), k.load(x, affine({{i, 1}}))); });
  });
  const std::vector<MayShare> last = {{.input = x, .output = z}};
  EXPECT_EQ(find_may_share(k.kernel()), last) << "the one that is written last";
}

/// Where all threads of a block compute a value and one stores it, others may yet have to read what it was made of.
TEST(MayShare, NotWhatOneOfSeveralThreadsStores) {
  const auto found = [](const std::string& body) {
    return find_may_share(
        parse_kernel("kernel mapped\n  axes    b: 4 blocks   t: 8 threads\n"
                     "  buffers b0 in f32[32]   b1 out f32[32]\n  phase grid(b)\n" +
                     body));
  };
  EXPECT_EQ(found("    loop t\n      v0 = load b0[8*b + t]\n      b1[8*b + t] = v0\n"), kBoth);
  EXPECT_TRUE(found("    v0 = load b0[b]\n    b1[b] = v0\n    loop t\n").empty());
  EXPECT_EQ(found("    v0 = load b0[b]\n    b1[b] = v0\n"), kBoth) << "one thread alone";
}

TEST(MayShare, IsPartOfTheCodeAndNotOfWhatPeopleRead) {
  const Kernel apart = copied_from(affine({{0, 1}}));
  Kernel shared = apart;
  shared.may_share = kBoth;
  EXPECT_EQ(to_string(shared), to_string(apart));
  EXPECT_NE(to_string(shared, /*canonical=*/true), to_string(apart, /*canonical=*/true));
  verify(shared);
}

}  // namespace
}  // namespace tenon::loops::may_share_test
