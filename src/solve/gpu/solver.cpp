#include "solve/gpu/solver.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "solve/distance.hpp"
#include "solve/gpu/tiling.hpp"
#include "solve/source.hpp"
#include "solve/trace.hpp"
#include "wallheat/error.hpp"

namespace wallheat::gpu {
namespace {

/// So many sweeps take some tens of milliseconds: often enough to hear a stop and tell of progress.
constexpr std::int64_t sweeps_a_launch = 16384;

/// A piece of a pool, for a plan. It goes back when the stream is done with it, however the work
/// ended: the next one who takes it uses another stream.
class Borrowed {
 public:
  Borrowed(MemoryPool& pool, Stream& stream, std::size_t bytes)
      : pool_(pool),
        stream_(stream),
        piece_(pool.take(bytes, [&](std::size_t size) { return stream.device_memory(size); })) {}
  ~Borrowed() {
    try {
      stream_.wait();
    } catch (const DeviceFault&) {
      // The work has ended, and whoever waits for its result has heard why.
    }
    pool_.put_back(std::move(piece_));
  }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  [[nodiscard]] std::byte* data() const { return piece_.memory.get(); }

 private:
  MemoryPool& pool_;
  Stream& stream_;
  SizedMemory piece_;
};

/// Lays arrays out one after the other; the same layout serves twins on host and device.
class Layout {
 public:
  /// Returns where an array of `count` values begins.
  template <class T>
  std::size_t add(std::size_t count) {
    constexpr std::size_t alignment = 256;
    const std::size_t begin = bytes_;
    bytes_ += (count * sizeof(T) + alignment - 1) / alignment * alignment;
    return begin;
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_ = 0;
};

template <class T>
T* at(std::byte* memory, std::size_t offset) {
  return reinterpret_cast<T*>(memory + offset);
}

/// The range that no temperature can leave (the maximum principle); the ring outside has 0 °C, and
/// a source makes no more than so much.
struct Range {
  double least = 0;
  double most = 0;

  Range(const Grid<double>& field, double made_by_source) {
    for (const double value : field.cells) {
      least = std::min(least, value);
      most = std::max(most, value);
    }
    least -= made_by_source;
    most += made_by_source;
  }
  /// NaN is nowhere.
  [[nodiscard]] bool holds_all(const Grid<double>& field, double margin) const {
    const double low = least - margin;
    const double high = most + margin;
    bool all = true;
    for (const double value : field.cells) all = all && value >= low && value <= high;
    return all;
  }
};

/// A plan that a solver has in hand, beside others on the same device.
class PlanInHand {
 public:
  explicit PlanInHand(MemoryPool& pool) : pool_(pool), plans_(pool.begin_plan()) {}
  ~PlanInHand() { pool_.end_plan(); }
  PlanInHand(const PlanInHand&) = delete;
  PlanInHand& operator=(const PlanInHand&) = delete;
  /// Of the device, with this one.
  [[nodiscard]] int plans() const { return plans_; }

 private:
  MemoryPool& pool_;
  int plans_;
};

[[noreturn]] void leave_to_cpu(const std::string& why) {
  throw DeviceTooSmall(why + "; solve it on a CPU (--device cpu)");
}

class StreamSolver final : public Solver {
 public:
  StreamSolver(std::unique_ptr<Stream> stream, std::shared_ptr<MemoryPool> pool, AdmitKernel admit)
      : stream_(std::move(stream)), pool_(std::move(pool)), admit_(std::move(admit)) {}

  std::optional<Solution> solve(const FloorPlan& plan, const Limits& limits,
                                const SolveControl& control) override {
    check_values(plan.domain, "the start field");  // a kernel's largest change leaves out NaN
    if (!plan.has_source()) return solve(plan, {}, limits, control);
    check_values(plan.source, "the source");
    // The order of the sum is that of updated_with_source(), which is the usual one with rows and
    // columns exchanged.
    auto solution = solve({transposed(plan.domain), transposed(plan.interior)},
                          transposed(source_terms(plan, limits)), limits, control);
    if (solution) solution->field = transposed(solution->field);
    return solution;
  }

