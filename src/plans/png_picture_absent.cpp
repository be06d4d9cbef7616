#include "plans/png_picture.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

Grid<Pixel> read_png(const NamedBytes& png, std::size_t) {
  throw UsageError(
      png.name +
      ": this wallheat was built without libpng and cannot read pictures; generate the "
      "plan with a wallheat that was built with it, or write its NumPy files yourself");
}

}  // namespace wallheat
