#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace wallheat {

/// Returns the CRC-32 of zlib, gzip and PNG (Python: zlib.crc32). If `before` is the CRC-32 of
/// preceding bytes, returns that of both together.
[[nodiscard]] std::uint32_t crc32_of(std::span<const std::byte> bytes, std::uint32_t before = 0);

// The two filters of HDF5, byte shuffle and deflate, for chunks that bypass the library.

/// Compression level of libdeflate.
enum class CompressionLevel {
  fast = 1,  ///< for shuffled noise, for which more effort gains little
  best = 7,  ///< for data that are written once and read often
};

/// Returns a zlib stream. Throws RunError if there is not enough memory.
[[nodiscard]] std::vector<std::byte> deflate(std::span<const std::byte> bytes,
                                             CompressionLevel effort);

/// Fills `bytes` from a zlib stream. Returns false if the stream is damaged or has another number
/// of bytes. Bytes after the end of the stream are ignored.
[[nodiscard]] bool inflate(std::span<const std::byte> packed, std::span<std::byte> bytes);

/// Compress and decompress like deflate() and inflate(), without the frame of zlib, as in zip
/// archives.
[[nodiscard]] std::vector<std::byte> deflate_raw(std::span<const std::byte> bytes,
                                                 CompressionLevel effort);
[[nodiscard]] bool inflate_raw(std::span<const std::byte> packed, std::span<std::byte> bytes);

/// Returns an upper bound of the size of a decompressed stream of `packed` bytes: the ratio of
/// deflate is at most 1032 : 1. With it, an invalid size is rejected before memory is allocated.
[[nodiscard]] inline std::uint64_t max_inflated_size(std::size_t packed) { return 1100 * packed; }

/// Applies HDF5's shuffle filter: the first bytes of all numbers, then the second bytes of all
/// numbers, and so on.
[[nodiscard]] std::vector<std::byte> shuffle(std::span<const double> values);
/// Inverse of shuffle(). `planes` must have as many bytes as `values`.
void unshuffle(std::span<const std::byte> planes, std::span<double> values);

}  // namespace wallheat
