// The types of what goes wrong with extents.
#include "shape/not_representable.h"

#include <gtest/gtest.h>

#include <limits>
#include <string_view>

#include "shape/not_an_extent.h"
#include "tenon/bindings.h"
#include "tenon/extent.h"

namespace tenon::not_representable_test {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

/// The type says that arithmetic has no result; a name without a size is another matter.
TEST(NotRepresentable, IsWhatNoExtentCanBe) {
  const Extent n = Extent::name("n");
  EXPECT_THROW((void)(Extent(kMax) + 1), NotRepresentable);
  EXPECT_THROW((void)(n * kMax * 2), NotRepresentable);
  EXPECT_THROW((void)floordiv(n, 0), NotRepresentable);
  EXPECT_THROW((void)evaluate(n * n, {{"n", kMax}}), NotRepresentable);
  EXPECT_THROW((void)evaluate(floordiv(4, n), {{"n", 0}}), NotRepresentable);
  EXPECT_THROW(
      {
        Extent power = 1;
        for (int i = 0; i < 100; ++i) {
          power *= n;
        }
      },
      NotRepresentable);
  try {
    (void)evaluate(n, {});
    ADD_FAILURE() << "a size that nobody gave";
  } catch (const NotRepresentable& error) {
    ADD_FAILURE() << error.what();
  } catch (const Error& error) {
    EXPECT_NE(std::string_view(error.what()).find("is not bound"), std::string_view::npos);
  }
}

TEST(NotAnExtent, IsATextThatCannotBeRead) {
  for (const std::string_view text : {"", "n +", "n / m", "99999999999999999999", "n floordiv 0"}) {
    EXPECT_THROW((void)Extent::parse(text), NotAnExtent) << text;
  }
}

}  // namespace
}  // namespace tenon::not_representable_test
