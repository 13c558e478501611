#include "kernel/loop/loop_run.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "base/fail.h"
#include "kernel/loop/loop_blocks.h"
#include "kernel/loop/loop_code.h"
#include "kernel/loop/loop_races.h"
#include "kernel/loop/loop_threads.h"
#include "kernel/scalar/scalar_eval.h"

namespace tenon::loops {
namespace {

/// Several threads may report at once: the first one writes the rest.
void report(KernelStatus& status, int site, int64_t position, int64_t size) {
  int64_t none = 0;
  if (std::atomic_ref(status.failed).compare_exchange_strong(none, 1 + site)) {
    status.position = position;
    status.size = size;
  }
}

/// One call: the sizes and buffers of its arguments, the axes, registers and accumulators of its thread.
class Launch {
 public:
  Launch(const Code& code, const KernelArgs& args, std::byte* scratch, bool finds_races)
      : code_(code),
        status_(*args.status),
        axes_(code.axes.size()),
        frame_(std::make_unique_for_overwrite<std::byte[]>(code.frame_bytes)) {
    for (const Number& number : code.numbers) {
      numbers_.push_back(number.size < 0 ? number.constant : args.sizes[number.size]);
    }
    for (size_t i = 0; i < code.buffers.size(); ++i) {
      const Buffer& buffer = code.buffers[i];
      if (buffer.role == Role::scratch) {
        buffers_.push_back(scratch);
        auto bytes = static_cast<size_t>(numbers_[code.scratch_elements[i]]) * byte_size(buffer.dtype);
        if (is_private_scratch(buffer) && code.most_threads > 1) {
          own_.push_back({.buffer = i, .begin = scratch, .bytes = static_cast<int64_t>(bytes)});
          bytes *= static_cast<size_t>(code.most_threads);
        }
        scratch += (bytes + 63) / 64 * 64;
      } else {
        buffers_.push_back(static_cast<std::byte*>(args.buffers[i]));
      }
    }
    if (finds_races) {
      std::vector<int64_t> elements;
      for (const size_t each : code.scratch_elements) {
        elements.push_back(numbers_[each]);
      }
      races_.emplace(code, args, std::move(elements));
    }
  }

  void run(const PhaseCode& phase, int64_t iteration) {
    if (races_) {
      races_->begin_block(iteration);
    }
    threads_ = {.first = 0, .count = phase.threads};
    place_own();
    for (size_t i = phase.grid.size(); i-- > 0;) {
      const auto axis = static_cast<size_t>(phase.grid[i]);
      const int64_t extent = numbers_[code_.axes[axis].extent];
      axes_[axis] = iteration % extent;
      iteration /= extent;
    }
    instructions_ = phase.code.data();
    run(0, phase.code.size());
  }

 private:
  void run(size_t first, size_t last) {
    for (size_t i = first; i < last;) {
      const InstructionCode& instruction = instructions_[i];
      if (const auto* loop = std::get_if<LoopCode>(&instruction)) {
        run(*loop, i + 1);
        i = loop->end;
      } else {
        std::visit([&](const auto& code) { step(code); }, instruction);
        ++i;
      }
    }
  }

  void run(const LoopCode& loop, size_t body) {
    if (loop.unless >= 0 && *reinterpret_cast<const bool*>(reg(loop.unless))) {
      return;
    }
    const int64_t states = lanes_;  // where states are for every lane; 1 outside of a vectorised loop
    for (const auto& [i, parts] : loop.begins) {
      begin(accumulator(i).what, state(accumulator(i)), std::max(states, parts));
    }
    const int64_t count = trip_count(loop.axis);
    int64_t& position = axes_[static_cast<size_t>(loop.axis)];
    if (loop.digit) {
      position = place(loop.digit->of).start / std::max<int64_t>(numbers_[loop.digit->apart], 1);
      if (!loop.digit->is_first) position %= std::max<int64_t>(count, 1);
      run(body, loop.end);
    } else if (loop.binding == Binding::lanes) {
      for (const int value : loop.captures) {
        splat(code_.register_dtypes[static_cast<size_t>(value)], reg(value), std::min(count, kLanes));
      }
      for (position = 0; position < count; position += kLanes) {
        lanes_ = std::min(count - position, kLanes);
        run(body, loop.end);
      }
      lanes_ = 1;
    } else if (loop.binding == Binding::threads) {
      run_threads(loop, body, count);
    } else {
      for (position = 0; position < count; ++position) {
        run(body, loop.end);
      }
    }
    for (const auto& [i, parts] : loop.begins) {
      if (parts > 1) {
        combine_parts(accumulator(i).what, state(accumulator(i)), parts);
      }
    }
    for (const auto& [from, value] : loop.results) {
      finish(accumulator(from).what, state(accumulator(from)), states, reg(value));
    }
  }

  void run_threads(const LoopCode& loop, size_t body, int64_t count) {
    const ThreadGroup outside = threads_;
    const int64_t extent = numbers_[code_.axes[static_cast<size_t>(loop.axis)].extent];
    int64_t& position = axes_[static_cast<size_t>(loop.axis)];
    for (position = 0; position < count; ++position) {
      threads_ = outside.inside(extent, position);
      place_own();
      run(body, loop.end);
    }
    threads_ = outside;
  }

