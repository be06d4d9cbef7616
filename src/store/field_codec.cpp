#include "wallheat/field_codec.hpp"

#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

#include "wallheat/error.hpp"

// What HDF5's shuffle and deflate filters make of a chunk of float64, so that the bytes can be
// handed to H5Dwrite_chunk and every HDF5 program can read them.
namespace wallheat {
namespace {

constexpr std::size_t width = sizeof(double);

/// First bytes of all elements, then all second bytes, and so on.
std::vector<std::byte> shuffle(const std::vector<double>& values) {
  const std::size_t count = values.size();
  std::vector<std::byte> planes(count * width);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &values[i], width);
    for (std::size_t plane = 0; plane < width; ++plane) {
      planes[plane * count + i] = static_cast<std::byte>(bits >> (8 * plane));
    }
  }
  return planes;
}

void unshuffle(const std::vector<std::byte>& planes, std::vector<double>& values) {
  const std::size_t count = values.size();
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t bits = 0;
    for (std::size_t plane = 0; plane < width; ++plane) {
      bits |= static_cast<std::uint64_t>(planes[plane * count + i]) << (8 * plane);
    }
    std::memcpy(&values[i], &bits, width);
  }
}

/// Deflate that looks for runs only. Shuffled fields have long runs in their high bytes and noise
/// in the others, so the search for other repeats costs twice the time and saves 2 % (figures:
/// README.md).
std::vector<std::byte> deflate_runs(std::vector<std::byte>& bytes) {
  z_stream stream{};
  constexpr int default_window = 15, default_memory = 8;
  if (::deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, default_window, default_memory, Z_RLE) !=
      Z_OK) {
    throw RunError("a temperature field cannot be compressed: not enough memory");
  }
  std::vector<std::byte> packed(::deflateBound(&stream, bytes.size()));
  std::size_t used = 0, made = 0;
  int state = Z_OK;
  // In pieces, as zlib counts in 32 bits.
  constexpr std::size_t most = 1U << 30;
  while (state == Z_OK) {
    const auto in = std::min(bytes.size() - used, most), out = std::min(packed.size() - made, most);
    stream.next_in = reinterpret_cast<Bytef*>(bytes.data() + used);
    stream.avail_in = static_cast<uInt>(in);
    stream.next_out = reinterpret_cast<Bytef*>(packed.data() + made);
    stream.avail_out = static_cast<uInt>(out);
    state = ::deflate(&stream, used + in == bytes.size() ? Z_FINISH : Z_NO_FLUSH);
    used += in - stream.avail_in;
    made += out - stream.avail_out;
  }
  ::deflateEnd(&stream);
  if (state != Z_STREAM_END) throw RunError("a temperature field cannot be compressed");
  packed.resize(made);
  packed.shrink_to_fit();
  return packed;
}

[[noreturn]] void damaged() { throw RunError("a stored temperature field is damaged"); }

/// Bytes of a field of this shape; 0 where no such field can come out of `packed` bytes.
std::size_t unpacked_size(GridShape shape, std::size_t packed) {
  // Deflate cannot do better than 1032 : 1, so a wild shape is refused before memory is asked for.
  const std::size_t most = packed > std::numeric_limits<std::size_t>::max() / 1100
                               ? std::numeric_limits<std::size_t>::max()
                               : packed * 1100;
  const std::size_t most_cells = most / width;
  if (shape.rows == 0 || shape.cols == 0 || shape.cols > most_cells / shape.rows) return 0;
  return shape.rows * shape.cols * width;
}

}  // namespace

std::vector<std::byte> compress_field(const Grid<double>& field) {
  auto planes = shuffle(field.cells);
  return deflate_runs(planes);
}

Grid<double> decompress_field(std::span<const std::byte> chunk, GridShape shape) {
  const std::size_t size = unpacked_size(shape, chunk.size());
  if (size == 0) damaged();
  std::vector<std::byte> planes(size);
  uLongf got = size;
  uLong used = chunk.size();
  // Bytes behind the end of the stream are allowed: the store may add one (see
  // Session::write_field).
  if (::uncompress2(reinterpret_cast<Bytef*>(planes.data()), &got,
                    reinterpret_cast<const Bytef*>(chunk.data()), &used) != Z_OK ||
      got != size) {
    damaged();
  }
  Grid<double> field(shape.rows, shape.cols);
  unshuffle(planes, field.cells);
  return field;
}

}  // namespace wallheat
