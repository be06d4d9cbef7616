#pragma once

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "wallheat/device_times.hpp"

namespace wallheat::gpu {

/// Measures what a stream does between two waits: each stretch of copies or of launches is timed
/// from a mark before it to the mark before the next.
class StepClock {
 public:
  /// Puts mark number `mark` behind the work that the stream was given so far.
  using Record = std::function<void(std::size_t mark)>;
  /// Seconds of the device from one mark to a later one, once it has passed both.
  using Between = std::function<double(std::size_t from, std::size_t to)>;

  /// Before a copy. Those before the first launch are on their way up, later ones on their way
  /// down.
  void begin_copy(const Record& record) {
    begin(launched_ ? Step::download : Step::upload, record);
  }
  void begin_launch(const Record& record) {
    launched_ = true;
    begin(Step::kernel, record);
  }
  /// Before a wait. Does nothing where there is nothing to wait for.
  void end(const Record& record) {
    if (!steps_.empty()) record(steps_.size());
  }
  /// After it. Returns the seconds of the launches.
  double add_up(const Between& seconds) {
    const double before_s = times_.kernel_s;
    for (std::size_t mark = 0; mark < steps_.size(); ++mark)
      part(steps_[mark]) += seconds(mark, mark + 1);
    steps_.clear();
    return times_.kernel_s - before_s;
  }
  [[nodiscard]] DeviceTimes& times() { return times_; }
  /// For the next plan all begins anew.
  DeviceTimes take() {
    launched_ = false;
    steps_.clear();
    return std::exchange(times_, {});
  }

 private:
  enum class Step { upload, kernel, download };
  void begin(Step step, const Record& record) {
    if (!steps_.empty() && steps_.back() == step) return;
    record(steps_.size());
    steps_.push_back(step);
  }
  double& part(Step step) {
    return step == Step::upload   ? times_.upload_s
           : step == Step::kernel ? times_.kernel_s
                                  : times_.download_s;
  }

  std::vector<Step> steps_;  // since the last wait; mark k stands before step k
  bool launched_ = false;
  DeviceTimes times_;
};

}  // namespace wallheat::gpu
