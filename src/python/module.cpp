#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <future>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/result_columns.hpp"
#include "core/version.hpp"
#include "python/arrays.hpp"
#include "solve/gpu/device.hpp"
#include "solve/solver_options.hpp"
#include "wallheat/error.hpp"
#include "wallheat/result_reader.hpp"
#include "wallheat/statistics.hpp"

// What Python cannot do by itself. The package wallheat, beside this file, is what its users see.
namespace py = pybind11;
using namespace pybind11::literals;

namespace wallheat::python {
namespace {

/// A solver on the first GPU, which is opened once. Throws RunError where there is none.
std::unique_ptr<Solver> make_gpu_solver() {
  static std::mutex mutex;
  // Never destroyed: the driver may be gone by then.
  static auto& device = *new std::shared_ptr<GpuDevice>;
  const py::gil_scoped_release unlocked;
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

/// Solves on a thread of its own while this one, without the interpreter's lock, looks for signals:
/// Ctrl-C ends the solver, and is raised here.
Solution solve_interruptibly(const FloorPlan& plan, const SolverOptions& options,
                             bool on_gpu = false) {
  const auto solver = on_gpu ? make_gpu_solver() : options.make();
  const py::gil_scoped_release unlocked;
  std::stop_source stop;
  auto solving = std::async(std::launch::async, [&] {
    return solver->solve(plan, options.limits, {stop.get_token(), {}});
  });
  while (solving.wait_for(std::chrono::milliseconds(50)) != std::future_status::ready) {
    const py::gil_scoped_acquire locked;
    if (PyErr_CheckSignals() == 0) continue;
    stop.request_stop();  // before the exception leaves, which waits for the solver
    throw py::error_already_set();
  }
  return solving.get().value();
}

/// The most able back end that this processor can run.
SolverOptions options_of(SolverKind kind, const Limits& limits) {
  SolverOptions options;
  options.limits = limits;
  options.kind = kind;
  options.isa = available_isas().back();
  return options;
}

template <class Value>
Value named(const std::string& what, const std::string& name, std::initializer_list<Value> values) {
  std::string names;
  for (const Value value : values) {
    if (to_string(value) == name) return value;
    names += (names.empty() ? "" : ", ") + std::string(to_string(value));
  }
  throw UsageError(what + " must be one of " + names + ", not '" + name + "'");
}

void require(bool holds, const std::string& sentence) {
  if (!holds) throw UsageError(sentence);
}

void require_shape(const py::array& array, const std::string& name, const py::array& domain) {
  if (!array.attr("shape").equal(domain.attr("shape")))
    throw InputError("domain has the shape " + shape_text(domain) + " and " + name + " " +
                     shape_text(array) + "; they must be equal");
}

py::dict solve(const py::array& domain, const py::array& interior, double tolerance,
               std::int64_t max_iterations, const std::string& solver, double accuracy,
               const std::optional<py::array>& source, double spacing, const std::string& norm,
               const std::string& device) {
  require(std::isfinite(tolerance) && tolerance >= 0,
          "tolerance must be a number of at least 0 (°C)");
  require(max_iterations >= 1, "max_iterations must be at least 1");
  require(std::isfinite(accuracy) && accuracy > 0, "accuracy must be a number above 0 (°C)");
  require(std::isfinite(spacing) && spacing > 0, "spacing must be a number above 0");
  require(device == "cpu" || device == "gpu",
          "device must be one of cpu, gpu, not '" + device + "'");
  const bool on_gpu = device == "gpu";
  const auto kind =
      named("solver", solver, {SolverKind::jacobi, SolverKind::fastforward, SolverKind::steady});
  require(!on_gpu || kind == SolverKind::jacobi, "a GPU has the solver jacobi alone");
  const Limits limits{tolerance, max_iterations, accuracy,
                      named("norm", norm, {Norm::max, Norm::l2}), spacing};
  require_shape(interior, "interior", domain);
  if (source) require_shape(*source, "source", domain);
  const FloorPlan plan{numbers_of(domain, "domain"), mask_of(interior, "interior"),
                       source ? numbers_of(*source, "source") : Grid<double>{}};
  Solution solution = solve_interruptibly(plan, options_of(kind, limits), on_gpu);
  const Statistics summary = statistics(solution.field, plan.interior);
  return py::dict("field"_a = array_of(std::move(solution.field)),
                  "iterations"_a = solution.iterations, "last_delta"_a = solution.last_delta,
                  "converged"_a = solution.converged, "error_bound"_a = solution.bound,
                  "mean_temp"_a = summary.mean_temp, "std_temp"_a = summary.std_temp,
                  "pct_above_18"_a = summary.pct_above_18, "pct_below_15"_a = summary.pct_below_15);
}

/// The grid with its ring is a plan of its own, whose ring is no room: so the ring counts as it is.
py::array_t<double> jacobi(const py::array& u, const py::array& interior_mask,
                           std::int64_t max_iter, double atol) {
  if (u.dtype().kind() != 'f' || u.itemsize() != sizeof(double))
    throw InputError("u must be float64, as NumPy computes other types in other digits");
  if (interior_mask.dtype().kind() != 'b')
    throw InputError("interior_mask must be bool, as NumPy takes numbers for positions");
  FloorPlan plan{numbers_of(u, "u"), {}};
  const auto mask = mask_of(interior_mask, "interior_mask");
  Grid<double>& domain = plan.domain;
  if (domain.rows != mask.rows + 2 || domain.cols != mask.cols + 2)
    throw InputError("u has the shape " + shape_text(u) + " and interior_mask " +
                     shape_text(interior_mask) +
                     "; u must have one row and one column more on each side");
  if (max_iter < 1) return array_of(std::move(domain));
  plan.interior = Grid<std::uint8_t>(domain.rows, domain.cols);
  for (std::size_t row = 0; row < mask.rows; ++row)
    std::copy_n(&mask(row, 0), mask.cols, &plan.interior(row + 1, 1));
  // No change is below 0, or below NaN: then all iterations are made.
  const double tolerance = atol > 0 ? atol : 0;
  const Limits limits{.tolerance = tolerance, .max_iterations = max_iter};
  return array_of(solve_interruptibly(plan, options_of(SolverKind::jacobi, limits)).field);
}

/// A text of a file, which may hold any bytes, as Python has the names of files.
py::str text_of(const std::string& text) {
  PyObject* decoded =
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape");
  if (decoded == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::str>(decoded);
}

py::dict dict_of(const Attributes& attributes) {
  py::dict dict;
  for (const auto& [name, text] : attributes) dict[text_of(name)] = text_of(text);
  return dict;
}

py::list list_of(const std::vector<std::string>& texts) {
  py::list list;
  for (const std::string& text : texts) list.append(text_of(text));
  return list;
}

/// A column of the rows: a list of texts, or an array of numbers; the status as its words.
template <class Column>
py::object values_of(const std::vector<PlanResult>& rows, const Column& column) {
  using Value = std::remove_cvref_t<decltype(column.of(rows.front()))>;
  if constexpr (std::is_arithmetic_v<Value>) {
    py::array_t<Value> values(static_cast<py::ssize_t>(rows.size()));
    Value* to = values.mutable_data();
    for (const PlanResult& row : rows) *to++ = column.of(row);
    return values;
  } else {
    py::list values;
    for (const PlanResult& row : rows) {
      if constexpr (std::is_same_v<Value, PlanStatus>)
        values.append(py::str(std::string(to_string(column.of(row)))));
      else
        values.append(text_of(column.of(row)));
    }
    return values;
  }
}

py::dict columns_of(const ResultReader& reader) {
  py::dict columns;
  for_each_column(
      [&](const auto& column) { columns[column.name] = values_of(reader.rows(), column); });
  return columns;
}

/// What the columns mean, with their units.
py::dict meanings() {
  py::dict meanings;
  for_each_column([&](const auto& column) { meanings[column.name] = column.meaning; });
  return meanings;
}

/// A sentence may name a path of any bytes.
void raise(PyObject* type, const char* sentence) { PyErr_SetObject(type, text_of(sentence).ptr()); }

void raise_as_python(std::exception_ptr pointer) {
  try {
    if (pointer) std::rethrow_exception(std::move(pointer));
  } catch (const InputError& error) {
    raise(PyExc_ValueError, error.what());
  } catch (const UsageError& error) {
    raise(PyExc_ValueError, error.what());
  } catch (const RunError& error) {
    raise(PyExc_RuntimeError, error.what());
  } catch (const std::bad_alloc&) {
    raise(PyExc_MemoryError, "there is not enough memory for arrays of this size");
  }
}

}  // namespace

PYBIND11_MODULE(_wallheat, module) {
  py::register_exception_translator(&raise_as_python);
  module.attr("version") = std::string(version());
  module.def("solve", &solve);
  module.def("jacobi", &jacobi);
  module.def("meanings", &meanings);
  // The interpreter's lock is kept: h5py may be at work in another thread, and HDF5 may be built
  // for one thread only.
  py::class_<ResultReader>(module, "Reader")
      .def(py::init<const std::filesystem::path&>())
      .def("columns", &columns_of)
      .def("settings", [](const ResultReader& reader) { return dict_of(reader.settings()); })
      .def("sessions",
           [](const ResultReader& reader) {
             py::list sessions;
             for (const Attributes& session : reader.sessions()) sessions.append(dict_of(session));
             return sessions;
           })
      .def("closed_well", &ResultReader::closed_well)
      .def("damage", [](const ResultReader& reader) { return list_of(reader.damage()); })
      .def("field", [](const ResultReader& reader, std::size_t index) -> py::object {
        auto field = reader.field(index);
        if (!field) return py::none();
        return array_of(std::move(*field));
      });
}

}  // namespace wallheat::python
