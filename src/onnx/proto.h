// ONNX's messages, from the library's generated header: proto::ModelProto and so on. Included by src/onnx alone.
#pragma once

#ifndef ONNX_ML
#define ONNX_ML 1
#endif
#include <onnx/onnx_pb.h>

namespace tenon {
namespace proto = ::onnx;
}  // namespace tenon
