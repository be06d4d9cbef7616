#include "core/npy.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/file_descriptor.hpp"
#include "wallheat/error.hpp"

// The format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
namespace wallheat::npy {
namespace {

static_assert(std::endian::native == std::endian::little, "NPY data are read in place");

constexpr std::uint64_t longest_header = 10'000;  // NumPy reads no longer one either

struct Header {
  std::string dtype;  // as in the file, "<f8"
  bool fortran_order = false;
  GridShape shape;
  std::uint64_t data_offset = 0;
};

[[noreturn]] void fail(const std::filesystem::path& file, const std::string& cause) {
  throw InputError(file.string() + ": " + cause);
}

/// Takes the header's Python dictionary apart, which NumPy writes in one fixed form:
/// {'descr': '<f8', 'fortran_order': False, 'shape': (512, 512), }
class DictionaryParser {
 public:
  DictionaryParser(const std::filesystem::path& file, std::string_view text)
      : file_(file), rest_(text) {}

  Header parse() {
    expect('{');
    while (!accept('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr") {
        header_.dtype = descr();
      } else if (key == "fortran_order") {
        fortran_order_ = boolean();
      } else if (key == "shape") {
        shape();
      } else {
        malformed();
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (!rest_.empty() || header_.dtype.empty() || !fortran_order_ || !shape_seen_) malformed();
    header_.fortran_order = *fortran_order_;
    return header_;
  }

 private:
  [[noreturn]] void malformed() const { fail(file_, "its NPY header cannot be understood"); }

  void skip_space() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\n"), rest_.size()));
  }
  bool accept(char wanted) {
    skip_space();
    if (rest_.empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char wanted) {
    if (!accept(wanted)) malformed();
  }
  std::string quoted() {
    skip_space();
    if (rest_.empty() || (rest_.front() != '\'' && rest_.front() != '"')) malformed();
    const auto end = rest_.find(rest_.front(), 1);
    if (end == std::string_view::npos) malformed();
    std::string text(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return text;
  }
  std::string descr() {
    skip_space();
    if (rest_.starts_with('[')) fail(file_, "has a structured dtype");
    return quoted();
  }
  bool boolean() {
    skip_space();
    for (const std::string_view word : {"True", "False"}) {
      if (rest_.starts_with(word)) {
        rest_.remove_prefix(word.size());
        return word == "True";
      }
    }
    malformed();
  }
  std::size_t number() {
    skip_space();
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc{}) malformed();
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    if (rest_.starts_with('L')) rest_.remove_prefix(1);  // Python 2's long
    return value;
  }
  void shape() {
    std::vector<std::size_t> sizes;
    expect('(');
    while (!accept(')')) {
      sizes.push_back(number());
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    if (sizes.size() != 2) {
      fail(file_, "has " + std::to_string(sizes.size()) + " dimension(s), a floor plan has 2");
    }
    header_.shape = {sizes[0], sizes[1]};
    shape_seen_ = true;
  }

  const std::filesystem::path& file_;
  std::string_view rest_;
  Header header_;
  std::optional<bool> fortran_order_;
  bool shape_seen_ = false;
};

/// An NPY file whose header has been read and found to agree with the size of the file.
class NpyFile {
 public:
  // A pipe would be waited for without end.
  explicit NpyFile(const std::filesystem::path& path)
      : path_(path), file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    struct stat info {};
    if (file_.get() < 0 || ::fstat(file_.get(), &info) != 0)
      fail(path, errno == ENOENT ? std::string("no such file")
                                 : std::string("cannot be opened: ") + std::strerror(errno));
    if (!S_ISREG(info.st_mode)) fail(path, "not a regular file");
    size_ = static_cast<std::uint64_t>(info.st_size);
    read_header();
  }

  [[nodiscard]] const Header& header() const { return header_; }

  /// Throws unless the data of the promised shape and item size fill the file exactly.
  void expect_items_of(std::size_t item_size) const {
    const auto [rows, cols] = header_.shape;
    if (rows == 0 || cols == 0) {
      fail(path_,
           "the grid is empty (" + std::to_string(rows) + " x " + std::to_string(cols) + ")");
    }
    const std::uint64_t available = (size_ - header_.data_offset) / item_size;
    const bool too_large = rows > available || cols > available / rows;
    const std::string promise = "the header promises " + std::to_string(rows) + " x " +
                                std::to_string(cols) + " values of " + std::to_string(item_size) +
                                " byte(s), the file holds " +
                                std::to_string(size_ - header_.data_offset) + " bytes of data";
    if (too_large) fail(path_, "is truncated: " + promise);
    if (size_ - header_.data_offset != rows * cols * item_size) {
      fail(path_, "has trailing bytes: " + promise);
    }
  }

  template <class T>
  void read_items(std::size_t first, T* target, std::size_t count) {
    read_bytes(header_.data_offset + first * sizeof(T), reinterpret_cast<char*>(target),
               count * sizeof(T));
  }

 private:
  void read_bytes(std::uint64_t offset, char* target, std::size_t count) {
    while (count > 0) {
      const ssize_t done = ::pread(file_.get(), target, count, static_cast<off_t>(offset));
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) fail(path_, "cannot be read to its end");
      target += done;
      offset += static_cast<std::uint64_t>(done);
      count -= static_cast<std::size_t>(done);
    }
  }

  void read_header() {
    constexpr std::uint64_t longest_prefix = 12;
    std::string start(std::min(size_, longest_prefix + longest_header), '\0');
    read_bytes(0, start.data(), start.size());
    if (size_ < 10 || !start.starts_with(beginning)) fail(path_, "is not an NPY file");
    start.append(longest_prefix, '\0');  // of a file that ends in its prefix
    const auto byte = [&](std::size_t at) {
      return std::uint64_t{static_cast<unsigned char>(start[at])};
    };
    const std::uint64_t major = byte(6);
    if (major < 1 || major > 3)
      fail(path_, "has NPY format version " + std::to_string(major) + ", which is not known");
    // In version 1 the length of the text takes two bytes, in later ones four.
    std::uint64_t length = byte(8) + 256 * byte(9);
    if (major > 1) length += 65536 * byte(10) + 16777216 * byte(11);
    const std::uint64_t text_offset = major > 1 ? 12 : 10;
    if (text_offset + length > size_) fail(path_, "is truncated in its header");
    if (length > longest_header) fail(path_, "has a header that is longer than any of NumPy's");
    header_ = DictionaryParser(path_, std::string_view(start).substr(text_offset, length)).parse();
    header_.data_offset = text_offset + length;
  }

  std::filesystem::path path_;
  std::uint64_t size_ = 0;
  FileDescriptor file_;
  Header header_;
};

/// Where the cells of an array go.
template <class Cell>
struct Target {
  std::function<Cell*(GridShape)> begin;             ///< returns where all are to be put, or null
  std::function<void(std::span<const Cell>)> piece;  ///< in that case takes them, row by row
};

/// Reads items of type Item in pieces and makes them cells; convert(item, number of the cell) may
/// refuse one.
template <class Item, class Cell, class Convert>
void read_cells(NpyFile& npy, const Target<Cell>& to, Convert convert) {
  npy.expect_items_of(sizeof(Item));
  const auto [rows, cols] = npy.header().shape;
  const bool fortran = npy.header().fortran_order;
  Cell* const all_cells = to.begin({rows, cols});
  // What stays in a cache; where each column must be looked for, as few looks as memory allows.
  const std::size_t most_items = fortran ? std::size_t{1} << 22 : std::size_t{1} << 16;
  // A piece is several whole rows or a part of one.
  const std::size_t width = std::min(cols, most_items);
  const std::size_t height = std::min(rows, most_items / width);
  std::vector<Cell> room(all_cells == nullptr ? height * width : 0);
  // Items of a cell's type are read to where the cells are to be.
  constexpr bool alike = std::is_same_v<Item, Cell>;
  std::vector<Item> item_room(alike && !fortran ? 0 : height * width);
  for (std::size_t row = 0; row < rows; row += height) {
    const std::size_t high = std::min(height, rows - row);
    for (std::size_t col = 0; col < cols; col += width) {
      const std::size_t wide = std::min(width, cols - col);
      const std::size_t first = row * cols + col;
      Cell* const cells = all_cells == nullptr ? room.data() : all_cells + first;
      Item* items = item_room.data();
      if (!fortran) {
        if constexpr (alike) items = cells;
        npy.read_items(first, items, high * wide);
        for (std::size_t k = 0; k < high * wide; ++k) cells[k] = convert(items[k], first + k);
      } else {
        if (high == rows) {
          npy.read_items(col * rows, items, high * wide);
        } else {
          for (std::size_t i = 0; i < wide; ++i)
            npy.read_items((col + i) * rows + row, &items[i * high], high);
        }
        for (std::size_t i = 0; i < high; ++i) {
          for (std::size_t j = 0; j < wide; ++j)
            cells[i * wide + j] = convert(items[j * high + i], first + i * cols + j);
        }
      }
      if (all_cells == nullptr) to.piece(std::span(room).first(high * wide));
    }
  }
}

[[noreturn]] void fail_at(const std::filesystem::path& file, const NpyFile& npy, std::size_t cell,
                          const std::string& cause) {
  const std::size_t cols = npy.header().shape.cols;
  fail(file, "the value in row " + std::to_string(cell / cols) + ", column " +
                 std::to_string(cell % cols) + " " + cause);
}

/// A domain of numbers that float64 holds: any of up to 32 bits, and whole ones of 64 bits that
/// come back the same.
template <class Item>
void read_exact(NpyFile& npy, const std::filesystem::path& file, const Target<double>& to) {
  read_cells<Item>(npy, to, [&](Item value, std::size_t cell) {
    const auto exact = static_cast<double>(value);
    if constexpr (std::is_integral_v<Item> && sizeof(Item) == 8) {
      // From 2^53 on; the ends are tested apart, as a double beyond them cannot be turned back.
      const bool in_range = exact < static_cast<double>(std::numeric_limits<Item>::max());
      if (!in_range || static_cast<Item>(exact) != value)
        fail_at(file, npy, cell, "is " + std::to_string(value) + ", which float64 cannot hold");
    }
    return exact;
  });
}

/// A mask of numbers that could mean more than a mask says: only 0 and 1 will do.
template <class Item>
void read_zeros_and_ones(NpyFile& npy, const std::filesystem::path& file, Item one,
                         const Target<std::uint8_t>& to) {
  read_cells<Item>(npy, to, [&](Item value, std::size_t cell) {
    if (value != Item{0} && value != one)
      fail_at(
          file, npy, cell,
          "is neither 0 nor 1, as it must be in a mask with dtype '" + npy.header().dtype + "'");
    return static_cast<std::uint8_t>(value == one);
  });
}

void read_float_into(const std::filesystem::path& file, const Target<double>& to) {
  NpyFile npy(file);
  const std::string& dtype = npy.header().dtype;
  if (dtype == "<f8") return read_exact<double>(npy, file, to);
  if (dtype == "<f4") return read_exact<float>(npy, file, to);
  if (dtype == "|i1") return read_exact<std::int8_t>(npy, file, to);
  if (dtype == "|u1") return read_exact<std::uint8_t>(npy, file, to);
  if (dtype == "<i2") return read_exact<std::int16_t>(npy, file, to);
  if (dtype == "<u2") return read_exact<std::uint16_t>(npy, file, to);
  if (dtype == "<i4") return read_exact<std::int32_t>(npy, file, to);
  if (dtype == "<u4") return read_exact<std::uint32_t>(npy, file, to);
  if (dtype == "<i8") return read_exact<std::int64_t>(npy, file, to);
  if (dtype == "<u8") return read_exact<std::uint64_t>(npy, file, to);
  fail(file, "has dtype '" + dtype +
                 "', the domain must be float64 ('<f8'), float32 or whole numbers, little-endian; "
                 "save it with .astype('<f8')");
}

void read_mask_into(const std::filesystem::path& file, const Target<std::uint8_t>& to) {
  NpyFile npy(file);
  const std::string& dtype = npy.header().dtype;
  if (dtype == "|b1" || dtype == "|u1") {
    return read_cells<std::uint8_t>(npy, to, [](std::uint8_t value, std::size_t) {
      return static_cast<std::uint8_t>(value != 0);
    });
  }
  if (dtype == "|i1") return read_zeros_and_ones<std::int8_t>(npy, file, 1, to);
  // Of whole numbers the bits tell.
  if (dtype == "<i2" || dtype == "<u2") return read_zeros_and_ones<std::uint16_t>(npy, file, 1, to);
  if (dtype == "<i4" || dtype == "<u4") return read_zeros_and_ones<std::uint32_t>(npy, file, 1, to);
  if (dtype == "<i8" || dtype == "<u8") return read_zeros_and_ones<std::uint64_t>(npy, file, 1, to);
  constexpr std::uint16_t half_precision_one = 0x3c00;
  if (dtype == "<f2") return read_zeros_and_ones(npy, file, half_precision_one, to);
  if (dtype == "<f4") return read_zeros_and_ones<float>(npy, file, 1, to);
  if (dtype == "<f8") return read_zeros_and_ones<double>(npy, file, 1, to);
  fail(file, "has dtype '" + dtype +
                 "', the interior mask must be bool ('|b1'), or little-endian numbers that are 0 "
                 "or 1; save it with .astype(bool)");
}

/// Hands all of an array over in pieces.
template <class Cell>
Target<Cell> in_pieces(const Pieces<Cell>& to) {
  return {[&to](GridShape shape) -> Cell* {
            to.begin(shape);
            return nullptr;
          },
          to.cells};
}

/// Makes it a grid. Of more than `most_cells` it asks for no memory.
template <class Cell>
Target<Cell> into(Grid<Cell>& grid, const std::filesystem::path& file,
                  std::size_t most_cells = std::numeric_limits<std::size_t>::max()) {
  return {[&grid, &file, most_cells](GridShape shape) {
            if (shape.rows > most_cells / shape.cols)
              fail(file, "has more than " + std::to_string(most_cells) + " cells");
            grid = Grid<Cell>(shape.rows, shape.cols);
            return grid.cells.data();
          },
          {}};
}

std::string header_of(const std::string& dtype, GridShape shape) {
  std::string text = "{'descr': '" + dtype + "', 'fortran_order': False, 'shape': (" +
                     std::to_string(shape.rows) + ", " + std::to_string(shape.cols) + "), }";
  constexpr std::size_t prefix = 10;
  text.append(63 - (prefix + text.size()) % 64, ' ');  // data start at a multiple of 64
  text += '\n';
  std::string header(beginning);
  header +=
      {'\x01', '\0', static_cast<char>(text.size() % 256), static_cast<char>(text.size() / 256)};
  return header + text;
}

void write_npy(const std::filesystem::path& file, const std::string& dtype, GridShape shape,
               const void* data, std::size_t size_bytes) {
  std::ofstream stream(file, std::ios::binary | std::ios::trunc);
  stream << header_of(dtype, shape);
  stream.write(static_cast<const char*>(data), static_cast<std::streamsize>(size_bytes));
  stream.close();
  if (!stream) throw RunError(file.string() + " cannot be written: " + std::strerror(errno));
}

}  // namespace

void read_float(const std::filesystem::path& file, const Pieces<double>& to) {
  read_float_into(file, in_pieces(to));
}

void read_mask(const std::filesystem::path& file, const Pieces<std::uint8_t>& to) {
  read_mask_into(file, in_pieces(to));
}

Grid<double> read_float(const std::filesystem::path& file) {
  Grid<double> grid;
  read_float_into(file, into(grid, file));
  return grid;
}

Grid<std::uint8_t> read_mask(const std::filesystem::path& file, std::size_t most_cells) {
  Grid<std::uint8_t> grid;
  read_mask_into(file, into(grid, file, most_cells));
  return grid;
}

GridShape read_shape(const std::filesystem::path& file) {
  const NpyFile npy(file);
  const std::string& dtype = npy.header().dtype;
  std::size_t item_size = 0;  // the number in "<f8"
  const char* end = dtype.data() + dtype.size();
  std::from_chars(dtype.data() + std::min<std::size_t>(2, dtype.size()), end, item_size);
  if (item_size == 0) fail(file, "has dtype '" + dtype + "', which is no number");
  npy.expect_items_of(item_size);
  return npy.header().shape;
}

void write_float(const std::filesystem::path& file, const Grid<double>& grid) {
  write_npy(file, "<f8", {grid.rows, grid.cols}, grid.cells.data(), grid.cells.size() * 8);
}

std::string bytes_of(const Grid<double>& grid) {
  std::string bytes = header_of("<f8", {grid.rows, grid.cols});
  bytes.append(reinterpret_cast<const char*>(grid.cells.data()), grid.cells.size() * 8);
  return bytes;
}

void write_mask(const std::filesystem::path& file, const Grid<std::uint8_t>& grid) {
  write_npy(file, "|b1", {grid.rows, grid.cols}, grid.cells.data(), grid.cells.size());
}

}  // namespace wallheat::npy
