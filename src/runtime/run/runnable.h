// What an Executable is a handle of: one program, or several that run one after the other.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "devices/device.h"
#include "tenon/executable.h"
#include "tenon/memory_timeline.h"
#include "tenon/size_counts.h"

namespace tenon::runtime {

/// Each function is what the function of that name of Executable, or of an executable, says. Safe to use from many
/// threads.
class Runnable {
 public:
  Runnable() = default;
  Runnable(const Runnable&) = delete;
  Runnable& operator=(const Runnable&) = delete;
  virtual ~Runnable() = default;

  /// A handle of it.
  static Executable executable(std::shared_ptr<Runnable> program) { return Executable(std::move(program)); }

  /// What a handle is of. Error: the handle was moved from.
  static Runnable& of(const Executable& executable) { return executable.program(); }

  /// `donated` is empty, or the inputs themselves, which may then be written or taken.
  virtual std::vector<Array> run(std::span<const Array> inputs, std::span<Array> donated,
                                 const RunOptions& options) = 0;
  virtual std::vector<Array> run(std::span<const TensorView> inputs, const RunOptions& options) = 0;
  virtual std::vector<StridedArray> run_views(std::span<const Array> inputs, const RunOptions& options) = 0;
  virtual void run_into(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                        const RunOptions& options) = 0;

  virtual std::vector<Shape> output_shapes(const Bindings& bindings) = 0;
  /// All or, after an Error, none of the list.
  virtual void pre_specialize(std::span<const Bindings> list) = 0;
  virtual MemoryReport memory(const Bindings& bindings) = 0;
  virtual MemoryTimeline memory_timeline(const Bindings& bindings) = 0;
  virtual std::vector<PipelineReport> pipelines(const Bindings& bindings) = 0;
  virtual void set_memory_budget(int64_t bytes) = 0;

  /// What runs it.
  virtual devices::Device& device() const = 0;
  virtual const std::string& name() const = 0;
  virtual const std::vector<Port>& inputs() const = 0;
  virtual const std::vector<Port>& outputs() const = 0;
  virtual const std::vector<StepReport>& steps() const = 0;
  virtual const std::vector<SegmentReport>& segments() const = 0;
  virtual RunCounters counters() const = 0;
  virtual SizeCounts size_counts(size_t most) const = 0;
  virtual Capabilities capabilities() const = 0;
};

/// Inputs or outputs of a program as they were declared.
template <class Declared>
std::vector<Port> ports(const std::vector<Declared>& declared) {
  std::vector<Port> result;
  for (const Declared& each : declared) {
    result.push_back({.name = each.name, .shape = each.shape});
  }
  return result;
}

}  // namespace tenon::runtime
