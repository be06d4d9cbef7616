#include "io/deflate.hpp"

#include <libdeflate.h>

#include <limits>
#include <map>
#include <memory>

#include "wallheat/error.hpp"

namespace wallheat {
namespace {

using Compressor = std::unique_ptr<libdeflate_compressor, decltype(&::libdeflate_free_compressor)>;
using Decompressor =
    std::unique_ptr<libdeflate_decompressor, decltype(&::libdeflate_free_decompressor)>;

}  // namespace

std::vector<std::byte> deflate(std::span<const std::byte> bytes, Effort effort) {
  // Each thread keeps its own: to make one takes longer than to compress a small plan.
  thread_local std::map<Effort, Compressor> kept;
  auto& compressor = kept.try_emplace(effort, nullptr, ::libdeflate_free_compressor).first->second;
  if (!compressor) compressor.reset(::libdeflate_alloc_compressor(static_cast<int>(effort)));
  if (!compressor) throw RunError("there is not enough memory to compress");
  std::vector<std::byte> packed(::libdeflate_zlib_compress_bound(compressor.get(), bytes.size()));
  packed.resize(::libdeflate_zlib_compress(compressor.get(), bytes.data(), bytes.size(),
                                           packed.data(), packed.size()));
  packed.shrink_to_fit();
  return packed;
}

bool inflate(std::span<const std::byte> packed, std::span<std::byte> bytes) {
  const Decompressor decompressor(::libdeflate_alloc_decompressor(),
                                  ::libdeflate_free_decompressor);
  if (!decompressor) throw RunError("there is not enough memory to unpack what is compressed");
  return ::libdeflate_zlib_decompress(decompressor.get(), packed.data(), packed.size(),
                                      bytes.data(), bytes.size(), nullptr) == LIBDEFLATE_SUCCESS;
}

bool can_hold(std::size_t packed, std::size_t rows, std::size_t cols, std::size_t width) {
  constexpr std::size_t best_ratio = 1100;
  const std::size_t most = packed > std::numeric_limits<std::size_t>::max() / best_ratio
                               ? std::numeric_limits<std::size_t>::max()
                               : packed * best_ratio;
  return rows > 0 && cols > 0 && cols <= most / width / rows;
}

}  // namespace wallheat