 private:
  /// `terms`: what an update adds to the sum of the neighbours; then the plan is transposed.
  std::optional<Solution> solve(const FloorPlan& plan, const Grid<double>& terms,
                                const Limits& limits, const SolveControl& control) {
    const Range range(plan.domain, largest_made_by(terms));
    Convergence convergence = convergence_of(plan, terms, limits);
    Solution solution{plan.domain, 0, 0, false};
    const auto& interior = plan.interior.cells;
    if (std::all_of(interior.begin(), interior.end(),
                    [](std::uint8_t cell) { return cell == 0; })) {
      while (!convergence.finished()) (void)convergence.accept(0);
    } else {
      (void)stream_->take_times();  // of a plan that was not solved
      const PlanInHand in_hand(*pool_);
      std::optional<Resident> resident;
      if (terms.cells.empty() && limits.norm == Norm::max) resident = choose(plan, in_hand.plans());
      if (!resident) require_streaming(!terms.cells.empty());
      const bool done =
          resident
              ? solve_resident(*resident, plan, control, convergence, solution.field)
              : solve_streaming(plan, terms, limits.norm, control, convergence, solution.field);
      if (!done) return std::nullopt;
      if (!range.holds_all(solution.field, convergence.rounding_margin()))
        throw DeviceFault("the GPU's answer leaves the range of the fixed temperatures");
    }
    solution.iterations = convergence.iterations();
    solution.last_delta = convergence.last_delta();
    solution.converged = convergence.converged();
    solution.error_estimate = estimate_of_a_cell(convergence.error_estimate(), plan, limits.norm);
    solution.device_times = stream_->take_times();
    return solution;
  }

  /// How a plan stays on the chip.
  struct Resident {
    GroupSize group;
    Tiling tiling;
  };

  /// For a plan beside others, so many with it. Nothing where it has too many tiles for that.
  /// Throws DeviceFault if the device fails at proving a kernel.
  [[nodiscard]] std::optional<Resident> choose(const FloorPlan& plan, int plans) const {
    const Capacity& capacity = stream_->capacity();
    std::optional<Tiling> tiling;
    const auto tiles = [&](TileShape shape) {
      if (!tiling || tiling->shape() != shape) tiling.emplace(TileMask(plan.interior, shape));
      return tiling->tiles();
    };
    for (const ClusterShape& shape : capacity.clusters) {
      const int blocks = cluster_blocks_for(shape, tiles(cluster_tile), plans);
      if (blocks > 0)
        return Resident{{GroupKind::cluster, shape.threads, blocks}, *std::move(tiling)};
    }
    const std::size_t in_grid = blocks_for(tiles(grid_tile), capacity.grid_threads);
    if (in_grid <= static_cast<std::size_t>(capacity.most_grid_blocks) &&
        admit_({Kernel::grid, capacity.grid_threads, true}))
      return Resident{{GroupKind::grid, capacity.grid_threads, static_cast<int>(in_grid)},
                      *std::move(tiling)};
    return std::nullopt;
  }

  void require_streaming(bool has_source) const {
    const Capacity& capacity = stream_->capacity();
    if (!admit_(
            {Kernel::streaming, capacity.region_rows * capacity.region_cols, false, has_source}))
      throw DeviceFault("no kernel of this GPU that could solve the plan has proven itself");
  }

  static std::size_t blocks_for(std::size_t tiles, int threads) {
    const auto a_block = static_cast<std::size_t>(std::max(threads, 1));
    return (tiles + a_block - 1) / a_block;
  }

  /// How many blocks a plan's cluster is to have beside others, so many with it; 0 where none holds
  /// it that may be used. First as many of the plans at once as can be, then as many blocks as that
  /// leaves to each, so that one alone is soon done; but no block is to have less than an eighth of
  /// the tiles that it could hold.
  [[nodiscard]] int cluster_blocks_for(const ClusterShape& shape, std::size_t tiles,
                                       int plans) const {
    const auto fewest_tiles = static_cast<std::size_t>(std::max(shape.threads / 8, 1));
    const std::size_t needed = blocks_for(tiles, shape.threads);
    ClusterSize chosen;
    for (const auto& [blocks, at_once] : shape.sizes) {
      const auto size = static_cast<std::size_t>(blocks);
      if (size < needed || (chosen.blocks > 0 && size > tiles / fewest_tiles)) continue;
      if (std::min(at_once, plans) < std::min(chosen.at_once, plans)) continue;
      if (admit_({Kernel::cluster, shape.threads, blocks > 1})) chosen = {blocks, at_once};
    }
    return chosen.blocks;
  }

