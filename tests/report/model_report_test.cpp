// What a page has of a compiled model.
#include "report/model_report.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "compiler/lowered.h"
#include "report/explain_page.h"
#include "tenon/nn.h"
#include "tenon/ops.h"

namespace tenon::report::model_report_test {
namespace {

struct Made {
  compiler::Lowered lowered;
  Executable executable;
};

Made made(const Graph& graph) {
  CompileReport report;
  compiler::Lowered lowered = compiler::lower(graph, {}, report);
  Executable executable = compiler::compile(lowered, {.native = false}, report);
  return {.lowered = std::move(lowered), .executable = std::move(executable)};
}

Graph two_products() {
  const Value x = input("x", shape(f32, "batch", 16));
  const Value first = input("first", shape(f32, 16, 16));
  const Value second = input("second", shape(f32, 16, 4));
  Value hidden;
  {
    const Place place("block.0 (linear)");
    hidden = relu(matmul(x, first));
  }
  const Place place("block.1 (linear)");
  return {"two", {x, first, second}, {{"y", matmul(hidden, second)}}};
}

TEST(ModelReport, HasNamesTheGraphAndFigures) {
  const Made model = made(two_products());
  Bindings bindings;
  bindings.set("batch", 3);
  Figures figures{.steps = bind_steps(model.executable, bindings, nullptr), .bindings = bindings};
  const std::string json = page_data(model.lowered, model.executable, figures).to_string();
  for (const std::string_view part :
       {"\"block.0 (linear)\"", "\"block.1 (linear)\"", "\"kind\":\"input\",\"label\":\"first\"", "\"kind\":\"output\"",
        "\"bindings\":\"batch=3\"", "\"timeline\"", "\"loops\""}) {
    std::string flat = json;
    std::erase(flat, ' ');
    std::string wanted(part);
    std::erase(wanted, ' ');
    EXPECT_NE(flat.find(wanted), std::string::npos) << part << " is not in " << json;
  }
}

TEST(ModelReport, WithoutSizesHasNoMemoryOverTime) {
  const Made model = made(two_products());
  EXPECT_EQ(page_data(model.lowered, model.executable, {}).to_string().find("timeline"), std::string::npos);
}

TEST(ModelReport, PageSpellsOutWhatHtmlKeepsForItself) {
  const std::string page = explain_page({.title = "a<b>&c", .lead = "", .data = Json::object().set("x", "</script>")});
  EXPECT_NE(page.find("<title>a&lt;b&gt;&amp;c</title>"), std::string::npos);
  EXPECT_EQ(page.find("\"</script>"), std::string::npos) << "a name does not end the script";
}

}  // namespace
}  // namespace tenon::report::model_report_test
