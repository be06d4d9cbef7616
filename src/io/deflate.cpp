#include "io/deflate.hpp"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "wallheat/error.hpp"

namespace wallheat {

std::vector<std::byte> deflate(std::span<const std::byte> bytes, Effort effort) {
  z_stream stream{};
  constexpr int most_window = 15;
  constexpr int most_memory = 8;
  constexpr int good_level = 6;
  const bool runs = effort == Effort::runs;
  int window = most_window;
  int memory = most_memory;
  if (!runs) {
    // zlib looks back no further than the window less 262 bytes.
    const auto bits = static_cast<int>(
        std::bit_width(std::min<std::size_t>(bytes.size() + 262, 1U << most_window)));
    window = std::clamp(bits, 9, most_window);
    memory = std::clamp(bits - 6, 1, most_memory);
  }
  if (::deflateInit2(&stream, runs ? Z_BEST_SPEED : good_level, Z_DEFLATED, window, memory,
                     runs ? Z_RLE : Z_DEFAULT_STRATEGY) != Z_OK) {
    throw RunError("there is not enough memory to compress");
  }
  std::vector<std::byte> packed(::deflateBound(&stream, bytes.size()));
  std::size_t used = 0;
  std::size_t made = 0;
  int state = Z_OK;
  // In pieces, as zlib counts in 32 bits.
  constexpr std::size_t most = 1U << 30;
  while (state == Z_OK) {
    const auto in = std::min(bytes.size() - used, most);
    const auto out = std::min(packed.size() - made, most);
    stream.next_in = reinterpret_cast<const Bytef*>(bytes.data() + used);
    stream.avail_in = static_cast<uInt>(in);
    stream.next_out = reinterpret_cast<Bytef*>(packed.data() + made);
    stream.avail_out = static_cast<uInt>(out);
    state = ::deflate(&stream, used + in == bytes.size() ? Z_FINISH : Z_NO_FLUSH);
    used += in - stream.avail_in;
    made += out - stream.avail_out;
  }
  ::deflateEnd(&stream);
  if (state != Z_STREAM_END) throw RunError("compressing failed");
  packed.resize(made);
  packed.shrink_to_fit();
  return packed;
}

bool inflate(std::span<const std::byte> packed, std::span<std::byte> bytes) {
  uLongf got = bytes.size();
  uLong used = packed.size();
  return ::uncompress2(reinterpret_cast<Bytef*>(bytes.data()), &got,
                       reinterpret_cast<const Bytef*>(packed.data()), &used) == Z_OK &&
         got == bytes.size();
}

bool inflate_beginning(std::span<const std::byte> packed, std::span<std::byte> bytes) {
  z_stream stream{};
  if (::inflateInit(&stream) != Z_OK)
    throw RunError("there is not enough memory to unpack what is compressed");
  std::size_t used = 0;
  std::size_t made = 0;
  int state = Z_OK;
  constexpr std::size_t most = 1U << 30;  // in pieces, as zlib counts in 32 bits
  while (state == Z_OK && made < bytes.size()) {
    const auto in = std::min(packed.size() - used, most);
    const auto out = std::min(bytes.size() - made, most);
    stream.next_in = reinterpret_cast<const Bytef*>(packed.data() + used);
    stream.avail_in = static_cast<uInt>(in);
    stream.next_out = reinterpret_cast<Bytef*>(bytes.data() + made);
    stream.avail_out = static_cast<uInt>(out);
    state = ::inflate(&stream, Z_SYNC_FLUSH);
    used += in - stream.avail_in;
    made += out - stream.avail_out;
  }
  ::inflateEnd(&stream);
  return made == bytes.size();
}

bool can_hold(std::size_t packed, std::size_t rows, std::size_t cols, std::size_t width) {
  constexpr std::size_t best_ratio = 1100;
  const std::size_t most = packed > std::numeric_limits<std::size_t>::max() / best_ratio
                               ? std::numeric_limits<std::size_t>::max()
                               : packed * best_ratio;
  return rows > 0 && cols > 0 && cols <= most / width / rows;
}

}  // namespace wallheat
