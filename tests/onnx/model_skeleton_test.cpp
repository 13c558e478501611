// A file, of which large tensors are read on their own, is the model that its bytes are: whole, cut off or damaged.
#include "onnx/import/model_skeleton.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <random>

#include "onnx/model_builder.h"
#include "support/arrays.h"
#include "support/error_text.h"
#include "tenon/text.h"

namespace tenon::model_skeleton_test {
namespace {

constexpr int kInt4 = 22;  // which older headers of protobuf do not name

Array numbers(std::vector<int64_t> dims) {
  std::mt19937_64 rng(1);
  return random_array(f32, std::move(dims), rng, -1, 1);
}

proto::TensorProto raw_tensor(const std::string& name, int type, int64_t elements, const std::string& bytes) {
  proto::TensorProto result;
  result.set_name(name);
  result.set_data_type(type);
  result.add_dims(elements);
  result.set_raw_data(bytes);
  return result;
}

std::string random_bytes(size_t count) {
  std::mt19937_64 rng(2);
  std::string bytes(count, '\0');
  for (char& each : bytes) {
    each = static_cast<char>(rng());
  }
  return bytes;
}

/// Large tensors of all places and of elements that are not as they lie: bools, four bits.
OnnxModelBuilder model_of_all() {
  OnnxModelBuilder model(21);
  model.input("x", "f32[n, 70]");
  model.constant("w", numbers({70, 80}));
  model.constant("small", numbers({80}));
  model.node("MatMul", {"x", "w"}, {"product"});
  proto::AttributeProto value;
  value.set_name("value");
  value.set_type(proto::AttributeProto::TENSOR);
  *value.mutable_t() = tensor("", numbers({80, 90}));
  model.node("Constant", {}, {"inner"}, {value});
  model.node("Add", {"product", "small"}, {"sum"});
  model.node("MatMul", {"sum", "inner"}, {"y"});
  *model.model().mutable_graph()->add_initializer() =
      raw_tensor("flags", proto::TensorProto::BOOL, 20'000, random_bytes(20'000));
  *model.model().mutable_graph()->add_initializer() = raw_tensor("nibbles", kInt4, 40'001, random_bytes(20'001));
  model.node("Cast", {"flags"}, {"flagged"}, {attribute("to", int64_t{proto::TensorProto::FLOAT})});
  model.node("Cast", {"nibbles"}, {"four"}, {attribute("to", int64_t{proto::TensorProto::FLOAT})});
  for (const char* const output : {"y", "flagged", "four"}) {
    model.output(output);
  }
  return model;
}

class ModelSkeleton : public testing::Test {
 protected:
  ~ModelSkeleton() override { std::filesystem::remove(file_); }

  void write(const std::string& bytes) const { std::ofstream(file_, std::ios::binary) << bytes; }

  /// What the file becomes, as text: a graph with all elements, or the error without the note of the file.
  std::string from_file() const {
    return text_of([&] { return import_onnx(file_); });
  }
  static std::string from_bytes(const std::string& bytes) {
    return text_of([&] { return import_onnx_bytes(bytes, std::filesystem::temp_directory_path()); });
  }

  template <class Import>
  static std::string text_of(Import&& import) {
    try {
      return to_text(import());
    } catch (const Error& error) {
      const std::string text = error.what();
      return text.substr(0, text.find("\n  in the file"));
    }
  }

  std::filesystem::path file_ =
      std::filesystem::temp_directory_path() / ("tenon_skeleton_" + std::to_string(::getpid()) + ".onnx");
};

TEST_F(ModelSkeleton, HoldsNoLargeTensor) {
  const std::string bytes = model_of_all().bytes();
  write(bytes);
  const std::string skeleton = importer::read_skeleton(File(file_.string()));
  EXPECT_GT(bytes.size(), 90'000U);
  EXPECT_LT(skeleton.size(), 2'000U);
  EXPECT_EQ(from_file(), from_bytes(bytes));
}

TEST_F(ModelSkeleton, OfADamagedFileTellsTheSame) {
  const std::string bytes = model_of_all().bytes();
  std::mt19937_64 rng(3);
  for (int i = 0; i < 150; ++i) {
    std::string damaged = bytes;
    if (i % 3 == 0) {
      damaged.resize(rng() % bytes.size());
    } else {
      // Where lengths and tags are: the elements are most of the file.
      const size_t at = i % 3 == 1 ? rng() % 40 : bytes.size() - 1 - rng() % 400;
      damaged[at] = static_cast<char>(rng());
    }
    write(damaged);
    EXPECT_EQ(from_file(), from_bytes(damaged)) << i;
  }
}

/// Elements in two places, or in a file beside it: left to who knows what that means.
TEST_F(ModelSkeleton, LeavesWhatIsElsewhere) {
  OnnxModelBuilder model = model_of_all();
  proto::TensorProto& w = *model.model().mutable_graph()->mutable_initializer(0);
  w.set_data_location(proto::TensorProto::EXTERNAL);
  for (const auto& [key, value] :
       std::map<std::string, std::string>{{"location", std::string("\0", 1)}, {"offset", "3"}}) {
    auto* const entry = w.add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  }
  write(model.bytes());
  EXPECT_NE(from_file().find("f32[70, 80]"), std::string::npos);  // bytes of its own file, and harmless
  EXPECT_NE(from_bytes(model.bytes()).find("has a name that no file can have"), std::string::npos);
  w.mutable_external_data(1)->set_value("99999999999");
  write(model.bytes());
  EXPECT_NE(from_file().find("the model's file has"), std::string::npos) << from_file();
}

}  // namespace
}  // namespace tenon::model_skeleton_test
