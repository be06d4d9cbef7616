// A zip archive of plans. An input is patches of four bytes: what is changed, 16 bits of where, a
// value. A plan that loads has to be the one that was put in: all that says what a plan is is under
// a checksum. The seeds aim at the list of members and the end, which are not.

#include <sstream>

#include "core/npy.hpp"
#include "core/plan_files.hpp"
#include "plans/plan_source.hpp"
#include "plans/zip_writer.hpp"
#include "support/shapes.hpp"
#include "target.hpp"
#include "wallheat/error.hpp"

namespace wallheat::fuzz {
namespace {

const std::vector<NamedPlan>& plans() {
  static const auto made = [] {
    std::vector<NamedPlan> all{{"1", room(9, 13)}, {"2", random_plan(20, 30, 60, 1)}};
    all[1].plan.source = Grid<double>(20, 30, 0.5);
    return all;
  }();
  return made;
}

std::string archive() {
  std::ostringstream out;
  ZipWriter zip(out);
  for (const auto& [id, plan] : plans()) {
    const auto add = [&, &id = id](PlanFile file, const std::string& bytes) {
      zip.add(compress_member("p/" + plan_file_name(id, file), bytes));
    };
    add(PlanFile::domain, npy::bytes_of(plan.domain));
    add(PlanFile::interior, npy::bytes_of(plan.interior));
    if (plan.has_source()) add(PlanFile::source, npy::bytes_of(plan.source));
  }
  zip.add(compress_member("p/building_ids.txt", "2\n1\n"));
  zip.add(compress_member("p/spacing.txt", "0.5\n"));
  zip.finish();
  return out.str();
}

void read_all(const std::filesystem::path& path) {
  const auto source = open_plan_source(path);
  accepts<RunError>([&] { (void)source->ids(); });
  for (const auto& [id, plan] : plans()) {
    accepts<InputError>([&, &id = id] { (void)source->shape(id); });
    accepts<InputError>([&, &id = id] { (void)source->interior(id, 1000); });
    accepts<InputError>([&, &id = id, &expected = plan] {
      const FloorPlan found = source->load(id);
      require(found.domain == expected.domain, "a start field that was not put in");
      require(found.interior == expected.interior, "a mask that was not put in");
      // A source whose name is damaged is none.
      require(!found.has_source() || found.source == expected.source, "another source");
    });
  }
}

}  // namespace

std::vector<std::string> seeds() {
  const std::string whole = archive();
  const std::size_t list = whole.find("PK\x01\x02");
  const std::size_t end = whole.size() - 98;  // the large one
  return {"",
          as_bytes({{0, 30, 1}}),
          as_bytes({{1, whole.size() / 2, 0}}),
          as_bytes({{0, list + 10, 4}, {0, list + 20, 255}, {0, list + 24, 255}}),
          as_bytes({{2, list + 20, 255}, {2, list + 42, 255}}),  // numbers that stand elsewhere
          as_bytes({{2, list + 28, 255}}),                       // long names
          as_bytes({{0, list + 8, 1}, {0, list + 46, 7}}),
          as_bytes({{2, end + 32, 255}}),
          as_bytes({{2, end + 40, 255}, {2, end + 48, 255}}),
          as_bytes({{2, end + 64, 1}}),
          as_bytes({{3, whole.size() - 1, 9}})};
}

}  // namespace wallheat::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wallheat;
  using namespace wallheat::fuzz;
  static const std::string whole = archive();
  std::string bytes = whole;
  for (const Patch& patch : patches_in(text_of(data, size), 16))
    damage(bytes, patch.what % 4, patch);
  const auto path = directory() / "patched.zip";
  write_file(path, bytes);
  accepts<RunError>([&] { read_all(path); });
  accepts<RunError>([&] { (void)spacing_of_plans(path); });
  return 0;
}
