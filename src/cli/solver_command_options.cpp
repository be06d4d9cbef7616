#include "cli/solver_command_options.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "core/fnv1a.hpp"
#include "core/input_file.hpp"
#include "core/text.hpp"
#include "io/process_setup.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// Returns the hash of the content of a file, which is read in pieces. Throws InputError.
std::uint64_t content_hash(const std::string& path) {
  constexpr std::uint64_t max_piece_bytes = 1 << 20;
  const InputFile file(path);
  std::uint64_t hash = fnv1a({});
  for (std::uint64_t offset = 0; offset < file.size(); offset += max_piece_bytes)
    hash = fnv1a(file.read_range(offset, std::min(max_piece_bytes, file.size() - offset)), hash);
  return hash;
}

/// Sets `files` and `version` of a command: a file that the command names as one of its words
/// identifies the program, and so does each of `more_files`. A program that this user can execute
/// but not read is identified by its name alone. Throws UsageError if a file cannot be read.
void identify_command(SolverCommand& command, const std::vector<std::string>& more_files) {
  std::vector<std::string> files;
  std::error_code unknown;
  for (const std::string& word : command.words)
    if (std::filesystem::is_regular_file(word, unknown) && ::access(word.c_str(), R_OK) == 0)
      files.push_back(word);
  files.insert(files.end(), more_files.begin(), more_files.end());
  try {
    for (const std::string& file : files)
      command.files +=
          fmt::format("{}{} {:016x}", command.files.empty() ? "" : ", ", file, content_hash(file));
  } catch (const InputError& error) {
    throw UsageError(fmt::format("a file of the solver command: {}", error.what()));
  }
  const std::string identity = command.line + '\n' + command.files;
  command.version = fmt::format("{:016x}", fnv1a(std::as_bytes(std::span(identity))));
}

}  // namespace

void declare_solver_command(Options& options, SolverOptions& solver) {
  const auto files = std::make_shared<std::vector<std::string>>();
  options.heading("A solver of your own");
  options.add(
      "solver-command", value(solver.command.line, "COMMAND"),
      "solve the plans with a program of your own, such as 'python3 mine.py', which gets the files "
      "of one plan after the other and writes their fields; COMMAND is split into words as a shell "
      "does, and started without a shell, once per slot: a core (--cores-per-slot), or a GPU with "
      "--device gpu; jobs/examples/README.md describes what the program reads and writes");
  options.add("solver-file", file(*files, FileRole::input),
              "a further file of the program, such as a module that it imports; again for more; a "
              "program whose files have changed cannot resume a result file");
  options.add_dependency("solver-command", {"solver-file"});
  options.add_conflict("solver-command", {"solver", "solver-backend", "accuracy", "isa"});
  options.check([&, files] {
    if (!options.was_given("solver-command")) return;
    const auto words = split_shell_words(solver.command.line);
    if (!words || words->empty() || words->front().empty())
      throw UsageError("--solver-command: it has no program, or an open quotation mark");
    solver.kind = SolverKind::command;
    solver.command.words = *words;
    solver.command.open_files = original_open_files();
    identify_command(solver.command, *files);
  });
}

void declare_command_slots(Options& options, SolverCommand& command) {
  options.add("cores-per-slot", value(command.cores_per_slot, "N", 1).at_least(1),
              "cores of each slot of the program, to which it is bound unless a job or a CPU quota "
              "limits their number without specifying which; OMP_NUM_THREADS and NUMBA_NUM_THREADS "
              "are N");
  options.add("slots-per-gpu", value(command.slots_per_gpu, "N", 1).at_least(1),
              "with --device gpu: programs that share a GPU; CUDA_VISIBLE_DEVICES is its UUID");
  options.add("solver-memory", value(command.memory_gb, "GB", 0).at_least(0),
              "memory of the program of a slot in GB, for --check; 0: not known");
  options.add("deterministic-solver", flag(command.is_deterministic),
              "the program always computes the same bits for a plan: near the end of a run, a plan "
              "may be solved twice, and different results count as a fault of the device");
  options.add_dependency("solver-command", {"cores-per-slot", "slots-per-gpu", "solver-memory",
                                            "deterministic-solver"});
}

}  // namespace wallheat
