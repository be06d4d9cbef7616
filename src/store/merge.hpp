#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/plan_ids.hpp"
#include "store/result_store.hpp"

namespace wallheat {

struct MergeOptions {
  bool allow_missing_plans = false;  ///< write the file even if plans are missing; they are pending
  bool overwrite = false;            ///< replace an existing file
  bool update = false;   ///< replace an earlier merged file, and keep all of its results
  Attributes session{};  ///< attributes of the merge, which is the last session
};

/// Result of merge_results(). The file was not written if there are conflicts, or if plans are
/// missing and MergeOptions::allow_missing_plans is false.
struct MergeReport {
  bool written = false;
  std::size_t plans = 0;
  std::size_t done = 0;                ///< solved plans
  std::size_t failed = 0;              ///< failed plans
  std::size_t duplicates = 0;          ///< plans that more than one shard file has solved
  StringList ids;                      ///< IDs of the plans, in order
  std::vector<Attributes> sessions;    ///< sessions of the shard files, without that of the merge
  std::vector<std::string> missing;    ///< IDs of plans that are pending in all shard files
  std::vector<std::string> conflicts;  ///< a message for each result that differs from another one
  std::vector<std::string> warnings;   ///< about shard files that are damaged or not closed
};

/// Merges the shard files of one campaign, which must have equal settings, into one file. The lists
/// of plans may differ if the longest list contains all plans of the others, because a list may
/// grow between two jobs; the merged file has the longest list. If several files have a row of a
/// plan, a solved row is preferred to a failed one, and a failed one to a pending one; of two
/// failed rows the one with more failures. Solved rows of one plan must be bit-identical, including
/// fields and rooms.
///
/// Compressed fields are copied unchanged, one at a time. The shard files are only read, each open
/// only while it is needed; they may be in use by a run, or left by a killed one, and the results
/// that they have at that moment are merged. `out` is created atomically. Throws RunError with a
/// message that names the files if a file belongs to another campaign, or if `out` exists, is one
/// of the shard files, or is being written. With MergeOptions::update, an `out` that an earlier
/// merge wrote is read like a shard file and then replaced, so that none of its results is lost.
[[nodiscard]] MergeReport merge_results(const std::filesystem::path& out,
                                        const std::vector<std::filesystem::path>& parts,
                                        const MergeOptions& options);

/// Returns the number of files that a session merged; nullopt if the session is a run.
[[nodiscard]] std::optional<std::size_t> merged_parts(const Attributes& session);

/// Returns true if a merge copied the session from a shard file.
[[nodiscard]] bool is_from_part(const Attributes& session);

}  // namespace wallheat
