// What went wrong, as the driver numbers it, and in words.
#pragma once

#include <stdexcept>
#include <string>

namespace tenon::emulated_gpu {

/// Numbers of the driver's interface.
enum Result : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNoDevice = 100,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kInvalidPtx = 218,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kTooManyResources = 701,
  kMisalignedAddress = 716,
  kLaunchFailed = 719,
};

struct Fault : std::runtime_error {
  Fault(int number, const std::string& text) : std::runtime_error(text), result(number) {}
  int result;
};

}  // namespace tenon::emulated_gpu
