#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "core/members.hpp"
#include "wallheat/plan_result.hpp"

namespace wallheat {

using Bytes = std::vector<std::byte>;

/// Thrown if bytes are not a valid encoding of the expected record.
struct DecodeError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <class T>
concept Scalar = std::is_arithmetic_v<T> || std::is_enum_v<T>;

/// Serializes values to bytes, in native byte order (little-endian on x86-64 and Arm). Strings,
/// blocks and lists are prefixed with their length as a 64-bit number. A structure is the sequence
/// of its members (core/members.hpp).
class Encoder {
 public:
  template <class... T>
  void operator()(const T&... values) {
    (put(values), ...);
  }
  Bytes take() { return std::move(bytes_); }

 private:
  template <Scalar T>
  void put(T value) {
    append(std::as_bytes(std::span(&value, 1)));
  }
  void put(std::span<const std::byte> block) {
    put(std::uint64_t{block.size()});
    append(block);
  }
  void put(const Bytes& block) { put(std::span(block)); }
  void put(const std::string& text) { put(std::as_bytes(std::span(text))); }
  void put(const std::filesystem::path& path) { put(path.string()); }
  void put(std::chrono::duration<double> seconds) { put(seconds.count()); }
  template <class T>
  void put(const std::vector<T>& items) {
    put_all(items);
  }
  template <class T, std::size_t count>
  void put(const std::array<T, count>& items) {
    for (const T& item : items) put(item);
  }
  void put(const std::map<std::string, std::string>& items) { put_all(items); }
  void put(const std::pair<const std::string, std::string>& item) {
    (*this)(item.first, item.second);
  }
  template <class T>
  void put(const std::optional<T>& item) {
    put(item.has_value());
    if (item) put(*item);
  }
  /// Prefixes the value with the index of its alternative.
  template <class... T>
  void put(const std::variant<T...>& item) {
    put(static_cast<std::uint8_t>(item.index()));
    std::visit([this](const auto& each) { put(each); }, item);
  }
  template <HasMembers T>
  void put(const T& structure) {
    static_assert(std::is_empty_v<T> || size_of_members<T>() == sizeof(T),
                  "a member is missing in WALLHEAT_MEMBERS, or out of order");
    for_each_member<T>([&](const auto& member) { put(member.of(structure)); });
  }

  void put_all(const auto& items) {
    put(std::uint64_t{items.size()});
    for (const auto& item : items) put(item);
  }
  void append(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }

  Bytes bytes_;
};

/// Deserializes values from bytes. Throws DecodeError if the bytes are not a valid encoding.
class Decoder {
 public:
  explicit Decoder(std::span<const std::byte> bytes) : rest_(bytes) {}
  template <class... T>
  void operator()(T&... values) {
    (get(values), ...);
  }
  /// Throws DecodeError if bytes remain.
  void expect_end() const {
    if (!rest_.empty()) throw DecodeError("a message has trailing bytes");
  }

 private:
  template <Scalar T>
  void get(T& value) {
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
  }
  void get(bool& value) {
    std::uint8_t byte = 0;
    get(byte);
    value = byte != 0;
  }
  void get(PlanStatus& status) {
    std::underlying_type_t<PlanStatus> number{};
    get(number);
    if (number >= plan_statuses.size()) throw DecodeError("unknown plan status");
    status = static_cast<PlanStatus>(number);
  }
  void get(Bytes& block) {
    const auto bytes = take_block();
    block.assign(bytes.begin(), bytes.end());
  }
  void get(std::string& text) {
    const auto bytes = take_block();
    text.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  void get(std::filesystem::path& path) {
    std::string text;
    get(text);
    path = std::move(text);
  }
  void get(std::chrono::duration<double>& seconds) {
    double count = 0;
    get(count);
    seconds = std::chrono::duration<double>(count);
  }
  template <class T>
  void get(std::vector<T>& items) {
    items.clear();
    for (std::size_t count = take_count(); count > 0; --count) get(items.emplace_back());
  }
  template <class T, std::size_t count>
  void get(std::array<T, count>& items) {
    for (T& item : items) get(item);
  }
  void get(std::map<std::string, std::string>& items) {
    for (std::size_t count = take_count(); count > 0; --count) {
      std::string name;
      get(name);
      get(items[name]);
    }
  }
  template <class T>
  void get(std::optional<T>& item) {
    bool has_value = false;
    get(has_value);
    item.reset();
    if (has_value) get(item.emplace());
  }
  template <class... T>
  void get(std::variant<T...>& item) {
    std::uint8_t number = 0;
    get(number);
    if (number >= sizeof...(T)) throw DecodeError("unknown message type");
    (void)(... || (number-- == 0 && (get(item.template emplace<T>()), true)));
  }
  template <HasMembers T>
  void get(T& structure) {
    for_each_member<T>([&](const auto& member) { get(member.of(structure)); });
  }

  std::span<const std::byte> take(std::uint64_t size) {
    if (size > rest_.size()) throw DecodeError("a message is truncated");
    const auto taken = rest_.first(size);
    rest_ = rest_.subspan(size);
    return taken;
  }
  /// Reads the number of elements of a list. Throws DecodeError if it exceeds the remaining bytes:
  /// each element takes at least one byte, so a corrupt count cannot cause a large allocation.
  std::size_t take_count() {
    std::uint64_t count = 0;
    get(count);
    if (count > rest_.size()) throw DecodeError("a count exceeds its message");
    return count;
  }
  std::span<const std::byte> take_block() {
    std::uint64_t size = 0;
    get(size);
    return take(size);
  }

  std::span<const std::byte> rest_;
};

template <class T>
[[nodiscard]] Bytes to_bytes(const T& value) {
  Encoder encoder;
  encoder(value);
  return encoder.take();
}
/// Throws DecodeError if the bytes are not an encoded T.
template <class T>
[[nodiscard]] T from_bytes(std::span<const std::byte> bytes) {
  T value;
  Decoder decoder(bytes);
  decoder(value);
  decoder.expect_end();
  return value;
}

}  // namespace wallheat
