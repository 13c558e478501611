// Program files bring the code of their products, so that libtenon_run has none.
#include "native/linked_products.h"

namespace tenon::codegen {

std::span<const LinkedProducts> linked_products() { return {}; }

}  // namespace tenon::codegen
