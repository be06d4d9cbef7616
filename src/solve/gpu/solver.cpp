#include "solve/gpu/solver.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "solve/gpu/stream.hpp"
#include "solve/gpu/tiling.hpp"
#include "solve/heat_source.hpp"

namespace wallheat::gpu {
namespace {

// Memory management of the GPU solver: the layout of arrays, and buffers that are reused for the
// next plan.

/// An array in a block of memory.
template <class T>
struct Slice {
  std::size_t begin;  ///< offset in bytes
  [[nodiscard]] T* in(std::byte* memory) const { return reinterpret_cast<T*>(memory + begin); }
};

/// Assigns consecutive positions to arrays. The same layout is used on the host and on the device.
class Layout {
 public:
  template <class T>
  [[nodiscard]] Slice<T> add(std::size_t count) {
    constexpr std::size_t alignment = 256;
    const Slice<T> slice{bytes_};
    bytes_ += (count * sizeof(T) + alignment - 1) / alignment * alignment;
    return slice;
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_ = 0;
};

/// Memory that is reused for the next plan. Its size grows in powers of two, because CUDA waits for
/// the whole device before it frees memory. Buffers above max_kept_bytes are rare; they have their
/// exact size and are released after the plan, because other solvers may need the memory.
class Buffer {
 public:
  /// Returns at least `bytes` bytes. The previous contents are lost. allocate(bytes) must return a
  /// Memory.
  template <class Allocate>
  [[nodiscard]] std::byte* reserve(std::size_t bytes, const Allocate& allocate) {
    if (bytes > bytes_) {
      const std::size_t rounded = bytes > max_kept_bytes ? bytes : std::bit_ceil(bytes);
      *this = {};  // release the old memory first, to limit the peak
      memory_ = allocate(rounded);
      bytes_ = rounded;
    }
    return memory_.get();
  }
  void release_if_large() {
    if (bytes_ > max_kept_bytes) *this = {};
  }

 private:
  static constexpr std::size_t max_kept_bytes = std::size_t{64} << 20;
  Memory memory_;
  std::size_t bytes_ = 0;
};

/// Returns true if all temperatures of `result` are, within `margin`, between the minimum and the
/// maximum of the initial field and of the 0 °C outside the grid, as the maximum principle
/// requires. Returns false for NaN.
bool obeys_maximum_principle(const Grid<double>& result, const Grid<double>& start, double margin) {
  double min_value = 0;
  double max_value = 0;
  for (const double value : start.cells) {
    min_value = std::min(min_value, value);
    max_value = std::max(max_value, value);
  }
  return std::ranges::all_of(result.cells, [&](double value) {
    return value >= min_value - margin && value <= max_value + margin;
  });
}

[[noreturn]] void throw_too_small(std::size_t bytes, const std::string& available_memory) {
  throw DeviceTooSmall("the plan needs " + std::to_string((bytes >> 20) + 1) +
                       " MiB of GPU memory, but the GPU has " + available_memory +
                       "; solve it on a CPU (--device cpu)");
}

/// Sweeps that launches of the streaming kernel make without a wait in between.
struct StreamingSweeps {
  StreamingKernelArgs first{};  ///< arguments of the first launch, which writes to first.to
  double* other = nullptr;      ///< field to which every second launch writes
  std::int64_t count = 0;       ///< number of sweeps
  std::size_t regions = 0;
  unsigned long long* largest_change = nullptr;  ///< set by the last launch; in device memory

  [[nodiscard]] std::int64_t launches() const {
    return (count + max_sweeps_per_launch - 1) / max_sweeps_per_launch;
  }
  /// Returns the field to which the last launch writes.
  [[nodiscard]] double* result() const { return launches() % 2 == 1 ? first.to : other; }
  bool operator==(const StreamingSweeps&) const = default;
};

class SolverOnStream final : public GpuSolver {
 public:
  SolverOnStream(std::unique_ptr<Stream> stream, Kernel kernel)
      : stream_(std::move(stream)), kernel_(kernel) {
    // Allocate the memory for a plan of 512 x 512 cells in advance. CUDA allocates and frees memory
    // only while no kernel of any stream runs, so a later allocation would delay the other solvers.
    try {
      (void)on_device(std::size_t{8} << 20);
      (void)pinned(std::size_t{2} << 20);
    } catch (const DeviceTooSmall&) {  // reported by the first plan that needs more memory
    } catch (const std::bad_alloc&) {
    }
  }

