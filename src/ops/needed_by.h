// Whose sizes they are.
#pragma once

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

 private:
  bool is_outermost_;
};

}  // namespace tenon
