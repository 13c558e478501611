#include "ir/kinds.h"

#include <algorithm>
#include <atomic>
#include <type_traits>

#include "base/hash.h"

namespace tenon {
namespace {

/// Constants up to this size compare by content; larger ones by the identity of their memory.
constexpr size_t kSmallConstantBytes = 4096;

bool same_field(const Array& a, const Array& b) {
  return a.byte_count() <= kSmallConstantBytes ? same_bits(a, b)
                                               : a.dtype() == b.dtype() && a.dims() == b.dims() && a.data() == b.data();
}

bool same_field(const View& a, const View& b) { return same_structure(as_op(a), as_op(b)); }

bool same_field(const std::vector<View>& a, const std::vector<View>& b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](const View& x, const View& y) { return same_field(x, y); });
}

template <class T>
bool same_field(const T& a, const T& b) {
  return a == b;
}

uint64_t hash_field(const Array& a) {
  uint64_t hash = static_cast<uint64_t>(a.dtype());
  for (const int64_t dim : a.dims()) {
    hash = combine_hash(hash, static_cast<uint64_t>(dim));
  }
  // A prefix is enough: it must be the same for equal constants, however they compare.
  const size_t bytes = std::min<size_t>(a.byte_count(), kSmallConstantBytes);
  return hash_bytes({reinterpret_cast<const char*>(a.data()), bytes}, hash);
}

uint64_t hash_field(const ScalarFn* fn) { return hash_bytes(fn->name); }
uint64_t hash_field(const std::string& s) { return hash_bytes(s); }
uint64_t hash_field(const View& view) { return hash_structure(as_op(view)); }

template <class T>
  requires std::is_integral_v<T> || std::is_enum_v<T>
uint64_t hash_field(T value) {
  return static_cast<uint64_t>(value);
}

template <class T>
  requires requires(const T& x) { x.hash(); }
uint64_t hash_field(const T& x) {
  return x.hash();
}

template <class T>
uint64_t hash_field(const std::vector<T>& list) {
  uint64_t hash = list.size();
  for (const T& item : list) {
    hash = combine_hash(hash, hash_field(item));
  }
  return hash;
}

template <class Kind, size_t... I>
bool same_fields(const Kind& a, const Kind& b, std::index_sequence<I...>) {
  [[maybe_unused]] constexpr auto fields = Kind::fields();
  return (same_field(a.*(std::get<I>(fields).member), b.*(std::get<I>(fields).member)) && ...);
}

}  // namespace

Op::Op() = default;
Op::Op(const Op& other) = default;
Op::Op(Op&& other) noexcept = default;
Op& Op::operator=(const Op& other) = default;
Op& Op::operator=(Op&& other) noexcept = default;
Op::~Op() = default;

std::optional<View> as_view(const Op& op) {
  return std::visit(
      []<class Kind>(const Kind& kind) -> std::optional<View> {
        if constexpr (std::is_constructible_v<View, Kind>) {
          return View(kind);
        } else {
          return std::nullopt;
        }
      },
      op);
}

Op as_op(const View& view) {
  return std::visit([](const auto& kind) { return Op(kind); }, view);
}

uint64_t fresh_barrier_id() {
  static std::atomic<uint64_t> next = 1;
  return next++;
}

bool same_structure(const Op& a, const Op& b) {
  return a.index() == b.index() && std::visit(
                                       [&]<class Kind>(const Kind& kind) {
                                         constexpr size_t count = std::tuple_size_v<decltype(Kind::fields())>;
                                         return same_fields(kind, std::get<Kind>(b), std::make_index_sequence<count>());
                                       },
                                       a);
}

uint64_t hash_structure(const Op& op) {
  uint64_t hash = op.index();
  std::visit(
      [&](const auto& kind) {
        for_each_field(kind,
                       [&](std::string_view, const auto& field) { hash = combine_hash(hash, hash_field(field)); });
      },
      op);
  return hash;
}

}  // namespace tenon
