#include "codegen/emit/matrix_step.h"

#include <algorithm>

namespace tenon::codegen {
namespace {

using loops::Affine;

constexpr int64_t kGroups = 8, kThreads = 4;  // of a warp
constexpr int64_t kRowsApart = 8, kColumnsOfThread = 2;
constexpr double kUpperBits = -(1 << 13);
constexpr int64_t kRowBytes = 16;  // of matrices of half types: what a thread asks for at once

int64_t known_scale(const Affine& at, int axis) {
  const auto term = std::ranges::find(at.terms, axis, &loops::Term::axis);
  return term == at.terms.end() ? 0 : term->scale.constant().value_or(-1);
}

Affine without(Affine at, int axis) {
  std::erase_if(at.terms, [&](const loops::Term& each) { return each.axis == axis; });
  return at;
}

/// Reads the statements of the loop's body one after the other.
class Reader {
 public:
  Reader(const loops::Kernel& kernel, const loops::Loop& loop, int groups, int threads)
      : kernel_(kernel), loop_(loop), groups_(groups), threads_(threads) {}

  std::optional<MatrixStep> run() {
    const loops::Axis& axis = kernel_.axes[static_cast<size_t>(loop_.axis)];
    const bool is_plain = loop_.begins.empty() && loop_.unless < 0 && !loop_.digit && axis.tile_of < 0 &&
                          axis.binding == loops::Binding::serial;
    MatrixStep step;
    step.steps = axis.extent.constant().value_or(-1);
    if (!is_plain || step.steps <= 0 || !is_warp()) return std::nullopt;
    const bool are_read = read_operand(step.left) && read_operand(step.right);
    const Dtype dtype = step.left.dtype;
    if (!are_read || step.right.dtype != dtype || step.steps % steps_together(dtype) != 0) return std::nullopt;
    if (dtype == Dtype::f32 && !(keep_upper_bits(left_) && keep_upper_bits(right_))) return std::nullopt;
    if (!are_rows(step.left) || !are_columns(step.right) || !read_sums(step)) return std::nullopt;
    return at_ == loop_.body.size() ? std::optional(step) : std::nullopt;
  }

 private:
  bool is_warp() const {
    const auto is_of = [&](int axis, int64_t extent) {
      return axis >= 0 && kernel_.axes[static_cast<size_t>(axis)].extent == Extent(extent);
    };
    return is_of(groups_, kGroups) && is_of(threads_, kThreads);
  }

  /// The value that the next statement defines, if it does; the statement is read then.
  int defined() const {
    const auto* const define = at_ < loop_.body.size() ? std::get_if<loops::Define>(&loop_.body[at_].what) : nullptr;
    return define == nullptr ? -1 : define->value;
  }

  template <class T>
  const T* defined_as() const {
    const int value = defined();
    return value < 0 ? nullptr : std::get_if<T>(&kernel_.values[static_cast<size_t>(value)].what);
  }

  bool is_compute(Prim prim, const std::vector<int>& operands) {
    const auto* const compute = defined_as<loops::Compute>();
    const bool is_so = compute != nullptr && compute->prim == prim && compute->operands == operands;
    if (is_so) ++at_;
    return is_so;
  }

  const loops::Buffer& buffer(int index) const { return kernel_.buffers[static_cast<size_t>(index)]; }

  /// All loads from one buffer that follow.
  bool read_operand(MatrixStep::Operand& operand) {
    std::vector<int>& values = left_.empty() ? left_ : right_;
    for (const loops::Load* load = defined_as<loops::Load>(); load != nullptr; load = defined_as<loops::Load>()) {
      if (operand.buffer < 0) operand.buffer = load->buffer;
      if (load->buffer != operand.buffer) break;
      if (!load->inside.empty() || !load->lookups.empty()) return false;
      const int64_t step = known_scale(load->at, loop_.axis);
      if (!values.empty() && step != operand.step) return false;
      operand.step = step;
      operand.first.push_back(without(load->at, loop_.axis));
      values.push_back(defined());
      ++at_;
    }
    if (values.empty() || values.size() % 2 != 0) return false;
    const loops::Buffer& read = buffer(operand.buffer);
    operand.dtype = read.dtype;
    const bool has_instructions = read.dtype == Dtype::f32 || read.dtype == Dtype::f16 || read.dtype == Dtype::bf16;
    return has_instructions && read.role == loops::Role::scratch && read.scope == loops::Scope::block;
  }

