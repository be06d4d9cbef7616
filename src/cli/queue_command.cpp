#include <fmt/format.h>

#include <cmath>

#include "cli/commands.hpp"
#include "cli/queue_source.hpp"
#include "core/number_of.hpp"
#include "report/queue_report.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

SizeClasses classes_of(const std::string& text, bool by_memory) {
  if (const auto found = numbers_around<double>(',', text)) {
    const auto [first, factor] = *found;
    if (first > 0 && factor > 1 && std::isfinite(first * factor * factor))
      return {first, factor, by_memory};
  }
  throw UsageError(fmt::format(
      "--cpu-hours takes the first bound and the factor to the next, as 4,4 for 4, 16 and 64; the "
      "bound must be above 0 and the factor above 1, not '{}'",
      text));
}

}  // namespace

Report queue_command(Options& options) {
  QueueSource source;
  std::string partitions;
  std::string cpu_hours;
  bool memory = false;
  std::string qos;
  bool means = false;
  options.describe(
      "[options]",
      "Forecasts how long a job waits in the queue of a Slurm or LSF cluster, from how long others "
      "waited: upper bounds that half, 75 % and 95 % of the jobs keep, with 95 % confidence, and "
      "the chance to start soon. For each partition, all jobs and classes of sizes.\nThe wait is "
      "the time from when a job could start to its start. An array's tasks that start together "
      "count once. The latest 1000 jobs of each count. No user names are read.",
      {"wallheat queue --sacct jobs.txt",
       "wallheat queue --sacct jobs.txt --means --partition medium"});
  options.heading("What is shown");
  options.add("partition,p", value(partitions, "NAMES"),
              "only these partitions (LSF: queues), separated by commas");
  options.add("cpu-hours", value(cpu_hours, "BOUND,FACTOR", "4,4"),
              "classes of core hours, cores times time limit: the first bound and the factor to "
              "the next, thus below 4, to 16, to 64, above");
  options.add("memory,m", flag(memory),
              "classes of GB hours with these bounds in place of core hours");
  options.add("qos", value(qos, "NAME"), "only jobs of this quality of service");
  options.add("means", flag(means),
              "show the mean waits and numbers of jobs as a table in place of that: waits are "
              "skewed, so a mean says little of the next one");
  options.heading("Where the waits are from");
  source.declare(options);
  options.parse();
  const SizeClasses classes = classes_of(cpu_hours, memory);
  const auto names = partitions.empty() ? std::vector<std::string>{} : words_of(partitions);

  const JobListing listing = source.read();
  if (listing.jobs.empty())
    throw RunError("no job is in the listing; with more --days sacct looks back further");
  QueueForecast forecast = queue_forecast(listing, classes, names, qos);
  forecast.own_jobs = source.own_jobs();
  return means ? means_report(forecast) : report_of(forecast);
}

}  // namespace wallheat
