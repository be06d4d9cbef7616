#include "wallheat/floor_plan.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <span>
#include <system_error>
#include <tuple>

#include "core/cell_statistics.hpp"
#include "core/npy.hpp"
#include "core/plan_files.hpp"
#include "core/plan_ids.hpp"
#include "core/system_limits.hpp"
#include "wallheat/error.hpp"
#include "wallheat/floor_plan_files.hpp"

namespace wallheat {
namespace {

std::string shape_text(std::size_t rows, std::size_t cols) {
  return std::to_string(rows) + " x " + std::to_string(cols);
}

}  // namespace

std::string_view plan_file_suffix(PlanFile file) {
  constexpr std::array<std::string_view, 3> endings{"_domain.npy", "_interior.npy", "_source.npy"};
  return endings.at(static_cast<std::size_t>(file));
}

std::string plan_file_name(const std::string& id, PlanFile file) {
  require_valid_id(id);
  return std::string(id).append(plan_file_suffix(file));
}

std::optional<std::pair<PlanFile, std::string_view>> parse_plan_file_name(std::string_view name) {
  for (const PlanFile file : all_plan_files) {
    const std::string_view ending = plan_file_suffix(file);
    if (name.size() > ending.size() && name.ends_with(ending))
      return std::pair(file, name.substr(0, name.size() - ending.size()));
  }
  return std::nullopt;
}

FloorPlan read_floor_plan(const NumbersReader& read_numbers,
                          const std::function<NamedBytes()>& read_mask, bool has_source) {
  FloorPlan plan;
  const auto require_shape_of_domain = [&](const std::string& name, const auto& grid) {
    if (grid.rows == plan.domain.rows && grid.cols == plan.domain.cols) return;
    throw InputError(name + ": its shape " + shape_text(grid.rows, grid.cols) +
                     " differs from the domain's, " +
                     shape_text(plan.domain.rows, plan.domain.cols));
  };
  const auto read_finite = [&](PlanFile which, Grid<double>& numbers) {
    std::string name;
    std::tie(name, numbers) = read_numbers(which);
    require_finite_values(numbers, name);
    return name;
  };
  (void)read_finite(PlanFile::domain, plan.domain);
  const NamedBytes mask = read_mask();
  plan.interior = npy::read_mask(mask);
  require_shape_of_domain(mask.name, plan.interior);
  if (has_source) require_shape_of_domain(read_finite(PlanFile::source, plan.source), plan.source);
  return plan;
}

bool is_hidden(std::string_view name) {
  while (!name.empty()) {
    const std::string_view part = name.substr(0, name.find('/'));
    name.remove_prefix(std::min(part.size() + 1, name.size()));
    // The component "." of "./plans/7_domain.npy" does not hide the file: some programs begin each
    // name in an archive with it.
    if ((part.starts_with('.') && part != ".") || part == "__MACOSX") return true;
  }
  return false;
}

std::filesystem::path plan_file(const std::filesystem::path& directory, const std::string& id,
                                PlanFile file) {
  return directory / plan_file_name(id, file);
}

bool has_heat_source_file(const std::filesystem::path& directory, const std::string& id) {
  std::error_code unknown;
  const auto status =
      std::filesystem::symlink_status(plan_file(directory, id, PlanFile::source), unknown);
  return status.type() != std::filesystem::file_type::not_found;
}

FloorPlan load_floor_plan(const std::filesystem::path& directory, const std::string& id) {
  const auto read_numbers = [&](PlanFile which) {
    const InputFile file(plan_file(directory, id, which));
    return std::pair(file.name(), npy::read_float(file.name(), file));
  };
  return read_floor_plan(
      read_numbers, [&] { return read_input_file(plan_file(directory, id, PlanFile::interior)); },
      has_heat_source_file(directory, id));
}

std::vector<std::pair<PlanFile, std::string>> encode_plan_files(const FloorPlan& plan) {
  std::vector<std::pair<PlanFile, std::string>> files{
      {PlanFile::domain, npy::to_bytes(plan.domain)},
      {PlanFile::interior, npy::to_bytes(plan.interior)}};
  if (plan.has_heat_source()) files.emplace_back(PlanFile::source, npy::to_bytes(plan.source));
  return files;
}

void save_floor_plan(const std::filesystem::path& directory, const std::string& id,
                     const FloorPlan& plan) {
  for (const auto& [file, bytes] : encode_plan_files(plan)) {
    const auto path = plan_file(directory, id, file);
    std::ofstream stream(path, std::ios::binary | std::ios::trunc);
    stream << bytes;
    stream.close();
    if (!stream) throw RunError(path.string() + " cannot be written: " + system_error_text(errno));
  }
  const auto source = plan_file(directory, id, PlanFile::source);
  std::error_code error;
  if (!plan.has_heat_source()) std::filesystem::remove(source, error);
  if (error) throw RunError(source.string() + " cannot be removed: " + error.message());
}

GridShape floor_plan_shape(const std::filesystem::path& directory, const std::string& id) {
  const InputFile file(plan_file(directory, id, PlanFile::domain));
  const auto start = file.read_range(0, std::min<std::uint64_t>(file.size(), npy::prefix_size));
  return npy::read_shape(file.name(), start, file.size());
}

void require_finite_values(const Grid<double>& values, const std::string& where) {
  const auto is_bad = [](double value) { return !(std::abs(value) <= max_magnitude); };
  // Checks blocks by counting, which needs no branch per value.
  constexpr std::size_t stretch = 1024;
  const std::span<const double> cells(values.cells);
  std::size_t cell = 0;
  for (; cell < cells.size(); cell += stretch) {
    const auto part = cells.subspan(cell, std::min(stretch, cells.size() - cell));
    if (std::count_if(part.begin(), part.end(), is_bad) > 0) break;
  }
  if (cell >= cells.size()) return;
  while (!is_bad(cells[cell])) ++cell;
  const double bad = cells[cell];
  throw InputError(where + ": the value in row " + std::to_string(cell / values.cols) +
                   ", column " + std::to_string(cell % values.cols) + " is " +
                   (std::isnan(bad)   ? "NaN"
                    : std::isinf(bad) ? "infinite"
                                      : "too large for the sum of four neighbours"));
}

std::int64_t count_interior(std::span<const std::uint8_t> mask) {
  // The count of one block must fit into a byte, because sixteen bytes are added at once.
  constexpr std::size_t stretch = 240;
  std::int64_t count = 0;
  for (std::size_t cell = 0; cell < mask.size(); cell += stretch) {
    std::uint8_t few = 0;
    for (const std::uint8_t each : mask.subspan(cell, std::min(stretch, mask.size() - cell)))
      few = static_cast<std::uint8_t>(few + (each != 0 ? 1 : 0));
    count += few;
  }
  return count;
}

std::int64_t count_interior(const Grid<std::uint8_t>& interior) {
  return count_interior(std::span<const std::uint8_t>(interior.cells));
}

std::int64_t count_interior(const FloorPlan& plan) { return count_interior(plan.interior); }

}  // namespace wallheat
