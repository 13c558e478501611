// Einsum: diagonals, then products from left to right, then the order of the output.
#include "tenon/einsum.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/refused.h"
#include "ops/axes.h"
#include "ops/builders/einsum_equation.h"
#include "ops/composites/composite.h"
#include "ops/make.h"
#include "shape/unify.h"

namespace tenon {
namespace {

/// A value whose axes have labels.
struct Labelled {
  Value value;
  Labels labels;

  int find(Label label) const {
    const auto found = std::ranges::find(labels, label);
    return found == labels.end() ? -1 : static_cast<int>(found - labels.begin());
  }
};

/// The axis of every label, and where it was seen first; what differs is an error.
class Sizes {
 public:
  void add(const Labelled& operand, size_t number) {
    const NameRule rule = build_context().unify_names ? NameRule::unify : NameRule::strict;
    for (int i = 0; i < operand.value.rank(); ++i) {
      const Label label = operand.labels[static_cast<size_t>(i)];
      const Axis& axis = operand.value.shape().axis(i);
      const auto [known, is_new] = seen_.emplace(label, Seen{axis, number});
      if (is_new) {
        continue;
      }
      try {
        known->second.axis = unify(known->second.axis, axis, rule).axis;
      } catch (const Refused&) {
        refuse("{} is {} in operand {}, {} in operand {}", describe_label(label), known->second.axis.to_string(),
               known->second.operand, axis.to_string(), number);
      }
    }
  }
  bool contains(Label label) const { return seen_.contains(label); }

 private:
  struct Seen {
    Axis axis;
    size_t operand;
  };
  std::map<Label, Seen> seen_;
};

/// Axes of the ellipsis that are 1 here and something else in another operand: dropping them is broadcasting.
Labelled drop_broadcast(const Labelled& x, const std::set<Label>& wide) {
  Axes dropped;
  Labels labels;
  for (int i = 0; i < x.value.rank(); ++i) {
    const Label label = x.labels[static_cast<size_t>(i)];
    if (wide.contains(label) && x.value.extent(i) == Extent(1)) {
      dropped.push_back(i);
    } else {
      labels.push_back(label);
    }
  }
  return dropped.empty() ? x : Labelled{squeeze(x.value, dropped), labels};
}

/// Every label once: positions along the axes of a repeated one move together.
Labelled diagonal(Labelled x) {
  for (size_t i = 0; i < x.labels.size();) {
    const Label label = x.labels[i];
    Axes axes;
    std::vector<Value> positions;
    for (int k = 0; k < x.value.rank(); ++k) {
      if (x.labels[static_cast<size_t>(k)] == label) {
        axes.push_back(k);
        // Each counts along its own axis, so that gather checks them to be equal.
        positions.push_back(iota(Shape(Dtype::i64, {x.value.shape().axis(k)})));
      }
    }
    if (axes.size() == 1) {
      ++i;
      continue;
    }
    x.value = gather(x.value, positions, {.axes = axes});
    std::erase(x.labels, label);
    x.labels.insert(x.labels.begin(), label);
    i = 0;
  }
  return x;
}

/// Without the labels that nobody needs any more.
Labelled sum_away(const Labelled& x, const std::set<Label>& needed) {
  Axes summed;
  Labels labels;
  for (size_t i = 0; i < x.labels.size(); ++i) {
    if (needed.contains(x.labels[i])) {
      labels.push_back(x.labels[i]);
    } else {
      summed.push_back(static_cast<int>(i));
    }
  }
  return summed.empty() ? x : Labelled{reduce_sum(x.value, summed), labels};
}

/// `needed` are the labels of the output and of operands still to come.
Labelled multiply(Labelled a, Labelled b, const std::set<Label>& needed) {
  const auto with = [&](const Labels& more) {
    std::set<Label> all = needed;
    all.insert(more.begin(), more.end());
    return all;
  };
  const std::set<Label> for_a = with(b.labels);
  const std::set<Label> for_b = with(a.labels);
  a = sum_away(a, for_a);
  b = sum_away(b, for_b);
  ContractAxes axes;
  Labels batch;
  Labels free;
  for (int i = 0; i < a.value.rank(); ++i) {
    const Label label = a.labels[static_cast<size_t>(i)];
    const int j = b.find(label);
    if (j < 0) {
      free.push_back(label);
    } else if (needed.contains(label)) {
      batch.push_back(label);
      axes.lhs_batch.push_back(i);
      axes.rhs_batch.push_back(j);
    } else {
      axes.lhs_contract.push_back(i);
      axes.rhs_contract.push_back(j);
    }
  }
  for (const Label label : b.labels) {
    if (a.find(label) < 0) {
      free.push_back(label);
    }
  }
  batch.insert(batch.end(), free.begin(), free.end());
  return {contract(a.value, b.value, axes), batch};
}

Value in_order(const Labelled& x, const Labels& output) {
  Axes order;
  for (const Label label : output) {
    order.push_back(x.find(label));
  }
  return order.empty() ? x.value : transpose(x.value, order);
}

Labels output_labels(const Equation& equation, int ellipsis, const Sizes& sizes) {
  if (!equation.output) {
    std::map<Label, int> uses;
    for (const Term& term : equation.operands) {
      for (const Label label : term.with_ellipsis(0)) {
        ++uses[label];
      }
    }
    Labels labels = Term{}.with_ellipsis(ellipsis);
    for (const auto& [label, count] : uses) {
      if (count == 1) {
        labels.push_back(label);
      }
    }
    return labels;
  }
  if (!equation.output->ellipsis && ellipsis > 0) {
    refuse("the ellipsis stands for {} axes that the output leaves out; write `...` there or sum them", ellipsis);
  }
  const Labels labels = equation.output->with_ellipsis(equation.output->ellipsis ? ellipsis : 0);
  std::set<Label> once;
  for (const Label label : labels) {
    if (!sizes.contains(label)) {
      refuse("{} of the output is in no operand", describe_label(label));
    }
    if (!once.insert(label).second) {
      refuse("{} is twice in the output", describe_label(label));
    }
  }
  return labels;
}

/// The operands with a label for each axis, checked; and how many axes the ellipsis stands for.
std::pair<std::vector<Labelled>, int> label_operands(const Equation& equation, const std::vector<Value>& operands) {
  if (equation.operands.size() != operands.size()) {
    refuse("names {} operands, {} are given", equation.operands.size(), operands.size());
  }
  std::vector<Labelled> labelled;
  int ellipsis = 0;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Term& term = equation.operands[i];
    const int hidden = operands[i].rank() - static_cast<int>(term.letters());
    if (hidden < 0 || (hidden > 0 && !term.ellipsis)) {
      refuse("names {} axes of operand {}, which has {}", term.letters(), i, operands[i].rank());
    }
    ellipsis = std::max(ellipsis, hidden);
    labelled.push_back({operands[i], term.with_ellipsis(hidden)});
  }
  return {labelled, ellipsis};
}

}  // namespace

