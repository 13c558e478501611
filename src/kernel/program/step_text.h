// What people call steps and what is in them.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace tenon {

/// A step of a body: 4.2 is the second step of the one body of step 4, 4.1.2 of the first of several. `body` and `at`
/// are counted from 0.
std::string number_inside(const std::string& step, size_t bodies, size_t body, size_t at);

/// The first `most` names of nodes, and how many more there are; empty for none.
std::string node_text(std::span<const std::string> nodes, size_t most = 4);

/// A step by what the model calls it and its operators, "layers.0 (contract add relu)", or by these alone.
std::string step_title(std::span<const std::string> nodes, const std::string& operators);

}  // namespace tenon
