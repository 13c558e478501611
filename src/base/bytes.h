// Data as bytes, and bytes as data. A type says once what its fields are; writing and reading both follow that.
#pragma once

#include <any>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "base/fail.h"

namespace tenon::bytes {

/// An enumeration with values from 0 to `last`; specialised beside those that are written.
template <class T>
inline constexpr int kLast = -1;

/// Appends. Numbers are little-endian, in as many bytes as their type has; lists and strings begin with their number of
/// elements. A struct is written by `fields(archive, value)`, which calls the archive with its fields in order and is
/// found in the namespace of the struct.
class Writer {
 public:
  static constexpr bool kReads = false;

  template <class... T>
  void operator()(T&... fields) {
    (field(fields), ...);
  }
  void raw(const std::byte* data, size_t size) { bytes_.insert(bytes_.end(), data, data + size); }
  void count(size_t n) {
    const auto number = static_cast<uint64_t>(n);
    number_of(number);
  }
  /// A text that comes again is written once, and then by its number.
  void repeated(const std::string& text) {
    const auto [known, is_new] = texts_.try_emplace(text, static_cast<uint32_t>(texts_.size()));
    number_of(known->second);
    if (is_new) {
      std::string copy = text;
      field(copy);
    }
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  template <class T>
  void number_of(const T& value) {
    static_assert(std::endian::native == std::endian::little);
    raw(reinterpret_cast<const std::byte*>(&value), sizeof(T));
  }
  template <class T>
  void field(T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      number_of(value);
    } else {
      fields(*this, value);
    }
  }
  void field(std::string& text) {
    count(text.size());
    raw(reinterpret_cast<const std::byte*>(text.data()), text.size());
  }
  template <class T>
  void field(std::vector<T>& list) {
    count(list.size());
    for (T& each : list) {
      field(each);
    }
  }
  template <class T>
  void field(std::map<std::string, T, std::less<>>& map) {
    count(map.size());
    for (auto& [key, value] : map) {
      std::string copy = key;
      field(copy);
      field(value);
    }
  }
  template <class T>
  void field(std::optional<T>& value) {
    bool has = value.has_value();
    field(has);
    if (has) {
      field(*value);
    }
  }
  template <class... T>
  void field(std::variant<T...>& value) {
    auto index = static_cast<uint8_t>(value.index());
    field(index);
    std::visit([&](auto& each) { field(each); }, value);
  }

  std::vector<std::byte> bytes_;
  std::unordered_map<std::string, uint32_t> texts_;
};

/// Reads what a Writer wrote. Bytes that nobody wrote so are an Error that says where; none of them makes it take more
/// memory than a small multiple of their number.
class Reader {
 public:
  static constexpr bool kReads = true;

  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <class... T>
  void operator()(T&... fields) {
    (field(fields), ...);
  }
  std::span<const std::byte> raw(size_t size) {
    if (size > bytes_.size() - at_) {
      fail("the bytes end at {}, where {} more should follow byte {}", bytes_.size(), size, at_);
    }
    at_ += size;
    return bytes_.subspan(at_ - size, size);
  }
  /// Of elements that take a byte each at least.
  size_t count() {
    uint64_t n = 0;
    field(n);
    if (n > bytes_.size() - at_) {
      fail("a list of {} elements at byte {} of {}", n, at_, bytes_.size());
    }
    return static_cast<size_t>(n);
  }
  /// What `parse` makes of a text that repeated() wrote. Equal texts are parsed once. The reference holds until the
  /// next call.
  template <class T, class Parse>
  const T& repeated(const Parse& parse) {
    uint32_t number = 0;
    field(number);
    if (number > texts_.size()) {
      fail("text {} before byte {}, of {} so far", number, at_, texts_.size());
    }
    if (number == texts_.size()) {
      field(texts_.emplace_back().text);
    }
    Text& text = texts_[number];
    if (text.parsed.type() != typeid(T)) text.parsed = T(parse(text.text));
    return *std::any_cast<T>(&text.parsed);
  }
  /// What those who read values of one kind keep from one to the next, made when it is first asked for.
  template <class T>
  T& kept() {
    if (!kept_) {
      kept_ = std::make_shared<T>();
      kept_kind_ = &kKind<T>;
    }
    TENON_CHECK(kept_kind_ == &kKind<T>, "readers of two kinds keep something");
    return *static_cast<T*>(kept_.get());
  }
  /// While one lives, what is read lies inside of something of its own kind.
  class Inside {
   public:
    explicit Inside(Reader& reader) : reader_(reader) {
      if (++reader_.depth_ > kMostDepth) {
        fail("more than {} levels at byte {}", kMostDepth, reader_.at_);
      }
    }
    ~Inside() { --reader_.depth_; }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    static constexpr int kMostDepth = 100;
    Reader& reader_;
  };
  void end() const {
    if (at_ != bytes_.size()) {
      fail("{} bytes are left over behind byte {}", bytes_.size() - at_, at_);
    }
  }

 private:
  template <class T>
  void field(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      value = number_up_to<uint8_t>(1) != 0;
    } else if constexpr (std::is_enum_v<T>) {
      static_assert(kLast<T> >= 0, "say what its last value is");
      value = static_cast<T>(number_up_to<std::underlying_type_t<T>>(kLast<T>));
    } else if constexpr (std::is_arithmetic_v<T>) {
      std::memcpy(&value, raw(sizeof(T)).data(), sizeof(T));
    } else {
      fields(*this, value);
    }
  }
  void field(std::string& text) {
    const size_t size = count();
    const std::span<const std::byte> from = raw(size);
    text.assign(reinterpret_cast<const char*>(from.data()), size);
  }
  template <class T>
  void field(std::vector<T>& list) {
    const size_t size = count();
    list.clear();
    for (size_t i = 0; i < size; ++i) {  // it grows with what was read
      field(list.emplace_back());
    }
  }
  template <class T>
  void field(std::map<std::string, T, std::less<>>& map) {
    const size_t size = count();
    map.clear();
    for (size_t i = 0; i < size; ++i) {
      std::string key;
      field(key);
      field(map[key]);
    }
  }
  template <class T>
  void field(std::optional<T>& value) {
    bool has = false;
    field(has);
    value.reset();
    if (has) {
      field(value.emplace());
    }
  }
  template <class... T>
  void field(std::variant<T...>& value) {
    take_alternative(value, number_up_to<uint8_t>(sizeof...(T) - 1), std::index_sequence_for<T...>());
  }
  template <class V, size_t... Index>
  void take_alternative(V& value, size_t index, std::index_sequence<Index...>) {
    ((Index == index ? field(value.template emplace<Index>()) : void()), ...);
  }
  template <class T>
  T number_up_to(int last) {
    T number{};
    std::memcpy(&number, raw(sizeof(T)).data(), sizeof(T));
    if (number < 0 || static_cast<int64_t>(number) > last) {
      fail("a value of {} before byte {}, where {} is the largest", number, at_, last);
    }
    return number;
  }

  std::span<const std::byte> bytes_;
  size_t at_ = 0;
  int depth_ = 0;
  template <class T>
  static constexpr char kKind = 0;

  struct Text {
    std::string text;
    std::any parsed;  // what it was last parsed as
  };
  std::vector<Text> texts_;
  std::shared_ptr<void> kept_;
  const char* kept_kind_ = nullptr;
};

}  // namespace tenon::bytes
