// What callers know of a program: what it takes and what it gives. Nothing of how it runs.
#pragma once

#include <string>
#include <vector>

#include "tenon/shape.h"

namespace tenon {

struct Program;

struct SignatureInput {
  std::string name;
  Shape shape;
  /// Names whose sizes are the elements of this input: integers, as many as there are names.
  std::vector<std::string> gives = {};

  friend bool operator==(const SignatureInput&, const SignatureInput&) = default;
};

struct SignatureOutput {
  std::string name;
  Shape shape;

  friend bool operator==(const SignatureOutput&, const SignatureOutput&) = default;
};

struct Signature {
  std::string name;
  std::vector<SignatureInput> inputs;
  std::vector<SignatureOutput> outputs;

  friend bool operator==(const Signature&, const Signature&) = default;
};

/// Of a program that nobody knows otherwise; none of its inputs gives sizes.
Signature signature_of(const Program& program);

}  // namespace tenon
