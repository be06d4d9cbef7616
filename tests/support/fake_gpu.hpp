#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "solve/gpu/device.hpp"
#include "wallheat/floor_plan.hpp"

namespace wallheat {

/// Fault that a FakeGpu simulates for a plan. The plan's first cell, a fixed cell, contains the
/// value as its temperature in °C; other temperatures cause no fault.
enum class GpuFault {
  too_large = 1004,  ///< the solver throws DeviceTooSmall
  patient = 1005,    ///< the solver iterates until a file exists, then it solves the plan
  silent = 1007,     ///< the solver throws DeviceTimeout
};

inline FloorPlan with_fault(FloorPlan plan, GpuFault fault) {
  plan.domain(0, 0) = static_cast<double>(fault);
  return plan;
}

/// A GPU that solves on the CPU, and simulates the faults that the plans contain.
class FakeGpu final : public GpuDevice {
 public:
  static constexpr std::size_t lanes = 4;

  /// If `broken` is true, every plan causes a device fault. Patient plans wait for the file `go`.
  explicit FakeGpu(std::filesystem::path go, bool broken = false)
      : go_(std::move(go)), broken_(broken) {}

  std::unique_ptr<GpuSolver> make_solver() override { return std::make_unique<Lane>(*this); }
  std::size_t plans_at_once() const override { return lanes; }

 private:
  class Lane final : public GpuSolver {
   public:
    explicit Lane(FakeGpu& gpu) : gpu_(gpu), sound_(make_jacobi_solver(Isa::baseline)) {}

    std::optional<Solution> solve(const FloorPlan& plan, const SolveParameters& limits,
                                  const SolveControl& control) override {
      if (gpu_.broken_) throw DeviceFault("the fake GPU is broken");
      const auto fault = static_cast<GpuFault>(plan.domain.cells[0]);
      if (fault == GpuFault::silent) throw DeviceTimeout("the fake GPU has not answered for 30 s");
      if (fault == GpuFault::too_large)
        throw DeviceTooSmall("the plan is too large for the fake GPU");
      for (std::int64_t iterations = 1;
           fault == GpuFault::patient && !std::filesystem::exists(gpu_.go_); ++iterations) {
        if (control.progress) control.progress(iterations, 0.5);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      times_ = {.upload_s = 1e-6,
                .kernel_s = 5e-6,
                .download_s = 2e-6,
                .wait_s = 1e-5,
                .kernel = "fake kernel",
                .stream = 3,
                .grid = 7,
                .block = 128};
      return sound_->solve(plan, limits, control);
    }

   private:
    FakeGpu& gpu_;
    std::unique_ptr<Solver> sound_;
  };

  std::filesystem::path go_;
  bool broken_;
};

}  // namespace wallheat
