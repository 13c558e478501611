#include "warp.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace tenon::emulated_gpu {
namespace {

constexpr size_t kNever = std::numeric_limits<size_t>::max();
constexpr uint8_t kNoNumber = 0xff;

/// Lanes for which a step is to be done.
Lanes guarded(const Warp& warp, const Step& step, Lanes lanes) {
  if (!step.has_guard) return lanes;
  const Word* const guard = warp.row(step.guard);
  Lanes found = 0;
  for (int i = 0; i < kWarp; ++i)
    found |= static_cast<Lanes>((guard[i] & 1) != 0) << i;
  return lanes & (step.is_guard_negated ? ~found : found);
}

void merge(std::vector<Group>& groups) {
  for (size_t i = 0; i < groups.size(); ++i) {
    for (size_t j = i + 1; j < groups.size();) {
      if (groups[j].at != groups[i].at) {
        ++j;
        continue;
      }
      groups[i].lanes |= groups[j].lanes;
      groups[i].waits = false;
      groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(j));
    }
  }
  std::erase_if(groups, [](const Group& each) { return each.lanes == 0; });
}

/// The group that is furthest behind, of those that do not wait; none: null.
Group* furthest_behind(std::vector<Group>& groups) {
  Group* found = nullptr;
  for (Group& each : groups) {
    if (!each.waits && (found == nullptr || each.at < found->at)) found = &each;
  }
  return found;
}

[[noreturn]] void fail(const Warp& warp, const Step& step, int result, const std::string& why) {
  throw Fault(result, "`" + warp.code.name + "`, line " + std::to_string(step.line) + ", block " +
                          std::to_string(warp.row(kBlockX)[0]) + ": " + why);
}

/// Steps of one group, until it reaches the place of another, waits, or its threads part.
void run_group(Warp& warp, size_t index) {
  Group group = warp.groups[index];
  size_t others = kNever;
  for (size_t i = 0; i < warp.groups.size(); ++i) {
    if (i != index && warp.groups[i].at > group.at) others = std::min(others, warp.groups[i].at);
  }
  const std::vector<Step>& steps = warp.code.steps;
  while (group.at < others) {
    const Step& step = steps[group.at];
    const Lanes lanes = guarded(warp, step, group.lanes);
    warp.executed += static_cast<uint64_t>(std::popcount(lanes));
    try {
      if (step.kind == Step::Kind::plain) {
        if (lanes != 0) step.run(warp, step, lanes);
        ++group.at;
        continue;
      }
      if (step.kind == Step::Kind::branch) {
        if (lanes == group.lanes) {
          group.at = step.target;
          if (group.at >= others || warp.groups.size() > 1) break;
          continue;
        }
        if (lanes == 0) {
          ++group.at;
          continue;
        }
        warp.groups[index] = {.lanes = group.lanes & ~lanes, .at = group.at + 1};
        warp.groups.push_back({.lanes = lanes, .at = step.target});
        return;
      }
      if (step.kind == Step::Kind::leave) {
        warp.groups[index] = {.lanes = group.lanes & ~lanes, .at = group.at + 1};
        return;
      }
      if (lanes != group.lanes) throw Fault(kLaunchFailed, "some threads alone come to what the warp does together");
      const bool is_whole = group.lanes == warp.living();
      if (!is_whole) {
        group.waits = true;
        break;
      }
      ++group.at;
      if (step.kind == Step::Kind::barrier) {
        warp.at_barrier = true;
        break;
      }
      step.run(warp, step, lanes);
    } catch (const Fault& fault) {
      fail(warp, step, fault.result, fault.what());
    }
  }
  warp.groups[index] = group;
}

/// A launch's warps, which are used for one block after the other.
std::vector<Warp> make_warps(Block& block, const Code& code) {
  std::vector<Warp> warps;
  const auto threads = static_cast<unsigned>(block.launch.block.count());
  for (unsigned first = 0; first < threads; first += kWarp) {
    Warp& warp = warps.emplace_back(Warp{.block = block, .code = code, .first = first});
    warp.rows.resize(static_cast<size_t>(code.registers));
    warp.local.assign(code.local_bytes * kWarp, kNoNumber);
  }
  return warps;
}

void begin_block(Warp& warp, Shape at) {
  const Launch& launch = warp.block.launch;
  const unsigned count = std::min<unsigned>(kWarp, static_cast<unsigned>(launch.block.count()) - warp.first);
  warp.groups = {{.lanes = count == kWarp ? kAllLanes : (Lanes{1} << count) - 1, .at = 0}};
  for (unsigned i = 0; i < kWarp; ++i) {
    const unsigned thread = warp.first + i;
    const std::array<Word, kSpecialRows> values{thread % launch.block.x,
                                                thread / launch.block.x % launch.block.y,
                                                thread / launch.block.x / launch.block.y,
                                                launch.block.x,
                                                launch.block.y,
                                                launch.block.z,
                                                at.x,
                                                at.y,
                                                at.z,
                                                launch.grid.x,
                                                launch.grid.y,
                                                launch.grid.z,
                                                i,
                                                warp.first / kWarp};
    for (size_t row = 0; row < values.size(); ++row)
      warp.rows[row][i] = values[row];
  }
}

