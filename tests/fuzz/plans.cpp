// Files of floor plans: NPY files and zip archives.

#include <cmath>
#include <sstream>

#include "core/npy.hpp"
#include "core/plan_files.hpp"
#include "plans/plan_source.hpp"
#include "plans/zip_writer.hpp"
#include "support/results.hpp"
#include "support/shapes.hpp"
#include "target.hpp"
#include "wallheat/error.hpp"
#include "wallheat/floor_plan_files.hpp"

namespace wallheat::fuzz {
namespace {

/// Returns an NPY file of version 1, 2 or 3.
std::string npy_file(char version, const std::string& header, const std::string& data) {
  const auto length = static_cast<std::uint32_t>(header.size());
  return std::string(npy::magic) + version + '\0' +
         text_of(std::as_bytes(std::span(&length, 1)).first(version > 1 ? 4 : 2)) + header + data;
}

/// Each seed is an initial field and a mask.
std::vector<std::string> npy_seeds() {
  const std::string domain = npy::to_bytes(Grid<double>(3, 4, 20.0));
  const std::string interior = npy::to_bytes(Grid<std::uint8_t>(3, 4, 1));
  const std::string narrow = npy_file(
      2, "{'descr': '<f4', 'fortran_order': True, 'shape': (3, 4), }\n", std::string(48, '\0'));
  const std::string bytes = npy_file(
      1, "{\"shape\": (3, 4), 'fortran_order': True, 'descr': '|u1'}", std::string(12, '\2'));
  // The number of cells, or of bytes, overflows 64 bits to 0 or 16.
  const std::string wild = npy_file(
      1, "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296), }", "");
  const std::string wilder =
      npy_file(3, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 1152921504606846977), }",
               std::string(16, '\0'));
  return {joined(domain, interior), joined(narrow, bytes), joined(wild, interior),
          joined(wilder, bytes), joined(interior, domain)};
}

void read_npy(std::string_view input) {
  const auto [domain, interior] = split(input);
  write_bytes(directory() / "plan_domain.npy", domain);
  write_bytes(directory() / "plan_interior.npy", interior);
  accepts<InputError>([] { (void)floor_plan_shape(directory(), "plan"); });
  accepts<InputError>([] {
    const FloorPlan plan = load_floor_plan(directory(), "plan");
    const auto [rows, cols] = floor_plan_shape(directory(), "plan");
    require(rows == plan.domain.rows && cols == plan.domain.cols,
            "the shape differs from the initial field");
    require(rows == plan.interior.rows && cols == plan.interior.cols,
            "the shape differs from the mask");
    require(plan.domain.cells.size() == rows * cols, "the initial field lacks cells");
    require(plan.interior.cells.size() == rows * cols, "the mask lacks cells");
    for (const double value : plan.domain.cells)
      require(std::abs(value) <= 1e300, "a value out of range");
    for (const auto value : plan.interior.cells)
      require(value <= 1, "a mask value other than 0 and 1");
  });
}

FloorPlan plan_in_archive(const std::string& id) {
  FloorPlan plan = id == "1" ? room(9, 13) : random_plan(20, 30, 60, 1);
  if (id == "2") plan.source = Grid<double>(20, 30, 0.5);
  return plan;
}

/// A valid archive, and archives with changes in the central directory and its end, which have no
/// checksum.
std::vector<std::string> zip_seeds() {
  std::ostringstream out;
  ZipWriter zip_writer(out);
  const auto add = [&](const std::string& name, const std::string& bytes) {
    zip_writer.add(compress_member("p/" + name, bytes));
  };
  for (const std::string id : {"1", "2"}) {
    for (const auto& [file, content] : encode_plan_files(plan_in_archive(id)))
      add(plan_file_name(id, file), content);
  }
  add("building_ids.txt", "2\n1\n");
  add("spacing.txt", "0.5\n");
  zip_writer.finish();
  const std::string archive = out.str();
  std::vector<std::string> seeds{archive};
  const std::size_t list = archive.find("PK\x01\x02");
  const std::size_t end = archive.size() - 98;  // the Zip64 record
  // Numbers that are moved or out of range; long names.
  for (const std::size_t at : {list + 20, list + 28, list + 42, end + 32, end + 40, end + 48})
    seeds.push_back(std::string(archive).replace(at, 8, 8, '\xff'));
  return seeds;
}

/// A plan that loads equals the one that was added, because all data of a plan have checksums.
void read_zip(std::string_view input) {
  const auto path = directory() / "odd.zip";
  write_bytes(path, input);
  accepts<RunError>([&] { (void)read_spacing(path); });
  accepts<RunError>([&] {
    const auto source = open_plan_source(path);
    accepts<RunError>([&] { (void)source->ids(); });
    for (const std::string id : {"1", "2"}) {
      accepts<InputError>([&] { (void)source->shape(id); });
      accepts<InputError>([&] { (void)source->interior(id, 1000); });
      accepts<InputError>([&] {
        const FloorPlan found = source->load(id);
        const FloorPlan plan = plan_in_archive(id);
        require(found.domain == plan.domain, "the initial field differs from the added one");
        require(found.interior == plan.interior, "the mask differs from the added one");
        // A heat source whose name is damaged is not found.
        require(!found.has_heat_source() || found.source == plan.source,
                "the heat source differs from the added one");
      });
    }
  });
}

}  // namespace

const Target npy{"npy", 20'000, npy_seeds, read_npy};
const Target zip{"zip", 20'000, zip_seeds, read_zip};

}  // namespace wallheat::fuzz
