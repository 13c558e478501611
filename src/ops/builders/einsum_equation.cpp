#include "ops/builders/einsum_equation.h"

#include <algorithm>
#include <iterator>

#include "base/refused.h"

namespace tenon {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

Term parse_term(std::string_view text) {
  Term term;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (text.substr(i, 3) == "..." && !term.ellipsis) {
      term.ellipsis = true;
      i += 2;
    } else if (is_letter(c)) {
      (term.ellipsis ? term.after : term.before).push_back(c);
    } else {
      refuse("`{}` has `{}` where a letter or one `...` belongs", text, c);
    }
  }
  return term;
}

}  // namespace

std::string describe_label(Label label) {
  return label >= 0 ? fmt::format("`{}`", static_cast<char>(label))
                    : fmt::format("axis {} from the end of the ellipsis", -1 - label);
}

Labels Term::with_ellipsis(int count) const {
  Labels labels = before;
  for (int i = count; i-- > 0;) {
    labels.push_back(-1 - i);
  }
  labels.insert(labels.end(), after.begin(), after.end());
  return labels;
}

Equation parse_equation(std::string_view given) {
  std::string text;
  std::ranges::copy_if(given, std::back_inserter(text), [](char c) { return c != ' '; });
  Equation equation;
  std::string_view inputs = text;
  if (const size_t arrow = text.find("->"); arrow != std::string::npos) {
    equation.output = parse_term(std::string_view(text).substr(arrow + 2));
    inputs = inputs.substr(0, arrow);
  }
  for (size_t begin = 0; begin <= inputs.size();) {
    const size_t end = std::min(inputs.find(',', begin), inputs.size());
    equation.operands.push_back(parse_term(inputs.substr(begin, end - begin)));
    begin = end + 1;
  }
  return equation;
}

}  // namespace tenon
