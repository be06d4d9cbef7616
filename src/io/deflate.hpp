#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

// HDF5's two filters, byte shuffle and deflate, for chunks that bypass the library.
namespace wallheat {

enum class Effort {
  runs,  ///< looks for runs only: shuffled noise, as fast as it goes
  best,  ///< looks for all repeats: what is written once and read often
};

/// A zlib stream; with Effort::best no larger a window than the bytes need, as what is small would
/// else cost its making and no more. Throws RunError if memory does not suffice.
[[nodiscard]] std::vector<std::byte> deflate(std::span<const std::byte> bytes, Effort effort);

/// Fills `bytes` from a zlib stream; false where it is damaged or holds another number of bytes.
/// Bytes behind the end of the stream are passed over.
[[nodiscard]] bool inflate(std::span<const std::byte> packed, std::span<std::byte> bytes);
/// The same of a stream that may hold more; the rest is not looked at.
[[nodiscard]] bool inflate_beginning(std::span<const std::byte> packed, std::span<std::byte> bytes);

/// True if a stream of `packed` bytes can hold rows * cols * width bytes. Deflate cannot do
/// better than 1032 : 1, so a wild shape is refused before memory is asked for.
[[nodiscard]] bool can_hold(std::size_t packed, std::size_t rows, std::size_t cols,
                            std::size_t width);

/// First bytes of all elements, then all second bytes, and so on.
template <class T>
std::vector<std::byte> shuffle(std::span<const T> values);
template <class T>
void unshuffle(std::span<const std::byte> planes, std::span<T> values);

template <class T>
std::vector<std::byte> shuffle(std::span<const T> values) {
  const std::size_t count = values.size();
  std::vector<std::byte> planes(values.size_bytes());
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &values[i], sizeof(T));
    for (std::size_t plane = 0; plane < sizeof(T); ++plane) {
      planes[plane * count + i] = static_cast<std::byte>(bits >> (8 * plane));
    }
  }
  return planes;
}

template <class T>
void unshuffle(std::span<const std::byte> planes, std::span<T> values) {
  const std::size_t count = values.size();
  if constexpr (sizeof(T) > sizeof(std::uint64_t)) {
    const auto bytes = std::as_writable_bytes(values);
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      bytes[at] = planes[at % sizeof(T) * count + at / sizeof(T)];
    }
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t bits = 0;
    for (std::size_t plane = 0; plane < std::min(sizeof(T), sizeof bits); ++plane) {
      bits |= static_cast<std::uint64_t>(planes[plane * count + i]) << (8 * plane);
    }
    std::memcpy(&values[i], &bits, sizeof(T));
  }
}

}  // namespace wallheat
