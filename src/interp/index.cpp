#include "interp/index.h"

namespace tenon {

Index strides_of(const Index& dims) {
  Index strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) {
    strides[i - 1] = strides[i] * dims[i];
  }
  return strides;
}

int64_t count_of(const Index& dims) {
  int64_t count = 1;
  for (const int64_t dim : dims) {
    count *= dim;
  }
  return count;
}

}  // namespace tenon
