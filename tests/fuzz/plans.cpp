// What floor plans are made of.

#include <cmath>
#include <cstring>
#include <sstream>

#include "core/npy.hpp"
#include "core/plan_files.hpp"
#include "plans/drawing.hpp"
#include "plans/plan_source.hpp"
#include "plans/zip_writer.hpp"
#include "support/png.hpp"
#include "support/results.hpp"
#include "support/shapes.hpp"
#include "target.hpp"
#include "wallheat/error.hpp"
#include "wallheat/floor_plan_files.hpp"

namespace wallheat::fuzz {
namespace {

/// Two files as one input: the size of the first in 16 bits, and both.
std::string joined(const std::string& domain, const std::string& interior) {
  const auto size = static_cast<std::uint16_t>(domain.size());
  return std::string(reinterpret_cast<const char*>(&size), sizeof size) + domain + interior;
}

std::string npy_file(const std::string& version, const std::string& header,
                     const std::string& data) {
  const auto length = static_cast<std::uint32_t>(header.size());
  const bool wide = version[0] > 1;
  return std::string(npy::magic) + version +
         std::string(reinterpret_cast<const char*>(&length), wide ? 4 : 2) + header + data;
}

std::vector<std::string> npy_seeds() {
  const std::string domain = npy::bytes_of(Grid<double>(3, 4, 20.0));
  const std::string interior = npy::bytes_of(Grid<std::uint8_t>(3, 4, 1));
  const std::string narrow =
      npy_file({2, 0}, "{'descr': '<f4', 'fortran_order': True, 'shape': (3, 4), }\n",
               std::string(48, '\0'));
  const std::string bytes = npy_file(
      {1, 0}, "{\"shape\": (3, 4), 'fortran_order': True, 'descr': '|u1'}", std::string(12, '\2'));
  // Whose number of cells, or of bytes, is 0 or 16 beyond 64 bits.
  const std::string wild = npy_file(
      {1, 0}, "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296), }", "");
  const std::string wilder = npy_file(
      {3, 0}, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 1152921504606846977), }",
      std::string(16, '\0'));
  return {joined(domain, interior), joined(narrow, bytes), joined(wild, interior),
          joined(wilder, bytes), joined(interior, domain)};
}

void read_npy(std::string_view input) {
  std::uint16_t domain_size = 0;
  if (input.size() < sizeof domain_size) return;
  std::memcpy(&domain_size, input.data(), sizeof domain_size);
  input.remove_prefix(sizeof domain_size);
  const auto cut = std::min<std::size_t>(domain_size, input.size());
  write_bytes(directory() / "plan_domain.npy", input.substr(0, cut));
  write_bytes(directory() / "plan_interior.npy", input.substr(cut));
  accepts<InputError>([] { (void)floor_plan_shape(directory(), "plan"); });
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
}

const std::vector<NamedPlan>& plans_in_archive() {
  static const auto made = [] {
    std::vector<NamedPlan> all{{"1", room(9, 13)}, {"2", random_plan(20, 30, 60, 1)}};
    all[1].plan.source = Grid<double>(20, 30, 0.5);
    return all;
  }();
  return made;
}

const std::string& archive() {
  static const auto made = [] {
    std::ostringstream out;
    ZipWriter zip_writer(out);
    for (const auto& [id, plan] : plans_in_archive()) {
      const auto add = [&, &id = id](PlanFile file, const std::string& bytes) {
        zip_writer.add(compress_member("p/" + plan_file_name(id, file), bytes));
      };
      add(PlanFile::domain, npy::bytes_of(plan.domain));
      add(PlanFile::interior, npy::bytes_of(plan.interior));
      if (plan.has_source()) add(PlanFile::source, npy::bytes_of(plan.source));
    }
    zip_writer.add(compress_member("p/building_ids.txt", "2\n1\n"));
    zip_writer.add(compress_member("p/spacing.txt", "0.5\n"));
    zip_writer.finish();
    return out.str();
  }();
  return made;
}

