// Which line of the user's program records: kept by operations while somebody wants to explain them.
#pragma once

#include <optional>
#include <string>

#include "tenon/graph.h"

namespace tenon::tensors {

/// Whether operations keep the lines that record them (tenon/explain.h: Explaining).
bool keeps_lines();
void count_explaining(int by);

/// What a front end, such as that of Python, says of the operation that is being recorded on this thread:
/// "layer4.1.conv2 at train.py:12"; "" for nothing. Asked on threads that record, and only while lines are kept.
using LineSource = std::string (*)();
void set_line_source(LineSource source);

/// While it lives, what this thread records is from the user's line, where lines are kept and nothing else (Place) has
/// been said.
class RecordingLine {
 public:
  RecordingLine();

 private:
  std::optional<Place> place_;
};

}  // namespace tenon::tensors
