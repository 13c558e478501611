// Sizes for axis names: bind, resolve symbolic shapes to concrete ones, and read the names back from concrete inputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/dtype.h"
#include "tenon/extent.h"
#include "tenon/shape.h"

namespace tenon {

/// Axis names and their sizes. The order in which names were set does not matter: equal contents compare and hash
/// equal, name by name and size by size, so this is a cache key that cannot collide by spelling.
class Bindings {
 public:
  Bindings() = default;
  Bindings(std::initializer_list<std::pair<std::string_view, int64_t>> sizes);

  /// Error for a negative size, and for a name that is bound to another size already.
  void set(std::string_view name, int64_t size);

  std::optional<int64_t> find(std::string_view name) const;
  /// Error for a name that is not bound; it lists what is.
  int64_t at(std::string_view name) const;

  /// Pairs of name and size, sorted by name.
  auto begin() const { return sizes_.begin(); }
  auto end() const { return sizes_.end(); }
  size_t size() const { return sizes_.size(); }
  bool empty() const { return sizes_.empty(); }

  friend bool operator==(const Bindings&, const Bindings&) = default;
  uint64_t hash() const;

  /// `batch=8, seq=77`; parse() reads it back, with or without spaces.
  std::string to_string() const;
  static Bindings parse(std::string_view text);

 private:
  std::vector<std::pair<std::string, int64_t>> sizes_;
};

/// The value of any expression, which may be negative. Error for an unbound name, naming it.
int64_t evaluate(const Extent& extent, const Bindings& bindings);

/// The value of an extent that is a size: as evaluate(), and an Error when it is negative.
int64_t resolve(const Extent& extent, const Bindings& bindings);

/// The concrete shape. Names stay, as static named axes: f32[batch, seq+1] becomes f32[batch=8, 78].
Shape resolve(const Shape& shape, const Bindings& bindings);

/// An input as it was declared and as it came.
struct ConcreteInput {
  std::string name;
  Shape pattern;
  Dtype dtype = Dtype::f32;
  std::vector<int64_t> dims;
};

/// The sizes that the inputs give to the names in their patterns; extract() of resolved shapes gives the bindings back.
/// An expression binds its last unknown name when it is linear in it (`2*seq` of 10 binds seq=5; `a+b` binds b once a
/// is known), in whatever order the inputs come; with all names known it is checked. A label binds its name. A name
/// that no input determines stays unbound. Error: dtype, rank, static size, an expression without solution, conflicting
/// sizes within an input or across inputs. Each names the input, the axis and both values.
Bindings extract(std::span<const ConcreteInput> inputs);

}  // namespace tenon
