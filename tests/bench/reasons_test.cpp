// Why kernels end is true: each reason of the graphs of the kernel-count table and of models is what the rule finds
// when it tries again, and it goes where what it says is in the way is taken away.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/lowered.h"
#include "ir/node.h"
#include "schedule/fuse/attempts.h"
#include "schedule/fuse/named.h"
#include "support/count_graphs.h"
#include "tenon/models.h"
#include "tenon/text.h"

namespace bench::reasons_test {
namespace {

namespace compiler = tenon::compiler;
using tenon::Node;
using tenon::schedule::FusionAttempt;

struct Explained {
  compiler::Lowered lowered;
  std::vector<FusionAttempt> attempts;
};

Explained explained(const tenon::Graph& graph, tenon::CompileOptions options = {}) {
  options.machine = tenon::machine_named("x86-64-v3");
  tenon::CompileReport report;
  const tenon::schedule::AttemptLog log;
  compiler::Lowered lowered = compiler::lower(graph, options, report);
  return {.lowered = std::move(lowered), .attempts = log.attempts()};
}

/// Whether `text` is `reason`, alone, behind the two operators that it is of, or before a remark on what no input
/// decides.
bool says(const std::string& text, const std::string& reason) {
  const std::string said = text.substr(0, text.find("; no input decides it"));
  return said == reason || (said.ends_with(": " + reason) && said.find(" with ") < said.size() - reason.size() - 2);
}

/// The same of a reader whose name the text gives.
bool says_of(const std::string& text, const Node& reader, const std::string& reason) {
  return says(text, reason) &&
         text.find(fmt::format(" with {}: ", tenon::schedule::named(reader))) != std::string::npos;
}

bool has_all(const std::vector<const Node*>& all, const std::vector<const Node*>& some) {
  return std::ranges::all_of(some, [&](const Node* node) { return std::ranges::find(all, node) != all.end(); });
}

/// Steps of the same program that read what this one writes.
std::vector<compiler::LoweredStep> readers_of(const Explained& all, const compiler::LoweredStep& step) {
  std::vector<compiler::LoweredStep> readers;
  std::ranges::copy_if(all.lowered.steps(), std::back_inserter(readers), [&](const compiler::LoweredStep& other) {
    return &other.program == &step.program && &other.step != &step.step &&
           std::ranges::find_first_of(other.step.reads, step.step.writes) != other.step.reads.end();
  });
  return readers;
}

/// What is wrong with the reason of a step; empty where it is true.
std::string untruth(const Explained& all, const compiler::LoweredStep& step) {
  const std::string& reason = step.step.boundary;
  const std::vector<compiler::LoweredStep> readers = readers_of(all, step);
  if (says(reason, "its results are outputs of the graph")) {
    return readers.empty() ? "" : "another step reads them";
  }
  if (!std::holds_alternative<tenon::LaunchStep>(step.step.what)) {
    return reason.empty() ? "it has none" : "";
  }
  if (readers.empty()) {
    return "no step reads its results";
  }
  if (std::ranges::any_of(readers, [&](const compiler::LoweredStep& reader) {
        return !std::holds_alternative<tenon::LaunchStep>(reader.step.what) &&
               says_of(reason, *reader.nodes[0], fmt::format("{} is a step of its own", op_name(reader.nodes[0]->op)));
      })) {
    return "";
  }
  std::string now;  // what is found of those that read it
  for (const FusionAttempt& attempt : all.attempts) {
    if (!attempt.again || !(has_all(attempt.first, step.nodes) || has_all(step.nodes, attempt.first))) {
      continue;
    }
    if (attempt.finding == "nothing is in the way") {
      return "nothing is in the way";
    }
    const auto is_it = [&](const Node* node) { return says_of(reason, *node, attempt.finding); };
    if (std::ranges::any_of(attempt.second, is_it)) {
      return "";
    }
    now += attempt.finding + "; ";
  }
  return !now.empty() && says(reason, "what is reduced over all tiles is known after the last of them") ? ""
                                                                                                        : "now: " + now;
}

void expect_true(const CountGraph& graph) {
  const Explained all = explained(graph.graph);
  const std::vector<compiler::LoweredStep> steps = all.lowered.steps();
  for (size_t i = 0; i < steps.size(); ++i) {
    const std::string wrong = untruth(all, steps[i]);
    EXPECT_EQ(wrong, "") << graph.name << ": step " << i + 1 << " (" << steps[i].step.label
                         << ") ends here: " << steps[i].step.boundary;
  }
}

TEST(Reasons, OfTheTableAreTrue) {
  for (const auto& graphs : {count_graphs(), product_graphs(), tensor_graphs()}) {
    std::ranges::for_each(graphs, expect_true);
  }
}

TEST(SlowReasons, OfModelsAreTrue) {
  for (const auto& graphs : {model_graphs(), tensor_models()}) {
    std::ranges::for_each(graphs, expect_true);
  }
  for (const tenon::ModelEntry& entry : tenon::model_table()) {
    expect_true({.name = std::string(entry.name), .graph = entry.build().graph});
  }
}

/// Where a rule refuses, whether for a boundary or beside it.
std::vector<std::string> findings(const Explained& all) {
  std::vector<std::string> texts;
  for (const FusionAttempt& attempt : all.attempts) {
    if (!attempt.joined) {
      texts.push_back(fmt::format("{}: {}", attempt.rule, attempt.finding));
    }
  }
  return texts;
}

bool finds(const Explained& all, const std::string& finding) {
  return std::ranges::any_of(findings(all), [&](const std::string& each) { return each == finding; });
}

int64_t steps_of_kernels(const Explained& all) {
  return std::ranges::count_if(all.lowered.steps(), [](const compiler::LoweredStep& step) {
    return std::holds_alternative<tenon::LaunchStep>(step.step.what);
  });
}

/// A graph in which a rule finds something in the way, and the same without that: a size, a shape, an output or a
/// reader less, an operator that is a loop instead of one that is none.
struct Change {
  const char* finding;
  const char* before;
  const char* after;
  int kernels_before, kernels_after;
};

constexpr Change kChanges[] = {
    {"operand: rows alone would give threads too little to do",
     "graph g(x: f32[row, 64], w: f32[64, 2048], v: f32[2048, 64]) { return y=contract(relu(contract(x, w, "
     "lhs_contract=[1], rhs_contract=[0])), v, lhs_contract=[1], rhs_contract=[0]) }",
     "graph g(x: f32[row, 64], w: f32[64, 8], v: f32[8, 64]) { return y=contract(relu(contract(x, w, "
     "lhs_contract=[1], rhs_contract=[0])), v, lhs_contract=[1], rhs_contract=[0]) }",
     2, 1},
    {"operand: exp would be computed again and again",
     "graph g(r: f32[row, 1], c: f32[col]) { return y=mul(r, exp(c)) }",
     "graph g(r: f32[col], c: f32[col]) { return y=mul(r, exp(c)) }", 2, 1},
    {"operand: window reads every element several times",
     "graph g(x: f32[n, 8, h, w]) { return y=max_pool(exp(x), size=[2, 2]) }",
     "graph g(x: f32[n, 8, h, w]) { return y=relu(exp(x)) }", 2, 1},
    {"operand: gather reads at computed positions",
     "graph g(x: f32[row, 64], w: f32[64, 64], i: i64[n]) { return y=gather(contract(x, w, lhs_contract=[1], "
     "rhs_contract=[0]), i, axes=[0]) }",
     "graph g(x: f32[row, 64], w: f32[64, 64], i: i64[n]) { return y=gather(relu(x), i, axes=[0]) }", 2, 1},
    {"operand: another kernel stands between",
     "graph g(x: f32[row, col]) { a = exp(x)\n return y=add(a, sort(a, axis=1)) }",
     "graph g(x: f32[row, col]) { a = exp(x)\n return y=add(a, sin(a)) }", 2, 1},
    {"recompute: sort is a step of its own", "graph g(x: f32[row, col]) { return y=sort(exp(x), axis=1) }",
     "graph g(x: f32[row, col]) { return y=sin(exp(x)) }", 1, 1},
    {"recompute: what would be computed again is an output of the graph, and stored anyway",
     "graph g(x: f32[row, col]) { d = mul(x, 2.0)\n return d=d, r=reduce_max(d, axes=[1]), c=reduce_sum(d, axes=[0]) }",
     "graph g(x: f32[row, col]) { d = mul(x, 2.0)\n return r=reduce_max(d, axes=[1]), c=reduce_sum(d, axes=[0]) }", 2,
     2},
    {"concat: operand 1 is not written in its place: others read it, too",
     "graph g(x: f32[row, col], z: f32[rest, col]) { a = reduce_max(x, axes=[1])\n return y=concat(a, reduce_sum(z, "
     "axes=[1]), axis=0), s=sort(a, axis=0) }",
     "graph g(x: f32[row, col], z: f32[rest, col]) { a = reduce_max(x, axes=[1])\n return y=concat(a, reduce_sum(z, "
     "axes=[1]), axis=0) }",
     3, 2},
    {"sibling: in one kernel, no load of the one would be a load of the other",
     "graph g(x: f32[n, 32, h, w], a: f32[16, 32, 1, 1], b: f32[8, 32, 3, 3]) { return p=conv(x, a), q=conv(x, b, "
     "low=[1, 1], high=[1, 1]) }",
     "graph g(x: f32[n, 32, h, w], a: f32[16, 32, 1, 1], b: f32[8, 32, 1, 1]) { return p=conv(x, a), q=conv(x, b) }", 2,
     1},
};

TEST(Reasons, GoWithWhatIsInTheWay) {
  for (const Change& change : kChanges) {
    const Explained before = explained(tenon::parse_graph(change.before));
    const Explained after = explained(tenon::parse_graph(change.after));
    EXPECT_TRUE(finds(before, change.finding))
        << change.before << fmt::format("\n{}", fmt::join(findings(before), "\n"));
    EXPECT_FALSE(finds(after, change.finding)) << change.after;
    EXPECT_EQ(steps_of_kernels(before), change.kernels_before) << change.before;
    EXPECT_EQ(steps_of_kernels(after), change.kernels_after) << change.after;
  }
}

TEST(SlowReasons, OfWinogradsFormGoWithIt) {
  const std::vector<CountGraph> graphs = model_graphs();
  const auto graph = std::ranges::find(graphs, "resnet18_eval", &CountGraph::name);
  ASSERT_NE(graph, graphs.end());
  const auto count = [&](bool winograd) {
    const Explained all = explained(graph->graph, {.winograd = winograd});
    return std::ranges::count_if(all.lowered.steps(), [](const compiler::LoweredStep& step) {
      return step.step.boundary.find("a convolution in Winograd's form") != std::string::npos;
    });
  };
  EXPECT_GT(count(true), 0);
  EXPECT_EQ(count(false), 0);
}

}  // namespace
}  // namespace bench::reasons_test
