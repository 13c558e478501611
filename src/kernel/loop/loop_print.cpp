#include "kernel/loop/loop_print.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_map>

#include "base/fail.h"

namespace tenon::loops {
namespace {

std::string_view name(Role role) {
  switch (role) {
    case Role::input: return "in";
    case Role::output: return "out";
    case Role::scratch: return "scratch";
    case Role::partial: return "partial";
  }
  TENON_CHECK(false, "role {}", static_cast<int>(role));
}

/// Behind an axis.
std::string_view suffix(Binding binding) {
  switch (binding) {
    case Binding::serial: return "";
    case Binding::lanes: return " vector";
    case Binding::threads: return " threads";
    case Binding::blocks: return " blocks";
  }
  TENON_CHECK(false, "binding {}", static_cast<int>(binding));
}

template <class T>
const T* find(const std::vector<T>& list, int i) {
  return i >= 0 && static_cast<size_t>(i) < list.size() ? &list[static_cast<size_t>(i)] : nullptr;
}

/// Appends a piece of a sum, which may begin with a minus.
void add_piece(std::string& sum, const std::string& piece) {
  if (sum.empty()) {
    sum = piece;
  } else if (piece.front() == '-') {
    sum += " - " + piece.substr(1);
  } else {
    sum += " + " + piece;
  }
}

class Printer {
 public:
  Printer(const Kernel& kernel, bool canonical) : kernel_(kernel), canonical_(canonical) {
    if (canonical) {
      for (const Extent& size : runtime_sizes(kernel)) {
        sizes_.emplace(size, fmt::format("s{}", sizes_.size()));
      }
    }
  }

  std::string kernel() const {
    std::string text = canonical_ ? "kernel\n" : fmt::format("kernel {}\n", kernel_.name);
    text += fmt::format("  axes    {}\n", list(kernel_.axes, &Printer::axis));
    text += fmt::format("  buffers {}\n", list(kernel_.buffers, &Printer::buffer));
    if (!canonical_ && !kernel_.arguments.empty()) {
      std::vector<std::string> sizes;
      for (const auto& [name, size] : kernel_.arguments) {
        sizes.push_back(fmt::format("{} = {}", name, size.to_string()));
      }
      text += fmt::format("  where   {}\n", fmt::join(sizes, "   "));
    }
    for (size_t i = 0; i < kernel_.sites.size() && !canonical_; ++i) {
      text += fmt::format("  site {}  {}\n", i, kernel_.sites[i]);
    }
    for (const MayShare& pair : kernel_.may_share) {
      text += canonical_ ? fmt::format("  shares  b{} b{}\n", pair.input, pair.output) : "";
    }
    for (const Phase& phase : kernel_.phases) {
      std::vector<std::string> grid;
      for (const int axis : phase.grid) {
        grid.push_back(axis_name(axis));
      }
      text += fmt::format("  phase grid({})\n", fmt::join(grid, ", "));
      text += block(phase.body, 4);
    }
    return text;
  }

  std::string statement(const Statement& statement) const {
    return std::visit([&](const auto& what) { return line(what); }, statement.what);
  }

 private:
  template <class T>
  std::string list(const std::vector<T>& elements, std::string (Printer::*text)(int) const) const {
    std::vector<std::string> parts;
    for (size_t i = 0; i < elements.size(); ++i) {
      parts.push_back((this->*text)(static_cast<int>(i)));
    }
    return fmt::format("{}", fmt::join(parts, "   "));
  }

  /// The given name where it is one and no other axis has it.
  std::string axis_name(int i) const {
    const Axis* axis = find(kernel_.axes, i);
    const bool usable = !canonical_ && axis != nullptr && !axis->name.empty() &&
                        std::ranges::count(kernel_.axes, axis->name, &Axis::name) == 1;
    return usable ? axis->name : fmt::format("x{}", i);
  }

  std::string axis(int i) const {
    const Axis& axis = kernel_.axes[static_cast<size_t>(i)];
    std::string text = fmt::format("{}: {}", axis_name(i), extent(axis.extent));
    if (axis.tile_of >= 0) {
      text += fmt::format(" tile {} of {}", axis_name(axis.tile_of), extent(axis.total));
    }
    return text.append(suffix(axis.binding));
  }

  /// Code depends on the size of a scratch buffer alone: the next one lies behind it.
  std::string buffer(int i) const {
    const Buffer& buffer = kernel_.buffers[static_cast<size_t>(i)];
    const bool sized = !canonical_ || buffer.role == Role::scratch;
    return fmt::format("b{} {}{} {}[{}]", i, buffer.scope == Scope::block ? "block " : "", name(buffer.role),
                       tenon::name(buffer.dtype), sized ? extent(buffer.elements) : "");
  }

  std::string block(const Block& statements, size_t indent) const {
    std::string text;
    const std::string margin(indent, ' ');
    for (const Statement& each : statements) {
      text += margin + statement(each) + "\n";
      if (const auto* loop = std::get_if<Loop>(&each.what)) {
        text += block(loop->body, indent + 2);
        for (const int accumulator : loop->begins) {
          text += results(accumulator, margin);
        }
      }
    }
    return text;
  }

  std::string results(int accumulator, const std::string& margin) const {
    std::string text;
    for (size_t i = 0; i < kernel_.values.size(); ++i) {
      const auto* result = std::get_if<Result>(&kernel_.values[i].what);
      if (result != nullptr && result->accumulator == accumulator) {
        text += fmt::format("{}v{} = result a{}\n", margin, i, accumulator);
      }
    }
    return text;
  }

