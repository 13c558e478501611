// Tensors of a model file become arrays.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "base/file.h"
#include "onnx/proto.h"
#include "tenon/array.h"

namespace tenon::importer {

/// The dtype of ONNX's number; an Error for strings, complex numbers and types Tenon has not.
Dtype to_dtype(int onnx_type);
/// The other way round.
int to_onnx_type(Dtype dtype);
/// "FLOAT", "STRING", "type 99".
std::string onnx_type_name(int onnx_type);

/// Where a tensor says that its elements lie in the model's own file: a name that no file has.
inline constexpr std::string_view kOwnFile("\0", 1);

/// Files that hold the large tensors of a model. Of those beside it large tensors are mapped, copy-on-write, each by
/// itself, so that what nobody needs any more is not in memory either; small ones are read, and so is all of the
/// model's own.
class ExternalFiles {
 public:
  /// `folder` holds the files; empty: there are none. `own` is the model's, where it is a file.
  explicit ExternalFiles(std::filesystem::path folder, std::shared_ptr<const File> own = nullptr)
      : folder_(std::move(folder)), own_(std::move(own)) {}

  /// The files beside the model that were read, by all copies of this.
  const std::set<std::filesystem::path>& read() const { return *read_; }

  /// `count` bytes of a file from `offset` on, which must lie in the folder, also when links are followed.
  Array bytes(const std::string& location, int64_t offset, int64_t count);

 private:
  struct Opened {
    std::filesystem::path path;
    std::shared_ptr<const File> file;
    int64_t size = 0;
  };
  const Opened& open(const std::string& location);

  std::filesystem::path folder_;
  std::shared_ptr<const File> own_;
  std::map<std::string, Opened> opened_;
  std::shared_ptr<std::set<std::filesystem::path>> read_ = std::make_shared<std::set<std::filesystem::path>>();
};

/// The description of an initializer that training must not change: running moments of a norm.
inline constexpr std::string_view kStatisticDoc = "a statistic, not trained";

/// Sizes are checked against the data before anything is allocated.
Array to_array(const proto::TensorProto& tensor, ExternalFiles& files);

}  // namespace tenon::importer
