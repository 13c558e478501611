// The exporter's table of types is what ONNX's own definitions say.
#include "onnx/export/export_types.h"

#include <gtest/gtest.h>
#include <onnx/defs/schema.h>

#include <algorithm>

#include "onnx/proto.h"
#include "onnx/tensor_data.h"
#include "support/arrays.h"

namespace tenon::exporter::export_types_test {
namespace {

/// Whether the first operand of the operator may have this dtype, in opset 17.
bool takes(const std::string& op, Dtype dtype) {
  const proto::OpSchema* schema = proto::OpSchemaRegistry::Schema(op, 17);
  const auto& types = schema->inputs()[0].GetTypes();
  std::string name = importer::onnx_type_name(importer::to_onnx_type(dtype));
  std::ranges::transform(name, name.begin(), [](char c) { return static_cast<char>(std::tolower(c)); });
  return std::ranges::any_of(types, [&](const std::string* type) { return *type == "tensor(" + name + ")"; });
}

TEST(ExportTypes, AreThoseOfTheDefinitions) {
  for (const std::string_view op : onnx_typed_operators(17)) {  // the newest that this library defines
    const std::string name(op);
    ASSERT_NE(proto::OpSchemaRegistry::Schema(name, 17), nullptr) << name;
    for (const Dtype dtype : all_dtypes()) {
      const std::optional<Dtype> carrier = find_onnx_carrier(name, dtype);
      if (!carrier) {
        EXPECT_FALSE(takes(name, dtype)) << name << " takes " << tenon::name(dtype);
        continue;
      }
      EXPECT_TRUE(takes(name, *carrier)) << name << " does not take " << tenon::name(*carrier);
      EXPECT_EQ(takes(name, dtype), carrier == dtype) << name << " and " << tenon::name(dtype);
    }
  }
}

}  // namespace
}  // namespace tenon::exporter::export_types_test
