// An ids file, and what its ids do to the paths of floor plans.

#include <set>

#include "core/plan_files.hpp"
#include "core/plan_ids.hpp"
#include "plans/plan_source.hpp"
#include "target.hpp"
#include "wallheat/error.hpp"
#include "wallheat/floor_plan_files.hpp"

namespace wallheat::fuzz {

std::vector<std::string> seeds() {
  return {"10000\n10029\n",
          "\xEF\xBB\xBF"
          "10000\r\n\r\n  a b\t\n10000\n",
          "../up\n/etc\n..\n.\n",
          std::string("nul\0in it\n", 10),
          std::string(max_id_length, 'x') + "\n",
          std::string(max_id_length + 1, 'x')};
}

}  // namespace wallheat::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wallheat;
  using namespace wallheat::fuzz;
  const auto file = directory() / "ids.txt";
  write_file(file, text_of(data, size));
  accepts<RunError>([&] {
    const PlanIds found = read_ids(file);
    require(!found.ids.empty(), "no id and no error");
    require(std::set(found.ids.begin(), found.ids.end()).size() == found.ids.size(), "an id twice");
    for (const std::string_view listed : found.ids) {
      const std::string id(listed);
      require(!id.empty(), "a plan without an id");
      require(id.find('\n') == std::string::npos, "two lines as one id");
      accepts<InputError>([&] { (void)floor_plan_shape(directory(), id); });
      accepts<InputError>([&] { (void)directory_source(directory())->stamp(id); });
      if (accepts<InputError>([&] { check_id(id); })) {
        const auto path = directory() / (id + "_domain.npy");
        require(path.parent_path() == directory(), "an id that leads out of the directory");
      }
    }
  });
  return 0;
}
