#include "schedule/blocks/map_to_blocks.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "kernel/loop/loop_threads.h"
#include "kernel/loop/loop_walk.h"
#include "schedule/blocks/block_phase.h"
#include "schedule/blocks/phase_edit.h"
#include "schedule/blocks/short_rows.h"
#include "schedule/blocks/split_product.h"
#include "schedule/blocks/split_sums.h"
#include "schedule/blocks/thread_phase.h"

namespace tenon::schedule {
namespace {

using loops::Kernel;

/// Moves the numbers of everything that a kernel of one phase names.
class Renumbering {
 public:
  /// `buffers`: the new numbers of buffers.
  Renumbering(Kernel& part, const Kernel& before, const std::vector<int>& buffers)
      : part_(part),
        buffers_(buffers),
        axes_(static_cast<int>(before.axes.size())),
        values_(static_cast<int>(before.values.size())),
        accumulators_(static_cast<int>(before.accumulators.size())) {}

  void run() {
    for (loops::Axis& axis : part_.axes) {
      move(axis.tile_of, axes_);
    }
    for_each_position(part_, [&](loops::Affine& at) {
      for (loops::Term& term : at.terms) {
        term.axis += axes_;
      }
    });
    for (loops::Value& value : part_.values) {
      move(value);
    }
    for (loops::Accumulator& accumulator : part_.accumulators) {
      move(accumulator.input, values_);
      move(accumulator.position, values_);
    }
    for (loops::Phase& phase : part_.phases) {
      for (int& axis : phase.grid) {
        axis += axes_;
      }
      move(phase.body);
    }
  }

 private:
  static void move(int& i, int by) { i = i < 0 ? i : i + by; }

  void move_buffer(int& buffer) const { buffer = buffers_[static_cast<size_t>(buffer)]; }

  void move(loops::Value& value) const {
    if (auto* load = std::get_if<loops::Load>(&value.what)) {
      move_buffer(load->buffer);
      for (loops::Lookup& lookup : load->lookups) {
        lookup.value += values_;
      }
    } else if (auto* compute = std::get_if<loops::Compute>(&value.what)) {
      for (int& operand : compute->operands) {
        operand += values_;
      }
    } else if (auto* result = std::get_if<loops::Result>(&value.what)) {
      result->accumulator += accumulators_;
    }
  }

  void move(loops::Block& block) const {
    for (loops::Statement& statement : block) {
      if (auto* loop = std::get_if<loops::Loop>(&statement.what)) {
        loop->axis += axes_;
        move(loop->unless, values_);
        for (int& each : loop->begins) {
          each += accumulators_;
        }
        move(loop->body);
      } else if (auto* define = std::get_if<loops::Define>(&statement.what)) {
        define->value += values_;
      } else if (auto* store = std::get_if<loops::Store>(&statement.what)) {
        store->value += values_;
        move_buffer(store->buffer);
      } else if (auto* fed = std::get_if<loops::Accumulate>(&statement.what)) {
        fed->accumulator += accumulators_;
      }
    }
  }

  Kernel& part_;
  const std::vector<int>& buffers_;
  int axes_, values_, accumulators_;
};

std::set<int> used_buffers(const Kernel& kernel) {
  std::set<int> used;
  for (const loops::Phase& phase : kernel.phases) {
    for_each_statement(phase.body, [&](const loops::Statement& statement) {
      if (const auto* store = std::get_if<loops::Store>(&statement.what)) used.insert(store->buffer);
    });
  }
  for (const loops::Value& value : kernel.values) {
    if (const auto* load = std::get_if<loops::Load>(&value.what)) used.insert(load->buffer);
  }
  return used;
}

/// Threads of a block, at most. Where a machine's thread takes several iterations (loops::iterations_of_thread()), a
/// block has that many times fewer.
constexpr int64_t kThreads = 256;
constexpr int64_t kThreadsOfSeveral = loops::kMostThreads;

/// Elements that a block of one warp is enough for: of a row, which it passes over in several steps, and of an axis
/// that blocks share.
constexpr int64_t kShortRow = 1024;
constexpr int64_t kShortAxis = 512;
constexpr int64_t kWarp = 32;

struct Mapped {
  Kernel kernel;
  bool is_of_blocks = false;  // an iteration of the grid has a block of its own
};

Mapped mapped_to(const Kernel& part, int64_t most_threads, bool upper_bits) {
  Mapped result{.kernel = part};
  if (!map_to_threads(result.kernel, most_threads)) {
    result.is_of_blocks = true;
    map_to_threads_of_blocks(result.kernel, {.most_threads = most_threads, .upper_bits = upper_bits});
  }
  result.kernel = pruned(result.kernel);
  return result;
}

/// One phase or, where sizes decide, two, of which one has iterations. `part` gets sizes that tell.
std::vector<Kernel> mapped(Kernel& part, bool upper_bits) {
  const auto with = [&](int64_t most_threads) { return mapped_to(part, most_threads, upper_bits).kernel; };
  const auto [wide, is_of_blocks] = mapped_to(part, kThreadsOfSeveral, upper_bits);
  if (has_long_sums(wide)) {
    std::vector<Kernel> result{with(kThreads)};
    split_sums(result.front());
    return result;
  }
  const int64_t several = loops::iterations_of_thread(wide, wide.phases.front());
  if (several == 1) return {with(kThreads)};
  const ThreadLengths lengths = thread_lengths(wide);
  const int64_t most = is_of_blocks ? kShortRow : kShortAxis;
  const int64_t few = kWarp * several;
  if (lengths.longest > most || loops::threads_of(wide, wide.phases.front()) <= few) return {wide};
  if (lengths.unknown.empty()) return {is_of_blocks ? with(few) : wide};
  const Extent is_long = is_any_longer(part, lengths, most);
  std::vector<Kernel> result{with(few), with(kThreadsOfSeveral)};
  run_where(result[0], 1 - is_long);
  run_where(result[1], is_long);
  return result;
}

Kernel mapped_to_blocks(Kernel part, const BlockForm& form) {
  map_to_threads_of_blocks(part, form);
  return pruned(part);
}

/// Appends phases to a kernel that begins with the same buffers.
class Appending {
 public:
  Appending(const Kernel& kernel, bool upper_bits)
      : result_(kernel), given_(kernel.buffers.size()), upper_bits_(upper_bits) {
    result_.axes.clear();
    result_.values.clear();
    result_.accumulators.clear();
    result_.phases.clear();
    result_.may_share.clear();
  }

