#pragma once

#include <array>
#include <chrono>
#include <concepts>
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

#include "wallheat/plan_result.hpp"

namespace wallheat {

using Bytes = std::vector<std::byte>;

/// Thrown if bytes are not a valid encoding of the expected record.
struct DecodeError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A record describes its fields once, in a function next to it,
//   template <class Visit, SameIgnoringConst<Task> R>
//   void fields_of(Visit& visit, R& task) { visit(task.index, task.id); }
// or in a member function,
//   static void fields(auto& visit, auto& self) { visit(self.index, self.id); }
// Encoder and Decoder use the same list of fields, so that they cannot disagree.

template <class T>
concept Scalar = std::is_arithmetic_v<T> || std::is_enum_v<T>;

template <class Record, class T>
concept SameIgnoringConst = std::same_as<std::remove_const_t<Record>, T>;

template <class Visit, class Record>
requires requires(Visit& visit, Record& record) { Record::fields(visit, record); }
void fields_of(Visit& visit, Record& record) { Record::fields(visit, record); }

/// Serializes records to bytes, in native byte order (little-endian on x86-64 and Arm). Strings,
/// blocks and lists are prefixed with their length as a 64-bit number.
class Encoder {
 public:
  template <class... T>
  void operator()(const T&... fields) {
    (put(fields), ...);
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
  template <class Record>
  requires std::is_class_v<Record>
  void put(const Record& record) { fields_of(*this, record); }

  void put_all(const auto& items) {
    put(std::uint64_t{items.size()});
    for (const auto& item : items) put(item);
  }
  void append(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }

  Bytes bytes_;
};

/// Deserializes records from bytes. Throws DecodeError if the bytes are not a valid encoding.
class Decoder {
 public:
  explicit Decoder(std::span<const std::byte> bytes) : rest_(bytes) {}
  template <class... T>
  void operator()(T&... fields) {
    (get(fields), ...);
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
    status = static_cast<PlanStatus>(number);
    if (status > PlanStatus::failed) throw DecodeError("unknown plan status");
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
  template <class Record>
  requires std::is_class_v<Record>
  void get(Record& record) { fields_of(*this, record); }

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

template <class Record>
[[nodiscard]] Bytes to_bytes(const Record& record) {
  Encoder encoder;
  encoder(record);
  return encoder.take();
}
/// Throws DecodeError if the bytes are not an encoded Record.
template <class Record>
[[nodiscard]] Record from_bytes(std::span<const std::byte> bytes) {
  Record record;
  Decoder decoder(bytes);
  decoder(record);
  decoder.expect_end();
  return record;
}

}  // namespace wallheat