  /// Returns false where a stop was requested.
  bool solve_resident(Resident& resident, const FloorPlan& plan, const SolveControl& control,
                      Convergence& convergence, Grid<double>& field) {
    auto& [group, tiling] = resident;
    group.threads = tiling.deal(group.blocks);
    const std::size_t slots = tiling.slots();
    const auto tile_cells = static_cast<std::size_t>(tiling.shape().cells());
    const auto inbox_pairs = static_cast<std::size_t>(tiling.shape().inbox_pairs());
    Layout layout;
    const auto state = layout.add<Convergence>(1);
    const auto cells = layout.add<double>(slots * tile_cells);
    const std::size_t answer_bytes = layout.bytes();
    const auto inboxes = layout.add<Pair>(slots * inbox_pairs);
    const auto interior = layout.add<CellMask>(slots);
    const auto neighbours = layout.add<std::int32_t>(slots * sides);
    const std::size_t upload_bytes = layout.bytes();
    const auto kept = layout.add<double>(slots * tile_cells);
    const auto exchanged =
        layout.add<Pair>(group.kind == GroupKind::grid ? 2 * slots * inbox_pairs : 0);
    const auto maxima = layout.add<unsigned long long>(2);
    require_room_for(layout.bytes());
    std::byte* const host = pinned(upload_bytes);
    const Borrowed borrowed(*pool_, *stream_, layout.bytes());
    std::byte* const device = borrowed.data();

    {
      const TraceRange range("copy");
      tiling.load_cells(plan.domain, at<double>(host, cells));
      tiling.load_inboxes(plan.domain, at<Pair>(host, inboxes));
      tiling.load_interior(at<CellMask>(host, interior));
      tiling.load_neighbours(at<std::int32_t>(host, neighbours));
      std::memcpy(host + state, &convergence, sizeof convergence);
      stream_->copy(device, host, upload_bytes);
    }
    const ResidentPlan on_device{.cells = at<double>(device, cells),
                                 .inboxes = at<Pair>(device, inboxes),
                                 .interior = at<CellMask>(device, interior),
                                 .neighbours = at<std::int32_t>(device, neighbours),
                                 .kept = at<double>(device, kept),
                                 .exchanged = at<Pair>(device, exchanged),
                                 .maxima = at<unsigned long long>(device, maxima),
                                 .slots = static_cast<std::int32_t>(slots),
                                 .convergence = at<Convergence>(device, state),
                                 .sweeps = sweeps_a_launch};
    while (!convergence.finished()) {
      if (control.stop.stop_requested()) return false;
      stream_->clear(on_device.maxima, 2 * sizeof *on_device.maxima);
      stream_->run_resident(group, on_device);
      // A copy that waited behind the kernel would hold up those of other streams.
      stream_->wait();
      // Nearly all plans end with the first launch: the cells come along at once.
      stream_->copy(host, device, answer_bytes);
      stream_->wait();
      const std::int64_t before = convergence.iterations();
      std::memcpy(&convergence, host + state, sizeof convergence);
      if (convergence.iterations() <= before)
        throw DeviceFault("the GPU's kernel ended without an iteration");
      if (control.progress) control.progress(convergence.iterations(), convergence.last_delta());
    }
    const TraceRange range("copy");
    tiling.store_cells(at<double>(host, cells), field);
    return true;
  }

