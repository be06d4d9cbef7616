#include <fmt/format.h>

#include <cmath>
#include <tuple>

#include "cli/commands.hpp"
#include "cli/queue_source.hpp"
#include "core/number_of.hpp"
#include "report/queue_report.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

Report queue_command(Options& options) {
  QueueSource source;
  std::string partitions;
  SizeClasses classes;
  std::string qos;
  bool means = false;
  options.describe(
      "[options]",
      "Forecasts how long a job waits in the queue of a Slurm or LSF cluster, from the waits of "
      "the latest 1000 jobs: bounds on the wait of half, 75 % and 95 % of the jobs, with 95 % "
      "confidence, and the chance to start soon; for each partition, and for classes of sizes.\nA "
      "wait begins when a job could start. An array's tasks that start together count once. No "
      "user names are read.",
      {"wallheat queue --sacct jobs.txt",
       "wallheat queue --sacct jobs.txt --means --partition medium"});
  options.heading("What is shown");
  options.add("partition,p", value(partitions, "NAMES"),
              "only these partitions (LSF: queues), separated by commas");
  const auto set_classes = [&](const std::string& text) {
    const auto found = numbers_around<double>(',', text);
    if (found) std::tie(classes.first, classes.factor) = *found;
    return found && classes.first > 0 && classes.factor > 1 &&
           std::isfinite(classes.first * classes.factor * classes.factor);
  };
  options.add(
      "cpu-hours",
      word("BOUND,FACTOR",
           "the first bound, above 0, and the factor to the next, above 1, as 4,4 for 4, 16 and 64",
           set_classes, "4,4"),
      "classes of core hours (cores times time limit): the first bound and the factor to the next, "
      "so below 4, to 16, to 64, above");
  options.add("memory,m", flag(classes.by_memory),
              "classes of GB hours instead, with these bounds");
  options.add("qos", value(qos, "NAME"), "only jobs of this quality of service");
  options.add(
      "means", flag(means),
      "show mean waits and numbers of jobs instead; waits are skewed, so a mean says little "
      "of the next one");
  options.heading("Where the waits are from");
  source.declare(options);
  options.parse();
  const auto names = partitions.empty() ? std::vector<std::string>{} : words_of(partitions);

  const JobListing listing = source.read();
  if (listing.jobs.empty())
    throw RunError("no job is in the listing; with more --days sacct looks back further");
  QueueForecast forecast = queue_forecast(listing, classes, names, qos);
  forecast.own_jobs = source.own_jobs();
  return means ? means_report(forecast) : report_of(forecast);
}

}  // namespace wallheat
