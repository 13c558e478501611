# TENON_ONNX: import and export of ONNX models, by the onnx and protobuf libraries.
option(TENON_ONNX "Read and write ONNX models" ON)

if(TENON_ONNX)
  find_package(Protobuf QUIET)
  find_path(TENON_ONNX_INCLUDE onnx/onnx-ml.pb.h)
  find_library(TENON_ONNX_PROTO_LIBRARY onnx_proto)
  if(NOT Protobuf_FOUND OR NOT TENON_ONNX_INCLUDE OR NOT TENON_ONNX_PROTO_LIBRARY)
    message(FATAL_ERROR "TENON_ONNX=ON: onnx or protobuf was not found; install libonnx-dev and libprotobuf-dev, "
                        "or configure with -DTENON_ONNX=OFF")
  endif()
  # Their headers are not held to our warnings.
  add_library(tenon_onnx_proto INTERFACE)
  target_include_directories(tenon_onnx_proto SYSTEM INTERFACE ${TENON_ONNX_INCLUDE})
  target_link_libraries(tenon_onnx_proto INTERFACE ${TENON_ONNX_PROTO_LIBRARY} protobuf::libprotobuf)
endif()

# What to precompile for those who include protobuf's messages.
set(tenon_onnx_headers ${PROJECT_SOURCE_DIR}/src/onnx/proto.h)
