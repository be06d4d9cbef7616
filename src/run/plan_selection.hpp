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

/// The plans that are asked for: `ids`, else those of `ids_file`, else all of the source; of them
/// the first `first` (0: all). Throws RunError if there are none, or as require_plans.
[[nodiscard]] PlanIds requested_plans(const PlanSource& source, const std::vector<std::string>& ids,
                                      const std::filesystem::path& ids_file, std::size_t first);

/// Throws RunError that names the first of the ids that no plan of the source has, and the plan
/// that was meant. A plan that is there and cannot be read is one: it fails when it is solved.
void require_plans(const PlanSource& source, const StringList& ids);

/// "plans has no plan '1'; did you mean '00001'?", or which plan is the first.
[[nodiscard]] std::string unknown_plan_message(const std::string& owner, const std::string& id,
                                               const StringList& plans);

/// Thrown if the process was asked to stop in the middle of something that must be whole.
struct StopRequested {};

/// Throws RunError that names a kind of wall that --wall names and no plan has. Reads plans until
/// all kinds are found, which is usually one; those that cannot be read are left out. Throws
/// StopRequested if a run is asked to stop meanwhile.
void require_walls(const PlanSource& source, const StringList& ids, const WallOverrides& walls);

/// What a plan is, in a few words by which ranks compare it: its shape and hash, of a large plan
/// the shape alone, or that it cannot be read.
[[nodiscard]] std::string describe_plan(const PlanSource& source, const PlanKey& plan);

/// Describes the source of a run whose plan `k` of `count` is task(k): three plans with their
/// content, and the stamps of up to `max_stamps` plans, both spread over the list. Takes two or
/// three calls of stat() for each stamp.
[[nodiscard]] SourceDescription describe_source(const PlanSource& source, std::size_t count,
                                                std::size_t max_stamps,
                                                const std::function<Task(std::uint32_t)>& task);

/// Returns how the plans of a worker differ from those of rank 0, for the first plan that differs;
/// an empty string if none is found. Compares stamps only if the worker reads a copy, and if the
/// copy has the times of the original: that is so if any of them agree.
[[nodiscard]] std::string source_difference(const PlanSource& source,
                                            const SourceDescription& rank_0);

/// "a; b; c; and 5 more": the first of `count` things, each of which `text` names.
[[nodiscard]] std::string join_first(std::size_t count,
                                     const std::function<std::string(std::size_t)>& text);

/// A solved row whose input is another by now, or cannot be read any more.
struct ChangedInput {
  std::uint32_t index = 0;
  std::string id;
  std::string why;
};
using InputChanges = std::vector<ChangedInput>;

/// Adds what became of one row's input. The plan is read and hashed only if its stamp is another.
/// Throws RunError if a system error prevents the check.
void check_input_change(const PlanSource& source, const PlanResult& row, InputChanges& changes);
/// "2 plans that are already solved have changed in plans since: 7 (other content); ..."; empty if
/// there are none.
[[nodiscard]] std::string input_changes_text(const InputChanges& changes, const PlanSource& source);

}  // namespace wallheat
