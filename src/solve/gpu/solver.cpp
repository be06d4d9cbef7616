#include "solve/gpu/solver.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "solve/gpu/tiling.hpp"
#include "wallheat/error.hpp"

namespace wallheat::gpu {
namespace {

/// So many sweeps take some tens of milliseconds: often enough to hear a stop and tell of progress.
constexpr std::int64_t sweeps_a_launch = 16384;
/// Buffers up to this size are kept for the next plan.
constexpr std::size_t most_kept_bytes = std::size_t{16} << 20;

/// Memory that grows with the plans it is used for.
class Buffer {
 public:
  void reserve(std::size_t bytes, const std::function<Memory(std::size_t)>& allocate) {
    if (bytes <= size_) return;
    release();
    memory_ = allocate(bytes);
    size_ = bytes;
  }
  void release() {
    memory_.reset();
    size_ = 0;
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::byte* data() const { return memory_.get(); }

 private:
  Memory memory_;
  std::size_t size_ = 0;
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
T* at(const Buffer& buffer, std::size_t offset) {
  return reinterpret_cast<T*>(buffer.data() + offset);
}

/// The range that no temperature can leave (the maximum principle); the ring outside has 0 °C.
struct Range {
  double least = 0;
  double most = 0;

  explicit Range(const Grid<double>& field) {
    for (const double value : field.cells) {
      least = std::min(least, value);
      most = std::max(most, value);
    }
  }
  [[nodiscard]] double magnitude() const { return std::max(-least, most); }
  /// NaN is nowhere.
  [[nodiscard]] bool holds_all(const Grid<double>& field, double margin) const {
    const double low = least - margin;
    const double high = most + margin;
    bool all = true;
    for (const double value : field.cells) all = all && value >= low && value <= high;
    return all;
  }
};

class StreamSolver final : public Solver {
 public:
  StreamSolver(std::unique_ptr<Stream> stream, std::shared_ptr<Occupants> occupants, Kernel kernel)
      : stream_(std::move(stream)), occupants_(std::move(occupants)), kernel_(kernel) {
    const Capacity& capacity = stream_->capacity();
    if ((kernel == Kernel::cluster && capacity.most_cluster_blocks == 0) ||
        (kernel == Kernel::grid && capacity.most_grid_blocks == 0))
      throw RunError("this GPU cannot run that kernel");
  }

  std::optional<Solution> solve(const FloorPlan& plan, const Limits& limits,
                                const Watch& watch) override {
    const Range range(plan.domain);
    Convergence convergence(limits.tolerance, limits.max_iterations, range.magnitude());
    const TileMask mask(plan.interior);
    Tiling tiling(mask);
    Solution solution{plan.domain, 0, 0, false};
    if (tiling.tiles() == 0) {
      while (!convergence.finished()) (void)convergence.accept(0);
    } else {
      const Stay stay(*occupants_);
      const Choice choice = choose(tiling.tiles());
      const bool done =
          choice.blocks > 0
              ? solve_resident(tiling, choice, plan, watch, convergence, solution.field)
              : solve_streaming(mask, plan, watch, convergence, solution.field);
      release_large();
      if (!done) return std::nullopt;
      if (!range.holds_all(solution.field, convergence.rounding_margin()))
        throw DeviceFault("the GPU's answer leaves the range of the fixed temperatures");
    }
    solution.iterations = convergence.iterations();
    solution.last_delta = convergence.last_delta();
    solution.converged = convergence.converged();
    return solution;
  }

 private:
  class Stay {
   public:
    explicit Stay(Occupants& occupants) : occupants_(occupants) { occupants_.enter(); }
    ~Stay() { occupants_.leave(); }
    Stay(const Stay&) = delete;
    Stay& operator=(const Stay&) = delete;

   private:
    Occupants& occupants_;
  };

  struct Choice {
    GroupKind kind;
    int blocks;  ///< 0: too many tiles to be resident
    int threads;
  };

  /// The fewest blocks that hold the tiles leave most room for other plans.
  [[nodiscard]] Choice choose(std::size_t tiles) const {
    const Capacity& capacity = stream_->capacity();
    const auto blocks_for = [tiles](int threads) {
      const auto count = static_cast<std::size_t>(std::max(threads, 1));
      return (tiles + count - 1) / count;
    };
    const bool any = kernel_ == Kernel::automatic;
    const auto fits = [](std::size_t blocks, int most) {
      return blocks <= static_cast<std::size_t>(most);
    };
    const std::size_t cluster = std::bit_ceil(blocks_for(capacity.cluster_threads));
    if ((any || kernel_ == Kernel::cluster) && fits(cluster, capacity.most_cluster_blocks))
      return {GroupKind::cluster, static_cast<int>(cluster), capacity.cluster_threads};
    const std::size_t grid = blocks_for(capacity.grid_threads);
    if ((any || kernel_ == Kernel::grid) && fits(grid, capacity.most_grid_blocks))
      return {GroupKind::grid, static_cast<int>(grid), capacity.grid_threads};
    return {GroupKind::grid, 0, 0};
  }

  /// Returns false where a stop was requested.
  bool solve_resident(Tiling& tiling, const Choice& choice, const FloorPlan& plan,
                      const Watch& watch, Convergence& convergence, Grid<double>& field) {
    tiling.deal(choice.blocks, choice.threads);
    const std::size_t slots = tiling.slots();
    Layout layout;
    const auto control = layout.add<Convergence>(1);
    const auto cells = layout.add<double>(slots * tile_cells);
    const std::size_t answer_bytes = layout.bytes();
    const auto inboxes = layout.add<Pair>(slots * inbox_pairs);
    const auto interior = layout.add<std::uint32_t>(slots);
    const auto neighbours = layout.add<std::int32_t>(slots * sides);
    const std::size_t upload_bytes = layout.bytes();
    const auto kept = layout.add<double>(slots * tile_cells);
    const auto exchanged = layout.add<Pair>(choice.kind == GroupKind::grid ? 2 * slots * inbox_pairs : 0);
    const auto maxima = layout.add<unsigned long long>(2);
    reserve(host_, upload_bytes, false);
    reserve(device_, layout.bytes(), true);

    tiling.load_cells(plan.domain, at<double>(host_, cells));
    tiling.load_inboxes(plan.domain, at<Pair>(host_, inboxes));
    tiling.load_interior(at<std::uint32_t>(host_, interior));
    tiling.load_neighbours(at<std::int32_t>(host_, neighbours));
    std::memcpy(host_.data() + control, &convergence, sizeof convergence);
    stream_->copy(device_.data(), host_.data(), upload_bytes);
    const ResidentPlan on_device{.cells = at<double>(device_, cells),
                                 .inboxes = at<Pair>(device_, inboxes),
                                 .interior = at<std::uint32_t>(device_, interior),
                                 .neighbours = at<std::int32_t>(device_, neighbours),
                                 .kept = at<double>(device_, kept),
                                 .exchanged = at<Pair>(device_, exchanged),
                                 .maxima = at<unsigned long long>(device_, maxima),
                                 .slots = static_cast<std::int32_t>(slots),
                                 .convergence = at<Convergence>(device_, control),
                                 .sweeps = sweeps_a_launch};
    while (!convergence.finished()) {
      if (watch.stop.stop_requested()) return false;
      stream_->clear(on_device.maxima, 2 * sizeof *on_device.maxima);
      stream_->run_resident(choice.kind, choice.blocks, on_device);
      // Nearly all plans end with the first launch: the cells come along at once.
      stream_->copy(host_.data(), device_.data(), answer_bytes);
      stream_->wait();
      const std::int64_t before = convergence.iterations();
      std::memcpy(&convergence, host_.data() + control, sizeof convergence);
      if (convergence.iterations() <= before)
        throw DeviceFault("the GPU's kernel ended without an iteration");
      if (watch.progress) watch.progress(convergence.iterations(), convergence.last_delta());
    }
    tiling.store_cells(at<double>(host_, cells), field);
    return true;
  }

  /// Returns false where a stop was requested.
  bool solve_streaming(const TileMask& mask, const FloorPlan& plan, const Watch& watch,
                       Convergence& convergence, Grid<double>& field) {
    const std::vector<std::int32_t> regions = regions_of(mask);
    const std::size_t padded_rows = mask.rows * tile_rows;
    const std::size_t pitch = mask.cols * tile_cols * sizeof(double);
    Layout layout;
    const std::size_t fields[3] = {layout.add<double>(padded_rows * mask.cols * tile_cols),
                                   layout.add<double>(padded_rows * mask.cols * tile_cols),
                                   layout.add<double>(padded_rows * mask.cols * tile_cols)};
    const auto interior = layout.add<std::uint32_t>(mask.interior.size());
    const auto region_list = layout.add<std::int32_t>(regions.size());
    const auto change = layout.add<unsigned long long>(1);
    reserve(host_, sizeof(unsigned long long), false);
    reserve(device_, layout.bytes(), true);

    double* current = at<double>(device_, fields[0]);
    double* others[2] = {at<double>(device_, fields[1]), at<double>(device_, fields[2])};
    const std::size_t row_bytes = plan.domain.cols * sizeof(double);
    stream_->clear(current, padded_rows * pitch);
    stream_->copy_rows(current, pitch, plan.domain.cells.data(), row_bytes, row_bytes,
                       plan.domain.rows);
    for (double* other : others) stream_->copy(other, current, padded_rows * pitch);
    stream_->copy(at<std::uint32_t>(device_, interior), mask.interior.data(),
                  mask.interior.size() * sizeof(std::uint32_t));
    stream_->copy(at<std::int32_t>(device_, region_list), regions.data(),
                  regions.size() * sizeof(std::int32_t));
    auto* largest_change = at<unsigned long long>(device_, change);
    StreamedPlan on_device{.tile_rows_count = static_cast<std::int32_t>(mask.rows),
                           .tile_cols_count = static_cast<std::int32_t>(mask.cols),
                           .interior = at<std::uint32_t>(device_, interior),
                           .regions = at<std::int32_t>(device_, region_list)};
    while (!convergence.finished()) {
      // From `current`, which is kept to go back to, to and fro between the others.
      on_device.from = current;
      stream_->clear(largest_change, sizeof *largest_change);
      for (std::int64_t left_over = convergence.window(); left_over > 0;) {
        if (watch.stop.stop_requested()) {
          stream_->wait();
          return false;
        }
        on_device.to = on_device.from == others[0] ? others[1] : others[0];
        on_device.sweeps = static_cast<std::int32_t>(std::min<std::int64_t>(left_over, most_sweeps));
        left_over -= on_device.sweeps;
        stream_->run_streaming(regions.size(), on_device, left_over == 0 ? largest_change : nullptr);
        on_device.from = on_device.to;
      }
      stream_->copy(host_.data(), largest_change, sizeof *largest_change);
      stream_->wait();
      unsigned long long bits = 0;
      std::memcpy(&bits, host_.data(), sizeof bits);
      const auto delta = std::bit_cast<double>(bits);
      if (!convergence.accept(delta)) continue;
      std::swap(current, on_device.to == others[0] ? others[0] : others[1]);
      if (watch.progress) watch.progress(convergence.iterations(), delta);
    }
    stream_->copy_rows(field.cells.data(), row_bytes, current, pitch, row_bytes, plan.domain.rows);
    stream_->wait();
    return true;
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

  /// Device memory that is short is waited for while others will give some back.
  void reserve(Buffer& buffer, std::size_t bytes, bool on_device) {
    const std::size_t total = stream_->capacity().memory_bytes;
    if (on_device && bytes > total)
      throw InputError("the plan needs " + std::to_string(bytes >> 20) +
                       " MiB of GPU memory, but the GPU has " + std::to_string(total >> 20) +
                       " MiB; solve it on a CPU (--device cpu)");
    for (;;) {
      const std::uint64_t seen = occupants_->departures();
      try {
        buffer.reserve(bytes, [&](std::size_t size) {
          return on_device ? stream_->device_memory(size) : stream_->pinned_memory(size);
        });
        return;
      } catch (const std::bad_alloc&) {
        if (!on_device || !occupants_->wait_for_departure(seen)) throw;
      }
    }
  }

  void release_large() {
    if (device_.size() > most_kept_bytes) device_.release();
    if (host_.size() > most_kept_bytes) host_.release();
  }

  std::unique_ptr<Stream> stream_;
  std::shared_ptr<Occupants> occupants_;
  Kernel kernel_;
  Buffer host_;    // after stream_, as they are
  Buffer device_;  // released before it
};

}  // namespace

void Occupants::enter() {
  const std::scoped_lock lock(mutex_);
  ++inside_;
}

void Occupants::leave() {
  {
    const std::scoped_lock lock(mutex_);
    --inside_;
    ++departures_;
  }
  left_.notify_all();
}

std::uint64_t Occupants::departures() {
  const std::scoped_lock lock(mutex_);
  return departures_;
}

bool Occupants::wait_for_departure(std::uint64_t seen) {
  std::unique_lock lock(mutex_);
  if (departures_ != seen) return true;
  if (inside_ - waiting_ <= 1) return false;
  ++waiting_;
  left_.wait(lock, [this, seen] { return departures_ != seen; });
  --waiting_;
  return true;
}

std::unique_ptr<Solver> make_stream_solver(std::unique_ptr<Stream> stream,
                                           std::shared_ptr<Occupants> occupants, Kernel kernel) {
  return std::make_unique<StreamSolver>(std::move(stream), std::move(occupants), kernel);
}

}  // namespace wallheat::gpu
