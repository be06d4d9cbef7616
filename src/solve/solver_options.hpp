#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result_columns.hpp"
#include "core/wall_overrides.hpp"
#include "wallheat/rooms.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {

/// The door width: openings up to `cells` wide divide rooms. `automatic` means
/// default_door_cells().
struct Door {
  static constexpr std::int64_t automatic = -1;
  std::int64_t cells = automatic;
  [[nodiscard]] std::uint32_t of(GridShape shape) const {
    return cells == automatic ? default_door_cells(shape) : static_cast<std::uint32_t>(cells);
  }
  friend bool operator==(const Door&, const Door&) = default;
};

/// Implementation of jacobi. The results are bit-identical.
enum class SolverBackend { vector, reference };
[[nodiscard]] std::string_view to_string(SolverBackend backend);

/// The solver command: a program of the user that solves plans (--solver-command). Its protocol is
/// described in jobs/examples/README.md.
struct SolverCommand {
  std::string line;                ///< as the user wrote it
  std::vector<std::string> words;  ///< argv; empty if the command was read from a result file
  std::string files;               ///< the files that identify the program, each with its hash
  std::string version;             ///< hash of `line` and `files`
  bool is_deterministic = false;   ///< it always computes the same field for a plan
  int cores_per_slot = 1;
  int slots_per_gpu = 1;
  double memory_gb = 0;                    ///< memory of the program of a slot in GB; 0: unknown
  std::vector<std::string> environment{};  ///< NAME=VALUE, in addition to that of this process
  std::uint64_t open_files = 0;            ///< soft limit of open files; 0: that of this process
};

/// The settings of a result file that identify a solver command.
inline constexpr std::array command_identity_settings{"solver_command", "solver_files",
                                                      "solver_version"};

/// Parameters of a solve: the problem, the solver, and the hardware. solver_settings.hpp lists
/// those that are settings of the user.
struct SolverOptions {
  SolveParameters limits;
  SolverBackend backend = SolverBackend::vector;
  Isa isa = Isa::baseline;
  std::optional<int> gpu{};  ///< CUDA's index of the GPU; nullopt: solve on the CPU
  SolverKind kind = SolverKind::jacobi;
  SolverCommand command{};       ///< only for SolverKind::command
  bool spacing_is_known = true;  ///< limits.spacing was given by the user or by the plans
  WallOverrides walls{};         ///< applied to a plan before it is solved
  Thresholds thresholds{};
  std::optional<Door> door{};  ///< nullopt: rooms are not computed

  /// Returns a solver for the CPU. Throws RunError for a solver command, which needs a process; see
  /// isolation/command_solver.hpp.
  [[nodiscard]] std::unique_ptr<Solver> make() const;
  /// Returns the device type of the CPU, such as "cpu avx512" or "cpu reference".
  [[nodiscard]] std::string device_text() const;
  /// Returns the option that rules out GPUs, such as "--solver steady". Returns an empty string if
  /// GPUs have this solver.
  [[nodiscard]] std::string cpu_only_option() const;
  /// Returns name and version of the solver, such as "jacobi 1".
  [[nodiscard]] std::string solver_text() const;
  /// Returns all settings that affect the results, as result files store them. Thresholds are
  /// always included, because columns depend on them; other default values are omitted. Instruction
  /// set and GPU are omitted, because their results are bit-identical.
  [[nodiscard]] std::map<std::string, std::string> settings() const;
};

/// Returns the thresholds by which the columns of a result file with these settings are counted.
/// Throws RunError if the settings do not contain them.
[[nodiscard]] Thresholds recorded_thresholds(const std::string& file,
                                             const std::map<std::string, std::string>& settings);

/// Returns the solver options of a result file with these settings, with the best instruction set
/// of this processor. Throws RunError if the settings are incomplete or invalid.
[[nodiscard]] SolverOptions recorded_solver(const std::string& file,
                                            const std::map<std::string, std::string>& settings);

/// Returns options with these settings, which have the form of the settings in a result file. The
/// other settings have their defaults, with the best instruction set of this processor. Throws
/// UsageError if a setting is unknown or invalid.
[[nodiscard]] SolverOptions make_solver_options(const std::map<std::string, std::string>& settings);

}  // namespace wallheat
