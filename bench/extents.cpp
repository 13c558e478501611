// How long sizes take: all extents of a model as one flat program, for a new binding; and building the model itself.
#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "ir/node.h"
#include "shape/extent_program.h"
#include "support/report.h"
#include "tenon/models.h"

namespace {

using Clock = std::chrono::steady_clock;

double microseconds(Clock::duration time) { return std::chrono::duration<double, std::micro>(time).count(); }

template <class F>
double median_time(int rounds, F&& f) {
  std::vector<double> times;
  for (int i = 0; i < rounds; ++i) {
    const auto begin = Clock::now();
    f();
    times.push_back(microseconds(Clock::now() - begin));
  }
  std::ranges::nth_element(times, times.begin() + rounds / 2);
  return times[static_cast<size_t>(rounds / 2)];
}

/// Every extent of every node of the graph.
std::vector<tenon::Extent> extents_of(const tenon::Graph& graph) {
  std::vector<tenon::Extent> extents;
  for (const tenon::Node* node : graph.nodes()) {
    for (const tenon::Shape& shape : node->shapes) {
      for (const tenon::Axis& axis : shape.axes()) {
        extents.push_back(axis.extent());
      }
    }
  }
  return extents;
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report(argc, argv);
  for (const char* name : {"bert_base", "resnet50", "mobilenet_v2"}) {
    const tenon::ModelEntry& entry = tenon::find_model(name);
    report.add(std::string(name) + "_build", median_time(11, [&] { entry.build(); }) / 1000, "ms");
    const std::vector<tenon::Extent> extents = extents_of(entry.build().graph);
    std::set<std::string> all;
    for (const tenon::Extent& extent : extents) {
      all.merge([&] {
        const auto names = extent.names();
        return std::set<std::string>(names.begin(), names.end());
      }());
    }
    const std::vector<std::string> names(all.begin(), all.end());
    const tenon::ExtentProgram program(names, extents);
    const std::vector<int64_t> sizes(names.size(), 96);
    std::vector<int64_t> registers(program.register_count());
    // The goal for a whole specialisation is 50 us; its sizes must be a small part of that.
    report.add(std::string(name) + "_sizes", median_time(1001, [&] { (void)program.run(sizes, registers); }), "us", 5,
               bench::Better::lower, std::to_string(extents.size()) + " extents");
  }
  return report.finish();
}
