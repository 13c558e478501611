// Files that are wrong: one clear error each, soon, and in little memory.
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>

#include "onnx/model_builder.h"
#include "support/error_text.h"
#include "tenon/onnx.h"

namespace tenon::malformed_test {
namespace {

namespace fs = std::filesystem;

std::string refusal(const std::string& bytes, const fs::path& folder = {}) {
  return error_text([&] { import_onnx_bytes(bytes, folder); });
}

OnnxModelBuilder relu() {
  OnnxModelBuilder model;
  model.input("x", "f32[n]");
  model.node("Relu", {"x"}, {"y"});
  model.output("y");
  return model;
}

TEST(OnnxMalformed, EveryTruncation) {
  OnnxModelBuilder model = relu();
  model.constant("w", Array(f32, {4}));
  const std::string bytes = model.bytes();
  ASSERT_EQ(refusal(bytes), "no error");
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_NE(refusal(bytes.substr(0, size)), "no error") << size;
  }
}

TEST(OnnxMalformed, OtherFiles) {
  EXPECT_EQ(refusal(""), "not an ONNX model: there is no graph in it");
  EXPECT_EQ(refusal("PK\3\4 this is no model"),
            "not an ONNX model: its bytes end too early, nest too deeply or are something else");
  EXPECT_EQ(error_text([] { import_onnx("/no/such/file.onnx"); }), "there is no file `/no/such/file.onnx`");
}

TEST(OnnxMalformed, HugeSizes) {
  OnnxModelBuilder model = relu();
  auto& tensor = *model.model().mutable_graph()->add_initializer();
  tensor.set_name("w");
  tensor.set_data_type(proto::TensorProto::FLOAT);
  tensor.add_dims(int64_t{1} << 40);
  tensor.add_dims(int64_t{1} << 40);
  EXPECT_EQ(refusal(model.bytes()), "tensor `w` has a size of 1099511627776");
  tensor.set_dims(1, 16);
  EXPECT_EQ(refusal(model.bytes()), "tensor `w` has 0 elements, must have 17592186044416");
  tensor.set_raw_data("1234");
  EXPECT_EQ(refusal(model.bytes()), "tensor `w` has 4 bytes, must have 70368744177664");
  tensor.set_dims(0, -1);
  EXPECT_EQ(refusal(model.bytes()), "tensor `w` has a size of -1");
}

TEST(OnnxMalformed, HugeResultsAreNotMade) {
  OnnxModelBuilder model;
  model.constant("shape", Array::from<int64_t>({3}, {1 << 30, 1 << 30, 1 << 10}));
  model.node("ConstantOfShape", {"shape"}, {"zeros"});
  model.node("ReduceSum", {"zeros"}, {"sum"});
  model.node("Reshape", {"zeros", "sum"}, {"y"});
  model.output("y");
  EXPECT_NE(refusal(model.bytes()), "no error");
}

TEST(OnnxMalformed, Cycles) {
  OnnxModelBuilder model;
  model.node("Relu", {"b"}, {"a"});
  model.node("Relu", {"a"}, {"b"});
  model.output("a");
  EXPECT_EQ(refusal(model.bytes()), "`b` is used before anything defines it\n  at node \"Relu -> a\" (Relu)");
}

TEST(OnnxMalformed, NamesThatAreDefinedTwice) {
  OnnxModelBuilder model = relu();
  model.node("Exp", {"x"}, {"y"});
  EXPECT_EQ(refusal(model.bytes()), "`y` is defined twice\n  at node \"Exp -> y\" (Exp)");
}

TEST(OnnxMalformed, DeepBodies) {
  proto::GraphProto body;
  GraphBuilder(body).node("Identity", {"x"}, {"y"});
  GraphBuilder(body).output("y");
  for (int i = 0; i < 100; ++i) {
    proto::GraphProto outer;
    GraphBuilder(outer).node("If", {"c"}, {"y"}, {attribute("then_branch", body)});
    GraphBuilder(outer).output("y");
    body = std::move(outer);
  }
  OnnxModelBuilder model;
  *model.model().mutable_graph() = body;
  EXPECT_EQ(refusal(model.bytes()),
            "not an ONNX model: its bytes end too early, nest too deeply or are something else");
}

proto::FunctionProto& add_function(OnnxModelBuilder& model, const std::string& name) {
  auto& function = *model.model().add_functions();
  function.set_name(name);
  function.set_domain("local");
  function.add_input("x");
  function.add_output("y");
  return function;
}

TEST(OnnxMalformed, FunctionsThatCallThemselves) {
  OnnxModelBuilder model;
  model.opset("local", 1);
  proto::GraphProto body;
  GraphBuilder(body).node("F", {"x"}, {"y"}, {}, "local");
  *add_function(model, "F").mutable_node() = body.node();
  model.input("x", "f32[n]");
  model.node("F", {"x"}, {"y"}, {}, "local");
  model.output("y");
  EXPECT_EQ(refusal(model.bytes()).substr(0, 41), "functions and bodies nest deeper than 64\n");
}

TEST(OnnxMalformed, FunctionsThatDoubleEachTime) {
  OnnxModelBuilder model;
  model.opset("local", 1);
  for (int i = 0; i < 40; ++i) {
    proto::GraphProto body;
    const std::string inner = "F" + std::to_string(i + 1);
    GraphBuilder(body).node(i == 39 ? "Relu" : inner, {"x"}, {"a"}, {}, i == 39 ? "" : "local");
    GraphBuilder(body).node(i == 39 ? "Relu" : inner, {"a"}, {"y"}, {}, i == 39 ? "" : "local");
    *add_function(model, "F" + std::to_string(i)).mutable_node() = body.node();
  }
  model.input("x", "f32[n]");
  model.node("F0", {"x"}, {"y"}, {}, "local");
  model.output("y");
  const std::string text = refusal(model.bytes());
  EXPECT_NE(text.find("calls of functions are more than 100000 nodes"), std::string::npos) << text;
}

TEST(OnnxMalformed, WrongTypes) {
  OnnxModelBuilder strings;
  strings.input("x", "f32[n]").mutable_type()->mutable_tensor_type()->set_elem_type(proto::TensorProto::STRING);
  strings.node("Identity", {"x"}, {"y"});
  strings.output("y");
  EXPECT_EQ(refusal(strings.bytes()), "elements of STRING are not supported");

  OnnxModelBuilder mixed;
  mixed.input("x", "f32[n]");
  mixed.input("i", "i64[n]");
  mixed.node("Add", {"x", "i"}, {"y"});
  mixed.output("y");
  EXPECT_NE(refusal(mixed.bytes()).find("operands are f32 and i64"), std::string::npos);

  OnnxModelBuilder attributes;
  attributes.input("x", "f32[n]");
  attributes.node("Softmax", {"x"}, {"y"}, {attribute("axis", std::string("one"))});
  attributes.output("y");
  EXPECT_EQ(refusal(attributes.bytes()),
            "attribute `axis` is STRING, must be INT\n  at node \"Softmax -> y\" (Softmax)");

  OnnxModelBuilder unknown;
  auto& tensor = *unknown.model().mutable_graph()->add_initializer();
  tensor.set_name("w");
  tensor.set_data_type(99);
  unknown.node("Relu", {"w"}, {"y"});
  unknown.output("y");
  EXPECT_EQ(refusal(unknown.bytes()), "elements of type 99 are not supported");
}

TEST(OnnxMalformed, ShapesThatAnOperatorDoesNotTake) {
  OnnxModelBuilder model;
  model.input("x", "f32[58, 2]");
  model.node("Det", {"x"}, {"y"});
  model.output("y");
  EXPECT_EQ(refusal(model.bytes()),
            "determinants are supported for square matrices of up to 4 known rows, not f32[58, 2]\n"
            "  at node \"Det -> y\" (Det)");
}

TEST(OnnxMalformed, ListsThatDoNotFit) {
  for (const std::string type : {"MaxPool", "AveragePool", "MaxUnpool"}) {
    OnnxModelBuilder model;
    model.input("x", "f32[1, 1, 4, 4]");
    model.input("i", "i64[1, 1, 4, 4]");
    model.node(type, type == "MaxUnpool" ? std::vector<std::string>{"x", "i"} : std::vector<std::string>{"x"}, {"y"},
               {attribute("kernel_shape", std::vector<int64_t>{2, 2}), attribute("strides", std::vector<int64_t>{2})});
    model.output("y");
    EXPECT_NE(refusal(model.bytes())
                  .find("strides, dilations and pads are given for 1 axes, the input has 2 behind the channels"),
              std::string::npos);
  }
}

TEST(OnnxMalformed, KernelsOfOtherSizesThanTheWeights) {
  for (const std::vector<int64_t>& sizes : std::vector<std::vector<int64_t>>{{3, 2}, {2}, {2, 2, 2}}) {
    OnnxModelBuilder model;
    model.input("x", "f32[1, 1, 8, 8]");
    model.constant("w", Array(f32, {1, 1, 2, 2}));
    model.node("Conv", {"x", "w"}, {"y"}, {attribute("kernel_shape", sizes)});
    model.output("y");
    EXPECT_EQ(refusal(model.bytes()), fmt::format("kernel_shape is [{}], but the weights are f32[1, 1, 2, 2]\n"
                                                  "  at node \"Conv -> y\" (Conv)",
                                                  fmt::join(sizes, ", ")));
  }
}

TEST(OnnxMalformed, SplitsIntoAnotherNumberOfParts) {
  OnnxModelBuilder model(18);
  model.input("x", "f32[6]");
  model.node("Split", {"x"}, {"a", "b"}, {attribute("num_outputs", int64_t{3})});
  model.output("a");
  EXPECT_EQ(refusal(model.bytes()), "num_outputs is 3, but the node has 2 outputs\n  at node \"Split -> a\" (Split)");
  OnnxModelBuilder by_sizes;
  by_sizes.input("x", "f32[6]");
  by_sizes.constant("sizes", Array::from<int64_t>({3}, {1, 2, 3}));
  by_sizes.node("Split", {"x", "sizes"}, {"a", "b"});
  by_sizes.output("a");
  EXPECT_EQ(refusal(by_sizes.bytes()), "3 sizes are given for 2 outputs\n  at node \"Split -> a\" (Split)");
}

TEST(OnnxMalformed, SizesBeyond64BitsNameTheNode) {
  OnnxModelBuilder model;
  model.input("x", "f32[n]");
  model.constant("huge", Array::from<int64_t>({1}, {int64_t{1} << 62}));
  model.node("Tile", {"x", "huge"}, {"a"});
  model.node("Tile", {"a", "huge"}, {"y"});
  model.output("y");
  const std::string text = refusal(model.bytes());
  EXPECT_NE(text.find("at node \"Tile -> y\""), std::string::npos) << text;
  const fs::path file = fs::temp_directory_path() / fmt::format("tenon_malformed_{}.onnx", ::getpid());
  std::ofstream(file, std::ios::binary) << model.bytes();
  EXPECT_EQ(error_text([&] { import_onnx(file); }), text + "\n  in the file `" + file.string() + "`");
  fs::remove(file);
}

TEST(OnnxMalformed, MissingParts) {
  OnnxModelBuilder model;
  model.input("x", "f32[n]");
  model.node("Add", {"x"}, {"y"});
  model.output("y");
  EXPECT_NE(refusal(model.bytes()).find("takes 2 operands, not 1"), std::string::npos);

  OnnxModelBuilder none;
  none.input("x", "f32[n]");
  EXPECT_EQ(refusal(none.bytes()), "the model has no outputs");

  OnnxModelBuilder unshaped;
  unshaped.input("x", "f32[n]").mutable_type()->mutable_tensor_type()->clear_shape();
  unshaped.node("Relu", {"x"}, {"y"});
  unshaped.output("y");
  EXPECT_EQ(refusal(unshaped.bytes()), "input `x` has no shape in the file; give it one in OnnxOptions::shapes");
}

/// A folder of its own, gone at the end.
class OnnxExternal : public testing::Test {
 protected:
  OnnxExternal() {
    folder_ = fs::temp_directory_path() / ("tenon_external_" + std::to_string(::getpid()));
    fs::create_directories(folder_ / "model");
    write("model/weights.bin", std::string(32, '\0'));
    write("secret.bin", std::string(32, '\0'));
  }
  ~OnnxExternal() override { fs::remove_all(folder_); }

  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
  }

