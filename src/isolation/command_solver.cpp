#include "isolation/command_solver.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <span>
#include <utility>

#include "core/input_file.hpp"
#include "core/npy.hpp"
#include "core/plan_files.hpp"
#include "core/result_columns.hpp"
#include "core/text.hpp"
#include "io/files.hpp"
#include "queue/agent.hpp"
#include "solve/convergence.hpp"
#include "solve/isa.hpp"
#include "solve/norms.hpp"
#include "view/json.hpp"

namespace wallheat {
namespace {

constexpr const char* plan_name = "plan";        // of the files in the folder of the slot
constexpr const char* field_name = "field.npy";  // in messages
constexpr std::size_t max_quoted_bytes = 80;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Receives a line, and passes it to use(const Json& line), without the keys whose value is null.
/// Throws BrokenProgram if use() returns false, if it throws Json::exception, or if the line is not
/// a JSON object.
template <class Use>
void receive_line(CommandProcess& process, std::chrono::seconds start_limit, const Use& use) {
  const std::string line = process.receive(start_limit);
  try {
    Json given = Json::object();
    given.merge_patch(Json::parse(line));
    if (use(given)) return;
  } catch (const Json::exception&) {
    // It is reported below.
  }
  throw BrokenProgram("the program sent an invalid line, not a reply such as {\"done\": true}: " +
                      escape_control_chars(line.substr(0, max_quoted_bytes)));
}

/// Returns a number of iterations in a line of the program: 0 if it is not given, and -1 if the
/// value cannot be a number of iterations.
std::int64_t iterations_in(const Json& line, const char* key) {
  const double number = line.value(key, 0.0);
  return number >= 0 && number < 0x1p53 ? static_cast<std::int64_t>(number) : -1;
}

/// Returns a field that the program has written, without the ring around the plan if it has one.
/// Throws CommandFailure if the field has another shape than the plan, or if a cell of the ring or
/// a fixed cell was changed.
Grid<double> checked_field(const FloorPlan& plan, Grid<double> field) {
  const auto& [rows, cols, initial] = plan.domain;
  if (field.rows == rows + 2 && field.cols == cols + 2) {
    Grid<double> inner(rows, cols);
    for (std::size_t row = 0; row < rows; ++row)
      std::copy_n(&field(row + 1, 1), cols, &inner(row, 0));
    const auto count_zeros = [](const Grid<double>& grid) {
      return static_cast<std::size_t>(std::ranges::count(grid.cells, 0.0));
    };
    if (count_zeros(field) - count_zeros(inner) != field.cells.size() - inner.cells.size())
      throw CommandFailure("the program changed the ring of zeros around the plan");
    field = std::move(inner);
  }
  if (field.rows != rows || field.cols != cols)
    throw CommandFailure(
        fmt::format("the program wrote a field of {} x {} cells for a plan of {} x {} cells",
                    field.rows, field.cols, rows, cols));
  // Most programs change no bit, and to find that out needs no branch per cell.
  std::uint64_t differing_bits = 0;
  for (std::size_t cell = 0; cell < initial.size(); ++cell) {
    const std::uint64_t is_fixed = plan.interior.cells[cell] == 0 ? ~std::uint64_t{0} : 0;
    differing_bits |= is_fixed & (std::bit_cast<std::uint64_t>(field.cells[cell]) ^
                                  std::bit_cast<std::uint64_t>(initial[cell]));
  }
  for (std::size_t cell = 0; differing_bits != 0 && cell < initial.size(); ++cell)
    if (plan.interior.cells[cell] == 0 && field.cells[cell] != initial[cell])
      throw CommandFailure(fmt::format(
          "the program changed a fixed cell: row {}, column {} is {} °C, and {} °C in the plan",
          cell / cols, cell % cols, field.cells[cell], initial[cell]));
  return field;
}

/// Number of Jacobi iterations over which the decay of delta is measured.
constexpr std::int64_t decay_iterations = 16;

/// Computes the delta of a Jacobi iteration from the field of the solution, and from the decay of
/// delta over some further iterations an error estimate.
void judge(const FloorPlan& plan, const SolveParameters& limits, const DeltaDecay& decay,
           Solution& solution) {
  FloorPlan continued{std::move(solution.field), plan.interior, plan.source};
  const auto [delta, later_delta] = decay(continued, limits);
  solution.field = std::move(continued.domain);
  solution.last_delta = delta;
  solution.error_estimate = per_cell_estimate(
      delta + estimate_error(delta, later_delta, -decay_iterations), plan, limits.norm);
}

}  // namespace

CommandSolver::CommandSolver(const SolverOptions& options)
    : decay_(make_delta_decay(kernels_for(options.isa).sweeps, decay_iterations)),
      process_(options.command) {
  const auto start = std::chrono::steady_clock::now();
  receive_line(process_, Agent::start_timeout,
               [](const Json& line) { return line.value("ready", false); });
  start_s_ = seconds_since(start);
}

std::filesystem::path CommandSolver::field_path() const {
  return process_.folder() / fmt::format("field-{}.npy", request_number_);
}

void CommandSolver::write_arrays(const FloorPlan& plan) {
  try {
    const auto write = [&](PlanFile which, const auto& grid) {
      // Without O_TRUNC, because a file that is emptied loses its memory, and gets it back slowly.
      const File file(plan_file(process_.folder(), plan_name, which), O_WRONLY | O_CREAT);
      const std::string header = npy::header_bytes(grid);
      const auto items = std::as_bytes(std::span(grid.cells));
      file.write_at(0, std::as_bytes(std::span(header)));
      file.write_at(header.size(), items);
      if (::ftruncate(file.fd(), static_cast<off_t>(header.size() + items.size())) != 0)
        throw_system_error(file.path(), "be truncated", errno);
    };
    write(PlanFile::domain, plan.domain);
    write(PlanFile::interior, plan.interior);
    if (plan.has_heat_source()) write(PlanFile::source, plan.source);
    // Fields of earlier plans, and other files of the program, must not fill the memory.
    for (const auto& entry : std::filesystem::directory_iterator(process_.folder()))
      if (!entry.path().filename().string().starts_with(plan_name))
        std::filesystem::remove_all(entry.path());
    ++request_number_;
  } catch (const RunError& error) {
    throw InputSystemError(
        fmt::format("the arrays for the solver command cannot be stored: {}", error.what()));
  }
}

std::optional<Solution> CommandSolver::solve(const FloorPlan& plan, const SolveParameters& limits,
                                             const SolveControl& control) {
  times_ = {};
  if (count_interior(plan) == 0) return Solution{.field = plan.domain};
  times_.start_s = std::exchange(start_s_, 0);
  const auto begin = std::chrono::steady_clock::now();
  write_arrays(plan);
  times_.write_s = seconds_since(begin);
  const auto request = std::chrono::steady_clock::now();
  Solution solution = request_solution(plan, limits, control);
  times_.solve_s = seconds_since(request);
  const auto reply = std::chrono::steady_clock::now();
  solution.field = checked_field(plan, read_field(plan));
  judge(plan, limits, decay_, solution);
  times_.judge_s = seconds_since(reply);
  return solution;
}

Solution CommandSolver::request_solution(const FloorPlan& plan, const SolveParameters& limits,
                                         const SolveControl& control) {
  const auto file = [&](PlanFile which) {
    return plan_file(process_.folder(), plan_name, which).string();
  };
  process_.send(
      id_, json_line({{"id", id_},
                      {"domain", file(PlanFile::domain)},
                      {"interior", file(PlanFile::interior)},
                      {"source", plan.has_heat_source() ? Json(file(PlanFile::source)) : Json()},
                      {"rows", plan.domain.rows},
                      {"columns", plan.domain.cols},
                      {"tolerance", limits.tolerance},
                      {"norm", to_string(limits.norm)},
                      {"max_iterations", limits.max_iterations},
                      {"spacing", limits.spacing},
                      {"field", field_path().string()}}) +
               "\n");
  Solution solution;
  bool is_done = false;
  while (!is_done)
    receive_line(process_, CommandProcess::no_limit, [&](const Json& reply) {
      if (const auto error = reply.find("error"); error != reply.end())
        throw CommandFailure("the program reported: " + error->get<std::string>());
      is_done = reply.value("done", false);
      solution.iterations = iterations_in(reply, "iterations");
      solution.is_convergence_known = reply.contains("converged");
      solution.converged = reply.value("converged", false);
      const std::int64_t progress = iterations_in(reply, "progress");
      if (!is_done && progress >= 0 && control.progress)
        control.progress(progress, reply.value("delta", nan_value));
      return (is_done || reply.contains("progress")) && solution.iterations >= 0 && progress >= 0;
    });
  return solution;
}

Grid<double> CommandSolver::read_field(const FloorPlan& plan) const {
  // Without a valid field, the reply may belong to an earlier request, so the program is replaced.
  if (!file_exists(field_path()))
    throw BrokenProgram(
        "the program replied, but did not write the field; its path is the value of \"field\" in "
        "the request");
  try {
    const InputFile file(field_path());
    npy::require_max_cells((plan.domain.rows + 2) * (plan.domain.cols + 2), field_name,
                           file.size());
    Grid<double> field = npy::read_float(field_name, file);
    require_finite_values(field, field_name);
    return field;
  } catch (const InputSystemError&) {
    throw;
  } catch (const InputError& error) {
    throw BrokenProgram(fmt::format("the program wrote no valid field: {}", error.what()));
  }
}

std::unique_ptr<Solver> make_solver(const SolverOptions& options) {
  if (options.kind != SolverKind::command) return options.make();
  return std::make_unique<CommandSolver>(options);
}

}  // namespace wallheat
