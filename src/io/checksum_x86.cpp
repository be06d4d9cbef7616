#include <immintrin.h>

#include <array>
#include <cstring>

#include "io/checksum_instructions.hpp"

// Multiplication without carries folds the bytes into 16, and these into 4: Gopal, Ozturk and
// others, "Fast CRC computation for generic polynomials using PCLMULQDQ instruction", Intel, 2009.
// The constants are powers of x modulo the polynomial of CRC-32, bits reversed (page 22).
namespace wallheat {
namespace {

constexpr std::size_t block = 16;

__attribute__((target("pclmul,sse4.1"))) __m128i load(const std::byte* bytes) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
}

/// Moves `sum` on by the bytes that `factors` stand for, and adds the block that is there.
__attribute__((target("pclmul,sse4.1"))) __m128i fold(__m128i sum, __m128i factors, __m128i there) {
  const __m128i low = _mm_clmulepi64_si128(sum, factors, 0x00);
  const __m128i high = _mm_clmulepi64_si128(sum, factors, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), there);
}

__attribute__((target("pclmul,sse4.1"))) std::uint32_t crc_of(std::span<const std::byte> bytes,
                                                              std::uint32_t before) {
  const __m128i by_64_bytes = _mm_set_epi64x(0x1c6e41596, 0x154442bd4);
  const __m128i by_16_bytes = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);
  const __m128i by_4_bytes = _mm_set_epi64x(0, 0x163cd6124);
  const __m128i polynomial = _mm_set_epi64x(0x1f7011641, 0x1db710641);  // its inverse, and itself
  const __m128i low_words = _mm_setr_epi32(-1, 0, -1, 0);

  // Zeros before the first byte change nothing, so whole blocks are made of what is no multiple of
  // them; `before` goes into the first four bytes.
  std::array<std::byte, 2 * block> beginning{};
  const std::size_t zeros = (block - bytes.size() % block) % block;
  const std::size_t copied = zeros == 0 ? block : 2 * block - zeros;
  std::memcpy(beginning.data() + zeros, bytes.data(), copied);
  std::uint32_t first_four = 0;
  std::memcpy(&first_four, beginning.data() + zeros, sizeof first_four);
  first_four ^= ~before;
  std::memcpy(beginning.data() + zeros, &first_four, sizeof first_four);
  __m128i sum = load(beginning.data());
  if (zeros > 0) sum = fold(sum, by_16_bytes, load(beginning.data() + block));

  const std::byte* at = bytes.data() + copied;
  std::size_t blocks = (bytes.size() - copied) / block;
  if (blocks >= 7) {  // four sums beside each other
    __m128i b = load(at);
    __m128i c = load(at + block);
    __m128i d = load(at + 2 * block);
    at += 3 * block;
    blocks -= 3;
    for (; blocks >= 4; blocks -= 4, at += 4 * block) {
      sum = fold(sum, by_64_bytes, load(at));
      b = fold(b, by_64_bytes, load(at + block));
      c = fold(c, by_64_bytes, load(at + 2 * block));
      d = fold(d, by_64_bytes, load(at + 3 * block));
    }
    sum = fold(fold(fold(sum, by_16_bytes, b), by_16_bytes, c), by_16_bytes, d);
  }
  for (; blocks > 0; --blocks, at += block) sum = fold(sum, by_16_bytes, load(at));

  // 16 bytes to 8, these to 4 and a remainder that Barrett's reduction takes.
  sum = _mm_xor_si128(_mm_clmulepi64_si128(sum, by_16_bytes, 0x10), _mm_srli_si128(sum, 8));
  sum = _mm_xor_si128(_mm_clmulepi64_si128(_mm_and_si128(sum, low_words), by_4_bytes, 0x00),
                      _mm_srli_si128(sum, 4));
  __m128i quotient = _mm_clmulepi64_si128(_mm_and_si128(sum, low_words), polynomial, 0x10);
  quotient = _mm_clmulepi64_si128(_mm_and_si128(quotient, low_words), polynomial, 0x00);
  return ~static_cast<std::uint32_t>(_mm_extract_epi32(_mm_xor_si128(sum, quotient), 1));
}

}  // namespace

std::optional<std::uint32_t> crc32_by_instructions(std::span<const std::byte> bytes,
                                                   std::uint32_t before) {
  static const bool can = static_cast<bool>(__builtin_cpu_supports("pclmul")) &&
                          static_cast<bool>(__builtin_cpu_supports("sse4.1"));
  if (!can || bytes.size() < block) return std::nullopt;
  return crc_of(bytes, before);
}

}  // namespace wallheat