  std::string import_with(const std::string& location, const std::string& offset = "0",
                          const std::string& length = "16") const {
    OnnxModelBuilder model = relu();
    auto& tensor = *model.model().mutable_graph()->add_initializer();
    tensor.set_name("w");
    tensor.set_data_type(proto::TensorProto::FLOAT);
    tensor.add_dims(4);
    tensor.set_data_location(proto::TensorProto::EXTERNAL);
    for (const auto& [key, value] : {std::pair{"location", location}, {"offset", offset}, {"length", length}}) {
      auto& entry = *tensor.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    }
    return refusal(model.bytes(), folder_ / "model");
  }

  fs::path folder_;
};

TEST_F(OnnxExternal, LiesInTheFolder) {
  EXPECT_EQ(import_with("weights.bin"), "no error");
  EXPECT_EQ(import_with("weights.bin", "16"), "no error");
  EXPECT_EQ(import_with("weights.bin", "2"), "no error");  // not aligned: copied
}

TEST_F(OnnxExternal, NeverOutsideOfIt) {
  EXPECT_EQ(import_with("../secret.bin"), "external data `../secret.bin` is not a file of the model's folder");
  EXPECT_EQ(import_with("a/../../secret.bin"),
            "external data `a/../../secret.bin` is not a file of the model's folder");
  EXPECT_EQ(import_with("/etc/passwd"), "external data `/etc/passwd` is not a file of the model's folder");
  EXPECT_EQ(import_with(""), "external data `` is not a file of the model's folder");
  fs::create_symlink(folder_ / "secret.bin", folder_ / "model" / "link.bin");
  EXPECT_EQ(import_with("link.bin"), "external data `link.bin` is a link out of the model's folder");
}

TEST_F(OnnxExternal, SizesAreChecked) {
  EXPECT_EQ(import_with("weights.bin", "20"), "external data `weights.bin` has 32 bytes, not 16 from 20 on");
  EXPECT_EQ(import_with("weights.bin", "9223372036854775807"),
            "external data `weights.bin` has 32 bytes, not 16 from 9223372036854775807 on");
  EXPECT_EQ(import_with("weights.bin", "-4"), "tensor `w`: `-4` is no offset of external data");
  EXPECT_EQ(import_with("weights.bin", "0", "12"), "tensor `w` has 12 bytes, must have 16");
  EXPECT_EQ(import_with("none.bin"), "external data `none.bin` cannot be opened: No such file or directory");
  fs::create_directory(folder_ / "model" / "folder.bin");
  EXPECT_EQ(import_with("folder.bin"), "external data `folder.bin` is no file that can be read: `" +
                                           (folder_ / "model" / "folder.bin").string() + "` is a folder, not a file");
}

}  // namespace
}  // namespace tenon::malformed_test
