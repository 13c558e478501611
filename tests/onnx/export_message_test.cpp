// A model as bytes, of which large weights are no copies.
#include "onnx/export/export_message.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/arrays.h"

namespace tenon::export_message_test {
namespace {

using exporter::ModelMessage;

/// Large enough that lengths take several bytes.
Array numbers(int64_t count) {
  Array array(f32, {count});
  float next = 0;
  for (float& each : array.mutable_values<float>())
    each = next += 0.5F;
  return array;
}

proto::ModelProto model_of(const std::map<std::string, Array>& tensors) {
  proto::ModelProto model;
  model.set_ir_version(8);
  model.set_producer_name("tenon");
  model.mutable_graph()->set_name("g");
  model.mutable_graph()->add_input()->set_name("x");
  for (const auto& [name, array] : tensors) {
    proto::TensorProto& tensor = *model.mutable_graph()->add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(proto::TensorProto::FLOAT);
    tensor.add_dims(array.size());
  }
  return model;
}

TEST(ModelMessage, HasWeightsWithoutACopy) {
  const std::map<std::string, Array> all = {{"a", numbers(1)}, {"b", numbers(100)}, {"c", numbers(70'000)}};
  std::map<std::string, Array> large = all;
  large.erase("a");
  proto::ModelProto model = model_of(all);
  model.mutable_graph()->mutable_initializer(0)->set_raw_data(all.at("a").data(), all.at("a").byte_count());
  const ModelMessage message(model, large);
  std::string bytes;
  std::vector<const std::byte*> places;
  message.write([&](std::span<const std::byte> piece) {
    bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    places.push_back(piece.data());
  });
  EXPECT_EQ(bytes.size(), message.bytes());
  for (const auto& [name, array] : large) {
    EXPECT_TRUE(std::ranges::count(places, array.data())) << name;
  }
  proto::ModelProto read;
  ASSERT_TRUE(read.ParseFromString(bytes));
  for (proto::TensorProto& tensor : *model.mutable_graph()->mutable_initializer()) {
    const Array& array = all.at(tensor.name());
    tensor.set_raw_data(array.data(), array.byte_count());
  }
  EXPECT_EQ(read.SerializeAsString(), model.SerializeAsString());
}

TEST(ModelMessage, MayHaveNoWeights) {
  const proto::ModelProto model = model_of({});
  const ModelMessage message(model, {});
  std::string bytes;
  message.write([&](std::span<const std::byte> piece) {
    bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  });
  proto::ModelProto read;
  ASSERT_TRUE(read.ParseFromString(bytes));
  EXPECT_EQ(read.SerializeAsString(), model.SerializeAsString());
}

}  // namespace
}  // namespace tenon::export_message_test
