#include "run/timed_run.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "core/file_descriptor.hpp"
#include "io/child_process.hpp"
#include "report/scaling.hpp"
#include "run/signals.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace fs = std::filesystem;
namespace {

/// A directory that goes with what it holds.
class ScratchDirectory {
 public:
  ScratchDirectory() {
    std::string name = (fs::temp_directory_path() / "wallheat-scaling-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
      throw RunError(fmt::format("no directory for results can be made in {}: {}",
                                 fs::temp_directory_path().string(), std::strerror(errno)));
    path_ = name;
  }
  ~ScratchDirectory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

}  // namespace

ScalingPoint timed_run(const std::vector<std::string>& options, std::size_t workers) {
  const ScratchDirectory directory;
  const std::string file = (directory.path() / "results.h5").string();
  std::vector<std::string> words{
      "wallheat",   "run",  "--out",       file,   "--threads",    fmt::format("{}", workers),
      "--device",   "cpu",  "--shard",     "none", "--time-limit", "none",
      "--progress", "none", "--log-level", "error"};
  words.insert(words.end(), options.begin(), options.end());
  ChildProcess run({.program = "/proc/self/exe", .words = words, .hears_no_stop = true});
  constexpr std::chrono::milliseconds look{100};
  while (!run.wait(look))
    if (stop_requested()) throw RunError("stopped before all runs were done");
  if (!run.succeeded())
    throw RunError(fmt::format(
        "a run with {} worker(s) {}, so there is nothing to compare; 'wallheat run' with these "
        "plans tells more",
        workers, run.ending()));
  const ScalingPoint point = finished_run(file, ResultReader(file));
  if (point.workers != workers)
    throw RunError(fmt::format(
        "--workers {}: the run had {} only, as this machine gives it no more cores ('wallheat "
        "devices' shows them); leave {} out",
        workers, point.workers, workers));
  return point;
}

}  // namespace wallheat
