#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "forecast/replay.hpp"
#include "report/report.hpp"
#include "report/time_breakdown.hpp"
#include "wallheat/result_reader.hpp"

namespace wallheat {

/// Time that a number of workers took for the plans.
struct ScalingPoint {
  std::size_t workers = 0;
  double seconds = 0;
  std::size_t plans = 0;  ///< 0: unknown; like `nodes` and `gpus`, only known for a result file
  std::size_t nodes = 0;  ///< nodes that solved a plan; 0: unknown
  std::optional<std::size_t> gpus = {};  ///< GPUs that solved a plan; nullopt: unknown
  /// True if the threads of the run had to share their cores with other threads or programs, so
  /// that the times are those of a loaded machine.
  bool cores_were_shared = false;
};

/// Strong scaling: the speed-up by more workers for the same plans.
struct Scaling {
  struct Row {
    ScalingPoint point;
    double speedup = 0;  ///< relative to one worker
    /// True if it has more workers than the fastest point, and is more than 5 % slower.
    bool is_slower = false;
  };
  /// Bound of the speed-up of a replay: a plan is not divided among workers.
  struct LongestPlan {
    double seconds = 0;
    std::size_t sufficient_workers = 0;  ///< more workers do not reduce the time
    /// Included in all times of the replay; nullopt: unknown, and the times are those of the plans
    /// only.
    std::optional<RunOverheads> overheads = {};

    /// Returns the time of a run with unlimited workers.
    [[nodiscard]] double min_run_s() const;
  };
  std::string name;  ///< name of a schedule in a replay; otherwise empty
  /// Ascending by workers; of several times for a number of workers, the shortest.
  std::vector<Row> rows;
  /// Amdahl's parallel share F, from 0 to 1: the least squares fit of 1 / S = (1 - F) + F / p to
  /// the points, without points that are slower than fewer workers, because the law has no such
  /// loss. 1 if the points are faster than ideal. NaN if there is only one worker, and for a
  /// replay, which Amdahl's law does not describe.
  double parallel_share = 0;
  std::optional<LongestPlan> longest_plan;  ///< only for a replay
  ScalingPoint fastest = {};

  /// Returns the speed-up that no number of workers exceeds; NaN if unknown.
  [[nodiscard]] double limit() const;
};

/// Returns the shortest time of one worker, in s; nullopt if no point has one worker.
[[nodiscard]] std::optional<double> one_worker_seconds(const std::vector<ScalingPoint>& points);
/// Returns the speed-ups of `points` relative to one worker. Throws UsageError, whose message ends
/// with `hint`, if no point has one worker.
[[nodiscard]] Scaling scaling_to_one_worker(const std::vector<ScalingPoint>& points,
                                            const std::string& hint);
/// Returns the scaling of `points`. `one_worker_s` is the time of one worker in s. All times must
/// be positive.
[[nodiscard]] Scaling scaling_of(std::string name, const std::vector<ScalingPoint>& points,
                                 double one_worker_s,
                                 const std::optional<Scaling::LongestPlan>& longest_plan = {});

/// Returns the speed-ups, their limit by Amdahl's law or by the longest plan, and a figure of both.
/// `source` describes the origin of the times.
[[nodiscard]] Report make_report(const std::vector<Scaling>& scalings, const std::string& source);
/// Returns the time per plan over the number of plans, for an equal number of workers.
[[nodiscard]] Report report_of_plan_counts(const std::vector<ScalingPoint>& points);
/// Compares the wall times of finished runs, whose files were opened by `readers`. If all runs had
/// the same number of workers, the report has the time per plan over the number of plans. Throws
/// RunError as finished_run() and require_comparable() do, and UsageError if no run had one worker.
[[nodiscard]] Report report_of_runs(const std::vector<std::string>& files,
                                    const std::deque<ResultReader>& readers);

/// Question how long numbers of workers would take for the plans of a run.
struct ReplayQuery {
  std::string file;
  std::vector<std::size_t> workers;
  std::vector<Schedule> schedules;
  double slowdown = 1;  ///< duration of a plan next to others, divided by its duration alone
};
/// Replays the solved and failed plans of the run. Throws RunError if there are none, or if the
/// query requires the number of workers of the run and it is unknown.
[[nodiscard]] Report report_of_replay(const ReplayQuery& query, const ResultReader& reader);

/// Returns the number of plans that a session solved at the same time: the slots of its CPU
/// workers, and one for each GPU. Returns nullopt if the session was killed or solved no plan.
[[nodiscard]] std::optional<std::size_t> worker_count(const Attributes& session);
/// Returns the number of plans that all sessions solved at the same time; nullopt if the sessions
/// differ.
[[nodiscard]] std::optional<std::size_t> worker_count(const ResultReader& reader);

/// Returns the workers and the wall time of a finished run, including resumed sessions. Throws
/// RunError, with a message that names the file, if these are unknown or ambiguous: plans are
/// pending, a session was killed or had another number of workers, or the file was merged from
/// shard files.
[[nodiscard]] ScalingPoint finished_run(const std::string& file, const ResultReader& reader);

/// Throws RunError, with a message that names both files, unless their plans were solved with the
/// same settings and, with `same_plans`, are the same.
void require_comparable(const std::string& first_file, const ResultReader& first,
                        const std::string& file, const ResultReader& reader, bool same_plans);

}  // namespace wallheat
