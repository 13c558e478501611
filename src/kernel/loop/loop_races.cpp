#include "kernel/loop/loop_races.h"

#include <algorithm>
#include <utility>

#include "base/fail.h"

namespace tenon::loops {
namespace {

/// The first buffer that may be written and begins where `buffer` does, with elements of the same size; -1: none.
int place_of(const Code& code, const KernelArgs& args, size_t buffer) {
  for (size_t i = 0; i < code.buffers.size(); ++i) {
    const Role role = code.buffers[i].role;
    const bool is_shared = (role == Role::output || role == Role::partial) && args.buffers[i] == args.buffers[buffer] &&
                           byte_size(code.buffers[i].dtype) == byte_size(code.buffers[buffer].dtype);
    if (is_shared) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

}  // namespace

RaceFinder::RaceFinder(const Code& code, const KernelArgs& args, std::vector<int64_t> elements)
    : code_(code), elements_(std::move(elements)), kept_(code.buffers.size()) {
  for (size_t i = 0; i < code.buffers.size(); ++i) {
    place_.push_back(code.buffers[i].role == Role::scratch ? static_cast<int>(i) : place_of(code, args, i));
  }
}

void RaceFinder::begin_block(int64_t block) {
  block_ = block;
  stretch_ = 0;
}

void RaceFinder::read(int buffer, int64_t element, ThreadGroup by) {
  Element* const found = find(buffer, element, by, "read");
  if (found == nullptr) {
    return;
  }
  const Touch now{.block = block_, .stretch = stretch_, .by = by};
  check_race(buffer, element, found->writer, "written", now, "read");
  TENON_CHECK(code_.buffers[static_cast<size_t>(buffer)].role != Role::scratch || found->writer.block == block_,
              "kernel `{}`: b{}[{}] is read by {}, and nothing has written it", code_.name, buffer, element, who(now));
  Touch& last = found->reader;
  if (last.block == block_ && last.stretch == stretch_) {
    found->beside = last.by == by ? found->beside : last;
  } else {
    found->beside = {};
    found->elsewhere = last.block >= 0 && last.block != block_ ? last : found->elsewhere;
  }
  last = now;
}

void RaceFinder::write(int buffer, int64_t element, ThreadGroup by) {
  Element* const found = find(buffer, element, by, "written");
  TENON_CHECK(found != nullptr, "kernel `{}`: b{} is written", code_.name, buffer);
  const Touch now{.block = block_, .stretch = stretch_, .by = by};
  check_race(buffer, element, found->writer, "written", now, "written");
  for (const Touch* reader : {&found->reader, &found->beside, &found->elsewhere}) {
    check_race(buffer, element, *reader, "read", now, "written");
  }
  *found = {.writer = now, .reader = {}, .beside = {}, .elsewhere = {}};
}

void RaceFinder::multiply(const ProductCode& product, const ProductCall& call, const Begins& begins, ThreadGroup by) {
  for (int64_t k = 0; k < call.depth; ++k) {
    for (int64_t m = 0; m < call.rows; ++m) {
      read(product.left.buffer, begins.left + m * call.left_row + k * call.left_depth, by);
    }
    for (int64_t n = 0; n < call.columns; ++n) {
      read(product.right.buffer, begins.right + right_offset(call, k, n), by);
    }
  }
  for (int64_t m = 0; m < call.rows; ++m) {
    for (int64_t n = 0; n < call.columns; ++n) {
      const int64_t element = begins.tile + m * call.tile_row + n;
      if (call.accumulate) {
        read(product.tile.buffer, element, by);
      }
      write(product.tile.buffer, element, by);
    }
  }
}

/// Scratch of a thread lies behind that of the threads before it.
RaceFinder::Element* RaceFinder::find(int buffer, int64_t element, ThreadGroup by, const char* does) {
  const auto i = static_cast<size_t>(buffer);
  const int place = place_[i];
  if (place < 0) {
    return nullptr;
  }
  const Buffer& what = code_.buffers[i];
  int64_t index = element;
  if (what.role == Role::scratch) {
    const Touch now{.block = block_, .stretch = stretch_, .by = by};
    TENON_CHECK(element >= 0 && element < elements_[i], "kernel `{}`: b{}[{}], of {} elements, is {} by {}", code_.name,
                buffer, element, elements_[i], does, who(now));
    index += is_private_scratch(what) ? by.first * elements_[i] : 0;
  }
  std::vector<Element>& kept = kept_[static_cast<size_t>(place)];
  const auto at = static_cast<size_t>(index);
  if (at >= kept.size()) {
    kept.resize(std::max(at + 1, 2 * kept.size()));
  }
  return &kept[at];
}

/// What a block left in scratch is no other block's concern.
void RaceFinder::check_race(int buffer, int64_t element, const Touch& before, const char* did, const Touch& now,
                            const char* does) const {
  if (before.block < 0) {
    return;
  }
  const bool is_same_block = before.block == now.block;
  const bool is_ordered = is_same_block ? before.stretch != now.stretch || (before.by == now.by && now.by.count == 1)
                                        : code_.buffers[static_cast<size_t>(buffer)].role == Role::scratch;
  TENON_CHECK(is_ordered, "kernel `{}`: b{}[{}] is {} by {} and {} by {}{}", code_.name, buffer, element, did,
              who(before), does, who(now), is_same_block ? ", with no barrier between" : "");
}

std::string RaceFinder::who(const Touch& touch) const {
  const int64_t last = touch.by.first + touch.by.count - 1;
  const std::string threads = touch.by.count == 1 ? fmt::format("thread {}", touch.by.first)
                                                  : fmt::format("threads {} to {}", touch.by.first, last);
  return fmt::format("{} of block {}", threads, touch.block);
}

}  // namespace tenon::loops
