// A pack of floor plans. An input is patches of four bytes: what is changed, 16 bits of where, a
// value. Damage must be found: a plan that loads has to be the one that was packed. What was
// forged, that is changed together with its checksum, may lead to another plan, but not to a crash.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <span>

#include "core/plan_hash.hpp"
#include "store/hdf5_file.hpp"
#include "store/packs/pack_file.hpp"
#include "store/packs/plan_pack.hpp"
#include "support/odd_hdf5.hpp"
#include "support/shapes.hpp"
#include "target.hpp"
#include "wallheat/error.hpp"

namespace wallheat::fuzz {
namespace {

using store::PackedPlan;
using store::PackRow;

const std::vector<std::string>& ids() {
  static const std::vector<std::string> made{"byte codes", "word codes", "values"};
  return made;
}

/// One for each kind of code.
const std::vector<FloorPlan>& plans() {
  static const auto made = [] {
    std::vector<FloorPlan> all{room(9, 13), room(20, 30), room(257, 257)};
    for (std::size_t kind = 1; kind < all.size(); ++kind) {
      auto& cells = all[kind].domain.cells;
      for (std::size_t i = 0; i < cells.size(); ++i) cells[i] = static_cast<double>(i);
    }
    return all;
  }();
  return made;
}

struct Patch {
  unsigned what;
  std::size_t at;
  unsigned value;
};

/// The changes that keep checksums sound.
enum Forgery : unsigned {
  row_byte = 3,
  chunk_byte,
  shape,
  fewer_values,
  other_kind,
  odd_object,
  changes
};

void forge(PackedPlan& plan, const Patch& patch) {
  auto& form = plan.form;
  switch (patch.what) {
    case chunk_byte:
      plan.stream[patch.at % plan.stream.size()] ^= static_cast<std::byte>(patch.value | 1);
      return;
    case shape:
      (patch.value % 2 == 0 ? form.shape.rows : form.shape.cols) = 1 + patch.at % 20000;
      return;
    case fewer_values:
      form.domain.value_count =
          std::min(form.domain.value_count, static_cast<std::uint32_t>(patch.at));
      return;
    case other_kind:
      (patch.at % 2 == 0 ? form.domain : form.source).kind =
          patch.value % 3 == 0   ? store::CodeKind::byte
          : patch.value % 3 == 1 ? store::CodeKind::word
                                 : store::CodeKind::value;
      return;
    default:
      return;
  }
}

/// The bytes of a pack with these forgeries; the plan of each follows from its place.
std::string pack(std::span<const Patch> forgeries) {
  const auto path = directory() / "made.h5";
  std::filesystem::remove(path);  // of the input before
  auto file = store::create_file({}, path, store::Space::dense);
  store::PackWriter writer(file);
  for (std::size_t number = 0; number < ids().size(); ++number) {
    auto plan = store::encode_plan(plans()[number]);
    for (const Patch& patch : forgeries) {
      if (patch.value % ids().size() == number) forge(plan, patch);
    }
    PackRow row = writer.store(plan);
    row.input_hash = plan_hash(plans()[number]);
    for (const Patch& patch : forgeries) {
      if (patch.what == row_byte && patch.value % ids().size() == number) {
        reinterpret_cast<unsigned char*>(&row)[patch.at % offsetof(PackRow, row_crc32)] ^=
            static_cast<unsigned char>(patch.value | 1);
      }
    }
    writer.add(ids()[number], row);
  }
  writer.finish();
  file.close("close the pack");
  static constexpr std::array<odd::Place, 6> places{{{"/", "wallheat"},
                                                     {"/", "format_version"},
                                                     {"/", "layer_names"},
                                                     {"/plans", nullptr},
                                                     {"/ids", nullptr},
                                                     {"/data/0", nullptr}}};
  for (const Patch& patch : forgeries) {
    if (patch.what != odd_object) continue;
    odd::make_odd(path, places[patch.at % places.size()], patch.value, path);
  }
  return read_file(path);
}

void damage(std::string& bytes, const Patch& patch) {
  if (bytes.empty()) return;
  const std::size_t at = patch.at % bytes.size();
  switch (patch.what) {
    case 0:
      bytes[at] ^= static_cast<char>(patch.value | 1);
      return;
    case 1:
      bytes.resize(at);
      return;
    case 2:
      std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                  std::min<std::size_t>(64, bytes.size() - at), static_cast<char>(patch.value));
      return;
    default:
      return;
  }
}

bool same(const Grid<double>& a, const Grid<double>& b) {
  return a.rows == b.rows && a.cols == b.cols &&
         std::memcmp(a.cells.data(), b.cells.data(), a.cells.size() * sizeof(double)) == 0;
}

void read_all(const std::filesystem::path& path, bool forged) {
  const auto source = open_plan_source(path);
  for (const std::string_view text : source->ids().ids) {
    const std::string id(text);
    accepts<InputError>([&] { (void)source->interior(id, 1U << 20); });
    accepts<InputError>([&] {
      const FloorPlan plan = source->load(id);
      const auto [rows, cols] = source->shape(id);
      require(rows == plan.domain.rows && cols == plan.domain.cols, "another shape");
      require(rows == plan.interior.rows && cols == plan.interior.cols, "two shapes");
      require(plan.domain.cells.size() == rows * cols, "a domain without its cells");
      require(plan.interior.cells.size() == rows * cols, "a mask without its cells");
      for (const double value : plan.domain.cells)
        require(std::abs(value) <= 1e300, "a wild value");
      for (const auto value : plan.interior.cells) require(value <= 1, "a mask that is none");
      if (forged) return;
      const auto known = std::find(ids().begin(), ids().end(), id);
      require(known != ids().end(), "a plan that there never was");
      const auto& expected = plans()[static_cast<std::size_t>(known - ids().begin())];
      require(same(plan.domain, expected.domain), "a start field that was not packed");
      require(plan.interior == expected.interior, "a mask that was not packed");
    });
  }
}

std::string as_bytes(std::initializer_list<Patch> patches) {
  std::string input;
  for (const auto& [what, at, value] : patches) {
    for (const std::size_t byte : {std::size_t{what}, at & 255, at >> 8, std::size_t{value}})
      input += static_cast<char>(byte);
  }
  return input;
}

}  // namespace

