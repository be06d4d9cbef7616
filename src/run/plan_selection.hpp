#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/plan_ids.hpp"
#include "plans/plan_source.hpp"
#include "queue/messages.hpp"
#include "run/run_options.hpp"
#include "wallheat/plan_result.hpp"

namespace wallheat {

/// Returns the requested plans: `ids`; if empty, those of `ids_file`; if that is empty too, all
/// plans of the source. Of these, only the first `first` (0: all). Throws RunError if there are
/// none, or if require_plans() does.
[[nodiscard]] PlanIds requested_plans(const PlanSource& source, const std::vector<std::string>& ids,
                                      const std::filesystem::path& ids_file, std::size_t first);

/// Throws RunError if the source does not have one of the plans. The message names the first such
/// ID, and the plan that the user probably meant. A plan that exists and cannot be read is
/// accepted: it fails when it is solved.
void require_plans(const PlanSource& source, const StringList& ids);

/// Returns "plans has no plan '1'; did you mean '00001'?", or names the first plan if none is
/// similar.
[[nodiscard]] std::string unknown_plan_message(const std::string& owner, const std::string& id,
                                               const StringList& plans);

/// Thrown if a stop is requested during an operation that is useless unless it is completed.
struct StopRequested {};

/// Throws RunError if --wall names a nominal wall temperature that no plan has. Reads plans until
/// all nominal temperatures of --wall are found, which usually takes one plan. Skips plans that
/// cannot be read. Throws StopRequested if a stop is requested meanwhile.
void require_walls(const PlanSource& source, const StringList& ids, const WallOverrides& walls);

/// Returns a short description by which ranks compare a plan: its shape and hash, the shape alone
/// for a large plan, or that it cannot be read.
[[nodiscard]] std::string describe_plan(const PlanSource& source, const PlanKey& plan);

/// Describes the source of a run whose plan `k` of `count` is task(k): three plans with their
/// content, and the stamps of up to `max_stamps` plans, both spread over the list. Takes two or
/// three calls of stat() for each stamp.
[[nodiscard]] SourceDescription describe_source(const PlanSource& source, std::size_t count,
                                                std::size_t max_stamps,
                                                const std::function<Task(QueueIndex)>& task);

/// Returns how the plans of a worker differ from those of rank 0, for the first plan that differs;
/// an empty string if none is found. Compares stamps only if the worker reads a copy, and if the
/// copy has the times of the original: that is so if any of them agree.
[[nodiscard]] std::string source_difference(const PlanSource& source,
                                            const SourceDescription& rank_0);

/// Returns "a; b; c; and 5 more": the first three of `count` items, as formatted by `text`, and the
/// number of the others.
[[nodiscard]] std::string join_first(std::size_t count,
                                     const std::function<std::string(std::size_t)>& text);

/// A solved plan whose input has changed since, or cannot be read any more.
struct ChangedInput {
  std::uint32_t index = 0;  ///< row index
  std::string id;
  std::string why;
};
using InputChanges = std::vector<ChangedInput>;

/// Adds a row to `changes` if it is solved and its input has changed. Reads and hashes the plan
/// only if its stamp has changed. Throws RunError if a system error prevents the check.
void check_input_change(const PlanSource& source, const PlanResult& row, InputChanges& changes);
/// Returns "2 solved plans have changed in plans since: 7 (different content); ...";
/// an empty string if there are no changes.
[[nodiscard]] std::string input_changes_text(const InputChanges& changes, const PlanSource& source);

}  // namespace wallheat