  std::string line(const Define& define) const {
    const Value* value = find(kernel_.values, define.value);
    return fmt::format(
        "v{} = {}", define.value,
        value == nullptr ? "?"
                         : std::visit([&](const auto& what) { return this->value(what, value->dtype); }, value->what));
  }

  std::string line(const Store& store) const {
    return fmt::format("b{}[{}] = v{}{}", store.buffer, affine(store.at), store.value, bounds(store.inside));
  }

  std::string line(const Accumulate& accumulate) const {
    const Accumulator* to = find(kernel_.accumulators, accumulate.accumulator);
    if (to == nullptr) {
      return fmt::format("a{} ?", accumulate.accumulator);
    }
    return fmt::format("a{} {}= v{}{}{}", accumulate.accumulator, tenon::name(to->op), to->input,
                       to->position < 0 ? "" : fmt::format(" at v{}", to->position),
                       to->may_skip_nan ? " but NaN" : "");
  }

  std::string line(const Loop& loop) const {
    std::string text = "loop " + axis_name(loop.axis);
    for (size_t i = 0; i < loop.begins.size(); ++i) {
      text += fmt::format("{}a{}", i == 0 ? " begins " : ", ", loop.begins[i]);
    }
    if (loop.unless >= 0) {
      text += fmt::format(" unless v{}", loop.unless);
    }
    if (loop.digit) {
      text += fmt::format(" {}by {} of {}", loop.digit->is_first ? "first " : "", extent(loop.digit->apart),
                          affine(loop.digit->of));
    }
    return text;
  }

  std::string line(const Barrier&) const { return "barrier"; }

  std::string line(const Product& product) const {
    const std::string together = product.together == 1 ? "" : fmt::format(", {} together", product.together);
    const std::string panels = product.panel == 0 ? "" : fmt::format(" in panels of {}{}", product.panel, together);
    const std::string after = product.adds_after < 0 ? "" : " after the first " + axis_name(product.adds_after);
    return fmt::format("{} {}= {} * {}{} over {} by {} by {}{}", matrix(product.tile), after.empty() ? "" : "+",
                       matrix(product.left), matrix(product.right), panels, axes(product.rows), axes(product.columns),
                       axes(product.depth), after);
  }

  std::string matrix(const Matrix& matrix) const {
    return fmt::format("b{}[{} + ({}, {})]", matrix.buffer, affine(matrix.at), extent(matrix.row),
                       extent(matrix.column));
  }

  std::string axes(const std::vector<int>& axes) const {
    std::vector<std::string> names;
    for (const int axis : axes) {
      names.push_back(axis_name(axis));
    }
    return names.empty() ? "1" : fmt::format("{}", fmt::join(names, "."));
  }

  std::string value(const Load& load, Dtype) const {
    std::string at = load.at == Affine{} && !load.lookups.empty() ? "" : affine(load.at);
    std::string checks;
    for (const Lookup& lookup : load.lookups) {
      add_piece(at, scaled(lookup.stride, fmt::format("v{}", lookup.value)));
      checks += fmt::format(" with v{} < {} or site {}", lookup.value, extent(lookup.size), lookup.site);
    }
    return fmt::format("load b{}[{}]{}{}", load.buffer, at, bounds(load.inside), checks);
  }

  std::string value(const Position& position, Dtype) const { return "position " + affine(position.at); }

  std::string value(const Compute& compute, Dtype dtype) const {
    std::string text(tenon::name(compute.prim));
    if (compute.prim == Prim::constant) {
      return fmt::format("{} {} {}", text, tenon::name(dtype),
                         canonical_ ? fmt::format("{:a}", compute.literal) : fmt::format("{}", compute.literal));
    }
    if (compute.prim == Prim::cast) {
      text += fmt::format(" {}", tenon::name(dtype));
    }
    for (size_t i = 0; i < compute.operands.size(); ++i) {
      text += fmt::format("{} v{}", i == 0 ? "" : ",", compute.operands[i]);
    }
    return text;
  }

  std::string value(const Result& result, Dtype) const { return fmt::format("result a{}", result.accumulator); }

  std::string bounds(const std::vector<Bound>& bounds) const {
    std::string text;
    for (const Bound& bound : bounds) {
      text += fmt::format("{} 0 <= {} < {}", text.empty() ? " if" : " and", affine(bound.index), extent(bound.size));
    }
    return text;
  }

  std::string affine(const Affine& affine) const {
    std::string sum;
    for (const Term& term : affine.terms) {
      add_piece(sum, scaled(term.scale, axis_name(term.axis)));
    }
    if (sum.empty() || affine.base != Extent(0)) {
      add_piece(sum, extent(affine.base));
    }
    return sum;
  }

  std::string scaled(const Extent& scale, const std::string& factor) const {
    if (scale == Extent(1)) {
      return factor;
    }
    if (scale == Extent(-1)) {
      return "-" + factor;
    }
    const std::string text = extent(scale);
    const bool sum = text.find_first_of(" +-", 1) != std::string::npos;
    return fmt::format("{}*{}", sum ? "(" + text + ")" : text, factor);
  }

  std::string extent(const Extent& extent) const {
    const auto found = sizes_.find(extent);
    return found != sizes_.end() ? found->second : extent.to_string();
  }

  const Kernel& kernel_;
  bool canonical_;
  std::unordered_map<Extent, std::string> sizes_;
};

}  // namespace

std::string to_string(const Kernel& kernel, bool canonical) { return Printer(kernel, canonical).kernel(); }

std::string describe(const Kernel& kernel, const Statement& statement) {
  return Printer(kernel, false).statement(statement);
}

}  // namespace tenon::loops