  /// Returns false where a stop was requested.
  bool solve_streaming(const FloorPlan& plan, const Grid<double>& terms, Norm norm,
                       const SolveControl& control, Convergence& convergence, Grid<double>& field) {
    const TileMask mask(plan.interior, streamed_tile);
    const std::vector<std::int32_t> regions = regions_of(mask);
    constexpr auto tile_cols = static_cast<std::size_t>(streamed_tile.cols);
    const std::size_t padded_rows = mask.rows * static_cast<std::size_t>(streamed_tile.rows);
    const std::size_t pitch = mask.cols * tile_cols * sizeof(double);
    Layout layout;
    const std::size_t fields[3] = {layout.add<double>(padded_rows * mask.cols * tile_cols),
                                   layout.add<double>(padded_rows * mask.cols * tile_cols),
                                   layout.add<double>(padded_rows * mask.cols * tile_cols)};
    const bool has_source = !terms.cells.empty();
    const auto source = layout.add<double>(has_source ? padded_rows * mask.cols * tile_cols : 0);
    const auto interior = layout.add<CellMask>(mask.interior.size());
    const auto region_list = layout.add<std::int32_t>(regions.size());
    const auto change = layout.add<unsigned long long>(1);
    require_room_for(layout.bytes());
    std::byte* const host = pinned(sizeof(unsigned long long));
    if (norm == Norm::l2) before_ = after_ = plan.domain;  // before the stream copies into them
    const Borrowed borrowed(*pool_, *stream_, layout.bytes());
    std::byte* const device = borrowed.data();

    auto* current = at<double>(device, fields[0]);
    double* others[2] = {at<double>(device, fields[1]), at<double>(device, fields[2])};
    const std::size_t row_bytes = plan.domain.cols * sizeof(double);
    stream_->clear(current, padded_rows * pitch);
    stream_->copy_rows(current, pitch, plan.domain.cells.data(), row_bytes, row_bytes,
                       plan.domain.rows);
    for (double* other : others) stream_->copy(other, current, padded_rows * pitch);
    if (has_source) {
      stream_->clear(at<double>(device, source), padded_rows * pitch);
      stream_->copy_rows(at<double>(device, source), pitch, terms.cells.data(), row_bytes,
                         row_bytes, plan.domain.rows);
    }
    stream_->copy(at<CellMask>(device, interior), mask.interior.data(),
                  mask.interior.size() * sizeof(CellMask));
    stream_->copy(at<std::int32_t>(device, region_list), regions.data(),
                  regions.size() * sizeof(std::int32_t));
    auto* largest_change = at<unsigned long long>(device, change);
    StreamedPlan on_device{.tile_rows_count = static_cast<std::int32_t>(mask.rows),
                           .tile_cols_count = static_cast<std::int32_t>(mask.cols),
                           .interior = at<CellMask>(device, interior),
                           .regions = at<std::int32_t>(device, region_list),
                           .terms = has_source ? at<double>(device, source) : nullptr};
    const auto fetch = [&](const double* from, Grid<double>& to) {
      stream_->copy_rows(to.cells.data(), row_bytes, from, pitch, row_bytes, plan.domain.rows);
    };
    while (!convergence.finished()) {
      // From `current`, which is kept to go back to, to and fro between the others.
      on_device.from = current;
      stream_->clear(largest_change, sizeof *largest_change);
      for (std::int64_t remaining = convergence.window(); remaining > 0;) {
        if (control.stop.stop_requested()) return false;
        on_device.to = on_device.from == others[0] ? others[1] : others[0];
        // The 2-norm is of the last sweep alone.
        const std::int64_t most =
            norm == Norm::l2 ? std::max<std::int64_t>(remaining - 1, 1) : remaining;
        on_device.sweeps = static_cast<std::int32_t>(std::min<std::int64_t>(most, most_sweeps));
        remaining -= on_device.sweeps;
        if (remaining == 0 && norm == Norm::l2) fetch(on_device.from, before_);
        stream_->run_streaming(regions.size(), on_device,
                               remaining == 0 ? largest_change : nullptr);
        on_device.from = on_device.to;
      }
      if (norm == Norm::l2) fetch(on_device.to, after_);
      stream_->copy(host, largest_change, sizeof *largest_change);
      stream_->wait();
      unsigned long long bits = 0;
      std::memcpy(&bits, host, sizeof bits);
      const double delta =
          norm == Norm::max ? std::bit_cast<double>(bits) : distance_between(has_source);
      if (!convergence.accept(delta)) continue;
      std::swap(current, on_device.to == others[0] ? others[0] : others[1]);
      if (control.progress) control.progress(convergence.iterations(), delta);
    }
    fetch(current, field);
    stream_->wait();
    return true;
  }

