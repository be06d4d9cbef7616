#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "core/result_columns.hpp"
#include "core/wall_overrides.hpp"
#include "wallheat/rooms.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {

/// Openings up to `cells` wide divide rooms; `automatic`: up to default_door_cells.
struct Door {
  static constexpr std::int64_t automatic = -1;
  std::int64_t cells = automatic;
  [[nodiscard]] std::uint32_t of(GridShape shape) const {
    return cells == automatic ? default_door_cells(shape) : static_cast<std::uint32_t>(cells);
  }
  friend bool operator==(const Door&, const Door&) = default;
};

/// What is asked of a plan, which solver answers, and how it runs.
struct SolverOptions {
  SolveParameters limits;
  bool reference = false;  ///< the sequential oracle instead of the vectorised back end of jacobi
  Isa isa = Isa::baseline;
  std::optional<int> gpu{};  ///< CUDA's number of the GPU to solve on; none: the CPU
  SolverKind kind = SolverKind::jacobi;
  bool spacing_is_known = true;  ///< the user or the plans said limits.spacing
  WallOverrides walls{};         ///< to be set before a plan is solved
  Thresholds thresholds{};
  std::optional<Door> door{};  ///< what divides rooms; nothing: they are not asked for

  /// A solver for the CPU.
  [[nodiscard]] std::unique_ptr<Solver> make() const;
  /// The CPU's: "cpu avx512", "cpu reference".
  [[nodiscard]] std::string device_text() const;
  /// Returns the option that rules out GPUs, such as "--solver steady". Returns an empty string if
  /// GPUs have this solver.
  [[nodiscard]] std::string cpu_only_option() const;
  /// "jacobi 1": name and version.
  [[nodiscard]] std::string solver_text() const;
  /// Everything that decides the answers, as result files keep it. The thresholds are always there,
  /// because columns are counted by them. Other default values are left out, and so are back ends,
  /// because all give the same bits.
  [[nodiscard]] std::map<std::string, std::string> settings() const;
};

/// Returns the thresholds by which the columns of a result file with these settings are counted.
/// Throws RunError if the settings do not contain them.
[[nodiscard]] Thresholds recorded_thresholds(const std::string& file,
                                             const std::map<std::string, std::string>& settings);

/// The solver that a result file with these settings was made with, with the best instruction set
/// here. Throws RunError if they do not tell.
[[nodiscard]] SolverOptions recorded_solver(const std::string& file,
                                            const std::map<std::string, std::string>& settings);

}  // namespace wallheat
