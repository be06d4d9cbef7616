// The status file that a run leaves for onlookers.

#include "core/bytes.hpp"
#include "target.hpp"
#include "view/run_status.hpp"

namespace wallheat::fuzz {

std::vector<std::string> seeds() {
  RunStatus status;
  status.state = "running";
  status.total = 10;
  const std::string small = to_json_text(status);
  status.seconds_left = 1.5;
  status.workers.push_back({1,
                            "node",
                            "cpu",
                            2,
                            5,
                            0.1,
                            "working",
                            {{"10000", 100, 0.5, 1}},
                            GpuSample{.power_w = 512}});
  const auto with_total = [&](const std::string& number) {
    std::string text = small;
    return text.replace(text.find("\"total\": 10") + 9, 2, number);
  };
  return {small,
          to_json_text(status),
          with_total("1e300"),
          with_total("-1.5"),
          with_total("18446744073709551615"),
          std::string(2000, '['),
          "null"};
}

}  // namespace wallheat::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wallheat;
  using namespace wallheat::fuzz;
  accepts<DecodeError>([&] {
    const std::string again = to_json_text(run_status_from_json(text_of(data, size)));
    require(to_json_text(run_status_from_json(again)) == again,
            "a status that changes when it is written again");
  });
  return 0;
}
