#include "ops/make.h"

#include <array>
#include <mutex>
#include <sstream>
#include <utility>
#include <variant>

#include "base/refused.h"
#include "ops/needed_by.h"
#include "shape/not_representable.h"
#include "tenon/unsupported.h"

namespace tenon {
namespace {

struct OperandNames {
  std::vector<std::string> names;
  bool variadic = false;
};

OperandNames parse_operands(std::string_view text) {
  OperandNames result;
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    result.variadic = word.ends_with("...");
    result.names.push_back(result.variadic ? word.substr(0, word.size() - 3) : word);
  }
  return result;
}

/// Of each kind, parsed once.
const OperandNames& operand_names(const Op& op) {
  static std::array<std::once_flag, std::variant_size_v<AnyKind>> parsed;
  static std::array<OperandNames, std::variant_size_v<AnyKind>> names;
  std::call_once(parsed[op.index()], [&] { names[op.index()] = parse_operands(kind_info(op).operands); });
  return names[op.index()];
}

void check_operand_count(const OperandNames& expected, size_t given) {
  const size_t least = expected.names.size() - (expected.variadic ? 1 : 0);
  if (expected.variadic ? given < least : given != least) {
    refuse("takes {}{} operand{}, not {}", expected.variadic ? "at least " : "", least, least == 1 ? "" : "s", given);
  }
}

/// Drop what is proven; what is refuted is an error now.
std::vector<Constraint> settle(std::vector<Constraint> constraints, std::string_view operation) {
  std::vector<Constraint> open;
  for (Constraint& constraint : constraints) {
    const Verdict verdict = decide(constraint);
    if (verdict == Verdict::fails) {
      refuse("needs {}, which never holds", constraint.to_string());
    }
    if (verdict == Verdict::unknown) {
      constraint.needed_by = NeededBy::name(operation);
      constraint.place = build_context().place;
      open.push_back(std::move(constraint));
    }
  }
  return open;
}

/// `error`, of the type that says what callers may do about `like`.
[[noreturn]] void throw_as(const Error& like, const Error& error) {
  if (dynamic_cast<const Unsupported*>(&like) != nullptr) {
    throw Unsupported(error);
  }
  if (dynamic_cast<const NotRepresentable*>(&like) != nullptr) {
    throw NotRepresentable(error);
  }
  if (dynamic_cast<const Refused*>(&like) != nullptr) {
    throw Refused(error);
  }
  throw Error(error);
}

}  // namespace

void rethrow_with_context(const Error& error, std::string_view operation, const std::vector<std::string>& operand_names,
                          Operands operands) {
  if (error.has_notes()) {
    throw_as(error, error);
  }
  Error full(fmt::format("{}: {}", NeededBy::name(operation), error.what()));
  for (size_t i = 0; i < operands.size(); ++i) {
    const auto* in = operands[i] ? operands[i].node().as<Input>() : nullptr;
    const std::string name = in != nullptr && !in->attached ? fmt::format("`{}`", in->name)
                             : i < operand_names.size() && operands.size() <= operand_names.size()
                                 ? operand_names[i]
                                 : fmt::format("operand {}", i);
    full.note(fmt::format("{}: {}", name, operands[i] ? operands[i].shape().to_string() : "empty"));
  }
  if (const std::string& place = build_context().place; !place.empty()) {
    full.note(fmt::format("at node \"{}\"", place));
  }
  throw_as(error, full);
}

std::vector<Value> make_all(Op op, std::vector<Value> inputs) {
  const std::string_view operation = op_name(op);
  const OperandNames& expected = operand_names(op);
  Inferred inferred;
  try {
    check_operand_count(expected, inputs.size());
    for (const Value& value : inputs) {
      if (!value) {
        refuse("an operand is an empty Value");
      }
    }
    inferred = std::visit([&](const auto& kind) { return infer(kind, inputs); }, op);
    inferred.constraints = settle(std::move(inferred.constraints), operation);
  } catch (const Error& error) {
    rethrow_with_context(error, operation, expected.names, inputs);
  }
  const size_t outputs = inferred.shapes.size();
  const Value first =
      intern(std::move(op), std::move(inputs), std::move(inferred.shapes), std::move(inferred.constraints));
  std::vector<Value> values;
  values.reserve(outputs);
  for (size_t i = 0; i < outputs; ++i) {
    values.emplace_back(&first.node(), static_cast<int>(i));
  }
  return values;
}

Value make(Op op, std::vector<Value> inputs) { return make_all(std::move(op), std::move(inputs)).front(); }

}  // namespace tenon
