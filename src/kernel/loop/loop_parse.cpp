#include "kernel/loop/loop_parse.h"

#include <algorithm>
#include <set>

#include "base/fail.h"
#include "kernel/loop/loop_parse_line.h"
#include "kernel/loop/loop_walk.h"

namespace tenon::loops {
namespace {

constexpr size_t kMostNesting = 100;

/// Reads line by line, in the order of the text. What a line refers to stands above it, but for axes that count tiles
/// and accumulators that begin.
class KernelParser {
 public:
  explicit KernelParser(std::string_view text) {
    for (size_t number = 1; !text.empty(); ++number) {
      const size_t end = std::min(text.find('\n'), text.size());
      lines_.emplace_back(text.substr(0, end), number);
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    while (!lines_.empty() && lines_.back().done()) {
      lines_.pop_back();
    }
  }

  Kernel run() && {
    LineCursor first = take_line("`kernel`");
    first.expect("kernel");
    if (!first.done()) {
      first.expect(" ");
    }
    kernel_.name = first.rest();
    parse_axes(take_line("`  axes`"));
    parse_buffers(take_line("`  buffers`"));
    if (at_line("  where ")) {
      parse_arguments(take_line());
    }
    while (at_line("  site ")) {
      parse_site(take_line());
    }
    while (has_line()) {
      parse_phase(take_line());
    }
    set_work();
    check_names();
    return std::move(kernel_);
  }

 private:
  bool has_line() const { return next_ < lines_.size(); }
  bool at_line(std::string_view begin) const { return has_line() && lines_[next_].at(begin); }

  LineCursor take_line(std::string_view what = "a line") {
    if (!has_line()) {
      fail("kernel text, line {}: expected {}, found the end of the text", lines_.size() + 1, what);
    }
    return lines_[next_++];
  }

  // -------------------------------------------------------------------------------------------------------------------
  // What stands above the phases

  /// The entries of a line that begins with `word`; they lie three spaces apart.
  template <class F>
  static void parse_list(LineCursor line, std::string_view word, const F& entry) {
    line.expect("  ");
    line.expect(word);
    while (line.accept(" ")) {
    }
    while (!line.done()) {
      entry(line);
      if (!line.done()) {
        line.expect("   ");
      }
    }
  }

  void parse_axes(const LineCursor& axes) {
    std::vector<std::pair<size_t, LineCursor>> tiles;  // with the name of the axis that counts them
    parse_list(axes, "axes", [&](LineCursor& in) {
      const size_t begin = in.column();
      Axis axis{.extent = 0, .name = std::string(in.take_word("the name of an axis"))};
      if (!scope_.axes.emplace(axis.name, static_cast<int>(kernel_.axes.size())).second) {
        in.fail_at(begin, fmt::format("there are two axes `{}`", axis.name));
      }
      in.expect(": ");
      axis.extent = in.take_extent();
      if (in.accept(" tile ")) {
        tiles.emplace_back(kernel_.axes.size(), in);
        in.take_word("an axis");
        in.expect(" of ");
        axis.total = in.take_extent();
      }
      axis.binding = take_binding(in);
      kernel_.axes.push_back(std::move(axis));
    });
    for (auto& [tile, counter] : tiles) {
      kernel_.axes[tile].tile_of = take_axis(scope_, counter);
    }
  }

  static Binding take_binding(LineCursor& in) {
    return in.accept(" vector")    ? Binding::lanes
           : in.accept(" threads") ? Binding::threads
           : in.accept(" blocks")  ? Binding::blocks
                                   : Binding::serial;
  }

  void parse_buffers(const LineCursor& buffers) {
    parse_list(buffers, "buffers", [&](LineCursor& in) {
      in.expect(fmt::format("b{} ", kernel_.buffers.size()));
      Buffer buffer{.dtype = Dtype::f32, .elements = 0, .scope = in.accept("block ") ? Scope::block : Scope::iteration};
      buffer.role = take_role(in);
      buffer.dtype = take_dtype(in);
      in.expect("[");
      buffer.elements = in.take_extent();
      in.expect("]");
      kernel_.buffers.push_back(std::move(buffer));
    });
  }

  static Role take_role(LineCursor& in) {
    if (in.accept("in ")) {
      return Role::input;
    }
    if (in.accept("out ")) {
      return Role::output;
    }
    if (in.accept("scratch ")) {
      return Role::scratch;
    }
    if (in.accept("partial ")) {
      return Role::partial;
    }
    in.expected("`in `, `out `, `scratch ` or `partial `");
  }

  void parse_arguments(const LineCursor& arguments) {
    parse_list(arguments, "where", [&](LineCursor& in) {
      const std::string name(in.rest().substr(0, in.rest().find(" = ")));
      in.expect(name);
      in.expect(" = ");
      kernel_.arguments.insert_or_assign(name, in.take_extent());
    });
  }

  /// The text of a site may have further lines.
  void parse_site(LineCursor in) {
    in.expect(fmt::format("  site {}  ", kernel_.sites.size()));
    std::string text(in.rest());
    while (has_line() && !at_line("  site ") && !at_line("  phase ")) {
      text += "\n" + std::string(take_line().rest());
    }
    kernel_.sites.push_back(std::move(text));
  }

  // -------------------------------------------------------------------------------------------------------------------
  // Phases

  void parse_phase(LineCursor in) {
    in.expect("  phase grid(");
    Phase phase;
    while (!in.accept(")")) {
      in.expect(phase.grid.empty() ? "" : ", ");
      phase.grid.push_back(take_axis(scope_, in));
    }
    in.expect_done();
    phase.body = take_block(4);
    kernel_.phases.push_back(std::move(phase));
  }

  /// The lines that begin with so many spaces.
  Block take_block(size_t indent) {
    Block block;
    const std::string margin(indent, ' ');
    while (at_line(margin)) {
      LineCursor in = take_line();
      in.expect(margin);
      if (indent > 4 + 2 * kMostNesting) {
        in.fail(fmt::format("more than {} loops inside each other", kMostNesting));
      }
      block.push_back(in.accept("loop ") ? Statement{take_loop(in, indent)} : take_simple(in));
    }
    return block;
  }

  /// A statement of one line.
  Statement take_simple(LineCursor in) {
    Statement statement;
    if (in.at("v")) {
      statement.what = take_define(in);
    } else if (in.at("a")) {
      statement.what = take_accumulate(in);
    } else if (in.accept("barrier")) {
      statement.what = Barrier{};
    } else if (in.at("b")) {
      statement = take_written(scope_, in);
    } else {
      in.expected("a statement");
    }
    in.expect_done();
    return statement;
  }

  Loop take_loop(LineCursor in, size_t indent) {
    Loop loop{.axis = take_axis(scope_, in), .begins = {}, .body = {}};
    if (in.at(" unless ")) {
      in.expect(" unless ");
      loop.unless = take_value(scope_, in);
    }
    const bool is_first = in.accept(" first");
    if (is_first || in.at(" by ")) {
      in.expect(" by ");
      loop.digit = take_digit(scope_, in);
      loop.digit->is_first = is_first;
    }
    for (std::string_view before = " begins "; !in.done(); before = ", ") {
      in.expect(before);
      loop.begins.push_back(in.take_index('a'));
    }
    loop.body = take_block(indent + 2);
    const std::string margin(indent, ' ');
    while (at_line(margin + "v") && lines_[next_].rest().find(" = result ") != std::string_view::npos) {
      LineCursor result = take_line();
      result.expect(margin);
      take_result(result, loop);
    }
    return loop;
  }

  void take_result(LineCursor in, const Loop& loop) {
    const int value = in.take_index('v');
    const std::string_view text = in.rest();
    in.expect(" = result ");
    const size_t begin = in.column();
    const int accumulator = in.take_index('a');
    in.expect_done();
    if (std::ranges::find(loop.begins, accumulator) == loop.begins.end()) {
      in.fail_at(begin, fmt::format("the loop above does not begin a{}", accumulator));
    }
    if (!scope_.accumulators.contains(accumulator)) {
      in.fail_at(begin, fmt::format("a{} takes nothing in", accumulator));
    }
    const Accumulator& from = kernel_.accumulators[static_cast<size_t>(accumulator)];
    set_value(in, value, text, {.what = Result{accumulator}, .dtype = is_arg(from.op) ? Dtype::i64 : from.dtype});
  }

  Define take_define(LineCursor& in) {
    const int value = in.take_index('v');
    const std::string_view text = in.rest();
    in.expect(" = ");
    set_value(in, value, text, take_definition(scope_, in));
    return {value};
  }

  /// Where blocks side by side define one value they do it in the same words.
  void set_value(const LineCursor& in, int value, std::string_view text, Value what) {
    const auto [known, is_new] = scope_.values.emplace(value, text);
    if (!is_new && known->second != text) {
      in.fail_at(0, fmt::format("above, v{} is something else: v{}{}", value, value, known->second));
    }
    const auto i = static_cast<size_t>(value);
    kernel_.values.resize(std::max(kernel_.values.size(), i + 1), {.what = Compute{.operands = {}}});
    kernel_.values[i] = std::move(what);
  }

  Accumulate take_accumulate(LineCursor& in) {
    const int accumulator = in.take_index('a');
    const std::string_view text = in.rest();
    in.expect(" ");
    const Accumulator into = take_accumulator(scope_, in);
    const auto [known, is_new] = scope_.accumulators.emplace(accumulator, text);
    if (!is_new && known->second != text) {
      in.fail_at(0, fmt::format("above, a{} is something else: a{}{}", accumulator, accumulator, known->second));
    }
    const auto i = static_cast<size_t>(accumulator);
    kernel_.accumulators.resize(std::max(kernel_.accumulators.size(), i + 1));
    kernel_.accumulators[i] = into;
    return {accumulator};
  }

  // -------------------------------------------------------------------------------------------------------------------
  // What the text does not say

  /// f(buffer) for all that statements name.
  template <class F>
  void for_each_named_buffer(const F& f) const {
    for (const Value& value : kernel_.values) {
      if (const auto* load = std::get_if<Load>(&value.what)) {
        f(load->buffer);
      }
    }
    for (const Phase& phase : kernel_.phases) {
      for_each_statement(phase.body, [&](const Statement& statement) {
        if (const auto* store = std::get_if<Store>(&statement.what)) {
          f(store->buffer);
        } else if (const auto* product = std::get_if<Product>(&statement.what)) {
          f(product->left.buffer);
          f(product->right.buffer);
          f(product->tile.buffer);
        }
      });
    }
  }

  void set_work() {
    if (!has_products(kernel_)) {
      return;
    }
    std::set<int> unnamed;
    for (size_t i = 0; i < kernel_.buffers.size(); ++i) {
      if (kernel_.buffers[i].role == Role::scratch && kernel_.buffers[i].dtype == Dtype::u8) {
        unnamed.insert(static_cast<int>(i));
      }
    }
    for_each_named_buffer([&](int buffer) { unnamed.erase(buffer); });
    if (unnamed.size() != 1) {
      fail("kernel text: products work in the one scratch of u8 that nothing else uses, and there are {} of that kind",
           unnamed.size());
    }
    for (Phase& phase : kernel_.phases) {
      set_work(phase.body, *unnamed.begin());
    }
  }

  static void set_work(Block& block, int work) {
    for (Statement& statement : block) {
      if (auto* product = std::get_if<Product>(&statement.what)) {
        product->work = work;
      } else if (auto* loop = std::get_if<Loop>(&statement.what)) {
        set_work(loop->body, work);
      }
    }
  }

  /// In a sum, the name of a size and that of an axis look the same.
  void check_names() const {
    const auto check = [&](const Extent& extent) {
      for (const std::string& name : extent.names()) {
        if (scope_.axes.contains(name)) {
          fail("kernel text: `{}` is the name of an axis and of a size", name);
        }
      }
    };
    for_each_extent(kernel_, check);
    for (const Buffer& buffer : kernel_.buffers) {
      check(buffer.elements);
    }
    for (const auto& [name, size] : kernel_.arguments) {
      check(size);
    }
  }

  std::vector<LineCursor> lines_;
  size_t next_ = 0;
  ParseScope scope_;
  Kernel& kernel_ = scope_.kernel;
};

}  // namespace

Kernel parse_kernel(std::string_view text) { return KernelParser(text).run(); }

}  // namespace tenon::loops
