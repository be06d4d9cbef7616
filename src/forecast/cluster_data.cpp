#include "forecast/cluster_data.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>

#include "core/text.hpp"
#include "io/files.hpp"
#include "io/scheduler_command.hpp"

namespace wallheat {
namespace {

/// Returns the output of a scheduler's command that lists jobs; nullopt if it is not installed. A
/// busy scheduler may take a minute to list the jobs of a month.
std::optional<std::string> job_list_of(const std::vector<std::string>& command) {
  SchedulerOutput output = run_scheduler_command(command, std::chrono::minutes(2));
  if (!output.is_installed) return std::nullopt;
  if (!output.failure.empty())
    throw AccountingUnavailable(
        fmt::format("{}; save its output in a file and specify it with --sacct or --lsf",
                    escape_control_chars(output.failure)));
  return std::move(output.text);
}

std::ptrdiff_t count_lines(const std::string& text) {
  return std::count(text.begin(), text.end(), '\n');
}

/// Returns true if the listing of the user's own jobs is as long as that of all jobs, so that jobs
/// of other users are hidden.
bool hides_other_users(const std::optional<std::string>& own, const std::string& all) {
  return own && count_lines(*own) >= count_lines(all);
}

JobHistory query_job_history(int days) {
  const std::string since = fmt::format("now-{}days", days);
  if (const auto slurm = job_list_of(
          {"sacct", "-X", "-D", "-n", "-P", "--allusers", "-S", since, "-o", sacct_fields})) {
    const bool is_own =
        ::getuid() != 0 &&  // root sees all jobs
        hides_other_users(
            job_list_of({"sacct", "-X", "-D", "-n", "-P", "-S", since, "-o", "JobIDRaw"}), *slurm);
    return {parse_sacct("sacct", *slurm), is_own};
  }
  if (const auto lsf = job_list_of({"bjobs", "-a", "-u", "all", "-o", bjobs_fields}))
    return {parse_bjobs("bjobs", *lsf),
            hides_other_users(job_list_of({"bjobs", "-a", "-o", "jobid"}), *lsf)};
  throw AccountingUnavailable(
      "neither sacct nor bjobs found; save the output of one of them on the cluster and specify it "
      "with --sacct or --lsf");
}

/// Returns the content of a file, or the output of a scheduler's command if no file is given.
SchedulerOutput output_or_file(const std::string& file, const std::vector<std::string>& command) {
  return file.empty() ? run_scheduler_command(command) : SchedulerOutput{read_text_file(file), {}};
}

}  // namespace

JobHistory read_job_history(const JobHistorySource& source) {
  if (source.sacct.empty() && source.lsf.empty()) {
    JobHistory history = query_job_history(source.days);
    history.own_jobs = history.own_jobs || source.own_jobs;
    return history;
  }
  const auto name = [](const std::string& file) { return file == "-" ? "stdin" : file; };
  JobListing all;
  for (const std::string& file : source.sacct)
    all.add(parse_sacct(name(file), read_text_file(file)));
  bool only_reports = !source.lsf.empty();
  for (const std::string& file : source.lsf) {
    const std::string text = read_text_file(file);
    const bool is_output = has_lsf_report(text);
    all.add(is_output ? parse_lsf_reports(name(file), text) : parse_bjobs(name(file), text));
    only_reports = only_reports && is_output;
  }
  all.deduplicate();
  // Users read the outputs of only those jobs that they submitted.
  return {std::move(all), source.own_jobs || only_reports};
}

std::vector<Partition> read_partitions(const std::string& sinfo_file) {
  const SchedulerOutput sinfo = output_or_file(sinfo_file, {"sinfo", "-h", "-o", sinfo_format});
  const std::string name = sinfo_file.empty() ? "sinfo" : sinfo_file;
  std::string failure = sinfo.failure;
  std::vector<Partition> known;
  if (failure.empty()) {
    known = parse_sinfo(name, sinfo.text);
    std::erase_if(known, [](const Partition& each) { return each.nodes == 0 || each.cores == 0; });
    if (known.empty()) failure = name + " lists no partition with cores";
  }
  if (failure.empty()) return known;
  const std::string message = fmt::format(
      "no partitions found ({}); to include a cluster, run advise on its login node, or save the "
      "output of sinfo there and specify the file with --sinfo",
      escape_control_chars(failure));
  if (sinfo_file.empty()) throw SchedulerUnavailable(message);
  throw RunError(message);
}

std::size_t read_max_array_tasks(const std::string& scontrol_file,
                                 std::vector<std::string>& notes) {
  constexpr std::size_t slurms_default = 1000;
  const SchedulerOutput config = output_or_file(scontrol_file, {"scontrol", "show", "config"});
  if (config.failure.empty())
    return max_array_tasks(scontrol_file.empty() ? "scontrol" : scontrol_file, config.text);
  notes.push_back(fmt::format("{}; assuming Slurm's default of at most {} tasks per array",
                              config.failure, slurms_default));
  return slurms_default;
}

}  // namespace wallheat