void run_block(Block& block, std::vector<Warp>& warps, Shape at) {
  std::ranges::fill(block.shared, kNoNumber);
  for (Warp& each : warps)
    begin_block(each, at);
  const auto is_done = [](const Warp& warp) { return warp.groups.empty(); };
  for (bool forward = true; !std::ranges::all_of(warps, is_done); forward = !forward) {
    for (size_t i = 0; i < warps.size(); ++i)
      run_warp(warps[forward ? i : warps.size() - 1 - i]);
    if (!std::ranges::all_of(warps, is_done) && std::ranges::any_of(warps, is_done)) {
      throw Fault(kLaunchFailed,
                  "`" + warps.front().code.name + "`: some threads wait at a barrier and others have ended");
    }
    for (Warp& warp : warps)
      warp.at_barrier = false;
    ++block.now.interval;
  }
}

}  // namespace

Lanes Warp::living() const {
  Lanes lanes = 0;
  for (const Group& each : groups)
    lanes |= each.lanes;
  return lanes;
}

void run_warp(Warp& warp) {
  while (!warp.at_barrier) {
    merge(warp.groups);
    if (warp.groups.empty()) return;
    Group* const next = furthest_behind(warp.groups);
    if (next == nullptr) {
      fail(warp, warp.code.steps[warp.groups.front().at], kLaunchFailed,
           "threads of a warp wait for each other at different instructions");
    }
    run_group(warp, static_cast<size_t>(next - warp.groups.data()));
  }
}

uint8_t* Warp::access(Space space, uint64_t address, uint64_t bytes, Access how, int lane) {
  const auto fail = [&](int result, const std::string& why) {
    throw Fault(result, "thread " + std::to_string(first + static_cast<unsigned>(lane)) + ": " + why);
  };
  if (space == Space::generic) {
    space = address - kSharedWindow < kWindow  ? Space::shared
            : address - kLocalWindow < kWindow ? Space::local
                                               : Space::global;
    if (space == Space::shared) address -= kSharedWindow;
    if (space == Space::local) address -= kLocalWindow;
  }
  if (address % bytes != 0) {
    fail(kMisalignedAddress, "an access of " + std::to_string(bytes) + " bytes at address " + std::to_string(address));
  }
  Now now = block.now;
  now.thread = static_cast<uint16_t>(first + static_cast<unsigned>(lane));
  if (space == Space::local) {
    if (address + bytes > code.local_bytes) fail(kIllegalAddress, "beyond the end of local memory");
    return local.data() + code.local_bytes * static_cast<uint64_t>(lane) + address;
  }
  if (space == Space::shared) {
    if (address + bytes > block.shared.size()) {
      fail(kIllegalAddress,
           "byte " + std::to_string(address) + " of " + std::to_string(block.shared.size()) + " of shared memory");
    }
    now.launch = now.block;  // other blocks have shared memory of their own
    const char* const race = touch(&block.shared_touched[address], bytes, how, now);
    if (race != nullptr) fail(kLaunchFailed, "byte " + std::to_string(address) + " of shared memory: " + race);
    return block.shared.data() + address;
  }
  if (address < last.begin || address + bytes > last.end) {
    try {
      last = block.memory.part(address, bytes);
    } catch (const Fault& fault) {
      fail(fault.result, fault.what());
    }
  }
  const char* const race = touch(block.memory.touched(address), bytes, how, now);
  if (race != nullptr) {
    fail(kLaunchFailed, "byte " + std::to_string(address - last.begin) + " of memory of " +
                            std::to_string(last.end - last.begin) + ": " + race);
  }
  return reinterpret_cast<uint8_t*>(address);  // NOLINT(performance-no-int-to-ptr)
}

uint64_t run_launch(const Launch& launch, DeviceMemory& memory, uint32_t& interval) {
  const Code& code = *launch.code;
  Block block{.launch = launch, .memory = memory, .now = {.launch = interval + 1}};
  block.shared.resize(code.shared_bytes + launch.dynamic_bytes);
  block.shared_touched.resize(block.shared.size());
  std::vector<Warp> warps = make_warps(block, code);
  for (unsigned z = 0; z < launch.grid.z; ++z) {
    for (unsigned y = 0; y < launch.grid.y; ++y) {
      for (unsigned x = 0; x < launch.grid.x; ++x) {
        block.now.block = block.now.interval = ++interval;
        run_block(block, warps, {x, y, z});
        interval = block.now.interval;
      }
    }
  }
  uint64_t executed = 0;
  for (const Warp& warp : warps)
    executed += warp.executed;
  return executed;
}

}  // namespace tenon::emulated_gpu