  /// What belongs to a thread lies behind what belongs to the one before it.
  void place_own() {
    for (const Own& own : own_) {
      buffers_[own.buffer] = own.begin + threads_.first * own.bytes;
    }
  }

  void step(const LoadCode& load) {
    const auto buffer = static_cast<size_t>(load.buffer);
    const Strided at = place(load.at);
    const bool everywhere = inside(load.inside);
    if (everywhere && load.lookups.empty()) {
      if (races_) {
        for_each_element(at, [&](int64_t element) { races_->read(load.buffer, element, threads_); });
      }
      load_block(code_.buffers[buffer].dtype, buffers_[buffer], at, lanes_, reg(load.target));
      return;
    }
    if (everywhere) {
      std::fill_n(active_.begin(), lanes_, true);
    }
    spread(at);
    for (const LookupCode& lookup : load.lookups) {
      look_up(lookup);
    }
    if (races_) {
      for_each_active([&](int64_t element) { races_->read(load.buffer, element, threads_); });
    }
    load_lanes(code_.buffers[buffer].dtype, buffers_[buffer], index_.data(), active_.data(), lanes_, reg(load.target));
  }

  void step(const StoreCode& store) {
    const auto buffer = static_cast<size_t>(store.buffer);
    const Strided at = place(store.at);
    if (inside(store.inside)) {
      if (races_) {
        for_each_element(at, [&](int64_t element) { races_->write(store.buffer, element, threads_); });
      }
      store_block(code_.buffers[buffer].dtype, buffers_[buffer], at, lanes_, reg(store.value));
      return;
    }
    spread(at);
    if (races_) {
      for_each_active([&](int64_t element) { races_->write(store.buffer, element, threads_); });
    }
    store_lanes(code_.buffers[buffer].dtype, buffers_[buffer], index_.data(), active_.data(), lanes_, reg(store.value));
  }

  void step(const PositionCode& position) {
    const Strided at = place(position.at);
    auto* target = reinterpret_cast<int64_t*>(reg(position.target));
    for (int64_t i = 0; i < lanes_; ++i) {
      target[i] = at.start + i * at.stride;
    }
  }

  void step(const ComputeCode& compute) {
    const ScalarInstruction& in = compute.instruction;
    evaluate(in, {.a = reg(in.a), .b = reg(in.b), .c = reg(in.c), .out = reg(compute.target), .count = lanes_});
  }

  void step(const AccumulateCode& code) {
    const AccumulatorCode& into = accumulator(code.accumulator);
    AccumulatorState to = state(into);
    for (const auto& [axis, apart] : code.part) {
      const int64_t part = axes_[static_cast<size_t>(axis)] * apart;
      to.values += part * state_bytes(into.what);
      to.positions += part;
    }
    accumulate(into.what, to, into.per_lane, reg(into.what.input),
               reinterpret_cast<const int64_t*>(reg(into.what.position)), lanes_);
  }

  void step(const ProductCode& product) {
    const auto count = [&](const std::vector<int>& axes) {
      int64_t product_of_all = 1;
      for (const int axis : axes) {
        const int64_t trips = trip_count(axis);
        TENON_CHECK(product_of_all <= 1 || trips == numbers_[code_.axes[static_cast<size_t>(axis)].extent],
                    "a product counts axes as one, though a tile of axis {} is shorter than the others", axis);
        product_of_all *= trips;
      }
      return product_of_all;
    };
    const ProductCall call{.left = begin_of(product.left),
                           .left_row = numbers_[product.left.row],
                           .left_depth = numbers_[product.left.column],
                           .right = begin_of(product.right),
                           .right_depth = numbers_[product.right.row],
                           .right_column = numbers_[product.right.column],
                           .panel = product.panel,
                           .right_panel = numbers_[product.right.column],
                           .together = product.together,
                           .tile = begin_of(product.tile),
                           .tile_row = numbers_[product.tile.row],
                           .rows = count(product.rows),
                           .columns = count(product.columns),
                           .depth = count(product.depth),
                           .accumulate = product.adds_after >= 0 && axes_[static_cast<size_t>(product.adds_after)] > 0};
    if (races_) {
      races_->multiply(product, call,
                       {place(product.left.at).start, place(product.right.at).start, place(product.tile.at).start},
                       threads_);
    }
    reference_product(product.types, call);
  }

  std::byte* begin_of(const MatrixCode& matrix) const {
    const auto buffer = static_cast<size_t>(matrix.buffer);
    return buffers_[buffer] + place(matrix.at).start * static_cast<int64_t>(byte_size(code_.buffers[buffer].dtype));
  }

  void step(const BarrierCode&) {
    if (races_) races_->barrier();
  }

  void step(const LoopCode&) { TENON_CHECK(false, "loops are not steps"); }

