// What the fields of loop kernels are, in order, for Writer and Reader of base/bytes.h. Each function is called with
// either. Included by the sources that write kernels or parts of them, and by nobody else.
#pragma once

#include "base/bytes.h"
#include "kernel/loop/loop.h"
#include "shape/extent_texts.h"

namespace tenon::bytes {
template <>
inline constexpr int kLast<Dtype> = kDtypeCount - 1;
template <>
inline constexpr int kLast<ReduceOp> = static_cast<int>(spellings(ReduceOp()).size()) - 1;
template <>
inline constexpr int kLast<loops::Role> = static_cast<int>(loops::Role::partial);
template <>
inline constexpr int kLast<loops::Scope> = static_cast<int>(loops::Scope::block);
}  // namespace tenon::bytes

namespace tenon {

inline void fields(bytes::Writer& archive, Extent& extent) { archive.repeated(extent.to_string()); }
inline void fields(bytes::Reader& archive, Extent& extent) {
  extent = archive.repeated<Extent>([&](const std::string& text) { return archive.kept<ExtentTexts>().parse(text); });
}

namespace loops {
void fields(auto& archive, Buffer& x) { archive(x.dtype, x.role, x.elements, x.scope); }
void fields(auto& archive, MayShare& x) { archive(x.input, x.output); }
}  // namespace loops

}  // namespace tenon
