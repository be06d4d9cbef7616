// What a solver process is told at its start.

#include <algorithm>
#include <limits>

#include "isolation/solver_process.hpp"
#include "target.hpp"

namespace wallheat::fuzz {

std::vector<std::string> seeds() {
  SolverSetup setup;
  setup.settings = {"plans", {}, true, "node", "cpu"};
  setup.parent = 77;
  std::vector<std::string> inputs;
  const auto add = [&] {
    const Bytes bytes = encode(setup);
    inputs.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  add();
  setup.settings.solver.isa = static_cast<Isa>(77);
  add();
  setup.settings.solver.isa = Isa::baseline;
  setup.progress_interval = std::chrono::duration<double>(std::numeric_limits<double>::max());
  add();
  setup.progress_interval = std::chrono::duration<double>(1);
  setup.settings.solver.gpu = 3;
  setup.lanes = 0;
  setup.cpus = {0, 8};
  add();
  return inputs;
}

}  // namespace wallheat::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wallheat;
  using namespace wallheat::fuzz;
  accepts<DecodeError>([&] {
    const SolverSetup setup = decode_setup(bytes_of(text_of(data, size)));
    const auto [limits, reference, isa, gpu, kind, spacing_is_known] = setup.settings.solver;
    require(isa == Isa::baseline || isa == Isa::avx2 || isa == Isa::avx512, "no such isa");
    require(kind >= SolverKind::jacobi && kind <= SolverKind::steady, "no such solver");
    // As serve_plans does.
    const auto interval =
        std::chrono::duration_cast<std::chrono::steady_clock::duration>(setup.progress_interval);
    require(interval.count() >= 0, "an interval that ends before it begins");
    const Bytes again = encode(setup);
    require(encode(decode_setup(again)) == again, "a setup that changes when it is passed on");
  });
  return 0;
}
