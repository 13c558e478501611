// The convenience builders of tenon/ops.h as data: the graph text calls them by name, bindings and documentation list
// them. To add one, add a line to the table in catalog.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/operand.h"
#include "tenon/shape.h"

namespace tenon {

enum class ArgumentType : uint8_t {
  value,    // a Value
  values,   // a list of them
  operand,  // a Value, or a number that takes its dtype from the Values beside it
  integer,
  number,
  flag,
  text,
  dtype,
  extent,
  shape,
  integers,  // lists
  extents,
  axes,
};

/// "value", "integers": for documentation.
std::string_view name(ArgumentType type);

struct BuilderParameter {
  std::string_view name;
  ArgumentType type = ArgumentType::value;
  std::string_view default_text = {};  // as the graph text writes it, `none` for nothing; empty: it must be given
};

/// Where a builder gets its arguments from: the text parser, a Python call. read() is asked only for what is given().
/// An argument that is not of the wanted type is an Error of the reader's.
class ArgumentReader {
 public:
  virtual ~ArgumentReader() = default;

  virtual bool given(size_t parameter) const = 0;
  virtual void read(size_t parameter, Value& to) = 0;
  virtual void read(size_t parameter, std::vector<Value>& to) = 0;
  virtual void read(size_t parameter, Operand& to) = 0;
  virtual void read(size_t parameter, int64_t& to) = 0;
  virtual void read(size_t parameter, double& to) = 0;
  virtual void read(size_t parameter, bool& to) = 0;
  virtual void read(size_t parameter, std::string& to) = 0;
  virtual void read(size_t parameter, Dtype& to) = 0;
  virtual void read(size_t parameter, Extent& to) = 0;
  virtual void read(size_t parameter, Shape& to) = 0;
  virtual void read(size_t parameter, std::vector<int64_t>& to) = 0;
  virtual void read(size_t parameter, std::vector<Extent>& to) = 0;
  virtual void read(size_t parameter, std::vector<Axis>& to) = 0;
};

struct CatalogEntry {
  std::string_view name;
  std::string_view doc;
  std::vector<BuilderParameter> parameters;
  /// Read the arguments, first to last, then build. A parameter that is neither given nor has a default is an Error.
  std::vector<Value> (*build)(const CatalogEntry& entry, ArgumentReader& arguments) = nullptr;
  bool gives_list = false;  // its C++ form gives a list, not one Value
  /// Its results are the elements of its first argument, seen through views: what is written into a result of a lazy
  /// tensor's form is written into that argument.
  bool is_view = false;
  bool by_hand = false;  // the form for lazy tensors, if there is one, is declared in tenon/tensor.h
};

/// All builders. Their names are not those of the scalar table's rows.
std::span<const CatalogEntry> catalog();

/// The part of the table that holds composites and einsum, in catalog_nn.cpp.
std::vector<CatalogEntry> nn_builders();
/// The part with tenon/indexing.h and tenon/random.h, in catalog_indexing.cpp.
std::vector<CatalogEntry> indexing_builders();
/// What has an axis that data decide, in catalog_selection.cpp.
std::vector<CatalogEntry> selection_builders();
/// Convolutions, pools and resizes, in catalog_convolution.cpp.
std::vector<CatalogEntry> convolution_builders();

/// The builder of that name; null when there is none.
const CatalogEntry* find_builder(std::string_view name);

}  // namespace tenon