  std::optional<Solution> solve(const FloorPlan& plan, const SolveParameters& limits,
                                const SolveControl& control) override {
    return solve_with_terms(plan, limits,
                            [&](const FloorPlan& transposed, const Grid<double>& terms) {
                              return solve(transposed, terms, limits, control);
                            });
  }

 private:
  std::optional<Solution> solve(const FloorPlan& plan, const Grid<double>& terms,
                                const SolveParameters& limits, const SolveControl& control) {
    // This throws if the initial field contains NaN, which the kernels ignore when they compute
    // delta.
    Convergence convergence = make_convergence(plan, terms, limits);
    Solution solution{plan.domain, 0, 0, false};
    times_ = {};
    if (count_interior(plan) == 0) {
      while (!convergence.finished()) (void)convergence.accept(0);
    } else {
      const bool done = solve_on_device(plan, terms, limits.norm, control, convergence, solution);
      device_.release_if_large();
      if (!done) return std::nullopt;
      const double margin = source_magnitude_bound(terms) + convergence.rounding_bound();
      if (!obeys_maximum_principle(solution.field, plan.domain, margin))
        throw DeviceFault("the result of the GPU is outside the range of the fixed temperatures");
    }
    solution.iterations = convergence.iterations();
    solution.last_delta = convergence.last_delta();
    solution.converged = convergence.converged();
    solution.error_estimate = per_cell_estimate(convergence.error_estimate(), plan, limits.norm);
    return solution;
  }

  /// Solves a plan on the device. Sets the field of the solution, and times_. Returns false if a
  /// stop was requested.
  bool solve_on_device(const FloorPlan& plan, const Grid<double>& terms, Norm norm,
                       const SolveControl& control, Convergence& convergence, Solution& solution) {
    if (kernel_ == Kernel::cluster && terms.cells.empty() && norm == Norm::max) {
      const DeviceCapacity& capacity = stream_->capacity();
      const Tiling tiling(plan.interior, static_cast<std::size_t>(capacity.block_threads));
      if (tiling.blocks() <= static_cast<std::size_t>(capacity.max_cluster_blocks))
        return solve_in_cluster(tiling, plan, control, convergence, solution);
    }
    return solve_streaming(plan, terms, norm, control, convergence, solution);
  }

  bool solve_in_cluster(const Tiling& tiling, const FloorPlan& plan, const SolveControl& control,
                        Convergence& convergence, Solution& solution) {
    const std::size_t slots = tiling.slots();
    constexpr auto tile_cells = static_cast<std::size_t>(cluster_tile.cells());
    Layout layout;
    const auto state = layout.add<Convergence>(1);
    const auto cells = layout.add<double>(slots * tile_cells);
    const std::size_t download_bytes = layout.bytes();
    const auto halos = layout.add<Pair>(slots * cluster_tile.halo_pairs());
    const auto interior = layout.add<CellMask>(slots);
    const auto neighbours = layout.add<std::int32_t>(slots * sides);
    const std::size_t upload_bytes = layout.bytes();
    const auto kept = layout.add<double>(slots * tile_cells);
    std::byte* const device = on_device(layout.bytes());
    std::byte* const host = pinned(upload_bytes);

    tiling.load_cells(plan.domain, cells.in(host));
    tiling.load_halos(plan.domain, halos.in(host));
    tiling.load_interior(interior.in(host));
    tiling.load_neighbours(neighbours.in(host));
    std::memcpy(state.in(host), &convergence, sizeof convergence);
    stream_->mark(begun);
    stream_->copy(device, host, upload_bytes);
    stream_->mark(uploaded);
    const ClusterKernelArgs on_chip{.cells = cells.in(device),
                                    .halos = halos.in(device),
                                    .interior = interior.in(device),
                                    .neighbours = neighbours.in(device),
                                    .rollback_cells = kept.in(device),
                                    .slots = static_cast<std::int32_t>(slots),
                                    .convergence = state.in(device),
                                    .sweeps = stream_->capacity().sweeps};
    while (!convergence.finished()) {
      if (is_stopped(control)) return false;
      stream_->run_cluster(static_cast<int>(tiling.blocks()), static_cast<int>(tiling.threads()),
                           on_chip);
      stream_->mark(computed);
      // A copy that is queued behind the kernel would delay the copies of other streams, so wait
      // first.
      stream_->wait();
      // Nearly all plans need only one launch, so always copy the cells together with the state.
      stream_->copy(host, device, download_bytes);
      stream_->mark(downloaded);
      stream_->wait();
      const std::int64_t before = convergence.iterations();
      std::memcpy(&convergence, state.in(host), sizeof convergence);
      if (convergence.iterations() <= before)
        throw DeviceFault("the GPU's kernel ended without an iteration");
      if (control.progress) control.progress(convergence.iterations(), convergence.last_delta());
    }
    tiling.store_cells(cells.in(host), solution.field);
    take_times(Kernel::cluster, tiling.blocks(), tiling.threads());
    return true;
  }

