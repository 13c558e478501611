// Whose sizes they are.
#pragma once

#include <string>
#include <string_view>

namespace tenon {

/// While it lives, what nodes ask of sizes is asked by `operation`, which the user knows, not by the nodes that it is
/// made of; errors name it, too. The outermost one counts. Of this thread alone.
class NeededBy {
 public:
  explicit NeededBy(std::string_view operation);
  ~NeededBy();
  NeededBy(const NeededBy&) = delete;
  NeededBy& operator=(const NeededBy&) = delete;

  /// The operation that asks; `otherwise` where nobody said.
  static std::string_view name(std::string_view otherwise);
  /// The place where building code stands, with the part of the operation that a node is for: "/loss: a label of nll".
  static std::string place_of(std::string_view part, std::string_view otherwise);

 private:
  bool is_outermost_;
};

}  // namespace tenon
