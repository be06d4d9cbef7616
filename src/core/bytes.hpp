#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace wallheat {

using Bytes = std::vector<std::byte>;

/// Bytes that do not hold what their reader expects.
struct DecodeError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Appends values to a byte string, in the machine's own byte order (x86-64 and Arm:
/// little-endian). Before a text, a block or a list stands its length, a `Length`.
template <std::unsigned_integral Length>
class BasicByteWriter {
 public:
  template <class T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void put(T value) {
    const std::size_t size = bytes_.size();
    bytes_.resize(size + sizeof value);
    std::memcpy(bytes_.data() + size, &value, sizeof value);
  }
  void put(std::span<const std::byte> block) {
    put_length(block.size());
    bytes_.insert(bytes_.end(), block.begin(), block.end());
  }
  void put(const std::string& text) { put(std::as_bytes(std::span(text))); }
  void put_length(std::size_t length) { put(static_cast<Length>(length)); }

  [[nodiscard]] Bytes take() { return std::move(bytes_); }

 private:
  Bytes bytes_;
};

/// Takes values off a byte string; throws DecodeError rather than read past its end.
template <std::unsigned_integral Length>
class BasicByteReader {
 public:
  explicit BasicByteReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  template <class T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  [[nodiscard]] T get() {
    T value;
    std::memcpy(&value, block(sizeof value).data(), sizeof value);
    return value;
  }
  [[nodiscard]] std::span<const std::byte> get_block() { return block(get<Length>()); }
  [[nodiscard]] std::string get_text() {
    const auto text = get_block();
    return {reinterpret_cast<const char*>(text.data()), text.size()};
  }
  /// A count of things that take at least `least_size` bytes each: a hostile count cannot make the
  /// caller allocate more than the message could hold.
  [[nodiscard]] std::size_t get_count(std::size_t least_size) {
    const auto count = get<Length>();
    if (count > rest_.size() / least_size) throw DecodeError("a count exceeds its message");
    return count;
  }
  /// Throws unless everything was read.
  void expect_end() const {
    if (!rest_.empty()) throw DecodeError("a message has trailing bytes");
  }

 private:
  std::span<const std::byte> block(std::uint64_t size) {
    if (size > rest_.size()) throw DecodeError("a message ends too early");
    const auto result = rest_.first(size);
    rest_ = rest_.subspan(size);
    return result;
  }

  std::span<const std::byte> rest_;
};

/// Those of messages.
using ByteWriter = BasicByteWriter<std::uint64_t>;
using ByteReader = BasicByteReader<std::uint64_t>;

}  // namespace wallheat
