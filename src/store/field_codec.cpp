#include "store/field_codec.hpp"

#include <optional>
#include <string>

#include "io/deflate.hpp"
#include "wallheat/error.hpp"

// The output of HDF5's shuffle and deflate filters for a chunk of float64. H5Dwrite_chunk() writes
// it unchanged, and all HDF5 programs can read it.
namespace wallheat {
namespace {

[[noreturn]] void damaged() { throw RunError("a stored temperature field is damaged"); }

}  // namespace

std::string field_size_error(GridShape shape) {
  // Less than 4 GiB, because deflate may make incompressible data larger by a thousandth.
  constexpr std::size_t max_cells = (std::size_t{1} << 29) - (std::size_t{1} << 20);
  if (shape.rows == 0 || shape.cols <= max_cells / shape.rows) return {};
  return "its field of " + std::to_string(shape.rows) + " x " + std::to_string(shape.cols) +
         " cells exceeds the limit of 4 GiB for a plan; solve it without "
         "--save-fields into another file";
}

std::vector<std::byte> compress_field(const Grid<double>& field) {
  // The high bytes of shuffled fields contain long runs, and the low bytes are noise. A higher
  // level takes 1.5 times as long and saves 1 % (see README.md).
  return deflate(shuffle(field.cells), CompressionLevel::fast);
}

void attach_field(PlanResult& result, const Grid<double>& field) {
  result.field = compress_field(field);
  result.field_bytes = static_cast<std::int64_t>(result.field.size());
  result.field_crc32 = crc32_of(result.field);
}

Grid<double> decompress_field(std::span<const std::byte> chunk, GridShape shape) {
  const std::size_t max_cells = max_inflated_size(chunk.size()) / sizeof(double);
  if (shape.rows == 0 || shape.cols == 0 || shape.cols > max_cells / shape.rows) damaged();
  std::vector<std::byte> planes(shape.rows * shape.cols * sizeof(double));
  if (!inflate(chunk, planes)) damaged();
  Grid<double> field(shape.rows, shape.cols);
  unshuffle(planes, field.cells);
  return field;
}

std::vector<Difference> differences_with_fields(const PlanResult& first, const PlanResult& second) {
  const auto one_has_none = first.field.empty() || second.field.empty();
  if (one_has_none || first.field == second.field)
    return find_differences(ComparableResult{first}, ComparableResult{second});
  const auto unpacked = [](const PlanResult& result) -> std::optional<Grid<double>> {
    try {
      return decompress_field(result.field, {result.rows, result.cols});
    } catch (const RunError&) {
      return std::nullopt;
    }
  };
  const auto a = unpacked(first);
  const auto b = unpacked(second);
  auto found = find_differences(ComparableResult{first, a ? &*a : nullptr},
                                ComparableResult{second, b ? &*b : nullptr});
  if (!a || !b) found.push_back({"field", a ? "sound" : "damaged", b ? "sound" : "damaged"});
  return found;
}

}  // namespace wallheat
