// What a solver process is told at its start.

#include <algorithm>
#include <limits>

#include "isolation/job_settings.hpp"
#include "target.hpp"

namespace wallheat::fuzz {

std::vector<std::string> seeds() {
  JobSettings settings{"plans", {}, true, "node", "cpu"};
  std::vector<std::string> inputs;
  const auto add = [&] {
    const Bytes bytes = encode(settings);
    inputs.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  add();
  settings.solver.isa = static_cast<Isa>(77);
  add();
  settings.solver.isa = Isa::baseline;
  settings.plan_timeout_s = std::numeric_limits<double>::quiet_NaN();
  add();
  settings.plan_timeout_s = 1;
  settings.solver.gpu = 3;
  settings.lanes = 0;
  settings.cpus = {0, 8};
  settings.solver.walls = {{5, 8}, {25, 22}};
  settings.solver.door = Door{7};
  add();
  return inputs;
}

}  // namespace wallheat::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wallheat;
  using namespace wallheat::fuzz;
  accepts<DecodeError>([&] {
    const JobSettings settings = decode_settings(bytes_of(text_of(data, size)));
    const auto [limits, reference, isa, gpu, kind, spacing_is_known, walls, thresholds, door] =
        settings.solver;
    require(isa == Isa::baseline || isa == Isa::avx2 || isa == Isa::avx512, "no such isa");
    require(kind >= SolverKind::jacobi && kind <= SolverKind::steady, "no such solver");
    require(!door || (door->cells >= Door::automatic && door->cells <= largest_door), "no door");
    require(settings.plan_timeout_s >= 0, "a timeout that ends before it begins");
    const Bytes again = encode(settings);
    require(encode(decode_settings(again)) == again,
            "settings that change when they are passed on");
  });
  return 0;
}
