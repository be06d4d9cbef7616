#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "report/report.hpp"
#include "wallheat/result_reader.hpp"

namespace wallheat {

/// How long a number of workers took for plans.
struct ScalingPoint {
  std::size_t workers = 0;
  double seconds = 0;
  std::size_t plans = 0;                 ///< so this and the next of a result file; 0: unknown
  std::size_t nodes = 0;                 ///< that solved a plan
  std::optional<std::size_t> gpus = {};  ///< the same
  /// True if the threads of the run had to share their cores with other threads or programs, so
  /// that the seconds are those of a loaded machine.
  bool cores_were_shared = false;
};

/// Strong scaling: what more workers bring for the same plans.
struct Scaling {
  struct Row {
    ScalingPoint point;
    double speedup = 0;      ///< against one worker
    bool is_slower = false;  ///< more workers than the fastest, and over 5 % slower
  };
  /// What bounds a replay: no plan is divided among workers.
  struct LongestPlan {
    double seconds = 0;
    std::size_t sufficient_workers = 0;  ///< more bring nothing
  };
  std::string name;       ///< a schedule; empty unless it is a replay
  std::vector<Row> rows;  ///< ascending in workers; of several times the least
  /// Amdahl's share F, 0 to 1: least squares of 1 / S = (1 - F) + F / p over the points, without
  /// those that are slower than fewer workers: the law knows no such loss. 1 if the points are
  /// faster than ideal. NaN if there is one worker only, and for a replay, which Amdahl's law does
  /// not describe.
  double parallel_share = 0;
  std::optional<LongestPlan> longest_plan;  ///< of a replay
  ScalingPoint fastest = {};

  /// The speed-up that no number of workers exceeds; NaN if not known.
  [[nodiscard]] double limit() const;
};

/// The least seconds of one worker; nothing if no point has one.
[[nodiscard]] std::optional<double> one_worker_seconds(const std::vector<ScalingPoint>& points);
/// `one_worker_s` is what one worker takes. All seconds are above 0.
[[nodiscard]] Scaling scaling_of(std::string name, const std::vector<ScalingPoint>& points,
                                 double one_worker_s,
                                 const std::optional<Scaling::LongestPlan>& longest_plan = {});

/// Speed-ups with what limits them, Amdahl's law or the longest plan, and a figure of both;
/// `source` tells where the times are from.
[[nodiscard]] Report make_report(const std::vector<Scaling>& scalings, const std::string& source);
/// Seconds a plan over the number of plans, by as many workers.
[[nodiscard]] Report report_of_plan_counts(const std::vector<ScalingPoint>& points);

/// How many plans a session solved at once: threads of its CPU workers, and one for each GPU.
/// Nothing if it did not end by itself, or solved nothing.
[[nodiscard]] std::optional<std::size_t> worker_count(const Attributes& session);
/// The same of all sessions; nothing if they differ.
[[nodiscard]] std::optional<std::size_t> worker_count(const ResultReader& reader);

/// The workers and the wall time of a finished run, of which a resume may be part. Throws RunError,
/// which names the file, if these are unknown or two: plans are left, a session was killed or had
/// other workers, parts were merged.
[[nodiscard]] ScalingPoint finished_run(const std::string& file, const ResultReader& reader);

/// Throws RunError, which names both files, unless their plans were solved alike, and if
/// `same_plans` are the same.
void require_comparable(const std::string& first_file, const ResultReader& first,
                        const std::string& file, const ResultReader& reader, bool same_plans);

}  // namespace wallheat
