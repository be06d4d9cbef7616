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
  bool allow_missing_plans =
      false;               ///< write the file although plans are missing, with these pending
  bool overwrite = false;  ///< replace an existing file
  bool update = false;     ///< replace an earlier merged file, and keep all of its results
  Attributes session{};    ///< attributes of the merge's own session
};

/// What merge_results found. The file was written unless there are conflicts, or plans are missing
/// and that was not allowed.
struct MergeReport {
  bool written = false;
  std::size_t plans = 0;
  std::size_t done = 0;                ///< plans with an answer
  std::size_t failed = 0;              ///< plans that only failed
  std::size_t duplicates = 0;          ///< plans with an answer in more than one part
  StringList ids;                      ///< ids of the plans, in order
  std::vector<Attributes> sessions;    ///< sessions of the parts, without the merge's own
  std::vector<std::string> missing;    ///< ids of plans that no part has tried to the end
  std::vector<std::string> conflicts;  ///< a sentence for each answer that differs from another's
  std::vector<std::string> warnings;   ///< about parts that are damaged or not closed
};

/// Gathers partial files of one campaign (equal settings) into one file. The lists of plans may
/// differ if the longest one has all plans of the others, because a list may grow between two jobs;
/// the file has the longest list. An answer counts more than a failure and a failure more than
/// nothing; of two failures the one with more `failures`. Answers of the same plan must be equal
/// bit for bit, fields and rooms included. Fields are copied compressed as they are, one at a time;
/// a part is open only while it is read. Parts are only read, and may be files that a run writes or
/// that a kill left; what they hold by then is taken. `out` appears whole or not at all. Throws
/// RunError, one sentence that names the files: a part of another campaign, an `out` that exists,
/// is one of the parts or is being written. With MergeOptions::update, an `out` that an earlier
/// merge wrote is read like a part and then replaced, so that no result of it is lost.
[[nodiscard]] MergeReport merge_results(const std::filesystem::path& out,
                                        const std::vector<std::filesystem::path>& parts,
                                        const MergeOptions& options);

/// How many parts a session merged; nothing if it is that of a run.
[[nodiscard]] std::optional<std::size_t> merged_parts(const Attributes& session);

/// Whether a session is a copy that a merge took from a part.
[[nodiscard]] bool is_from_part(const Attributes& session);

}  // namespace wallheat
