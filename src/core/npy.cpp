#include "core/npy.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <type_traits>

#include "core/text.hpp"
#include "wallheat/error.hpp"

// Format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
namespace wallheat::npy {
namespace {

static_assert(std::endian::native == std::endian::little, "items are read without conversion");

constexpr std::size_t longest_prefix = 12;
constexpr std::size_t longest_header = 10'000;  // limit of NumPy
static_assert(prefix_size == longest_prefix + longest_header);

struct Header {
  std::string dtype;  // as in the file, "<f8"
  bool fortran_order = false;
  GridShape shape;
  std::size_t size = 0;  ///< size of everything before the items, in bytes
};

[[noreturn]] void fail(const std::string& name, const std::string& cause) {
  throw InputError(name + ": " + cause);
}

std::string_view trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\n"), text.size()));
  return text.substr(0, text.find_last_not_of(" \t\n") + 1);
}

/// Returns the text after a key of the header and its colon. The header is a Python dictionary,
/// which NumPy always writes in this form: {'descr': '<f8', 'fortran_order': False, 'shape': (512,
/// 512), }. Returns an empty string if the key is missing.
std::string_view value_of(std::string_view key, std::string_view dictionary) {
  for (const char quote : {'\'', '"'}) {
    const auto at = dictionary.find(quote + std::string(key) + quote);
    if (at == std::string_view::npos) continue;
    const auto rest = trimmed(dictionary.substr(at + key.size() + 2));
    return rest.starts_with(':') ? trimmed(rest.substr(1)) : std::string_view();
  }
  return {};
}

/// Parses the text of a header.
Header parsed(const std::string& name, std::string_view text) {
  const auto require = [&](bool holds) {
    if (!holds) fail(name, "its NPY header cannot be parsed");
  };
  Header header;
  const auto dtype = value_of("descr", text);
  if (dtype.starts_with('[')) fail(name, "has a structured dtype");
  require(dtype.starts_with('\'') || dtype.starts_with('"'));
  const auto dtype_end = dtype.find(dtype.front(), 1);
  require(dtype_end != std::string_view::npos);
  header.dtype = dtype.substr(1, dtype_end - 1);
  const auto order = value_of("fortran_order", text);
  header.fortran_order = order.starts_with("True");
  require(header.fortran_order || order.starts_with("False"));
  auto shape = value_of("shape", text);
  require(shape.starts_with('(') && shape.find(')') != std::string_view::npos);
  shape = trimmed(shape.substr(1, shape.find(')') - 1));
  std::vector<std::size_t> sizes;
  while (!shape.empty()) {
    auto number = trimmed(shape.substr(0, shape.find(',')));
    shape = trimmed(shape.substr(std::min(shape.find(','), shape.size() - 1) + 1));
    if (number.ends_with('L')) number.remove_suffix(1);  // long of Python 2
    const auto size = parse_number<std::size_t>(number);
    require(size.has_value());
    sizes.push_back(*size);
  }
  if (sizes.size() != 2)
    fail(name, "has " + count_text(sizes.size(), "dimension") + ", a floor plan has 2");
  header.shape = {sizes[0], sizes[1]};
  return header;
}

/// Parses the header of a file of `size` bytes that begins with `bytes`.
Header header_in(const std::string& name, std::span<const std::byte> bytes, std::uint64_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.size() < 10 || !text.starts_with(magic)) fail(name, "is not an NPY file");
  const auto byte = [&](std::size_t at) {
    return at < bytes.size() ? std::to_integer<std::size_t>(bytes[at]) : 0;
  };
  const std::size_t major = byte(6);
  if (major < 1 || major > 3)
    fail(name, "has NPY format version " + std::to_string(major) + ", which is not supported");
  // The length of the text has two bytes in version 1 and four bytes in later versions.
  const std::size_t prefix = major > 1 ? longest_prefix : 10;
  std::size_t length = byte(8) + (byte(9) << 8);
  if (major > 1) length += (byte(10) << 16) + (byte(11) << 24);
  if (prefix + length > size) fail(name, "is truncated in its header");
  if (length > longest_header) fail(name, "has a header that is longer than NumPy writes");
  Header header = parsed(name, text.substr(prefix, length));
  header.size = prefix + length;
  return header;
}

