// Conditionals and loops from C++ functions: stand-ins in, captures lifted, one node out.
#include <fmt/format.h>

#include "base/refused.h"
#include "ops/builders/close_over.h"
#include "ops/make.h"
#include "tenon/control.h"

namespace tenon {
namespace {

using Values = std::vector<Value>;

/// New inputs of these shapes, called name0, name1, ...
Values stand_ins(std::string_view name, const std::vector<Shape>& shapes) {
  Values result;
  for (size_t i = 0; i < shapes.size(); ++i) {
    result.push_back(input(fmt::format("{}{}", name, i), shapes[i]));
  }
  return result;
}

std::vector<Shape> shapes_of(const Values& values, std::string_view what) {
  std::vector<Shape> shapes;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!values[i]) {
      refuse("{} {} is an empty Value", what, i);
    }
    shapes.push_back(values[i].shape());
  }
  return shapes;
}

Values joined(Values list, const Values& more) {
  list.insert(list.end(), more.begin(), more.end());
  return list;
}

struct LoopSpec {
  std::string_view name;
  Extent trips;
  Values carried;
  Values scanned;
  bool conditional = false;
};

/// All loops are this one: `body` gives what Loop's body gives, in its order.
Values build_loop(const LoopSpec& spec, const std::function<Values(const Value&, const Values&, const Values&)>& body) {
  return in_context(spec.name, joined(spec.carried, spec.scanned), [&] {
    std::vector<Shape> elements = shapes_of(spec.scanned, "scanned value");
    for (Shape& element : elements) {
      if (element.rank() == 0) {
        refuse("a scanned value is {}, without an axis to scan", element.to_string());
      }
      element = element.with_axes(std::vector<Axis>(element.axes().begin() + 1, element.axes().end()));
    }
    const Value iteration = input("iteration", Shape(Dtype::i64, {}));
    const Values carried = stand_ins("carried", shapes_of(spec.carried, "carried value"));
    const Values scanned = stand_ins("element", elements);
    Values outputs = body(iteration, carried, scanned);
    ClosedBodies closed = close_over({{.name = std::string(spec.name),
                                       .parameters = joined(joined({iteration}, carried), scanned),
                                       .outputs = std::move(outputs)}});
    return make_all(Loop{.body = std::move(closed.graphs[0]),
                         .trips = spec.trips,
                         .carried = static_cast<int>(carried.size()),
                         .scanned = static_cast<int>(scanned.size()),
                         .conditional = spec.conditional},
                    joined(joined(spec.carried, spec.scanned), closed.captures));
  });
}

void require_carried(size_t given, size_t wanted) {
  if (given != wanted) {
    refuse("the body gives {} carried values, must give {}", given, wanted);
  }
}

}  // namespace

std::vector<Value> if_then_else(const Value& condition, const Branch& then_branch, const Branch& else_branch,
                                const std::vector<Value>& operands) {
  return in_context("if_then_else", joined({condition}, operands), [&] {
    const std::vector<Shape> shapes = shapes_of(operands, "operand");
    std::vector<OpenBody> bodies;
    for (const auto& [name, branch] : {std::pair{"then", &then_branch}, std::pair{"else", &else_branch}}) {
      OpenBody body{.name = name, .parameters = stand_ins("x", shapes), .outputs = {}};
      body.outputs = (*branch)(body.parameters);
      bodies.push_back(std::move(body));
    }
    ClosedBodies closed = close_over(bodies);
    return make_all(If{std::move(closed.graphs[0]), std::move(closed.graphs[1])},
                    joined(joined({condition}, operands), closed.captures));
  });
}

std::vector<Value> loop(const Extent& trips, const std::vector<Value>& carried, const LoopBody& body) {
  return build_loop({.name = "loop", .trips = trips, .carried = carried, .scanned = {}},
                    [&](const Value& iteration, const Values& values, const Values&) {
                      Values next = body(iteration, values);
                      require_carried(next.size(), values.size());
                      return next;
                    });
}

std::vector<Value> while_loop(const Extent& max_trips, const std::vector<Value>& carried, const WhileBody& body) {
  return build_loop({.name = "while_loop", .trips = max_trips, .carried = carried, .scanned = {}, .conditional = true},
                    [&](const Value& iteration, const Values& values, const Values&) {
                      WhileStep step = body(iteration, values);
                      require_carried(step.carried.size(), values.size());
                      return joined({step.go_on}, step.carried);
                    });
}

ScanStep scan(const Extent& trips, const std::vector<Value>& carried, const std::vector<Value>& scanned,
              const ScanBody& body) {
  Values all = build_loop({.name = "scan", .trips = trips, .carried = carried, .scanned = scanned},
                          [&](const Value& iteration, const Values& values, const Values& elements) {
                            ScanStep step = body(iteration, values, elements);
                            require_carried(step.carried.size(), values.size());
                            return joined(std::move(step.carried), step.stacked);
                          });
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(carried.size());
  return {.carried = Values(all.begin(), middle), .stacked = Values(middle, all.end())};
}

ScanStep scan(const std::vector<Value>& carried, const std::vector<Value>& scanned, const ScanBody& body) {
  if (scanned.empty() || !scanned[0] || scanned[0].rank() == 0) {
    refuse("scan: without a number of trips there must be a scanned value with an axis");
  }
  return scan(scanned[0].extent(0), carried, scanned, body);
}

}  // namespace tenon
