#include <array>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>

#include "mpi/mpi_environment.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// Returns the value of a variable; an empty string if it is not set.
std::string_view text_in(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? std::string_view() : text;
}

/// Returns the number at the beginning of a text; 0 if there is none.
int number_in(std::string_view text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// Returns true if `step`, "JOB.STEP" of Slurm, belongs to another job than this process. A job
/// that is submitted by a step inherits the variables of that step.
bool is_step_of_another_job(std::string_view step) {
  const std::size_t dot = step.find('.');
  if (dot == 0 || step.find_first_not_of("0123456789.") != std::string_view::npos) return false;
  const std::string_view job = step.substr(0, dot);
  for (const char* own : {"SLURM_JOB_ID", "SLURM_HET_JOB_ID"})
    if (text_in(own) == job) return false;
  return dot != std::string_view::npos && !text_in("SLURM_JOB_ID").empty();
}

bool has_inherited_pmix() {
  constexpr std::string_view prefix = "slurm.pmix.";
  const std::string_view name_space = text_in("PMIX_NAMESPACE");
  return name_space.starts_with(prefix) && is_step_of_another_job(name_space.substr(prefix.size()));
}

bool has_inherited_pmi() { return is_step_of_another_job(text_in("PMI_JOBID")); }

/// Returns true if srun started this process as a task of a step, and not only as a shell of the
/// user: the shell of srun --pty is one of several tasks, but runs the user's commands only. A
/// batch script may have inherited the variables of a step; the title of its parent process shows
/// this.
bool is_task_of_step() {
  if (text_in("SLURM_STEP_NUM_TASKS").empty() || !text_in("SLURM_PTY_PORT").empty()) return false;
  std::ifstream task("/proc/" + std::to_string(number_in(text_in("SLURM_TASK_PID"))) + "/status");
  std::string parent;
  for (std::string word; task >> word;)
    if (word == "PPid:") task >> parent;
  std::ifstream file("/proc/" + parent + "/cmdline");
  std::string title;  // such as "slurmstepd: [7.batch]" or "slurmstepd: [7.0]"
  std::getline(file, title, '\0');
  return title.find(".batch]") == std::string::npos;
}

/// Returns the rank as text: set by Open MPI's mpirun, by PMIx launchers (srun --mpi=pmix) and by
/// PMI launchers (MPICH, srun). Returns an empty string without a launcher.
std::string_view launched_rank_text() {
  if (const auto rank = text_in("OMPI_COMM_WORLD_RANK"); !rank.empty()) return rank;
  if (const auto rank = text_in("PMIX_RANK"); !rank.empty() && !has_inherited_pmix()) return rank;
  return has_inherited_pmi() ? std::string_view() : text_in("PMI_RANK");
}

/// Number of processes that a launcher started together, and the variable that contains it.
struct ProcessCount {
  int count = 0;  ///< 0: unknown
  const char* variable = "";
};

/// Checks the variables of the launcher that is closest to this process first: mpirun may use srun
/// to start its daemons.
ProcessCount launched_processes() {
  if (!text_in("OMPI_COMM_WORLD_SIZE").empty())
    return {number_in(text_in("OMPI_COMM_WORLD_SIZE")), "OMPI_COMM_WORLD_SIZE"};
  if (!text_in("PMI_SIZE").empty() && !has_inherited_pmi())
    return {number_in(text_in("PMI_SIZE")), "PMI_SIZE"};
  if (is_task_of_step())
    return {number_in(text_in("SLURM_STEP_NUM_TASKS")), "SLURM_STEP_NUM_TASKS"};
  return {};
}

}  // namespace

bool launched_by_mpi() { return !launched_rank_text().empty(); }

bool launcher_may_bind_cores() {
  return launched_by_mpi() && text_in("OMPI_MCA_hwloc_base_binding_policy") != "none" &&
         text_in("SLURM_CPU_BIND_TYPE") != "none";
}

bool recovery_enabled() { return std::getenv("OMPI_MCA_orte_enable_recovery") != nullptr; }

int launched_rank() {
  if (const auto rank = launched_rank_text(); !rank.empty()) return number_in(rank);
  // Without MPI, srun starts several processes that are not connected.
  return launched_processes().count > 1 ? number_in(text_in("SLURM_PROCID")) : 0;
}

int launched_process_count() { return launched_processes().count; }

void require_single_process() {
  const ProcessCount started = launched_processes();
  if (started.count <= 1) return;
  const std::string mpi = mpi_library();
  const std::string count = std::to_string(started.count);
  throw UsageError(
      count + " processes were started (" + started.variable + "=" + count + "), and " +
      (mpi == "none" ? "this wallheat was built without MPI: start it once, without mpirun or "
                       "srun, and it uses all cores of this machine"
                     : "MPI (" + mpi +
                           ") does not connect them: use srun --mpi=pmix or the "
                           "mpirun of this MPI library") +
      "; to run independent processes, unset " + started.variable);
}

std::string short_library_version(std::string_view text) {
  std::istringstream words(std::string(text.substr(0, text.find_first_of(",\n"))));
  std::string version;
  for (std::string word; words >> word;)
    if (word != "Version:" && word != "Version" && word != ":")  // of MPICH and MVAPICH
      version += (version.empty() ? "" : " ") + word;
  return version;
}

}  // namespace wallheat
