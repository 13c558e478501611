#include "tenon/position_error.h"

#include <fmt/format.h>

#include <utility>

namespace tenon {

PositionError::PositionError(std::string message, std::string place)
    : Error(message), message_(std::move(message)), place_(std::move(place)) {
  if (!place_.empty()) {
    note(fmt::format("at node \"{}\"", place_));
  }
}

}  // namespace tenon
