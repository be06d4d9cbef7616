// The status file that a run leaves for onlookers.

#include "core/bytes.hpp"
#include "target.hpp"
#include "view/run_status.hpp"

namespace wallheat::fuzz {

std::vector<std::string> seeds() {
  RunStatus status;
  status.file = "results.h5";
  status.state = "running";
  status.total = 10;
  const std::string small = to_json_text(status);
  status.seconds_left = 1.5;
  status.shard = "1/2";
  status.workers.push_back({1,
                            "node",
                            "cpu",
                            2,
                            5,
                            0.1,
                            "working",
                            {{"10000", 100, 0.5, 1}},
                            GpuSample{.power_w = 512}});
  const auto with_pid = [&](const std::string& number) {
    std::string text = small;
    return text.replace(text.find("\"pid\": 0") + 7, 1, number);
  };
  return {small,
          to_json_text(status),
          with_pid("1e300"),
          with_pid("-1.5"),
          with_pid("18446744073709551615"),
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