  bool solve_streaming(const FloorPlan& plan, const Grid<double>& terms, Norm norm,
                       const SolveControl& control, Convergence& convergence, Solution& solution) {
    const TileMask mask(plan.interior, streamed_tile);
    const std::vector<std::int32_t> regions = regions_with_interior_cells(mask);
    const std::size_t padded_cols = mask.cols * static_cast<std::size_t>(streamed_tile.cols);
    const std::size_t padded_cells =
        mask.rows * static_cast<std::size_t>(streamed_tile.rows) * padded_cols;
    const std::size_t pitch = padded_cols * sizeof(double);
    const bool has_source = !terms.cells.empty();
    Layout layout;
    const auto fields = layout.add<double>(3 * padded_cells);
    const auto source = layout.add<double>(has_source ? padded_cells : 0);
    const auto interior = layout.add<CellMask>(mask.interior.size());
    const auto region_list = layout.add<std::int32_t>(regions.size());
    const auto change = layout.add<unsigned long long>(1);
    std::byte* const device = on_device(layout.bytes());
    std::byte* const host = pinned(sizeof(unsigned long long));
    if (norm == Norm::l2) before_ = after_ = plan.domain;  // before the stream copies into them

    double* current = fields.in(device);
    double* others[2] = {current + padded_cells, current + 2 * padded_cells};
    const std::size_t row_bytes = plan.domain.cols * sizeof(double);
    const auto upload = [&](const Grid<double>& from, double* to) {
      stream_->clear(to, padded_cells * sizeof(double));
      stream_->copy_rows(to, pitch, from.cells.data(), row_bytes, row_bytes, from.rows);
    };
    const auto fetch = [&](const double* from, Grid<double>& to) {
      stream_->copy_rows(to.cells.data(), row_bytes, from, pitch, row_bytes, to.rows);
    };
    stream_->mark(begun);
    upload(plan.domain, current);
    for (double* other : others) stream_->copy(other, current, padded_cells * sizeof(double));
    if (has_source) upload(terms, source.in(device));
    stream_->copy(interior.in(device), mask.interior.data(),
                  mask.interior.size() * sizeof(CellMask));
    stream_->copy(region_list.in(device), regions.data(), regions.size() * sizeof(std::int32_t));
    stream_->mark(uploaded);
    auto* const largest_change = change.in(device);
    StreamingSweeps sweeps{.first = {.tile_rows_count = static_cast<std::int32_t>(mask.rows),
                                     .tile_cols_count = static_cast<std::int32_t>(mask.cols),
                                     .interior = interior.in(device),
                                     .regions = region_list.in(device),
                                     .terms = has_source ? source.in(device) : nullptr},
                           .regions = regions.size(),
                           .largest_change = largest_change};
    std::int64_t previous_window = 0;
    while (!convergence.finished()) {
      if (is_stopped(control)) return false;
      // The first and the last windows of an iteration are short. Most others have the same length.
      const std::int64_t window = convergence.sweeps_to_next_check();
      const bool recurs = window == previous_window;
      previous_window = window;
      // The sweeps start from `current`, which is kept for a rollback, and alternate between the
      // other two fields.
      sweeps.first.from = current;
      sweeps.first.to = others[0];
      sweeps.other = others[1];
      sweeps.count = window;
      stream_->clear(largest_change, sizeof *largest_change);
      if (norm == Norm::l2) {
        // The 2-norm needs the fields before and after the last sweep, which is therefore launched
        // separately.
        if (window > 1) {
          sweeps.count = window - 1;
          enqueue(sweeps, recurs);
          sweeps.first.from = sweeps.result();
          if (sweeps.first.from == sweeps.first.to) std::swap(sweeps.first.to, sweeps.other);
          sweeps.count = 1;
        }
        fetch(sweeps.first.from, before_);
      }
      enqueue(sweeps, recurs);
      double* const result = sweeps.result();
      stream_->mark(computed);
      if (norm == Norm::l2) fetch(result, after_);
      stream_->copy(host, largest_change, sizeof *largest_change);
      stream_->wait();
      unsigned long long bits = 0;
      std::memcpy(&bits, host, sizeof bits);
      const double delta = norm == Norm::max
                               ? std::bit_cast<double>(bits)
                               : l2_distance_in_plan_order(after_, before_, has_source);
      if (!convergence.accept(delta)) continue;
      std::swap(current, result == others[0] ? others[0] : others[1]);
      if (control.progress) control.progress(convergence.iterations(), delta);
    }
    fetch(current, solution.field);
    stream_->mark(downloaded);
    stream_->wait();
    take_times(Kernel::streaming, regions.size(), region_threads);
    return true;
  }

