#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "report/gnuplot.hpp"
#include "wallheat/result_reader.hpp"

namespace wallheat {

/// How long so many workers took for the same plans.
struct ScalingPoint {
  std::size_t workers = 0;
  double seconds = 0;
};

/// Amdahl's parallel share of the work, F = (1 - 1 / S) / (1 - 1 / p) (Amdahl 1967): p workers are
/// S times as fast as one. NaN for one worker; above 1 where S is above p.
[[nodiscard]] double parallel_share(double speedup, double workers);
/// The speed-up that no number of workers exceeds, S(inf) = 1 / (1 - F); infinite from F = 1 on.
[[nodiscard]] double largest_speedup(double parallel_share);

/// Strong scaling: what more workers bring for the same plans.
struct Scaling {
  struct Row {
    ScalingPoint point;
    double speedup = 0;         ///< against one worker
    double efficiency = 0;      ///< speed-up a worker
    double parallel_share = 0;  ///< of this point alone; NaN for one worker
  };
  /// What bounds a replay: no plan is divided among workers.
  struct LongestPlan {
    double seconds = 0;
    std::size_t sufficient_workers = 0;  ///< more bring nothing
  };
  std::string name;       ///< a schedule; empty where there is one scaling only
  std::vector<Row> rows;  ///< ascending in workers; of several times the least
  /// Least squares of 1 / S = (1 - F) + F / p over the points, without those that are slower than
  /// fewer workers: the law knows no such loss. NaN where there is one worker only, and for a
  /// replay, which Amdahl's law does not describe.
  double parallel_share = 0;
  std::optional<LongestPlan> longest_plan;  ///< of a replay
  std::vector<ScalingPoint> slower;         ///< more workers than the fastest, and over 5 % slower
  ScalingPoint fastest;

  /// The speed-up that no number of workers exceeds; NaN where not known.
  [[nodiscard]] double limit() const;
};

/// The least seconds of one worker; nothing where no point has one.
[[nodiscard]] std::optional<double> one_worker_seconds(const std::vector<ScalingPoint>& points);
/// `one_worker_s` is what one worker takes. All seconds are above 0.
[[nodiscard]] Scaling scaling_of(std::string name, const std::vector<ScalingPoint>& points,
                                 double one_worker_s,
                                 const std::optional<Scaling::LongestPlan>& longest_plan = {});
/// What bounds the speed-up and where more workers take longer: a sentence each.
[[nodiscard]] std::vector<std::string> remarks_on(const Scaling& scaling);

/// For people.
void print_scalings(const std::vector<Scaling>& scalings);
/// One JSON object; `source` tells where the times are from.
[[nodiscard]] std::string to_json_text(const std::vector<Scaling>& scalings,
                                       const std::string& source);
/// Speed-up over workers, both axes by powers of two: the points, what limits them (Amdahl's curve,
/// or the longest plan of a replay), and the ideal line.
[[nodiscard]] Plot scaling_plot(const std::vector<Scaling>& scalings, const std::string& title);

/// How long all workers took for so many plans.
struct PlanCountPoint {
  std::size_t plans = 0;
  double seconds = 0;
};
/// For people; one JSON object; seconds a plan over the number of plans.
void print_plan_counts(const std::vector<PlanCountPoint>& points);
[[nodiscard]] std::string to_json_text(const std::vector<PlanCountPoint>& points,
                                       std::size_t workers);
[[nodiscard]] Plot plan_count_plot(const std::vector<PlanCountPoint>& points,
                                   const std::string& title);

/// How many plans a session solved at once: threads of its CPU workers, and one for each GPU.
/// Nothing where it did not end by itself, or solved nothing.
[[nodiscard]] std::optional<std::size_t> workers_of(const Attributes& session);
/// The same of all sessions; nothing where they differ.
[[nodiscard]] std::optional<std::size_t> workers_of(const ResultReader& reader);

/// The workers and the wall time of a finished run, of which a resume may be part. Throws RunError,
/// which names the file, where these are unknown or two: plans are left, a session was killed or
/// had other workers, parts were merged.
[[nodiscard]] ScalingPoint finished_run(const std::string& file, const ResultReader& reader);

/// Throws RunError, which names both files, unless they hold the same plans, solved alike.
void require_same_plans(const std::string& first_file, const ResultReader& first,
                        const std::string& file, const ResultReader& reader);

}  // namespace wallheat
