#include "text/field_print.h"

#include <fmt/format.h>

#include "base/element_text.h"
#include "ir/node.h"
#include "shape/extent_names.h"
#include "text/token.h"

namespace tenon::text {
namespace {

constexpr size_t kAllShown = 2;  // a kind of so few fields shows them all: `reduce(x, op=sum, axes=[])`

/// Numbers and words are shown even where they are the default.
template <class Member>
constexpr bool is_always_shown() {
  const bool is_word = std::is_enum_v<Member> && !std::is_same_v<Member, Dtype>;
  return is_word || (std::is_integral_v<Member> && !std::is_same_v<Member, bool>);
}

/// The texts of the fields, in order.
template <class Kind>
std::vector<std::string> field_texts(const Kind& kind, const PrintOptions& options, const GraphLabels& labels) {
  std::vector<std::string> texts;
  for_each_field(kind, [&](std::string_view, const auto& field) {
    FieldPrinter printer{texts.emplace_back(), options, labels};
    print_field(printer, field);
  });
  return texts;
}

/// Texts are exact, so equal texts are equal fields.
template <class Kind>
const std::vector<std::string>& default_texts() {
  static const std::vector<std::string> texts = field_texts(Kind{}, {}, {});
  return texts;
}

}  // namespace

void print_field(FieldPrinter& printer, Dtype dtype) { printer.out += name(dtype); }
void print_field(FieldPrinter& printer, const std::string& text) { printer.out += quoted_string(text); }
void print_field(FieldPrinter& printer, const Extent& extent) { printer.out += extent.to_string(); }
void print_field(FieldPrinter& printer, const Axis& axis) { printer.out += axis.to_string(); }
void print_field(FieldPrinter& printer, const Shape& shape) { printer.out += shape.to_string(); }

void print_field(FieldPrinter& printer, const Array& array) {
  std::string& out = printer.out;
  const std::vector<Axis> axes(array.dims().begin(), array.dims().end());
  out += Shape(array.dtype(), axes).to_string();
  if (array.size() > 1 && array.size() > printer.options.max_constant_elements) {
    out += " {...}";
    return;
  }
  out += " {";
  const size_t step = byte_size(array.dtype());
  for (size_t i = 0; i < static_cast<size_t>(array.size()); ++i) {
    out += i == 0 ? "" : ", ";
    out += element_to_text(array.dtype(), array.data() + i * step);
  }
  out += '}';
}

void print_field(FieldPrinter& printer, const Graph& graph) {
  const bool none = graph == Graph();  // a default, never printed
  printer.out += none ? "" : algebra::quoted_name(printer.labels.of(graph));
}

void print_field(FieldPrinter& printer, const ScalarFn* fn) { printer.out += fn == nullptr ? "" : fn->name; }

void print_field(FieldPrinter& printer, const View& view) {
  const Op op = as_op(view);
  printer.out += kind_info(op).name;
  printer.out += '(';
  print_fields(printer, op, true);
  printer.out += ')';
}

void print_fields(FieldPrinter& printer, const Op& op, bool first) {
  std::visit(
      [&]<class Kind>(const Kind& kind) {
        const std::vector<std::string> texts = field_texts(kind, printer.options, printer.labels);
        const bool all = texts.size() <= kAllShown;
        size_t i = 0;
        for_each_field(kind, [&]<class Member>(std::string_view field, const Member&) {
          const size_t k = i++;
          if (!all && !is_always_shown<Member>() && texts[k] == default_texts<Kind>()[k]) {
            return;
          }
          printer.out += first ? "" : ", ";
          first = false;
          if (k > 0 || !Kind::info.operands.empty()) {
            printer.out += field;
            printer.out += '=';
          }
          printer.out += texts[k];
        });
      },
      op);
}

}  // namespace tenon::text
