#pragma once

#include <algorithm>
#include <atomic>
#include <barrier>
#include <bit>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "support/host_memory_stream.hpp"

namespace wallheat::gpu {

/// A "GPU" of ordinary threads and memory: runs the kernels if there is no GPU, and lets
/// ThreadSanitizer watch how their threads wait for each other.
class HostStream final : public HostMemoryStream {
 public:
  static constexpr int block_threads = 32;
  static constexpr int region_rows = 4;
  static constexpr int region_cols = 8;

  /// Memory that several streams share; counts down.
  using FreeBytes = std::shared_ptr<std::atomic<std::int64_t>>;

  explicit HostStream(FreeBytes free = nullptr) : free_(std::move(free)) {
    capacity_ = {.multiprocessors = 2,
                 .block_threads = block_threads,
                 .most_blocks = 5,
                 .region_rows = region_rows,
                 .region_cols = region_cols,
                 .memory_bytes = std::size_t{64} << 20,
                 .sweeps = 300};
  }

  [[nodiscard]] const Capacity& capacity() const override { return capacity_; }

  [[nodiscard]] Memory device_memory(std::size_t bytes) override {
    ++allocations;
    const auto size = static_cast<std::int64_t>(bytes);
    if (free_ && free_->fetch_sub(size) < size) {
      *free_ += size;
      throw std::bad_alloc();
    }
    return {new (std::align_val_t{256}) std::byte[bytes], [free = free_, size](std::byte* memory) {
              operator delete[](memory, std::align_val_t{256});
              if (free) *free += size;
            }};
  }
  [[nodiscard]] Memory pinned_memory(std::size_t bytes) override {
    ++allocations;
    return {new (std::align_val_t{256}) std::byte[bytes],
            [](std::byte* memory) { operator delete[](memory, std::align_val_t{256}); }};
  }

  void copy(void* to, const void* from, std::size_t bytes) override {
    HostMemoryStream::copy(to, from, bytes);
    work_is_out = true;
  }

  void run_cluster(int blocks, int threads, const ResidentPlan& plan) override {
    last_blocks = blocks;
    Crowd crowd(blocks, cluster_tile.inbox_pairs());
    {
      std::vector<std::jthread> members;
      for (int slot = 0; slot < blocks * threads; ++slot) {
        members.emplace_back([&, slot] {
          Group<cluster_tile> member(crowd, slot, 0);
          iterate(member, plan);
        });
      }
    }
    if (after_cluster) after_cluster(plan);
  }

  void run_streaming(std::size_t regions, const StreamedPlan& plan,
                     unsigned long long* largest_change) override {
    ++streaming_launches;
    Crowd crowd(1, streamed_tile.inbox_pairs());
    std::vector<double> changes(block_threads);
    {
      std::vector<std::jthread> threads;
      for (int slot = 0; slot < block_threads; ++slot) {
        threads.emplace_back([&, slot] {
          for (std::size_t region = 0; region < regions; ++region) {
            Group<streamed_tile> group(crowd, slot, static_cast<int>(region));
            // A look at delta that nobody asked for changes nothing.
            const double change =
                plan.terms != nullptr
                    ? sweep_region<region_rows, region_cols, true, true>(group, plan)
                    : sweep_region<region_rows, region_cols, true, false>(group, plan);
            changes[static_cast<std::size_t>(slot)] =
                std::max(changes[static_cast<std::size_t>(slot)], change);
            group.sync();  // a block of its own starts with nobody left in its inboxes
          }
        });
      }
    }
    if (largest_change == nullptr) return;
    const double largest = *std::max_element(changes.begin(), changes.end());
    *largest_change = std::max(*largest_change, std::bit_cast<unsigned long long>(largest));
  }

  void wait() override { work_is_out = false; }

  void mark(Moment moment) override { marks.push_back(moment); }

  std::function<void(const ResidentPlan&)> after_cluster{};
  int streaming_launches = 0;
  int allocations = 0;  ///< of either memory
  int last_blocks = 0;  ///< of a cluster
  std::vector<Moment> marks{};
  bool work_is_out = false;  ///< something was given that nobody has waited for

 private:
  /// What the blocks of a group share.
  struct Crowd {
    Crowd(int blocks, int pairs)
        : slots(static_cast<std::size_t>(blocks * block_threads)),
          inbox_pairs(pairs),
          inboxes(2 * static_cast<std::size_t>(pairs) * slots),
          maxima(slots),
          agreements(static_cast<std::size_t>(blocks)),
          barrier(blocks * block_threads) {}
    std::size_t slots;
    int inbox_pairs;
    std::vector<Pair> inboxes;
    std::vector<double> maxima;
    std::vector<Agreement> agreements;
    std::barrier<> barrier;
  };

  template <TileShape shape>
  class Group {
   public:
    Group(Crowd& crowd, int slot, int region) : crowd_(crowd), slot_(slot), region_(region) {}
    [[nodiscard]] std::int32_t slot() const { return slot_; }
    [[nodiscard]] int region() const { return region_; }
    [[nodiscard]] bool leads() const { return slot_ % block_threads == 0; }
    [[nodiscard]] Pair* inbox_of(int slot) const {
      return &crowd_.inboxes[static_cast<std::size_t>(slot)];
    }
    [[nodiscard]] Pair received(int buffer, int place) const {
      return inbox_of(slot_)[offset(buffer, place)];
    }
    void fill(int place, Pair pair) const {
      for (int buffer = 0; buffer < 2; ++buffer) inbox_of(slot_)[offset(buffer, place)] = pair;
    }
    using Neighbour = Pair*;
    [[nodiscard]] Neighbour neighbour(std::int32_t slot) const {
      return slot < 0 ? nullptr : inbox_of(slot);
    }
    void give(const double (&cells)[shape.cells()], const Neighbour (&to)[sides],
              int buffer) const {
      give_edges<shape>(cells, [&](Side side, int place, const auto& edge) {
        if (to[side] == nullptr) return;
        for (const Pair& pair : edge) to[side][offset(buffer, place++)] = pair;
      });
    }
    void begin() { sync(); }
    [[nodiscard]] int offset(int buffer, int place) const {
      return (buffer * crowd_.inbox_pairs + place) * static_cast<int>(crowd_.slots);
    }
    void await_edges(int /*buffer*/) { sync(); }
    void sync() { crowd_.barrier.arrive_and_wait(); }
    double max(double value) {
      crowd_.maxima[static_cast<std::size_t>(slot_)] = value;
      sync();
      return *std::max_element(crowd_.maxima.begin(), crowd_.maxima.end());
    }
    static std::ptrdiff_t renewed(std::ptrdiff_t number) { return number; }
    Agreement& agreement() {
      return crowd_.agreements[static_cast<std::size_t>(slot_ / block_threads)];
    }

   private:
    Crowd& crowd_;
    int slot_;
    int region_;
  };

  Capacity capacity_;
  FreeBytes free_;
};

}  // namespace wallheat::gpu