  /// Enqueues sweeps. If `recurs`, later windows of this plan, or of other plans with the same
  /// shape and number of regions, probably have the same arguments. Then the launches are recorded,
  /// so that one call to the driver enqueues all of them.
  void enqueue(const StreamingSweeps& sweeps, bool recurs) {
    if (!recurs || sweeps.launches() == 1) return launch(sweeps);
    auto* recorded = std::ranges::find(recorded_, sweeps);
    if (recorded == recorded_.end()) {
      recorded = &recorded_[next_recording_];
      next_recording_ = (next_recording_ + 1) % recorded_.size();
      *recorded = {};  // remains if record() fails
      stream_->record(static_cast<int>(recorded - recorded_.begin()), [&] { launch(sweeps); });
      *recorded = sweeps;
    }
    stream_->replay(static_cast<int>(recorded - recorded_.begin()));
  }
  void launch(const StreamingSweeps& sweeps) {
    StreamingKernelArgs args = sweeps.first;
    double* const targets[2] = {sweeps.first.to, sweeps.other};
    std::int64_t remaining = sweeps.count;
    for (int launch = 0; remaining > 0; ++launch) {
      args.to = targets[launch % 2];
      args.sweeps =
          static_cast<std::int32_t>(std::min<std::int64_t>(remaining, max_sweeps_per_launch));
      remaining -= args.sweeps;
      stream_->run_streaming(sweeps.regions, args,
                             remaining == 0 ? sweeps.largest_change : nullptr);
      args.from = args.to;
    }
  }

  /// Returns true if a stop was requested. Waits for the operations in the stream first, because
  /// the caller then releases memory that they use.
  bool is_stopped(const SolveControl& control) {
    if (!control.stop.stop_requested()) return false;
    stream_->wait();
    return true;
  }

  void take_times(Kernel kernel, std::size_t blocks, std::size_t threads) {
    times_ = stream_->times();  // all 0 if the stream does not measure
    times_.kernel = to_string(kernel);
    times_.grid = static_cast<std::int32_t>(blocks);
    times_.block = static_cast<std::int32_t>(threads);
  }

  [[nodiscard]] std::byte* on_device(std::size_t bytes) {
    const std::size_t total = stream_->capacity().memory_bytes;
    if (bytes > total) throw_too_small(bytes, std::to_string(total >> 20) + " MiB");
    try {
      return device_.reserve(bytes, [&](std::size_t size) { return stream_->device_memory(size); });
    } catch (const std::bad_alloc&) {
      throw_too_small(bytes, "less free memory");
    }
  }
  /// Returns pinned memory of the host, which the device can access.
  [[nodiscard]] std::byte* pinned(std::size_t bytes) {
    return pinned_.reserve(bytes, [&](std::size_t size) { return stream_->pinned_memory(size); });
  }

  std::unique_ptr<Stream> stream_;
  Kernel kernel_;
  Buffer device_;  // declared after stream_, so that it is released before the stream
  Buffer pinned_;
  std::array<StreamingSweeps, Stream::recordings> recorded_{};  ///< contents of the recordings
  std::size_t next_recording_ = 0;                              ///< the older one
  Grid<double> before_;  ///< field before a sweep, for the 2-norm
  Grid<double> after_;   ///< field after this sweep
};

}  // namespace

std::string to_string(Kernel kernel) { return kernel == Kernel::cluster ? "cluster" : "streaming"; }

std::unique_ptr<GpuSolver> make_gpu_solver(std::unique_ptr<Stream> stream, Kernel kernel) {
  return std::make_unique<SolverOnStream>(std::move(stream), kernel);
}

}  // namespace wallheat::gpu
