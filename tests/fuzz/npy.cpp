// The two files of a floor plan. An input is a 16-bit size, so many bytes of the domain's file, and
// the interior's file.

#include <cmath>
#include <cstring>

#include "core/plan_files.hpp"
#include "target.hpp"
#include "wallheat/error.hpp"
#include "wallheat/floor_plan_files.hpp"

namespace wallheat::fuzz {
namespace {

std::string joined(const std::string& domain, const std::string& interior) {
  const auto size = static_cast<std::uint16_t>(domain.size());
  return std::string(reinterpret_cast<const char*>(&size), sizeof size) + domain + interior;
}

std::string npy(const std::string& start, const std::string& header, const std::string& data) {
  const auto length = static_cast<std::uint32_t>(header.size());
  const bool wide = start[0] > 1;
  return "\x93NUMPY" + start + std::string(reinterpret_cast<const char*>(&length), wide ? 4 : 2) +
         header + data;
}

}  // namespace

std::vector<std::string> seeds() {
  FloorPlan plan{Grid<double>(3, 4, 20.0), Grid<std::uint8_t>(3, 4, 1)};
  save_floor_plan(directory(), "seed", plan);
  const std::string domain = read_file(directory() / "seed_domain.npy");
  const std::string interior = read_file(directory() / "seed_interior.npy");
  const std::string narrow =
      npy({2, 0}, "{'descr': '<f4', 'fortran_order': True, 'shape': (3, 4), }\n",
          std::string(48, '\0'));
  const std::string bytes = npy(
      {1, 0}, "{\"shape\": (3, 4), 'fortran_order': True, 'descr': '|u1'}", std::string(12, '\2'));
  // Whose number of cells, or of bytes, is 0 or 16 beyond 64 bits.
  const std::string wild = npy(
      {1, 0}, "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296), }", "");
  const std::string wilder =
      npy({3, 0}, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 1152921504606846977), }",
          std::string(16, '\0'));
  return {joined(domain, interior), joined(narrow, bytes), joined(wild, interior),
          joined(wilder, bytes), joined(interior, domain)};
}

}  // namespace wallheat::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wallheat;
  using namespace wallheat::fuzz;
  std::uint16_t domain_size = 0;
  if (size < sizeof domain_size) return 0;
  std::memcpy(&domain_size, data, sizeof domain_size);
  const auto files = text_of(data, size).substr(sizeof domain_size);
  const auto cut = std::min<std::size_t>(domain_size, files.size());
  write_file(directory() / "plan_domain.npy", files.substr(0, cut));
  write_file(directory() / "plan_interior.npy", files.substr(cut));

  accepts<InputError>([] {
    const FloorPlan plan = load_floor_plan(directory(), "plan");
    const auto [rows, cols] = floor_plan_shape(directory(), "plan");
    require(rows == plan.domain.rows && cols == plan.domain.cols, "another shape");
    require(rows == plan.interior.rows && cols == plan.interior.cols, "two shapes");
    require(plan.domain.cells.size() == rows * cols, "a domain without its cells");
    require(plan.interior.cells.size() == rows * cols, "a mask without its cells");
    for (const double value : plan.domain.cells) require(std::abs(value) <= 1e300, "a wild value");
    for (const auto value : plan.interior.cells) require(value <= 1, "a mask that is none");
  });
  accepts<InputError>([] { (void)floor_plan_shape(directory(), "plan"); });
  return 0;
}
