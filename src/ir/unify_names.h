// Axis names that meet in models from files, whose exporters invent them.
#pragma once

namespace tenon {

/// While it lives, operators built on this thread treat two different axis names that meet as equal, with a check when
/// bound, instead of as an error.
class UnifyNames {
 public:
  UnifyNames();
  ~UnifyNames();
  UnifyNames(const UnifyNames&) = delete;
  UnifyNames& operator=(const UnifyNames&) = delete;

 private:
  bool previous_;
};

}  // namespace tenon
