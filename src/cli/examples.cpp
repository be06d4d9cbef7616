#include "cli/examples.hpp"

#include <algorithm>

namespace wallheat {
namespace {

struct Examples {
  std::string_view command;
  std::array<std::string_view, 2> lines;
};

/// In the order in which a test runs them: a later one may use what an earlier one makes.
constexpr Examples all_examples[] = {
    {"generate",
     {"wallheat generate --out plans --count 8 --size 96",
      "wallheat generate --out plates --kind poisson --count 2 --size 64"}},
    {"run",
     {"wallheat run --data plans --out results.h5 --save-fields",
      "wallheat run --data plans --out steady.h5 --solver steady --save-fields --rooms"}},
    {"solve",
     {"wallheat solve 00001 --data plans",
      "wallheat solve 00001 --data plans --solver steady --png plan.png"}},
    {"whatif",
     {"wallheat whatif 00001 --data plans --wall 25=22 --rooms",
      "wallheat whatif --data plans --wall 25=18:30:2 --wall 5=0"}},
    {"need",
     {"wallheat need 00001 --data plans --wall 25 --room-mean 18",
      "wallheat need --data plans --wall 25 --wall 5=8 --area-above 18 --area-share 0.5"}},
    {"pack",
     {"wallheat pack --data plans --out plans.h5",
      "wallheat pack --data plans --out few.h5 --first 2"}},
    {"summary",
     {"wallheat summary results.h5", "wallheat summary results.h5 --where 'mean_temp > 10'"}},
    {"list",
     {"wallheat list results.h5 --sort mean_temp --first 10",
      "wallheat list results.h5 --where 'iterations > 100' -f csv"}},
    {"rooms",
     {"wallheat rooms steady.h5 --where 'mean_temp < 12' --sort mean_temp",
      "wallheat rooms steady.h5 --sort -max_temp --first 3 -f csv"}},
    {"plot",
     {"wallheat plot results.h5 --out sheet.png",
      "wallheat plot results.h5 00001 --data plans --out plan.svg"}},
    {"export",
     {"wallheat export results.h5 --out results.csv",
      "wallheat export results.h5 --field 00001 --out field.npy"}},
    {"report",
     {"wallheat report results.h5 --out run.html",
      "wallheat report results.h5 --compare steady.h5 --out two-runs.html"}},
    {"compare",
     {"wallheat compare results.h5 steady.h5",
      "wallheat compare results.h5 numpy=36111 --plans 4571"}},
    {"trace",
     {"wallheat trace results.h5 --out trace.json", "wallheat trace steady.h5 --out steady.json"}},
    {"status", {"wallheat status results.h5", "wallheat status results.h5 --json"}},
    {"queue",
     {"wallheat queue --sacct jobs.txt",
      "wallheat queue --sacct jobs.txt --means --partition medium"}},
    {"advise",
     {"wallheat advise --sacct jobs.txt --sinfo nodes.txt --scontrol cluster.txt -- --data plans "
      "--out next.h5",
      "wallheat advise --sacct jobs.txt --sinfo nodes.txt --scontrol cluster.txt --by core-hours "
      "-- "
      "--data plans --out next.h5"}},
    {"merge",
     {"wallheat merge --out all.h5 shards.part-1-of-2.h5 shards.part-2-of-2.h5",
      "wallheat merge --out all.h5 --overwrite --json shards.part-1-of-2.h5 "
      "shards.part-2-of-2.h5"}},
    {"repair", {"wallheat repair results.h5", "wallheat repair results.h5 --json"}},
    {"verify",
     {"wallheat verify results.h5 --data plans", "wallheat verify results.h5 --data plans --json"}},
    {"scaling",
     {"wallheat scaling --replay results.h5", "wallheat scaling --times 1=212,2=140,4=105,8=145"}},
    {"bench",
     {"wallheat bench --plans 1 --size 96 --repeat 1 --scaling false",
      "wallheat bench --solvers --plans 1 --size 96 --repeat 1"}},
    {"profile",
     {"wallheat profile 00001 --data plans",
      "wallheat profile 00001 --data plans --solver fastforward"}},
    {"devices", {"wallheat devices", "wallheat devices --json"}},
    {"monitor",
     {"wallheat monitor --samples 2 --interval 0.1",
      "wallheat monitor --duration 1s --interval 0.2 --csv node.csv"}},
    {"offload",
     {"wallheat offload --bandwidth 15e9 --gpu 1e12 --cpu 1e9",
      "wallheat offload --bandwidth 15e9 --gpu 1e12 --cpu 1e9 --json"}},
    {"completion", {"wallheat completion bash", "wallheat completion zsh"}},
    {"manual", {"wallheat manual", "wallheat manual run"}},
};

}  // namespace

std::array<std::string_view, 2> examples_of(std::string_view command) {
  const auto* const found =
      std::find_if(std::begin(all_examples), std::end(all_examples),
                   [&](const Examples& examples) { return examples.command == command; });
  return found == std::end(all_examples) ? std::array<std::string_view, 2>{} : found->lines;
}

}  // namespace wallheat
