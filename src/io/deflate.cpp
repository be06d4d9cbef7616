#include "io/deflate.hpp"

#include <libdeflate.h>

#include <bit>
#include <map>
#include <memory>

#include "wallheat/error.hpp"

namespace wallheat {

std::uint32_t crc32_of(std::span<const std::byte> bytes, std::uint32_t before) {
  if (bytes.empty()) return before;  // libdeflate starts from scratch if the pointer is null
  return ::libdeflate_crc32(before, bytes.data(), bytes.size());
}

namespace {

using Compressor = std::unique_ptr<libdeflate_compressor, decltype(&::libdeflate_free_compressor)>;
using Decompressor =
    std::unique_ptr<libdeflate_decompressor, decltype(&::libdeflate_free_decompressor)>;

/// Returns the compressor of this thread. Threads keep their compressors, because making one takes
/// longer than compressing a small plan.
libdeflate_compressor* compressor_for(CompressionLevel effort) {
  thread_local std::map<CompressionLevel, Compressor> kept;
  auto& compressor = kept.try_emplace(effort, nullptr, ::libdeflate_free_compressor).first->second;
  if (!compressor) compressor.reset(::libdeflate_alloc_compressor(static_cast<int>(effort)));
  if (!compressor) throw RunError("not enough memory for compression");
  return compressor.get();
}

libdeflate_decompressor* decompressor() {
  thread_local Decompressor kept(nullptr, ::libdeflate_free_decompressor);
  if (!kept) kept.reset(::libdeflate_alloc_decompressor());
  if (!kept) throw RunError("not enough memory for decompression");
  return kept.get();
}

/// Compresses with the functions `bound` and `compress` of libdeflate for one type of frame.
template <class Bound, class Compress>
std::vector<std::byte> compressed(std::span<const std::byte> bytes, CompressionLevel effort,
                                  Bound bound, Compress compress) {
  libdeflate_compressor* const compressor = compressor_for(effort);
  std::vector<std::byte> packed(bound(compressor, bytes.size()));
  packed.resize(compress(compressor, bytes.data(), bytes.size(), packed.data(), packed.size()));
  packed.shrink_to_fit();
  return packed;
}

}  // namespace

std::vector<std::byte> deflate(std::span<const std::byte> bytes, CompressionLevel effort) {
  return compressed(bytes, effort, ::libdeflate_zlib_compress_bound, ::libdeflate_zlib_compress);
}

std::vector<std::byte> deflate_raw(std::span<const std::byte> bytes, CompressionLevel effort) {
  return compressed(bytes, effort, ::libdeflate_deflate_compress_bound,
                    ::libdeflate_deflate_compress);
}

bool inflate(std::span<const std::byte> packed, std::span<std::byte> bytes) {
  return ::libdeflate_zlib_decompress(decompressor(), packed.data(), packed.size(), bytes.data(),
                                      bytes.size(), nullptr) == LIBDEFLATE_SUCCESS;
}

bool inflate_raw(std::span<const std::byte> packed, std::span<std::byte> bytes) {
  return ::libdeflate_deflate_decompress(decompressor(), packed.data(), packed.size(), bytes.data(),
                                         bytes.size(), nullptr) == LIBDEFLATE_SUCCESS;
}

std::vector<std::byte> shuffle(std::span<const double> values) {
  const std::size_t count = values.size();
  std::vector<std::byte> planes(values.size_bytes());
  for (std::size_t i = 0; i < count; ++i) {
    const auto bits = std::bit_cast<std::uint64_t>(values[i]);
    for (std::size_t plane = 0; plane < sizeof bits; ++plane)
      planes[plane * count + i] = static_cast<std::byte>(bits >> (8 * plane));
  }
  return planes;
}

void unshuffle(std::span<const std::byte> planes, std::span<double> values) {
  const std::size_t count = values.size();
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t bits = 0;
    for (std::size_t plane = 0; plane < sizeof bits; ++plane)
      bits |= static_cast<std::uint64_t>(planes[plane * count + i]) << (8 * plane);
    values[i] = std::bit_cast<double>(bits);
  }
}

}  // namespace wallheat