  void add(Kernel part) {
    const std::optional<SplitProduct> split = split_product(part);
    if (!split) {
      for (Kernel& each : mapped(part, upper_bits_))
        append(std::move(each), -1);
      result_.arguments = part.arguments;
      return;
    }
    const auto between = static_cast<int>(result_.buffers.size());
    result_.buffers.push_back(split->parts.buffers.back());
    result_.arguments = split->parts.arguments;
    const auto shared = [&](const Kernel& each, const BlockForm& form) {
      append(mapped_to_blocks(each, form), between);
    };
    shared(split->whole, {.most_threads = kThreads, .upper_bits = upper_bits_});
    shared(split->parts, {.most_threads = kThreads, .part = split->part, .upper_bits = upper_bits_});
    append(pruned(split->total), between);
    shared(split->rest, {.most_threads = kThreads, .is_flat = true});
  }

  const Kernel& result() const { return result_; }
  Kernel take() { return std::move(result_); }

 private:
  template <class T>
  static void move_to(std::vector<T>& to, std::vector<T>& from) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  }

  void append(Kernel part, int between) {
    for (size_t i = 0; i < given_; ++i) {
      if (part.buffers[i].scope == loops::Scope::block) result_.buffers[i].scope = loops::Scope::block;
    }
    const std::vector<int> numbers = placed(part, between);
    Renumbering(part, result_, numbers).run();
    move_to(result_.axes, part.axes);
    move_to(result_.values, part.values);
    move_to(result_.accumulators, part.accumulators);
    move_to(result_.phases, part.phases);
  }

  /// Where a part's buffers are: scratch of its own lies where that of other phases does.
  std::vector<int> placed(const Kernel& part, int between) {
    std::vector<int> numbers;
    std::set<int> taken;
    for (size_t i = 0; i < part.buffers.size(); ++i) {
      const bool is_given = i < given_;
      if (is_given || (i == given_ && between >= 0)) {
        numbers.push_back(is_given ? static_cast<int>(i) : between);
        continue;
      }
      int place = place_of(part.buffers[i], taken);
      if (place < 0) {
        place = static_cast<int>(result_.buffers.size());
        result_.buffers.push_back(part.buffers[i]);
      }
      taken.insert(place);
      numbers.push_back(place);
    }
    return numbers;
  }

  /// Scratch of another phase, made large enough.
  int place_of(const loops::Buffer& buffer, const std::set<int>& taken) {
    for (size_t i = given_; i < result_.buffers.size(); ++i) {
      loops::Buffer& other = result_.buffers[i];
      const auto size = other.elements.constant();
      const auto needed = buffer.elements.constant();
      if (buffer.role != loops::Role::scratch || other.role != loops::Role::scratch || other.dtype != buffer.dtype ||
          other.scope != buffer.scope || !size || !needed || taken.contains(static_cast<int>(i))) {
        continue;
      }
      other.elements = std::max(*size, *needed);
      return static_cast<int>(i);
    }
    return -1;
  }

  Kernel result_;
  size_t given_;
  bool upper_bits_;
};

}  // namespace

Kernel map_to_blocks(const Kernel& kernel, bool upper_bits) {
  Appending all(kernel, upper_bits);
  for (const loops::Phase& phase : kernel.phases) {
    Kernel part = kernel;
    part.arguments = all.result().arguments;
    part.phases = {phase};
    all.add(pruned(part));
  }
  Kernel result = all.take();
  const std::set<int> used = used_buffers(result);
  for (size_t i = 0; i < result.buffers.size(); ++i) {
    loops::Buffer& buffer = result.buffers[i];
    if (buffer.role == loops::Role::scratch && !used.contains(static_cast<int>(i))) buffer.elements = 0;
  }
  return result;
}

}  // namespace tenon::schedule