  int64_t trip_count(int axis) const {
    const AxisCode& code = code_.axes[static_cast<size_t>(axis)];
    const int64_t extent = numbers_[code.extent];
    if (code.tile_of < 0) {
      return extent;
    }
    return std::min(extent, numbers_[code.total] - axes_[static_cast<size_t>(code.tile_of)] * extent);
  }

  Strided place(const AffineCode& affine) const {
    int64_t start = numbers_[affine.base];
    for (const auto& [axis, scale] : affine.terms) {
      start += axes_[static_cast<size_t>(axis)] * numbers_[scale];
    }
    return {.start = start, .stride = numbers_[affine.lane_scale]};
  }

  /// Whether all bounds hold in all lanes; else active_ says where.
  bool inside(const std::vector<BoundCode>& bounds) {
    bool all = true;
    for (const BoundCode& bound : bounds) {
      const Strided at = place(bound.index);
      const int64_t size = numbers_[bound.size];
      const int64_t last = at.start + (lanes_ - 1) * at.stride;
      if (at.start >= 0 && at.start < size && last >= 0 && last < size) {
        continue;
      }
      if (std::exchange(all, false)) {
        std::fill_n(active_.begin(), lanes_, true);
      }
      for (int64_t i = 0; i < lanes_; ++i) {
        const int64_t position = at.start + i * at.stride;
        active_[static_cast<size_t>(i)] = active_[static_cast<size_t>(i)] && position >= 0 && position < size;
      }
    }
    return all;
  }

  void spread(Strided at) {
    for (int64_t i = 0; i < lanes_; ++i) {
      index_[static_cast<size_t>(i)] = at.start + i * at.stride;
    }
  }

  /// f(element) of the access at hand.
  template <class F>
  void for_each_element(Strided at, const F& f) const {
    for (int64_t i = 0; i < lanes_; ++i) {
      f(at.start + i * at.stride);
    }
  }

  /// Likewise, where it is spread.
  template <class F>
  void for_each_active(const F& f) const {
    for (size_t i = 0; i < static_cast<size_t>(lanes_); ++i) {
      if (active_[i]) {
        f(index_[i]);
      }
    }
  }

  void look_up(const LookupCode& lookup) {
    const auto* positions = reinterpret_cast<const int64_t*>(reg(lookup.value));
    const int64_t size = numbers_[lookup.size];
    for (size_t i = 0; i < static_cast<size_t>(lanes_); ++i) {
      if (!active_[i]) {
        continue;
      }
      if (positions[i] >= 0 && positions[i] < size) {
        index_[i] += positions[i] * numbers_[lookup.stride];
      } else {
        report(status_, lookup.site, positions[i], size);
        active_[i] = size > 0;
      }
    }
  }

  const AccumulatorCode& accumulator(int i) const { return code_.accumulators[static_cast<size_t>(i)]; }

  AccumulatorState state(const AccumulatorCode& accumulator) const {
    std::byte* const values = frame_.get() + accumulator.state;
    return {.values = values, .positions = reinterpret_cast<int64_t*>(values + 8 * accumulator.states)};
  }

  std::byte* reg(int value) const {
    return value < 0 ? nullptr : frame_.get() + code_.registers[static_cast<size_t>(value)];
  }

  /// Scratch that each thread has for itself.
  struct Own {
    size_t buffer = 0;
    std::byte* begin = nullptr;
    int64_t bytes = 0;  // of a thread
  };

  const Code& code_;
  KernelStatus& status_;
  std::vector<int64_t> numbers_;
  std::vector<int64_t> axes_;
  std::vector<std::byte*> buffers_;
  std::unique_ptr<std::byte[]> frame_;
  const InstructionCode* instructions_ = nullptr;
  int64_t lanes_ = 1;
  std::array<int64_t, kLanes> index_;  // of the access at hand
  std::array<bool, kLanes> active_;
  ThreadGroup threads_;  // that run
  std::vector<Own> own_;
  std::optional<RaceFinder> races_;
};

void run(const Code& code, RaceSearch search, const KernelArgs& args, int64_t phase, int64_t begin, int64_t end,
         void* scratch) {
  if (begin >= end) return;
  const bool finds_races = search == RaceSearch::always || (search == RaceSearch::in_blocks && code.has_blocks);
  Launch launch(code, args, static_cast<std::byte*>(scratch), finds_races);
  for (int64_t i = begin; i < end; ++i) {
    launch.run(code.phases.at(static_cast<size_t>(phase)), i);
  }
}

}  // namespace

void run(const Kernel& kernel, const KernelArgs* args, int64_t phase, int64_t begin, int64_t end, void* scratch) {
  run(prepare(kernel), RaceSearch::in_blocks, *args, phase, begin, end, scratch);
}

KernelEntry interpreted(const Kernel& kernel, RaceSearch search) {
  verify(kernel);
  return [code = std::make_shared<const Code>(prepare(kernel)), search](const KernelArgs* args, int64_t phase,
                                                                        int64_t begin, int64_t end, void* scratch) {
    run(*code, search, *args, phase, begin, end, scratch);
  };
}

}  // namespace tenon::loops