std::vector<std::string> seeds() {
  const std::string sound = pack({});
  const std::size_t rows = sound.size() - 300;
  return {
      "",
      as_bytes({{0, 9, 1}, {0, 60, 4}}),
      as_bytes({{0, sound.find("OHDR", 64), 7}, {0, rows, 3}}),
      as_bytes({{1, sound.size() / 2, 0}}),
      as_bytes({{2, 2048, 0}, {2, rows, 255}}),
      as_bytes({{row_byte, offsetof(PackRow, rows) + 3, 0}}),
      as_bytes({{row_byte, offsetof(PackRow, bytes) + 6, 1}, {row_byte, 0, 2}}),
      as_bytes({{row_byte, offsetof(PackRow, value_count) + 1, 1}}),
      as_bytes({{row_byte, offsetof(PackRow, position) + 7, 2}}),
      as_bytes({{chunk_byte, 30, 2}, {chunk_byte, 5, 3}}),
      as_bytes({{shape, 65535, 0}, {shape, 65535, 3}, {fewer_values, 1, 1}}),
      as_bytes({{odd_object, 2, 9}}),
      as_bytes({{odd_object, 3, 22}}),
      as_bytes({{odd_object, 4, 5}, {odd_object, 5, 9}}),
      as_bytes({{row_byte, offsetof(PackRow, part), 1}, {other_kind, 1, 1}}),
      as_bytes({{other_kind, 0, 2}, {other_kind, 0, 1}, {fewer_values, 0, 0}}),
  };
}

}  // namespace wallheat::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wallheat;
  using namespace wallheat::fuzz;
  constexpr std::size_t most_patches = 16;
  std::vector<Patch> patches, forgeries;
  for (std::size_t at = 0; at + 4 <= std::min(size, 4 * most_patches); at += 4) {
    const Patch patch{data[at] % changes, data[at + 1] + std::size_t{256} * data[at + 2],
                      data[at + 3]};
    (patch.what >= row_byte ? forgeries : patches).push_back(patch);
  }
  static const std::string sound = pack({});
  std::string bytes = forgeries.empty() ? sound : pack(forgeries);
  for (const Patch& patch : patches) damage(bytes, patch);
  const auto path = directory() / "patched.h5";
  write_file(path, bytes);
  accepts<RunError>([&] { read_all(path, !forgeries.empty()); });
  return 0;
}