/// Throws InputError unless items of the shape in the header fill a file of `size` bytes exactly.
void expect_items_of(std::size_t item_size, const std::string& name, const Header& header,
                     std::uint64_t size) {
  const auto [rows, cols] = header.shape;
  if (rows == 0 || cols == 0)
    fail(name, "the grid is empty (" + std::to_string(rows) + " x " + std::to_string(cols) + ")");
  const std::uint64_t data = size - header.size;
  const std::uint64_t available = data / item_size;
  const bool too_large = rows > available || cols > available / rows;
  if (!too_large && data == rows * cols * item_size) return;
  fail(name, std::string(too_large ? "is truncated" : "has trailing bytes") +
                 ": the header describes " + std::to_string(rows) + " x " + std::to_string(cols) +
                 " values of " + count_text(item_size, "byte") + ", but the file contains " +
                 std::to_string(data) + " bytes of data");
}

/// Calls use(Item()) with the type of a dtype. Returns false if the dtype is not one of these.
template <class Use>
bool with_item_type(std::string_view dtype, Use use) {
  const auto is = [&](std::string_view name, auto item) {
    if (dtype != name) return false;
    use(item);
    return true;
  };
  return is("<f8", double()) || is("<f4", float()) || is("|b1", std::uint8_t()) ||
         is("|u1", std::uint8_t()) || is("|i1", std::int8_t()) || is("<u2", std::uint16_t()) ||
         is("<i2", std::int16_t()) || is("<u4", std::uint32_t()) || is("<i4", std::int32_t()) ||
         is("<u8", std::uint64_t()) || is("<i8", std::int64_t());
}

/// Converts items to cells; convert(item, index of the cell) may throw.
template <class Item, class Cell, class Convert>
Grid<Cell> converted(const NamedBytes& file, const Header& header, Convert convert) {
  const auto [rows, cols] = header.shape;
  const std::byte* const items = file.bytes.data() + header.size;
  Grid<Cell> grid;
  grid.rows = rows;
  grid.cols = cols;
  if constexpr (std::is_same_v<Item, double> && std::is_same_v<Cell, double>) {
    // This applies to nearly every domain file: NumPy aligns the items, so they can be copied
    // unchanged.
    if (!header.fortran_order && reinterpret_cast<std::uintptr_t>(items) % alignof(double) == 0) {
      const auto* const first = reinterpret_cast<const double*>(items);
      grid.cells.assign(first, first + rows * cols);
      return grid;
    }
  }
  grid.cells.resize(rows * cols);
  const auto item_at = [&](std::size_t index) {
    Item item;
    std::memcpy(&item, items + index * sizeof item, sizeof item);
    return item;
  };
  if (!header.fortran_order) {
    for (std::size_t cell = 0; cell < grid.cells.size(); ++cell)
      grid.cells[cell] = convert(item_at(cell), cell);
    return grid;
  }
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t col = 0; col < cols; ++col)
      grid(row, col) = convert(item_at(col * rows + row), row * cols + col);
  return grid;
}

[[noreturn]] void fail_at(std::size_t cell, const std::string& name, const Header& header,
                          const std::string& cause) {
  fail(name, "the value in row " + std::to_string(cell / header.shape.cols) + ", column " +
                 std::to_string(cell % header.shape.cols) + " " + cause);
}

std::string header_of(const char* dtype, std::size_t rows, std::size_t cols) {
  std::string text = std::string("{'descr': '") + dtype + "', 'fortran_order': False, 'shape': (" +
                     std::to_string(rows) + ", " + std::to_string(cols) + "), }";
  constexpr std::size_t prefix = 10;
  text.append(63 - (prefix + text.size()) % 64, ' ');  // data begin at a multiple of 64 bytes
  text += '\n';
  std::string bytes(magic);
  bytes +=
      {'\x01', '\0', static_cast<char>(text.size() % 256), static_cast<char>(text.size() / 256)};
  return bytes + text;
}

template <class Cell>
std::string file_of(const Grid<Cell>& grid) {
  const auto items = std::as_bytes(std::span(grid.cells));
  std::string file = header_bytes(grid);
  file.reserve(file.size() + items.size());
  return file.append(reinterpret_cast<const char*>(items.data()), items.size());
}

}  // namespace

