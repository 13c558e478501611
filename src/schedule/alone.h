// Operations that are no loops over elements: what their steps do.
#pragma once

#include <functional>

#include "ir/node.h"
#include "kernel/program/program.h"

namespace tenon::schedule {

/// The program of a body. What a composite is made of is not optimised: a pass would only find the composite in it.
using ScheduleBody = std::function<Program(const Graph& body, bool optimized)>;

/// Fill in what the step that `node` is does, and its label and flops.
void describe_alone(Step& step, const Node& node, const ScheduleBody& schedule_body);

}  // namespace tenon::schedule
