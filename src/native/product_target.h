// What of a target decides the code of products, and the targets whose code is made when Tenon is built.
#pragma once

#include <string>
#include <vector>

#include "kernel/product/product.h"
#include "native/target.h"

namespace tenon::codegen {

/// `target` without all that makes no difference to products of these types, so that many processors share their code:
/// products of f32 for every processor with AVX-512 are the same, whether it has VNNI or not.
Target product_target(const ProductTypes& types, const Target& target);

/// The product_target() of usual machines of one architecture, `triple`, each once: x86-64 with AVX2, with its
/// instructions for bytes, with AVX-512, with what came to it (VNNI, VBMI, AMX); ARM64 without and with dot products,
/// products of matrices, SVE of 512 bits.
std::vector<Target> usual_product_targets(const ProductTypes& types, const std::string& triple);

}  // namespace tenon::codegen
