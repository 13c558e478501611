#include "onnx/import/quotient_at.h"

#include "kernel/scalar/scalar_program.h"
#include "onnx/import/known_map.h"
#include "shape/not_representable.h"
#include "tenon/error.h"

namespace tenon::importer {
namespace {

using Found = std::optional<Quotient>;

constexpr int kDeepestQuotient = 50;

class QuotientSearch {
 public:
  explicit QuotientSearch(KnownValues& known) : known_(known) {}

  Found at(const Value& value, int64_t i) {
    if (const std::optional<Elements>& elements = known_.elements(value)) {
      const Element& element = elements->at(static_cast<size_t>(i));
      return Quotient{element.numerator, element.denominator};
    }
    if (depth_ > kDeepestQuotient || value.node().shapes.size() != 1) {
      return {};
    }
    ++depth_;
    Found found = std::visit([&](const auto& kind) { return look(kind, value, i); }, value.node().op);
    --depth_;
    return found;
  }

 private:
  Found look(const Reshape& /*view*/, const Value& value, int64_t i) { return at(value.node().inputs[0], i); }

  Found look(const Broadcast& /*view*/, const Value& value, int64_t i) {
    const Value& from = value.node().inputs[0];
    const bool is_one = from.shape().element_count() == Extent(1);
    return is_one || from.rank() == value.rank() ? at(from, is_one ? 0 : i) : Found();
  }

  Found look(const Slice& view, const Value& value, int64_t i) {
    const std::optional<int64_t> start = value.rank() == 1 ? view.start[0].constant() : std::nullopt;
    return start ? at(value.node().inputs[0], *start + i * view.step[0]) : Found();
  }

  Found look(const Concat& /*view*/, const Value& value, int64_t i) {
    for (const Value& part : value.node().inputs) {
      const std::optional<int64_t> size = part.rank() == 1 ? part.extent(0).constant() : std::nullopt;
      if (!size || i < *size) {
        return size ? at(part, i) : Found();
      }
      i -= *size;
    }
    return {};
  }

  Found look(const Map& map, const Value& value, int64_t i) {
    std::vector<Found> operands;
    std::vector<Dtype> dtypes;
    for (const Value& operand : value.node().inputs) {
      operands.push_back(at(operand, i));
      dtypes.push_back(operand.dtype());
    }
    const ScalarProgram program = flatten({instantiate(*map.fn, dtypes, map.dtype)});
    std::vector<Found> registers;
    for (const ScalarInstruction& code : program.code) {
      registers.push_back(code.prim == Prim::argument ? operands[static_cast<size_t>(code.a)] : step(code, registers));
    }
    return registers[static_cast<size_t>(program.results[0])];
  }

  template <class Other>
  static Found look(const Other& /*kind*/, const Value& /*value*/, int64_t /*i*/) {
    return {};
  }

  static Found step(const ScalarInstruction& code, const std::vector<Found>& registers) {
    const auto operand = [&](int i) -> const Found& { return registers[static_cast<size_t>(i)]; };
    if (!is_float(code.dtype)) {
      return {};
    }
    if (code.prim == Prim::constant) {
      const std::optional<Element> number = to_element(Array::scalar(Dtype::f64, code.literal), 0);
      return number ? Found({number->numerator, number->denominator}) : Found();
    }
    if (code.prim == Prim::cast) {
      return operand(code.a);
    }
    if ((code.prim != Prim::mul && code.prim != Prim::div) || !operand(code.a) || !operand(code.b)) {
      return {};
    }
    const Quotient& a = *operand(code.a);
    const Quotient& b = *operand(code.b);
    return code.prim == Prim::mul ? Quotient{a.top * b.top, a.bottom * b.bottom}
                                  : Quotient{a.top * b.bottom, a.bottom * b.top};
  }

  KnownValues& known_;
  int depth_ = 0;
};

}  // namespace

std::optional<Quotient> quotient_at(KnownValues& known, const Value& list, int64_t i) {
  try {
    return QuotientSearch(known).at(list, i);
  } catch (const NotRepresentable&) {  // beyond 64 bits
    return {};
  }
}

}  // namespace tenon::importer