  /// The next statements clear the lower bits of each value, whose place the results take.
  bool keep_upper_bits(std::vector<int>& values) {
    for (int& value : values) {
      const int word = defined();
      if (!is_compute(Prim::reinterpret, {value})) return false;
      const int bits = defined();
      const auto* const constant = defined_as<loops::Compute>();
      if (constant == nullptr || constant->prim != Prim::constant || constant->literal != kUpperBits) return false;
      ++at_;
      const int kept = defined();
      if (!is_compute(Prim::bit_and, {word, bits})) return false;
      value = defined();
      if (!is_compute(Prim::reinterpret, {kept})) return false;
    }
    return true;
  }

  /// The second of two is `apart` rows or columns behind the first, each thread's `own` behind those of the one before.
  bool lie_in_pairs(MatrixStep::Operand& operand, int axis, int other, int64_t own, int64_t apart) const {
    const int64_t between = known_scale(operand.first[0], axis);
    if (between <= 0 || between % own != 0) return false;
    operand.along = between / own;
    for (size_t i = 0; i < operand.first.size(); ++i) {
      const Affine& first = operand.first[i / 2 * 2];
      const auto begin = first.base.constant();
      const auto here = operand.first[i].base.constant();
      if (operand.first[i].terms != operand.first[0].terms || known_scale(first, other) != 0 || !begin || !here ||
          *here - *begin != static_cast<int64_t>(i % 2) * apart * operand.along) {
        return false;
      }
    }
    return lies_in_rows(operand);
  }

  /// Of half types whole rows of matrices lie side by side, where accesses of 16 bytes may be.
  bool lies_in_rows(const MatrixStep::Operand& operand) const {
    const int64_t apart = operand.step == 1 ? operand.along : operand.step;
    if (operand.step != 1 && operand.along != 1) return false;
    if (operand.dtype == Dtype::f32) return true;
    const int64_t elements = kRowBytes / static_cast<int64_t>(byte_size(operand.dtype));
    const auto is_whole = [&](const Affine& at) {
      const bool are_scales = std::ranges::all_of(at.terms, [&](const loops::Term& term) {
        return term.axis == groups_ || term.axis == threads_ || term.scale.constant().value_or(1) % elements == 0;
      });
      return are_scales && at.base.constant().value_or(1) % elements == 0;
    };
    bool are_whole = apart % elements == 0;
    for (size_t i = 0; i < operand.first.size(); i += 2)
      are_whole = are_whole && is_whole(operand.first[i]);
    return are_whole;
  }

  bool are_rows(MatrixStep::Operand& left) const { return lie_in_pairs(left, groups_, threads_, 1, kRowsApart); }
  bool are_columns(MatrixStep::Operand& right) const {
    return lie_in_pairs(right, threads_, groups_, kColumnsOfThread, 1);
  }

  /// sums[i * columns + j] = sums[i * columns + j] + left[i] * right[j].
  bool read_sums(MatrixStep& step) {
    int64_t place = 0;
    for (const int left : left_) {
      for (const int right : right_) {
        const int product = defined();
        if (!is_compute(Prim::mul, {left, right})) return false;
        const int before = defined();
        const auto* const load = defined_as<loops::Load>();
        if (load == nullptr || !is_sum(step, load->buffer, load->at, place) || !load->inside.empty()) return false;
        ++at_;
        const int sum = defined();
        if (!is_compute(Prim::add, {before, product})) return false;
        const auto* const store = at_ < loop_.body.size() ? std::get_if<loops::Store>(&loop_.body[at_].what) : nullptr;
        if (store == nullptr || store->value != sum || !is_sum(step, store->buffer, store->at, place) ||
            !store->inside.empty()) {
          return false;
        }
        ++at_;
        ++place;
      }
    }
    return true;
  }

  bool is_sum(MatrixStep& step, int index, const Affine& at, int64_t place) const {
    if (step.sums < 0) step.sums = index;
    return index == step.sums && is_private_scratch(buffer(index)) && buffer(index).dtype == Dtype::f32 &&
           at.terms.empty() && at.base == Extent(place);
  }

  const loops::Kernel& kernel_;
  const loops::Loop& loop_;
  int groups_, threads_;
  size_t at_ = 0;
  std::vector<int> left_, right_;  // values
};

}  // namespace

int64_t steps_together(Dtype dtype) { return dtype == Dtype::f32 ? 8 : 16; }

std::optional<MatrixStep> matrix_step(const loops::Kernel& kernel, const loops::Loop& loop, int groups, int threads) {
  return Reader(kernel, loop, groups, threads).run();
}

}  // namespace tenon::codegen