/// Patches. They aim at the list of members and the end, which are under no checksum.
std::vector<std::string> zip_seeds() {
  const std::size_t all = archive().size();
  const std::size_t list = archive().find("PK\x01\x02");
  const std::size_t end = all - 98;  // the large one
  return {"",
          input_of({{0, 30, 1}}),
          input_of({{1, all / 2, 0}}),
          input_of({{0, list + 10, 4}, {0, list + 20, 255}, {0, list + 24, 255}}),
          input_of({{2, list + 20, 255}, {2, list + 42, 255}}),  // numbers that stand elsewhere
          input_of({{2, list + 28, 255}}),                       // long names
          input_of({{0, list + 8, 1}, {0, list + 46, 7}}),
          input_of({{2, end + 32, 255}}),
          input_of({{2, end + 40, 255}, {2, end + 48, 255}}),
          input_of({{2, end + 64, 1}}),
          input_of({{3, all - 1, 9}})};
}

/// A plan that loads is the one that was put in: all that says what a plan is has a checksum.
void read_zip(std::string_view input) {
  std::string bytes = archive();
  for (const Patch& patch : patches_in(input, 16)) damage(bytes, patch.what % 4, patch);
  const auto path = directory() / "patched.zip";
  write_bytes(path, bytes);
  accepts<RunError>([&] { (void)spacing_of_plans(path); });
  accepts<RunError>([&] {
    const auto source = open_plan_source(path);
    accepts<RunError>([&] { (void)source->ids(); });
    for (const auto& [id, expected] : plans_in_archive()) {
      accepts<InputError>([&, &id = id] { (void)source->shape(id); });
      accepts<InputError>([&, &id = id] { (void)source->interior(id, 1000); });
      accepts<InputError>([&, &id = id, &plan = expected] {
        const FloorPlan found = source->load(id);
        require(found.domain == plan.domain, "a start field that was not put in");
        require(found.interior == plan.interior, "a mask that was not put in");
        // A source whose name is damaged is none.
        require(!found.has_source() || found.source == plan.source, "another source");
      });
    }
  });
}

/// A letter that chooses the scale, and a picture, whose chunks get sound checksums.
std::vector<std::string> drawing_seeds() {
  std::string pixels;
  for (int i = 0; i < 12 * 9; ++i) pixels += i % 7 == 0 ? '\0' : i % 5 == 0 ? '\x80' : '\xff';
  std::vector<std::string> inputs;
  for (const auto& [format, rows, cols] : {std::tuple{png_uint_32{PNG_FORMAT_GRAY}, 12, 9},
                                           {PNG_FORMAT_GA, 6, 9},
                                           {PNG_FORMAT_RGB, 4, 9},
                                           {PNG_FORMAT_RGBA, 3, 9}})
    for (const char scale : {'0', '1', '2'}) {
      const NamedBytes png = png_of(pixels.data(), static_cast<std::size_t>(rows),
                                    static_cast<std::size_t>(cols), format);
      inputs.push_back(
          scale + std::string(reinterpret_cast<const char*>(png.bytes.data()), png.bytes.size()));
    }
  return inputs;
}

void read_drawing(std::string_view input) {
  if (input.empty()) return;
  const auto scale = static_cast<unsigned char>(input[0]);
  Legend legend{{{{255, 0, 0}, 25}, {{0, 0, 0}, 5}}};
  (scale % 2 == 0 ? legend.cells_a_pixel : legend.pixels_a_cell) = 1U + scale % 3U;
  const auto bytes = bytes_of(input.substr(1));
  NamedBytes png{"flat.png", {bytes.begin(), bytes.end()}};
  seal_chunks(png.bytes);
  accepts<InputError>([&] {
    const auto [plan, uses, room_at_edge] = plan_in_drawing(png, legend);
    require(plan.domain.cells.size() == plan.domain.rows * plan.domain.cols, "cells are missing");
    require(plan.interior.cells.size() == plan.domain.cells.size(), "another mask");
    require(uses.size() >= 3 && uses[0].pixels > 0, "a plan without a room");
    for (std::size_t i = 0; i < plan.domain.cells.size(); ++i) {
      const double value = plan.domain.cells[i];
      require(value == 0 || (plan.interior.cells[i] == 0 && (value == 5 || value == 25)),
              "a wall that nobody named");
    }
  });
}

}  // namespace

const Target npy{"npy", 20'000, npy_seeds, read_npy};
const Target zip{"zip", 20'000, zip_seeds, read_zip};
const Target drawing{"drawing", 20'000, drawing_seeds, read_drawing};

}  // namespace wallheat::fuzz
