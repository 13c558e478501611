#include "schedule/nest/share_scratch.h"

#include <algorithm>

#include "kernel/loop/loop_walk.h"
#include "schedule/nest/share_in_place.h"

namespace tenon::schedule {
namespace {

/// The statements that use a buffer first and last, counted over all phases; -1 where none does.
struct Life {
  int first = -1;
  int last = -1;
};

/// f(buffer) for every use of one. It may be changed where the statement may.
template <class S, class F>
void for_each_buffer(S& statement, const F& f) {
  if (auto* const store = std::get_if<loops::Store>(&statement.what)) {
    f(store->buffer);
  } else if (auto* const product = std::get_if<loops::Product>(&statement.what)) {
    f(product->left.buffer);
    f(product->right.buffer);
    f(product->tile.buffer);
    f(product->work);
  } else if (auto* const loop = std::get_if<loops::Loop>(&statement.what)) {
    for (auto& each : loop->body) {
      for_each_buffer(each, f);
    }
  }
}

std::vector<Life> lives_of(const loops::Kernel& kernel) {
  std::vector<Life> lives(kernel.buffers.size());
  int time = 0;
  const auto use = [&](int buffer) {
    Life& life = lives[static_cast<size_t>(buffer)];
    life = {.first = life.first < 0 ? time : life.first, .last = time};
  };
  const auto use_loads = [&](const loops::Statement& statement) {
    const auto* define = std::get_if<loops::Define>(&statement.what);
    const auto* load =
        define ? std::get_if<loops::Load>(&kernel.values[static_cast<size_t>(define->value)].what) : nullptr;
    if (load) {
      use(load->buffer);
    }
  };
  for (const loops::Phase& phase : kernel.phases) {
    for (const loops::Statement& statement : phase.body) {
      for_each_buffer(statement, use);
      use_loads(statement);
      if (const auto* loop = std::get_if<loops::Loop>(&statement.what)) {
        loops::for_each_statement(loop->body, use_loads);
      }
      ++time;
    }
  }
  return lives;
}

/// By buffer: the one that it shares, or itself.
std::vector<int> find_shared(const loops::Kernel& kernel) {
  std::vector<Life> lives = lives_of(kernel);
  std::vector<int> shared = find_in_place(kernel);
  std::vector<int> scratch;
  for (size_t i = 0; i < lives.size(); ++i) {
    if (const int place = shared[i]; place != static_cast<int>(i)) {
      Life& life = lives[static_cast<size_t>(place)];
      life.last = std::max(life.last, lives[i].last);
    } else if (is_private_scratch(kernel.buffers[i]) && lives[i].first >= 0) {
      scratch.push_back(static_cast<int>(i));
    }
  }
  std::ranges::stable_sort(scratch, {}, [&](int i) { return lives[static_cast<size_t>(i)].first; });
  std::vector<int> kept;
  for (const int i : scratch) {
    const loops::Buffer& mine = kernel.buffers[static_cast<size_t>(i)];
    const Life& life = lives[static_cast<size_t>(i)];
    const auto free = std::ranges::find_if(kept, [&](int k) {
      const loops::Buffer& other = kernel.buffers[static_cast<size_t>(k)];
      return other.dtype == mine.dtype && other.elements == mine.elements &&
             lives[static_cast<size_t>(k)].last < life.first;
    });
    if (free == kept.end()) {
      kept.push_back(i);
    } else {
      shared[static_cast<size_t>(i)] = *free;
      lives[static_cast<size_t>(*free)].last = life.last;
    }
  }
  for (int& each : shared) {
    each = shared[static_cast<size_t>(each)];  // what took a place goes where that went
  }
  return shared;
}

}  // namespace

void share_scratch(loops::Kernel& kernel) {
  const std::vector<int> shared = find_shared(kernel);
  std::vector<loops::Buffer> buffers;
  std::vector<int> number(shared.size(), -1);
  for (size_t i = 0; i < shared.size(); ++i) {
    if (shared[i] == static_cast<int>(i)) {
      number[i] = static_cast<int>(buffers.size());
      buffers.push_back(kernel.buffers[i]);
    }
  }
  if (buffers.size() == kernel.buffers.size()) {
    return;
  }
  kernel.buffers = std::move(buffers);
  const auto renumber = [&](int& buffer) { buffer = number[static_cast<size_t>(shared[static_cast<size_t>(buffer)])]; };
  for (loops::Value& value : kernel.values) {
    if (auto* const load = std::get_if<loops::Load>(&value.what)) {
      renumber(load->buffer);
    }
  }
  for (loops::Phase& phase : kernel.phases) {
    for (loops::Statement& statement : phase.body) {
      for_each_buffer(statement, renumber);
    }
  }
}

}  // namespace tenon::schedule
