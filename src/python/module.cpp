#include <cxxabi.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "core/program.hpp"
#include "python/arrays.hpp"
#include "solve/gpu/device.hpp"
#include "solve/solver_options.hpp"
#include "wallheat/error.hpp"
#include "wallheat/statistics.hpp"

// The part of the Python package that needs C++. Users use the package wallheat in this folder.
namespace py = pybind11;
using namespace pybind11::literals;

namespace wallheat::python {
namespace {

/// Releases the global interpreter lock (GIL). When the interpreter ends, CPython before 3.14 ends
/// each daemon thread that requests the GIL by pthread_exit, whose unwinding terminates the process
/// in a destructor. Here, such a thread blocks until the process ends, as it does in CPython 3.14
/// and later.
class Unlocked {
 public:
  Unlocked() : state_(PyEval_SaveThread()) {}
  ~Unlocked() {
    if (state_ != nullptr) lock();
  }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

  void lock() {
    try {
      PyEval_RestoreThread(std::exchange(state_, nullptr));
    } catch (const abi::__forced_unwind&) {
      while (true) ::pause();
    }
  }
  void unlock() { state_ = PyEval_SaveThread(); }

 private:
  PyThreadState* state_;
};

/// Returns a solver on the first GPU, which is opened once. Throws RunError if there is no GPU.
std::unique_ptr<Solver> make_gpu_solver() {
  static std::mutex mutex;
  // Never destroyed, because the driver may be unloaded before static objects are destroyed.
  static auto& device = *new std::shared_ptr<GpuDevice>;
  const Unlocked interpreter;
  const std::scoped_lock lock(mutex);
  if (!device) {
    device = open_gpu(0, [](const std::string& sentence) {
      const py::gil_scoped_acquire locked;
      if (PyErr_WarnEx(PyExc_RuntimeWarning, sentence.c_str(), 1) != 0)
        throw py::error_already_set();
    });
  }
  return device->make_solver();
}

/// Solves on a separate thread. Meanwhile the calling thread releases the GIL and polls for
/// signals: Ctrl-C stops the solver, and its exception is raised here.
Solution solve_interruptibly(const FloorPlan& plan, const SolverOptions& options,
                             bool on_gpu = false) {
  const auto solver = on_gpu ? make_gpu_solver() : options.make();
  Unlocked interpreter;
  std::stop_source stop;
  auto solving = std::async(std::launch::async, [&] {
    return solver->solve(plan, options.limits, {stop.get_token(), {}});
  });
  while (solving.wait_for(std::chrono::milliseconds(50)) != std::future_status::ready) {
    interpreter.lock();
    const bool interrupted = PyErr_CheckSignals() != 0;
    interpreter.unlock();
    if (!interrupted) continue;
    stop.request_stop();
    solving.wait();
    interpreter.lock();
    throw py::error_already_set();
  }
  return solving.get().value();
}

void require(bool holds, const std::string& sentence) {
  if (!holds) throw UsageError(sentence);
}

void require_shape(const py::array& array, const std::string& name, const py::array& domain) {
  if (!array.attr("shape").equal(domain.attr("shape")))
    throw InputError("domain has the shape " + shape_text(domain) + " and " + name + " " +
                     shape_text(array) + "; they must be equal");
}

py::dict solve(const py::array& domain, const py::array& interior,
               const std::optional<py::array>& source, const std::string& device,
               const std::map<std::string, std::string>& settings) {
  require(device == "cpu" || device == "gpu",
          "device must be one of cpu, gpu, not '" + device + "'");
  const bool on_gpu = device == "gpu";
  const SolverOptions options = make_solver_options(settings);
  require(!on_gpu || options.kind == SolverKind::jacobi, "a GPU supports only the solver jacobi");
  require_shape(interior, "interior", domain);
  if (source) require_shape(*source, "source", domain);
  const FloorPlan plan{grid_from_array(domain, "domain"), mask_from_array(interior, "interior"),
                       source ? grid_from_array(*source, "source") : Grid<double>{}};
  Solution solution = solve_interruptibly(plan, options, on_gpu);
  const Statistics summary = statistics(solution.field, plan.interior);
  return py::dict("field"_a = array_from_grid(std::move(solution.field)),
                  "iterations"_a = solution.iterations, "last_delta"_a = solution.last_delta,
                  "converged"_a = solution.converged, "error_bound"_a = solution.error_bound,
                  "mean_temp"_a = summary.mean_temp, "std_temp"_a = summary.std_temp,
                  "pct_above"_a = summary.pct_above, "pct_below"_a = summary.pct_below);
}

/// Solves the grid with its border of fixed cells as a plan whose border is not interior, so that
/// the values of the border are used as they are.
py::array_t<double> jacobi(const py::array& u, const py::array& interior_mask,
                           std::int64_t max_iter, double atol) {
  if (u.dtype().kind() != 'f' || u.itemsize() != sizeof(double))
    throw InputError("u must be float64, because NumPy rounds other types differently");
  if (interior_mask.dtype().kind() != 'b')
    throw InputError("interior_mask must be bool, because NumPy interprets numbers as indices");
  FloorPlan plan{grid_from_array(u, "u"), {}};
  const auto mask = mask_from_array(interior_mask, "interior_mask");
  Grid<double>& domain = plan.domain;
  if (domain.rows != mask.rows + 2 || domain.cols != mask.cols + 2)
    throw InputError("u has the shape " + shape_text(u) + " and interior_mask " +
                     shape_text(interior_mask) +
                     "; u must have one row and one column more on each side");
  if (max_iter < 1) return array_from_grid(std::move(domain));
  plan.interior = Grid<std::uint8_t>(domain.rows, domain.cols);
  for (std::size_t row = 0; row < mask.rows; ++row)
    std::copy_n(&mask(row, 0), mask.cols, &plan.interior(row + 1, 1));
  // No delta is below 0 or below NaN, so all iterations are made.
  SolverOptions options = make_solver_options({});
  options.limits.tolerance = atol > 0 ? atol : 0;
  options.limits.max_iterations = max_iter;
  return array_from_grid(solve_interruptibly(plan, options).field);
}

void translate_exception(std::exception_ptr pointer) {
  try {
    if (pointer) std::rethrow_exception(std::move(pointer));
  } catch (const InputError& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (const UsageError& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (const RunError& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  } catch (const std::bad_alloc&) {
    PyErr_SetString(PyExc_MemoryError, "not enough memory for arrays of this size");
  }
}

}  // namespace

PYBIND11_MODULE(_wallheat, module) {
  py::register_exception_translator(&translate_exception);
  module.attr("version") = std::string(version());
  module.def("solve", &solve);
  module.def("jacobi", &jacobi);
}

}  // namespace wallheat::python
