#include "onnx/operators/bodies.h"

#include "base/refused.h"
#include "tenon/ops.h"

namespace tenon::importer {

std::vector<Value> to_values(const Items& items, std::string_view what) {
  std::vector<Value> values;
  for (const Item& item : items) {
    if (!item.value) {
      refuse("{} that is a sequence is not supported", what);
    }
    if (item.format != Format::plain) {
      refuse("{} of {} elements is not supported: a Cast before it makes them numbers", what, name_of(item.format));
    }
    values.push_back(item.value);
  }
  return values;
}

Value as_flag(const Value& x) { return x.rank() == 0 ? x : reshape(x, {}); }

void require_same_shapes(const std::vector<Value>& before, const std::vector<Value>& after) {
  if (before.size() != after.size()) {
    refuse("the body gives {} carried values, must give {}", after.size(), before.size());
  }
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i].dtype() != after[i].dtype() || before[i].rank() != after[i].rank()) {
      refuse("carried value {} is {} before an iteration and {} behind it", i, before[i].shape().to_string(),
             after[i].shape().to_string());
    }
  }
}

}  // namespace tenon::importer
