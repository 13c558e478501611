// From the arrays of a call to the sizes of names.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernel/program/signature.h"
#include "runtime/memory/operand.h"
#include "shape/constraint_set.h"

namespace tenon::runtime {

/// Binds from the sizes of inputs and from the values of those that give sizes, as the interpreter does, with the same
/// errors in the same order: number of inputs, dtypes, ranks, sizes, `known`, constraints. And an Error for a name in
/// `known` that the program does not have.
class Binder {
 public:
  /// `needed` are the names that the program's sizes depend on, `others` such as `known` may have beside. The
  /// signature must outlive it.
  Binder(const Signature& signature, std::span<const std::string> needed, std::span<const std::string> others,
         ConstraintSet constraints);

  /// Nothing depends on sizes: all calls that have a key are the same.
  bool is_static() const { return is_static_; }

  size_t key_size() const { return key_size_; }
  /// Whether the program has the name.
  bool knows(std::string_view name) const { return find(name) != nullptr; }

  /// Names from inputs, `known` and constraints; all constraints hold.
  Bindings bind(std::span<const Operand> inputs, const Bindings& known) const;

  /// The same for inputs that are not there yet, whose sizes follow from `bindings`; also fills the key that key()
  /// gives for such inputs.
  Bindings bind_ahead(const Bindings& bindings, std::vector<int64_t>& key) const;

  /// A key that decides what bind() gives: the values of names that are an axis of an input, the sizes of axes that are
  /// expressions, and what `known` and the values of inputs say of other names. Allocates nothing once `key` has had
  /// its size. False when bind() would find the call wrong before it looks at constraints.
  bool key(std::span<const Operand> inputs, const Bindings& known, std::vector<int64_t>& key) const;

 private:
  /// What an axis of an input must be.
  struct AxisRule {
    enum class Kind : uint8_t { constant, bound_before, goes_into_key } kind = Kind::constant;
    int64_t value = 0;  // constant; bound before: where in the key
  };
  /// An element of an input that is a size.
  struct Given {
    size_t input = 0;
    size_t element = 0;
    size_t name = 0;  // of names_
  };
  struct Known {
    std::string name;
    size_t place = 0;    // in the key
    bool shown = false;  // by an axis of an input
  };

  void add_names(std::span<const std::string> names);
  void add_rules();
  void add_given();
  Bindings with_given(std::span<const Operand> inputs, const Bindings& known) const;
  Known* find(std::string_view name);
  const Known* find(std::string_view name) const;
  void require_known(const Bindings& bindings) const;
  std::vector<ConcreteInput> describe(std::span<const Operand> inputs) const;
  Bindings constrained(Bindings bindings, const Bindings& known) const;

  const Signature& signature_;
  ConstraintSet constraints_;
  std::vector<Known> names_;     // all there are, sorted
  std::vector<AxisRule> rules_;  // of all axes of all inputs, in order
  std::vector<Given> given_;     // sizes that inputs give by their values
  size_t key_size_ = 0;
  bool is_static_ = false;
};

}  // namespace tenon::runtime
