// A configuration file of `wallheat run`.

#include "cli/run_option_parser.hpp"
#include "target.hpp"
#include "wallheat/error.hpp"

namespace wallheat::fuzz {

std::vector<std::string> seeds() {
  const std::string needed = "data = plans\nout = results.h5\n";
  return {needed +
              "# all of them\nfirst = 10\ntolerance = 1e-4\nmax-iterations = 20000\n"
              "solver-backend = vector\nisa = baseline\nthreads = 2\nsave-fields = true\n",
          needed +
              "id = 10000\nid = a b\ndevice = cpu\nresume = on\nmax-attempts = 3\n"
              "retry-failed = 1\nprogress = none\nlog-level = info\n",
          needed +
              "ids = ids.txt\nshard = 2/10\ntime-limit = 1h30m\nplan-timeout = 60.5\n"
              "worker-timeout = 1e9\noverwrite = yes\nevents = events.jsonl\n",
          needed + "time-limit = 1:30:00\nshard = none\nconfig = other.cfg\nhelp = 1\n",
          needed + "[section]\ntolerance = nan\nthreads = 99999999999999999999\n",
          needed + "time-limit = 999999d999999h\n",
          needed + "threads %original_token%= 2\n",
          needed + "da%%%&%invalid_line%\n"};
}

}  // namespace wallheat::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wallheat;
  using namespace wallheat::fuzz;
  const auto file = directory() / "run.cfg";
  write_file(file, text_of(data, size));
  const auto start = std::chrono::steady_clock::now();
  accepts<UsageError>([&] {
    Options options("run", {"--config", file.string()});
    const RunOptions run = parse_run_options(options);
    require(!run.job.data.empty() && !run.out.empty(), "a run without data or result file");
    require(run.job.solver.limits.tolerance >= 0, "a tolerance that no solver meets");
    require(run.job.solver.limits.max_iterations >= 1, "a run without iterations");
    require(run.shard.number >= 1 && run.shard.number <= run.shard.count, "no such shard");
    require(!run.end || *run.end >= start, "a time limit before the start");
    require(!run.configuration.empty(), "a run that records no options");
  });
  return 0;
}
