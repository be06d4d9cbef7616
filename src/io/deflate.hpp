#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

// HDF5's two filters, byte shuffle and deflate, for chunks that bypass the library.
namespace wallheat {

/// How hard to look for repeats, as a level of libdeflate.
enum class Effort {
  fast = 1,  ///< shuffled noise, where more effort finds little
  best = 7,  ///< what is written once and read often
};

/// A zlib stream. Throws RunError if memory does not suffice.
[[nodiscard]] std::vector<std::byte> deflate(std::span<const std::byte> bytes, Effort effort);

/// Fills `bytes` from a zlib stream; false where it is damaged or holds another number of bytes.
/// Bytes behind the end of the stream are passed over.
[[nodiscard]] bool inflate(std::span<const std::byte> packed, std::span<std::byte> bytes);

/// The same without zlib's frame, as zip archives have it.
[[nodiscard]] std::vector<std::byte> deflate_raw(std::span<const std::byte> bytes, Effort effort);
[[nodiscard]] bool inflate_raw(std::span<const std::byte> packed, std::span<std::byte> bytes);

/// True if a stream of `packed` bytes can hold so many. Deflate cannot do better than 1032 : 1, so
/// a wild size is refused before memory is asked for.
[[nodiscard]] bool can_hold(std::size_t packed, std::uint64_t bytes);

/// The same of rows * cols * width bytes; false if a grid of this shape has no cells.
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
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t bits = 0;
    for (std::size_t plane = 0; plane < sizeof(T); ++plane) {
      bits |= static_cast<std::uint64_t>(planes[plane * count + i]) << (8 * plane);
    }
    std::memcpy(&values[i], &bits, sizeof(T));
  }
}

}  // namespace wallheat
