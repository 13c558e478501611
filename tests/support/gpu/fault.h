// What went wrong, as the driver numbers it, and in words.
#pragma once

#include <stdexcept>
#include <string>

namespace tenon::emulated_gpu {

/// Numbers of the driver's interface.
inline constexpr int kSuccess = 0;
inline constexpr int kInvalidValue = 1;
inline constexpr int kOutOfMemory = 2;
inline constexpr int kNoDevice = 100;
inline constexpr int kInvalidImage = 200;
inline constexpr int kInvalidContext = 201;
inline constexpr int kInvalidPtx = 218;
inline constexpr int kInvalidHandle = 400;
inline constexpr int kNotFound = 500;
inline constexpr int kNotReady = 600;
inline constexpr int kIllegalAddress = 700;
inline constexpr int kTooManyResources = 701;
inline constexpr int kMisalignedAddress = 716;
inline constexpr int kLaunchFailed = 719;

struct Fault : std::runtime_error {
  Fault(int number, const std::string& text) : std::runtime_error(text), result(number) {}
  int result;
};

}  // namespace tenon::emulated_gpu
