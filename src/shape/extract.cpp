// From the shapes that inputs came with to the sizes of the names in their patterns.
#include <fmt/ranges.h>

#include <map>

#include "base/checked.h"
#include "base/fail.h"
#include "base/refused.h"
#include "tenon/bindings.h"

namespace tenon {
namespace {

struct Position {
  const ConcreteInput* input = nullptr;
  int axis = 0;

  const Axis& pattern() const { return input->pattern.axis(axis); }
  int64_t size() const { return input->dims[static_cast<size_t>(axis)]; }
  /// ``input `x`: axis 1 (`2*seq`) is 9``
  std::string to_string() const {
    const Axis& axis_pattern = pattern();
    const std::string shown =
        axis_pattern.is_static() && axis_pattern.label().empty() ? "" : " (`" + axis_pattern.to_string() + "`)";
    return fmt::format("input `{}`: axis {}{} is {}", input->name, axis, shown, size());
  }
};

class Extraction {
 public:
  Bindings run(std::span<const ConcreteInput> inputs) {
    for (const ConcreteInput& input : inputs) {
      check_declaration(input);
    }
    // Bare names and labels come before any expression, so that a conflict is between two sizes somebody gave.
    for (const ConcreteInput& input : inputs) {
      for (int i = 0; i < input.pattern.rank(); ++i) {
        bind_name({&input, i});
      }
    }
    solve_pending();
    Bindings result;
    for (const auto& [name, from] : sizes_) {
      result.set(name, *from.constant());
    }
    return result;
  }

 private:
  static void check_declaration(const ConcreteInput& input) {
    const Shape& pattern = input.pattern;
    if (input.dtype != pattern.dtype()) {
      fail("input `{}`: dtype is {}, must be {}", input.name, name(input.dtype), name(pattern.dtype()));
    }
    if (input.dims.size() != pattern.axes().size()) {
      fail("input `{}`: rank is {} ([{}]), must be {} ({})", input.name, input.dims.size(), fmt::join(input.dims, ", "),
           pattern.rank(), pattern.to_string());
    }
    for (int i = 0; i < pattern.rank(); ++i) {
      const Position position{&input, i};
      if (position.size() < 0) {
        fail("{}, cannot be negative", position.to_string());
      }
      const Axis& axis = position.pattern();
      if (axis.is_static() && *axis.extent().constant() != position.size()) {
        fail("{}, must be {}", position.to_string(), *axis.extent().constant());
      }
    }
  }

  void bind_name(const Position& position) {
    const Axis& axis = position.pattern();
    if (const std::string axis_name = axis.name(); !axis_name.empty()) {
      const auto [found, is_new] = origins_.try_emplace(axis_name, position);
      const Position& first = found->second;
      if (is_new) {
        sizes_.emplace(axis_name, position.size());
      } else if (first.size() != position.size()) {
        if (first.input == position.input) {
          refuse("axis `{}`: input `{}` has {} at axis {}, {} at axis {}", axis_name, first.input->name, first.size(),
                 first.axis, position.size(), position.axis);
        }
        refuse("axis `{}`: input `{}` has {}, input `{}` has {}", axis_name, first.input->name, first.size(),
               position.input->name, position.size());
      }
    }
    if (!axis.is_anonymous() && axis.is_dynamic() && !(axis.label().empty() && axis.extent().as_name())) {
      pending_.push_back(position);
    }
  }

  void solve_pending() {
    for (bool learned = true; learned;) {
      learned = false;
      std::vector<Position> unsolved;
      for (const Position& position : pending_) {
        if (solve(position)) {
          learned = true;
        } else {
          unsolved.push_back(position);
        }
      }
      pending_ = std::move(unsolved);
    }
  }

  /// The extent with every known name replaced; a constant when that were all.
  Extent reduced_extent(const Position& position) const {
    try {
      const Extent reduced = position.pattern().extent().substitute(sizes_);
      return reduced.names().empty() ? reduced.evaluate([](std::string_view) { return std::nullopt; }) : reduced;
    } catch (Error& error) {  // overflow or division by zero: arithmetic knows of no inputs
      error.note(position.to_string());
      throw;
    }
  }

  /// Whether nothing is left to learn from this position.
  bool solve(const Position& position) {
    const Extent reduced = reduced_extent(position);
    if (const std::optional<int64_t> expected = reduced.constant()) {
      if (*expected != position.size()) {
        fail_at_position(position, fmt::format(", must be {}", *expected));
      }
      return true;
    }
    const std::vector<std::string> unknown = reduced.names();
    const auto linear = unknown.size() == 1 ? reduced.linear_in(unknown[0]) : std::nullopt;
    if (!linear || linear->second == 0) {
      return false;
    }
    const auto [offset, factor] = *linear;
    const std::optional<int64_t> multiple = checked_sub(position.size(), offset);
    const std::optional<int64_t> size = multiple ? checked_floordiv(*multiple, factor) : std::nullopt;
    if (!size || *checked_floormod(*multiple, factor) != 0) {
      fail_at_position(position, offset == 0 ? fmt::format(", which is not a multiple of {}", factor)
                                             : fmt::format(", which no `{}` gives", unknown[0]));
    }
    if (*size < 0) {
      fail_at_position(position, fmt::format(", which makes `{}` {}", unknown[0], *size));
    }
    sizes_.emplace(unknown[0], *size);
    origins_.emplace(unknown[0], position);
    return true;
  }

  /// Fail with the sizes that went into it and where each came from.
  [[noreturn]] void fail_at_position(const Position& position, const std::string& what) const {
    std::string used;
    for (const std::string& axis_name : position.pattern().extent().names()) {
      if (const auto found = sizes_.find(axis_name); found != sizes_.end()) {
        used += fmt::format("{}{}={} from input `{}`", used.empty() ? " (" : ", ", axis_name, *found->second.constant(),
                            origins_.at(axis_name).input->name);
      }
    }
    throw Error(position.to_string() + what + (used.empty() ? "" : used + ")"));
  }

  std::map<std::string, Extent, std::less<>> sizes_;
  std::map<std::string, Position, std::less<>> origins_;
  std::vector<Position> pending_;
};

}  // namespace

Bindings extract(std::span<const ConcreteInput> inputs) { return Extraction().run(inputs); }

}  // namespace tenon
