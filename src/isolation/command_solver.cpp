#include "isolation/command_solver.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

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
#include "io/process_setup.hpp"
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
void receive_line(CommandProcess& process, const Use& use) {
  const std::string line = process.receive();
  try {
    const Json json = Json::parse(line);
    Json given = Json::object();
    for (const auto& [key, value] : json.get_ref<const Json::object_t&>())
      if (!value.is_null()) given[key] = value;
    if (use(given)) return;
  } catch (const Json::exception&) {
    // It is reported below.
  }
  throw BrokenProgram("the program sent an invalid line, not a reply such as {\"done\": true}: " +
                      escape_control_chars(line.substr(0, max_quoted_bytes)));
}

/// Removes the ring of cells around a field. Throws CommandFailure if one of them is not 0.
Grid<double> without_ring(const Grid<double>& field) {
  Grid<double> inner(field.rows - 2, field.cols - 2);
  for (std::size_t row = 0; row < field.rows; ++row)
    for (std::size_t col = 0; col < field.cols; ++col) {
      const bool is_ring = row == 0 || col == 0 || row + 1 == field.rows || col + 1 == field.cols;
      if (!is_ring) inner(row - 1, col - 1) = field(row, col);
      if (is_ring && field(row, col) != 0)
        throw CommandFailure(fmt::format(
            "the program changed the ring around the plan: row {}, column {} of the field is {} °C",
            row, col, field(row, col)));
    }
  return inner;
}

/// Throws CommandFailure if a fixed cell has another value than in the plan.
void require_fixed_cells(const FloorPlan& plan, const Grid<double>& field) {
  // Most programs change no bit, and to find that out needs no branch per cell.
  std::uint64_t differing_bits = 0;
  for (std::size_t cell = 0; cell < field.cells.size(); ++cell) {
    const std::uint64_t is_fixed = plan.interior.cells[cell] == 0 ? ~std::uint64_t{0} : 0;
    differing_bits |= is_fixed & (std::bit_cast<std::uint64_t>(field.cells[cell]) ^
                                  std::bit_cast<std::uint64_t>(plan.domain.cells[cell]));
  }
  if (differing_bits == 0) return;
  for (std::size_t cell = 0; cell < field.cells.size(); ++cell) {
    if (plan.interior.cells[cell] != 0 || field.cells[cell] == plan.domain.cells[cell]) continue;
    throw CommandFailure(fmt::format(
        "the program changed a fixed cell: row {}, column {} is {} °C, and {} °C in the plan",
        cell / field.cols, cell % field.cols, field.cells[cell], plan.domain.cells[cell]));
  }
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

CommandSolver::CommandSolver(const SolverOptions& options, CommandLaunch launch)
    : launch_(std::move(launch)),
      decay_(make_delta_decay(kernels_for(options.isa).sweeps, decay_iterations)) {
  launch_.words = options.command.words;
  start();
}

void CommandSolver::start() {
  const auto start = std::chrono::steady_clock::now();
  process_ = std::make_unique<CommandProcess>(launch_);
  receive_line(*process_, [](const Json& line) { return line.value("ready", false); });
  next_start_s_ = seconds_since(start);
}

std::filesystem::path CommandSolver::field_path() const {
  return process_->folder() / fmt::format("field-{}.npy", request_number_);
}

void CommandSolver::write_arrays(const FloorPlan& plan) {
  try {
    const auto write = [&](PlanFile which, const auto& grid) {
      // Without O_TRUNC, because a file that is emptied loses its memory, and gets it back slowly.
      const File file(plan_file(process_->folder(), plan_name, which), O_WRONLY | O_CREAT);
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
    remove_file(field_path());
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
  try {
    if (!process_) start();
    times_.start_s = std::exchange(next_start_s_, 0);
    process_->output().begin_plan(id_);
    const auto begin = std::chrono::steady_clock::now();
    write_arrays(plan);
    times_.write_s = seconds_since(begin);
    const auto request = std::chrono::steady_clock::now();
    Solution solution = request_solution(plan, limits, control);
    times_.solve_s = seconds_since(request);
    const auto reply = std::chrono::steady_clock::now();
    solution.field = read_field(plan);
    judge(plan, limits, decay_, solution);
    times_.judge_s = seconds_since(reply);
    return solution;
  } catch (const BrokenProgram&) {
    process_.reset();
    throw;
  }
}

Solution CommandSolver::request_solution(const FloorPlan& plan, const SolveParameters& limits,
                                         const SolveControl& control) {
  const auto file = [&](PlanFile which) {
    return plan_file(process_->folder(), plan_name, which).string();
  };
  process_->send(
      json_line({{"id", id_},
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
    receive_line(*process_, [&](const Json& reply) {
      solution.iterations = reply.value("iterations", std::int64_t{0});
      solution.is_convergence_known = reply.contains("converged");
      solution.converged = reply.value("converged", false);
      is_done = reply.value("done", false);
      if (const auto error = reply.find("error"); error != reply.end())
        throw CommandFailure("the program reported: " + error->get<std::string>());
      if (is_done) return solution.iterations >= 0;
      const auto progress = reply.find("progress");
      if (progress == reply.end()) return false;
      if (control.progress)
        control.progress(progress->get<std::int64_t>(), reply.value("delta", nan_value));
      return true;
    });
  return solution;
}

Grid<double> CommandSolver::read_field(const FloorPlan& plan) const {
  const GridShape shape{plan.domain.rows, plan.domain.cols};
  Grid<double> field;
  try {
    // The reply may belong to an earlier request, so the program must be started again.
    if (!file_exists(field_path()))
      throw BrokenProgram(
          "the program replied, but did not write the field; its path is the value of \"field\" in "
          "the request");
    const InputFile file(field_path());
    const std::uint64_t max_bytes =
        npy::prefix_size + (shape.rows + 2) * (shape.cols + 2) * sizeof(double);
    if (file.size() > max_bytes)
      throw CommandFailure(
          fmt::format("the program wrote a field of {} bytes for a plan of {} x {} cells",
                      file.size(), shape.rows, shape.cols));
    field = npy::read_float(field_name, file);
    require_finite_values(field, field_name);
  } catch (const InputSystemError&) {
    throw;
  } catch (const InputError& error) {
    throw CommandFailure(fmt::format("the program wrote no valid field: {}", error.what()));
  }
  if (field.rows == shape.rows + 2 && field.cols == shape.cols + 2) field = without_ring(field);
  if (field.rows != shape.rows || field.cols != shape.cols)
    throw CommandFailure(
        fmt::format("the program wrote a field of {} x {} cells for a plan of {} x {} cells",
                    field.rows, field.cols, shape.rows, shape.cols));
  require_fixed_cells(plan, field);
  return field;
}

std::unique_ptr<Solver> make_solver(const SolverOptions& options, CommandLaunch launch) {
  if (options.kind != SolverKind::command) return options.make();
  if (launch.open_files == 0) launch.open_files = original_open_files();
  return std::make_unique<CommandSolver>(options, std::move(launch));
}

}  // namespace wallheat
