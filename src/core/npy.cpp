#include "core/npy.hpp"

#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wallheat/error.hpp"

// The format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
namespace wallheat::npy {
namespace {

static_assert(std::endian::native == std::endian::little, "NPY data are read in place");

constexpr std::string_view magic = "\x93NUMPY";

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
  explicit NpyFile(const std::filesystem::path& path) : path_(path) {
    std::error_code error;
    const auto status = std::filesystem::status(path, error);
    if (!std::filesystem::exists(status)) fail(path, "no such file");
    if (!std::filesystem::is_regular_file(status)) fail(path, "not a regular file");
    size_ = std::filesystem::file_size(path, error);
    stream_.open(path, std::ios::binary);
    if (error || !stream_) fail(path, std::string("cannot be opened: ") + std::strerror(errno));
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
  void read_items(T* target, std::size_t count) {
    stream_.seekg(static_cast<std::streamoff>(header_.data_offset));
    read_bytes(reinterpret_cast<char*>(target), count * sizeof(T));
  }

 private:
  void read_bytes(char* target, std::size_t count) {
    if (!stream_.read(target, static_cast<std::streamsize>(count))) {
      fail(path_, "cannot be read to its end");
    }
  }

  void read_header() {
    std::array<unsigned char, 12> start{};
    const std::size_t least = magic.size() + 4;
    if (size_ < least) fail(path_, "is not an NPY file");
    read_bytes(reinterpret_cast<char*>(start.data()), least);
    if (std::memcmp(start.data(), magic.data(), magic.size()) != 0) {
      fail(path_, "is not an NPY file");
    }
    const int major = start[6];
    std::uint64_t length = start[8] + 256U * start[9];
    std::uint64_t text_offset = least;
    if (major == 2 || major == 3) {
      text_offset = least + 2;
      if (size_ < text_offset) fail(path_, "is truncated in its header");
      read_bytes(reinterpret_cast<char*>(start.data()) + least, 2);
      length += 65536ULL * start[10] + 16777216ULL * start[11];
    } else if (major != 1) {
      fail(path_, "has NPY format version " + std::to_string(major) + ", which is not known");
    }
    if (length > size_ - text_offset) fail(path_, "is truncated in its header");
    std::string text(length, '\0');
    read_bytes(text.data(), text.size());
    header_ = DictionaryParser(path_, text).parse();
    header_.data_offset = text_offset + length;
  }

  std::filesystem::path path_;
  std::uint64_t size_ = 0;
  std::ifstream stream_;
  Header header_;
};

/// Reads items of type Item and turns them into a row-major grid of Cell.
template <class Cell, class Item, class Convert>
Grid<Cell> read_grid(NpyFile& npy, Convert convert) {
  npy.expect_items_of(sizeof(Item));
  const auto [rows, cols] = npy.header().shape;
  Grid<Cell> grid(rows, cols);
  if constexpr (std::is_same_v<Cell, Item>) {
    if (!npy.header().fortran_order) {
      npy.read_items(grid.cells.data(), grid.cells.size());
      for (Cell& cell : grid.cells) cell = convert(cell);
      return grid;
    }
  }
  std::vector<Item> items(rows * cols);
  npy.read_items(items.data(), items.size());
  const bool fortran = npy.header().fortran_order;
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t col = 0; col < cols; ++col) {
      grid(row, col) = convert(items[fortran ? col * rows + row : row * cols + col]);
    }
  }
  return grid;
}

void write_npy(const std::filesystem::path& file, const std::string& dtype, GridShape shape,
               const void* data, std::size_t size_bytes) {
  std::string text = "{'descr': '" + dtype + "', 'fortran_order': False, 'shape': (" +
                     std::to_string(shape.rows) + ", " + std::to_string(shape.cols) + "), }";
  constexpr std::size_t prefix = 10;
  text.append(63 - (prefix + text.size()) % 64, ' ');  // data start at a multiple of 64
  text += '\n';
  std::ofstream stream(file, std::ios::binary | std::ios::trunc);
  stream << magic << '\x01' << '\0' << static_cast<char>(text.size() % 256)
         << static_cast<char>(text.size() / 256) << text;
  stream.write(static_cast<const char*>(data), static_cast<std::streamsize>(size_bytes));
  stream.close();
  if (!stream) throw RunError(file.string() + " cannot be written: " + std::strerror(errno));
}

}  // namespace

Grid<double> read_float(const std::filesystem::path& file) {
  NpyFile npy(file);
  const std::string& dtype = npy.header().dtype;
  if (dtype == "<f8") return read_grid<double, double>(npy, [](double value) { return value; });
  if (dtype == "<f4")
    return read_grid<double, float>(npy, [](float value) { return double{value}; });
  fail(file, "has dtype '" + dtype + "', the domain must be float64 ('<f8') or float32 ('<f4')");
}

Grid<std::uint8_t> read_mask(const std::filesystem::path& file) {
  NpyFile npy(file);
  const std::string& dtype = npy.header().dtype;
  if (dtype != "|b1" && dtype != "|u1") {
    fail(file,
         "has dtype '" + dtype + "', the interior mask must be bool ('|b1') or uint8 ('|u1')");
  }
  return read_grid<std::uint8_t, std::uint8_t>(
      npy, [](std::uint8_t value) { return static_cast<std::uint8_t>(value != 0); });
}

GridShape read_shape(const std::filesystem::path& file) { return NpyFile(file).header().shape; }

void write_float(const std::filesystem::path& file, const Grid<double>& grid) {
  write_npy(file, "<f8", {grid.rows, grid.cols}, grid.cells.data(), grid.cells.size() * 8);
}

void write_mask(const std::filesystem::path& file, const Grid<std::uint8_t>& grid) {
  write_npy(file, "|b1", {grid.rows, grid.cols}, grid.cells.data(), grid.cells.size());
}

}  // namespace wallheat::npy
