#include "onnx/import/operand_formats.h"

#include <algorithm>

#include "base/refused.h"

namespace tenon::importer {
void carry_formats(ElementUse elements, std::string_view type, const Items& operands, Items& results) {
  const auto is_held = [](const Item& item) { return item.format != Format::plain; };
  const auto held = std::ranges::find_if(operands, is_held);
  if (held == operands.end() || elements == ElementUse::any) {
    return;
  }
  const auto is_other = [&](const Item& item) {
    return item.value && item.value.dtype() == held->value.dtype() && item.format != held->format;
  };
  if (elements == ElementUse::numbers || std::ranges::any_of(operands, is_other)) {
    refuse("{} of {} elements is not supported: a Cast before it makes them numbers", type, name_of(held->format));
  }
  for (Item& result : results) {
    if (result.value && result.value.dtype() == held->value.dtype()) {
      result.format = held->format;
    }
  }
}

}  // namespace tenon::importer