Grid<double> read_float(const NamedBytes& file) {
  const Header header = header_in(file.name, file.bytes, file.bytes.size());
  Grid<double> grid;
  const auto read = [&](auto type) {
    using Item = decltype(type);
    expect_items_of(sizeof(Item), file.name, header, file.bytes.size());
    grid = converted<Item, double>(file, header, [&](Item item, std::size_t cell) {
      const auto exact = static_cast<double>(item);
      if constexpr (std::is_integral_v<Item> && sizeof(Item) == 8) {
        // The range is checked separately, because a double outside of it cannot be converted back.
        const bool in_range = exact < static_cast<double>(std::numeric_limits<Item>::max());
        if (!in_range || static_cast<Item>(exact) != item)
          fail_at(cell, file.name, header,
                  "is " + std::to_string(item) + ", which float64 cannot represent exactly");
      }
      return exact;
    });
  };
  if (header.dtype == "|b1" || !with_item_type(header.dtype, read))
    fail(file.name, "has dtype '" + header.dtype +
                        "', but it must be float64 ('<f8'), float32 or integers, "
                        "little-endian; save it with .astype('<f8')");
  return grid;
}

Grid<double> read_float(const std::string& name, const InputFile& file) {
  const auto start = file.read_range(0, std::min<std::uint64_t>(file.size(), prefix_size));
  const Header header = header_in(name, start, file.size());
  if (header.dtype != "<f8" || header.fortran_order)
    return read_float({name, file.read_range(0, file.size())});
  expect_items_of(sizeof(double), name, header, file.size());
  Grid<double> grid(header.shape.rows, header.shape.cols);
  file.read_at(header.size, std::as_writable_bytes(std::span(grid.cells)));
  return grid;
}

Grid<std::uint8_t> read_mask(const NamedBytes& file, std::size_t max_cells) {
  const Header header = header_in(file.name, file.bytes, file.bytes.size());
  Grid<std::uint8_t> grid;
  const auto read = [&](auto type) {
    using Item = decltype(type);
    expect_items_of(sizeof(Item), file.name, header, file.bytes.size());
    if (header.shape.rows > max_cells / header.shape.cols)
      fail(file.name, "has more than " + std::to_string(max_cells) + " cells");
    grid = converted<Item, std::uint8_t>(file, header, [&](Item item, std::size_t cell) {
      if constexpr (!std::is_same_v<Item, std::uint8_t>) {
        if (item != Item{0} && item != Item{1})
          fail_at(cell, file.name, header,
                  "is neither 0 nor 1, as a mask with dtype '" + header.dtype + "' requires");
      }
      return static_cast<std::uint8_t>(item != Item{0} ? 1 : 0);
    });
  };
  if (!with_item_type(header.dtype, read))
    fail(file.name,
         "has dtype '" + header.dtype +
             "', but the interior mask must be bool ('|b1') or little-endian numbers that "
             "are 0 or 1; save it with .astype(bool)");
  return grid;
}

GridShape read_shape(const std::string& name, std::span<const std::byte> start,
                     std::uint64_t size) {
  const Header header = header_in(name, start, size);
  std::size_t item_size = 0;  // the number in "<f8"
  const char* end = header.dtype.data() + header.dtype.size();
  std::from_chars(header.dtype.data() + std::min<std::size_t>(2, header.dtype.size()), end,
                  item_size);
  if (item_size == 0) fail(name, "has dtype '" + header.dtype + "', which is not a number type");
  expect_items_of(item_size, name, header, size);
  return header.shape;
}

void require_max_cells(std::size_t max_cells, const std::string& name, std::uint64_t size) {
  constexpr std::size_t largest_item = 8;
  if (size > prefix_size && (size - prefix_size) / largest_item > max_cells)
    fail(name, "has more than " + std::to_string(max_cells) + " cells");
}

std::string header_bytes(const Grid<double>& grid) {
  return header_of("<f8", grid.rows, grid.cols);
}

std::string header_bytes(const Grid<std::uint8_t>& mask) {
  return header_of("|b1", mask.rows, mask.cols);
}

std::string to_bytes(const Grid<double>& grid) { return file_of(grid); }

std::string to_bytes(const Grid<std::uint8_t>& mask) { return file_of(mask); }

}  // namespace wallheat::npy
