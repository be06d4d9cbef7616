#include "view/picture.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

bool can_draw() { return false; }

void draw_plan(const std::filesystem::path& png, const std::string&, const FloorPlan&,
               const Grid<double>&) {
  throw RunError("cannot draw " + png.string() +
                 ": wallheat was built without cairo; install libcairo2-dev and build again.");
}

}  // namespace wallheat
