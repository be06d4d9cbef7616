// A recording of a node: this program's own CSV, or a listing of nvidia-smi.

#include "report/recording.hpp"

#include <sstream>

#include "target.hpp"
#include "wallheat/error.hpp"

namespace wallheat::fuzz {

std::vector<std::string> seeds() {
  return {"time,seconds,cpu,gpu0_pwr\nT,1,50,\nT,2,1e300,200\n",
          "# gpu   pwr gtemp\n# Idx     W     C\n    0    31     -\n    1    26    28\n",
          "0, gpuUtil , 1673214742538187, 0\n0, memUtil , 1673214743709403, 8\n", "#\n#\n0\n",
          ",,,\n"};
}

}  // namespace wallheat::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wallheat;
  using namespace wallheat::fuzz;
  const auto file = directory() / "recording.txt";
  write_file(file, text_of(data, size));
  accepts<RunError>([&] {
    const Recording recording = read_recording(file);
    require(!recording.series.empty(), "a recording without series");
    for (const Series& series : recording.series)
      require(series.seconds.size() == series.values.size(), "values without times");
    std::ostringstream json;
    write_json(report_of(summary_of(recording)), json);
    require(!json.str().empty(), "no summary");
  });
  return 0;
}
