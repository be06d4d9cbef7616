#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace wallheat {

/// The CRC-32 of zlib, gzip and PNG (Python: zlib.crc32). With that of what stands before, of both.
[[nodiscard]] std::uint32_t crc32_of(std::span<const std::byte> bytes, std::uint32_t before = 0);

// HDF5's two filters, byte shuffle and deflate, for chunks that bypass the library.

/// How hard to look for repeats, as a level of libdeflate.
enum class CompressionLevel {
  fast = 1,  ///< shuffled noise, where more effort finds little
  best = 7,  ///< what is written once and read often
};

/// A zlib stream. Throws RunError if memory does not suffice.
[[nodiscard]] std::vector<std::byte> deflate(std::span<const std::byte> bytes,
                                             CompressionLevel effort);

/// Fills `bytes` from a zlib stream; false if it is damaged or holds another number of bytes.
/// Bytes behind the end of the stream do not count.
[[nodiscard]] bool inflate(std::span<const std::byte> packed, std::span<std::byte> bytes);

/// The same without zlib's frame, as zip archives have it.
[[nodiscard]] std::vector<std::byte> deflate_raw(std::span<const std::byte> bytes,
                                                 CompressionLevel effort);
[[nodiscard]] bool inflate_raw(std::span<const std::byte> packed, std::span<std::byte> bytes);

/// More bytes than a stream of `packed` bytes can hold, as deflate cannot do better than 1032 : 1:
/// so a wild size is refused before memory is asked for.
[[nodiscard]] inline std::uint64_t max_inflated_size(std::size_t packed) { return 1100 * packed; }

/// HDF5's shuffle filter: first bytes of all numbers, then all second bytes, and so on.
[[nodiscard]] std::vector<std::byte> shuffle(std::span<const double> values);
/// The inverse, of as many bytes as the numbers have.
void unshuffle(std::span<const std::byte> planes, std::span<double> values);

}  // namespace wallheat
