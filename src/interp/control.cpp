// If and Loop run their bodies under the bindings outside: names in a body are the names outside.
#include <cstring>

#include "interp/evaluate.h"

namespace tenon {
namespace {

/// x[i], without the first axis.
Array element(const Array& x, int64_t i) {
  Array result(x.dtype(), std::vector<int64_t>(x.dims().begin() + 1, x.dims().end()));
  const size_t bytes = result.byte_count();
  if (bytes > 0) {
    std::memcpy(result.mutable_data(), x.data() + static_cast<size_t>(i) * bytes, bytes);
  }
  return result;
}

void set_element(Array& x, int64_t i, const Array& value) {
  const size_t bytes = value.byte_count();
  if (bytes > 0) {
    std::memcpy(x.mutable_data() + static_cast<size_t>(i) * bytes, value.data(), bytes);
  }
}

}  // namespace

Arrays evaluate(const If& op, const Evaluation& e) {
  const Graph& body = e.inputs[0].values<bool>()[0] ? op.then_body : op.else_body;
  return evaluate_graph(body, Arrays(e.inputs.begin() + 1, e.inputs.end()), e.bindings, e.reference);
}

Arrays evaluate(const Loop& op, const Evaluation& e) {
  const int64_t trips = resolve(op.trips, e.bindings);
  const auto carried = static_cast<size_t>(op.carried);
  const auto scanned = static_cast<size_t>(op.scanned);
  const size_t condition = op.conditional ? 1 : 0;
  Arrays results(e.inputs.begin(), e.inputs.begin() + op.carried);
  for (size_t i = carried; i < e.node.shapes.size(); ++i) {
    results.push_back(e.output(i));
  }
  for (int64_t trip = 0; trip < trips; ++trip) {
    Arrays arguments{Array::from<int64_t>({}, {trip})};
    for (size_t i = 0; i < e.inputs.size(); ++i) {
      const bool is_scanned = i >= carried && i < carried + scanned;
      arguments.push_back(i < carried ? results[i] : is_scanned ? element(e.inputs[i], trip) : e.inputs[i]);
    }
    const Arrays given = evaluate_graph(op.body, std::move(arguments), e.bindings, e.reference);
    for (size_t i = 0; i < results.size(); ++i) {
      if (i < carried) {
        results[i] = given[condition + i];
      } else {
        set_element(results[i], trip, given[i]);
      }
    }
    if (op.conditional && !given[0].values<bool>()[0]) {
      break;
    }
  }
  return results;
}

}  // namespace tenon
