#include "support/arrays.h"

#include <algorithm>
#include <cmath>

#include "base/convert.h"

namespace tenon {

std::vector<Dtype> all_dtypes() {
  std::vector<Dtype> dtypes;
  for (int i = 0; i < kDtypeCount; ++i) {
    dtypes.push_back(static_cast<Dtype>(i));
  }
  return dtypes;
}

Array random_array(Dtype dtype, std::vector<int64_t> dims, std::mt19937_64& rng, double low, double high) {
  Array result(dtype, std::move(dims));
  std::uniform_real_distribution<double> uniform(is_unsigned_integer(dtype) ? std::max(low, 0.0) : low, high);
  visit_dtype(dtype, [&]<class T>() {
    for (T& value : result.mutable_values<T>()) {
      const double x = uniform(rng);
      value = convert<T>(std::is_same_v<T, bool> ? (x > 0 ? 1.0 : 0.0) : x);
    }
  });
  return result;
}

testing::AssertionResult close(const Array& actual, const Array& expected, double relative, double absolute) {
  if (actual.dtype() != expected.dtype() || actual.dims() != expected.dims()) {
    return testing::AssertionFailure() << actual.to_string(8) << " against " << expected.to_string(8);
  }
  for (int64_t i = 0; i < actual.size(); ++i) {
    const double a = actual.at(i);
    const double b = expected.at(i);
    const bool equal = a == b || (std::isnan(a) && std::isnan(b));
    if (!equal && !(std::fabs(a - b) <= absolute + relative * std::fabs(b))) {
      return testing::AssertionFailure() << "element " << i << " is " << a << ", expected " << b << "\n  "
                                         << actual.to_string(16) << "\n  " << expected.to_string(16);
    }
  }
  return testing::AssertionSuccess();
}

testing::AssertionResult same(const Array& actual, const Array& expected) {
  return same_bits(actual, expected)
             ? testing::AssertionSuccess()
             : testing::AssertionFailure() << actual.to_string(16) << " against " << expected.to_string(16);
}

Array counted(std::vector<int64_t> dims) {
  Array array(Dtype::f32, std::move(dims));
  float next = 0;
  for (float& x : array.mutable_values<float>()) {
    x = next++;
  }
  return array;
}

}  // namespace tenon
