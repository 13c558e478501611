// From graph values to the scalar values of a kernel: what one element of a value is, at a point of the loops.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/node.h"
#include "schedule/draft/covers.h"
#include "schedule/draft/draft.h"
#include "schedule/draft/refusal.h"
#include "schedule/nest/kind_roles.h"
#include "schedule/nest/storage.h"

namespace tenon::schedule {

/// A part of a position that data decides: loops::Lookup without the stride of a buffer.
struct Dynamic {
  int value = 0;
  Extent scale = 1;
  Extent size;
  int site = 0;

  friend bool operator==(const Dynamic&, const Dynamic&) = default;
};

/// Where along one axis of a value an element lies.
struct Position {
  loops::Affine affine;
  std::vector<Dynamic> dynamic;

  friend bool operator==(const Position&, const Position&) = default;
};

/// An element of a value: a position along each axis.
using Point = std::vector<Position>;
/// Where an element is needed at all; elsewhere nothing may be read for it.
using Mask = std::vector<loops::Bound>;

Position scaled(const Position& p, const Extent& by);
Position moved(const Position& p, const Extent& by);
Position sum(const Position& a, const Position& b);
/// The position in row-major order under these axes.
Position linear(const std::vector<Axis>& axes, const Point& point);

/// The scalar program of each different Map, made once.
class MapPrograms {
 public:
  const ScalarProgram& of(const Map& map, const std::vector<Value>& operands);

 private:
  std::map<std::tuple<const ScalarFn*, Dtype, std::vector<Dtype>>, ScalarProgram> programs_;
};

/// The position in memory of an element of a value.
Position stored_at(const StorageOrders& storage, const Value& value, const Point& point);

/// Where in the base of an update an element of what it writes lies: `point` is a point of its second operand, and the
/// path has nothing but transposes and slices without steps.
Point place_of_update(const Value& update, Point point);

/// Emits elements of values, down to those for which `is_loaded` holds. Throws Refusal and SplitNeeded.
class ElementEmitter {
 public:
  ElementEmitter(Draft& draft, std::function<bool(const Value&)> is_loaded, const StorageOrders& storage,
                 const AxisSplits& splits, MapPrograms& programs)
      : draft_(draft),
        kernel_(draft.kernel),
        values_(draft.values),
        axes_(draft.kernel, splits),
        is_loaded_(std::move(is_loaded)),
        storage_(storage),
        programs_(programs) {}

  /// Loops over all axes of `value`, in the order in which they lie in memory.
  Point iterate(const Value& value);
  int emit(const Value& value, const Point& point, const Mask& mask = {});
  /// The buffer that a value is stored to.
  int output_buffer(const Value& value);

  /// What each buffer of the kernel holds.
  const std::vector<Value>& buffers() const { return buffers_; }

 private:
  /// The element of a value in memory at a position.
  int load(const Value& value, const Position& at, const Mask& mask);
  int add_buffer(const Value& value, loops::Role role);
  /// `op` over `axes` of what `input` (with `position`, for argmax) is.
  int reduce(ReduceOp op, Dtype dtype, int input, int position, const std::vector<int>& axes);
  int position_value(const Position& at);
  /// A value from `first_value` on is loaded at the positions of `site`.
  bool is_looked_up(int site, size_t first_value) const;
  AxisSet axes_of_point(const Point& point) const;

  // One overload for each kind that has a scalar form; the template refuses the others.
  int element(const Constant& op, const Value& value, const Point& point, const Mask& mask);
  int element(const Iota& op, const Value& value, const Point& point, const Mask& mask);
  int element(const Random& op, const Value& value, const Point& point, const Mask& mask);
  int element(const Map& op, const Value& value, const Point& point, const Mask& mask);
  int element(const Concat& op, const Value& value, const Point& point, const Mask& mask);
  int element(const Gather& op, const Value& value, const Point& point, const Mask& mask);
  // element_reduce.cpp
  int element(const Reduce& op, const Value& value, const Point& point, const Mask& mask);
  int element(const Window& op, const Value& value, const Point& point, const Mask& mask);
  int element(const Contract& op, const Value& value, const Point& point, const Mask& mask);
  int element(const Conv& op, const Value& value, const Point& point, const Mask& mask);
  // element_view.cpp
  int element(const Reshape& op, const Value& value, const Point& point, const Mask& mask);
  int element(const Transpose& op, const Value& value, const Point& point, const Mask& mask);
  int element(const Broadcast& op, const Value& value, const Point& point, const Mask& mask);
  int element(const Slice& op, const Value& value, const Point& point, const Mask& mask);
  int element(const Pad& op, const Value& value, const Point& point, const Mask& mask);
  int element(const Flip& op, const Value& value, const Point& point, const Mask& mask);
  // element_update.cpp
  int element(const Update& op, const Value& value, const Point& point, const Mask& mask);
  template <class Kind>
    requires(AloneKind<Kind> || std::is_same_v<Kind, Input>)
  int element(const Kind& op, const Value& value, const Point& point, const Mask& mask);

  Point before_reshape(const Value& value, const Point& point);
  Position padded(const Pad& op, const Value& x, size_t axis, const Position& at);
  std::optional<std::vector<int>> digits_of(const Position& position, const Extent& extent) const;
  std::vector<int> split_digits(const Value& view, const std::vector<int>& digits, const Extent& size, size_t& end);
  /// Positions of x that a sliding window meets; padding is left out by bounds added to `inside`.
  Position slide(const Position& out, const Position& offset, int64_t stride, int64_t dilation, const Extent& low,
                 const Extent& size, const Extent& out_size, const Extent& span, Mask& inside);

  struct Asked {
    Point point;
    Mask mask;
    int value;
  };

  Draft& draft_;
  loops::Kernel& kernel_;
  KernelValues& values_;
  LoopAxes axes_;
  std::function<bool(const Value&)> is_loaded_;
  const StorageOrders& storage_;
  MapPrograms& programs_;
  std::vector<Value> buffers_;
  std::unordered_map<Value, int> buffer_of_;
  std::unordered_map<Value, std::vector<Asked>> asked_;
};

}  // namespace tenon::schedule
