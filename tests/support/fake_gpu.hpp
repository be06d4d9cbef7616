#pragma once

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "solve/gpu/device.hpp"
#include "wallheat/floor_plan.hpp"

namespace wallheat {

/// What goes wrong with a plan on a FakeGpu. It stands in the plan's first cell, which is wall, as
/// its temperature in °C.
enum class GpuFault {
  none = 25,
  crash = 1001,         ///< kills the process, once there is a file "crash"
  hang = 1002,          ///< makes no progress, and does not hear a stop
  device_fault = 1003,  ///< the solver throws DeviceFault
  too_large = 1004,     ///< the solver throws DeviceTooSmall
  patient = 1005,       ///< goes on until there is a file "go"; then all is well
  silent = 1007,        ///< the solver throws DeviceSilent
  bad_company = 1006,   ///< for plans 0 and 1, every other time: waits for the other one and throws
                        ///< DeviceFault; the times between all is well
};

/// A plan with a fault, and a number in its second cell that tells it from others.
inline FloorPlan with_fault(FloorPlan plan, GpuFault fault, int number = 0) {
  plan.domain(0, 0) = static_cast<double>(fault);
  plan.domain(0, 1) = number;
  return plan;
}

/// A GPU that is none: it solves on the CPU, with what goes wrong as the plans say. Each plan adds
/// a line to the file "journal" of its directory: process, fault, number, how many plans it has at
/// the time.
class FakeGpu final : public GpuDevice {
 public:
  static constexpr std::size_t lanes = 4;

  /// With `broken` it solves nothing.
  explicit FakeGpu(std::filesystem::path directory, bool broken = false)
      : directory_(std::move(directory)), broken_(broken) {}

  std::unique_ptr<GpuSolver> make_solver() override { return std::make_unique<Lane>(*this); }
  std::size_t plans_at_once() const override { return lanes; }

 private:
  class Lane final : public GpuSolver {
   public:
    explicit Lane(FakeGpu& gpu) : gpu_(gpu), sound_(make_jacobi_solver(Isa::baseline)) {}

    std::optional<Solution> solve(const FloorPlan& plan, const Limits& limits,
                                  const SolveControl& control) override {
      const struct Running {
        std::atomic<int>& count;
        explicit Running(std::atomic<int>& all) : count(all) { ++count; }
        ~Running() { --count; }
      } running(gpu_.running_);
      const std::vector<double>& cells = plan.domain.cells;
      const auto fault = static_cast<GpuFault>(cells[0]);
      const int number = cells.size() > 1 ? static_cast<int>(cells[1]) : 0;
      if (gpu_.broken_) throw DeviceFault("the fake GPU is broken");
      if (fault != GpuFault::none) gpu_.write(fault, number);
      switch (fault) {
        case GpuFault::crash:
          go_on_until(control, [&] { return gpu_.has("crash"); });
          ::raise(SIGKILL);
          break;
        case GpuFault::hang:
          for (;;) ::pause();
        case GpuFault::device_fault:
          throw DeviceFault("the fake GPU gave an answer that cannot be");
        case GpuFault::silent:
          throw DeviceSilent("the fake GPU has not answered for 30 s");
        case GpuFault::too_large:
          throw DeviceTooSmall("the plan is too large for the fake GPU");
        case GpuFault::patient:
          go_on_until(control, [&] { return gpu_.has("go"); });
          break;
        case GpuFault::bad_company:
          if (gpu_.first_of_two(number)) {
            go_on_until(control, [&] { return gpu_.has("tried 0") && gpu_.has("tried 1"); });
            throw DeviceFault("the fake GPU wants to be left alone");
          }
          break;
        case GpuFault::none:
          break;
      }
      times_ = {.upload_s = 1e-6,
                .kernel_s = 5e-6,
                .download_s = 2e-6,
                .wait_s = 1e-5,
                .kernel = "fake kernel",
                .stream = 3,
                .blocks = 7,
                .threads = 128};
      return sound_->solve(plan, limits, control);
    }

   private:
    static void go_on_until(const SolveControl& control, const std::function<bool()>& done) {
      for (std::int64_t iterations = 1; !done(); ++iterations) {
        if (control.progress) control.progress(iterations, 0.5);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    }

    FakeGpu& gpu_;
    std::unique_ptr<Solver> sound_;
  };

  [[nodiscard]] bool has(const char* file) const {
    return std::filesystem::exists(directory_ / file);
  }
  void write(GpuFault fault, int number) const {
    std::ofstream(directory_ / "journal", std::ios::app)
        << std::to_string(::getpid()) + ' ' + std::to_string(static_cast<int>(fault)) + ' ' +
               std::to_string(number) + ' ' + std::to_string(running_) + '\n';
  }
  [[nodiscard]] bool first_of_two(int number) const {
    const auto mark = directory_ / ("tried " + std::to_string(number));
    if (std::filesystem::remove(mark)) return false;
    std::ofstream(mark) << "";
    return true;
  }

  std::filesystem::path directory_;
  bool broken_;
  std::atomic<int> running_ = 0;
};

}  // namespace wallheat