Value einsum(std::string_view text, const std::vector<Value>& operands) {
  for (const Value& operand : operands) {
    if (!operand) {
      refuse("einsum: an operand is an empty Value");
    }
  }
  return in_context("einsum", operands, [&] {
    const Equation equation = parse_equation(text);
    auto [terms, ellipsis] = label_operands(equation, operands);

    std::set<Label> wide;
    for (const Labelled& term : terms) {
      for (int i = 0; i < term.value.rank(); ++i) {
        if (const Label label = term.labels[static_cast<size_t>(i)]; label < 0 && term.value.extent(i) != Extent(1)) {
          wide.insert(label);
        }
      }
    }
    Sizes sizes;
    // Between products a half type stays wide; one product rounds once anyway.
    const Dtype dtype = operands.front().dtype();
    for (size_t i = 0; i < terms.size(); ++i) {
      Labelled& term = terms[i];
      term = drop_broadcast(term, wide);
      sizes.add(term, i);
      term = diagonal(term);
      term.value = terms.size() > 2 && term.value.dtype() == dtype ? widen(term.value) : term.value;
    }
    const Labels output = output_labels(equation, ellipsis, sizes);

    Labelled result = terms.front();
    for (size_t i = 1; i < terms.size(); ++i) {
      std::set<Label> needed(output.begin(), output.end());
      for (size_t later = i + 1; later < terms.size(); ++later) {
        needed.insert(terms[later].labels.begin(), terms[later].labels.end());
      }
      result = multiply(result, terms[i], needed);
    }
    result = sum_away(result, {output.begin(), output.end()});
    return cast(in_order(result, output), dtype);
  });
}

}  // namespace tenon
