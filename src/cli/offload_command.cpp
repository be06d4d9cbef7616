#include <fmt/format.h>

#include <cmath>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/picture_file.hpp"
#include "report/offload_report.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

int offload_command(const Arguments& arguments) {
  Offload offload;
  PictureFile picture;
  bool json = false;
  Options options(
      "offload --bandwidth B --gpu G --cpu C [options]",
      "Says how many operations on a value make it worth the way to a GPU: from "
      "n* = (bytes / B) / (1 / C - 1 / G) on, for doubles and floats, one way and both ways. "
      "'wallheat bench --device gpu' measures the three figures.",
      {"wallheat offload --bandwidth 15e9 --gpu 1e12 --cpu 1e9",
       "wallheat offload --bandwidth 15e9 --gpu 1e12 --cpu 1e9 --json"});
  options.add("bandwidth,b", value(offload.bytes_per_s, "B"),
              "bytes a second between host and GPU, as 15e9");
  options.add("gpu,g", value(offload.gpu_per_s, "G"), "operations a second of the GPU, as 1e12");
  options.add("cpu", value(offload.cpu_per_s, "C"), "operations a second of the CPU, as 1e9");
  picture.declare(options, "plot",
                  "draw the time of both over the operations as PNG, SVG or PDF, by the file's "
                  "ending");
  options.add("json", flag(json), "print one JSON object");
  options.require({"bandwidth", "gpu", "cpu"});
  if (!options.parse(arguments)) return exit_done;
  for (const auto& [name, value] : {std::pair{"bandwidth", offload.bytes_per_s},
                                    {"gpu", offload.gpu_per_s},
                                    {"cpu", offload.cpu_per_s}})
    if (!std::isfinite(value) || value <= 0)
      throw UsageError(fmt::format("--{} must be a number above 0 (a second)", name));
  picture.check();
  picture.write([&] { return offload_plot(offload); });
  if (json) {
    fmt::print("{}", to_json_text(offload));
  } else {
    print_offload(offload);
    if (picture.wanted()) fmt::print("\npicture  {}\n", picture.path().string());
  }
  return exit_done;
}

}  // namespace wallheat
