// What is said of lazy tensors names lines of the user's program.
#include <gtest/gtest.h>

#include "tenon/modules.h"
#include "tenon/realizations.h"

namespace tenon::places_test {
namespace {

/// Every program that ran meanwhile was asked for by a line of this file.
template <class Make>
void expect_own_lines(const Make& make) {
  clear_realizations();
  make();
  EXPECT_FALSE(realizations().empty());
  for (const Realization& one : realizations()) {
    EXPECT_TRUE(one.place.starts_with("places_test.cpp:")) << one.reason << " at " << one.place;
  }
}

TEST(Places, LayersAreToldByTheLineThatMakesThem) {
  expect_own_lines([] { nn::Linear(3, 4); });
  expect_own_lines([] { nn::Conv2d(3, 4, {3}); });
  expect_own_lines([] { nn::ConvTranspose(3, 4, {3, 3}); });
  expect_own_lines([] { nn::Embedding(3, 4); });
  expect_own_lines([] { nn::MultiheadAttention(4, 2); });
  expect_own_lines([] { nn::LSTM(3, 4); });
  expect_own_lines([] { nn::GRU(3, 4); });
  expect_own_lines([] { nn::init::kaiming_normal_(Tensor::zeros({3, 4})); });
}

}  // namespace
}  // namespace tenon::places_test