  /// The 2-norm of after_ - before_, added in the order of the plan as it came.
  [[nodiscard]] double distance_between(bool is_transposed) const {
    return is_transposed ? distance(transposed(after_), transposed(before_))
                         : distance(after_, before_);
  }

  /// Where the blocks' regions lie: those that hold interior cells.
  [[nodiscard]] std::vector<std::int32_t> regions_of(const TileMask& mask) const {
    const Capacity& capacity = stream_->capacity();
    const RegionCore core = region_core(capacity.region_rows, capacity.region_cols);
    const auto core_rows = static_cast<std::size_t>(core.rows);
    const auto core_cols = static_cast<std::size_t>(core.cols);
    std::vector<std::int32_t> regions;
    for (std::size_t row = 0; row < mask.rows; row += core_rows) {
      for (std::size_t col = 0; col < mask.cols; col += core_cols) {
        bool any = false;
        for (std::size_t r = row; r < std::min(row + core_rows, mask.rows); ++r)
          for (std::size_t c = col; c < std::min(col + core_cols, mask.cols); ++c)
            any = any || mask.interior[r * mask.cols + c] != 0;
        if (any) regions.push_back(static_cast<std::int32_t>(row * mask.cols + col));
      }
    }
    return regions;
  }

  void require_room_for(std::size_t bytes) const {
    const std::size_t total = stream_->capacity().memory_bytes;
    if (bytes > total)
      leave_to_cpu("the plan needs " + std::to_string(bytes >> 20) +
                   " MiB of GPU memory, but the GPU has " + std::to_string(total >> 20) + " MiB");
  }

  /// Memory that the device reaches; kept from plan to plan. It grows in powers of two, as CUDA may
  /// let the whole device run dry before it frees such memory.
  [[nodiscard]] std::byte* pinned(std::size_t bytes) {
    if (bytes > pinned_.bytes) {
      const std::size_t rounded = std::bit_ceil(bytes);
      pinned_ = {};
      pinned_ = {stream_->pinned_memory(rounded), rounded};
    }
    return pinned_.memory.get();
  }

  std::unique_ptr<Stream> stream_;
  std::shared_ptr<MemoryPool> pool_;
  AdmitKernel admit_;
  SizedMemory pinned_;   // after stream_: released before it
  Grid<double> before_;  ///< a sweep of which the 2-norm is computed
  Grid<double> after_;
};

}  // namespace

bool has(const Capacity& capacity, Kernel kernel) {
  if (kernel == Kernel::grid) return capacity.most_grid_blocks > 0;
  if (kernel == Kernel::streaming || kernel == Kernel::automatic) return true;
  return !capacity.clusters.empty();
}

std::string to_string(Kernel kernel) {
  constexpr const char* names[] = {"automatic", "cluster", "grid", "streaming"};
  return names[static_cast<std::size_t>(kernel)];
}

std::string to_string(const KernelShape& shape) {
  return to_string(shape.kernel) + " kernel of " +
         (shape.several_blocks ? "several blocks" : "one block") + " of at most " +
         std::to_string(shape.threads) + " threads" + (shape.has_source ? " with a source" : "");
}

AdmitKernel only(Kernel kernel) {
  return [kernel](const KernelShape& shape) {
    return kernel == Kernel::automatic || shape.kernel == kernel ||
           shape.kernel == Kernel::streaming;
  };
}

std::unique_ptr<Solver> make_stream_solver(std::unique_ptr<Stream> stream,
                                           std::shared_ptr<MemoryPool> pool, AdmitKernel admit) {
  return std::make_unique<StreamSolver>(std::move(stream), std::move(pool), std::move(admit));
}

}  // namespace wallheat::gpu
