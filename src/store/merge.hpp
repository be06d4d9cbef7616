#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "store/result_store.hpp"

namespace wallheat {

struct MergeOptions {
  bool allow_missing_plans =
      false;               ///< write the file although plans are missing, with these pending
  bool overwrite = false;  ///< replace an existing file
  Attributes session{};    ///< what the file shall say of the merge, as its last session
};

/// What merge_results found. The file was written unless there are conflicts, or plans are missing
/// and that was not allowed.
struct MergeReport {
  bool written = false;
  std::size_t plans = 0;
  std::size_t done = 0;                ///< plans with an answer
  std::size_t failed = 0;              ///< plans that only failed
  std::size_t duplicates = 0;          ///< plans with an answer in more than one part
  std::vector<std::string> missing;    ///< ids of plans that no part has tried to the end
  std::vector<std::string> conflicts;  ///< a sentence for each answer that differs from another's
  std::vector<std::string> warnings;   ///< about parts that are damaged or not closed
};

/// Gathers partial files of one campaign (equal ids and settings) into one file. An answer counts
/// more than a failure and a failure more than nothing; of two failures the one with more
/// `failures`. Answers of the same plan must be equal bit for bit, fields and rooms included.
/// Fields are copied compressed as they are, one at a time; a part is open only while it is read.
/// Parts are only read, and may be files that a run writes or that a kill left; what they hold by
/// then is taken. `out` appears whole or not at all. Throws RunError, one sentence that names the
/// files: a part of another campaign, an `out` that exists, is one of the parts or is being
/// written.
[[nodiscard]] MergeReport merge_results(const std::filesystem::path& out,
                                        const std::vector<std::filesystem::path>& parts,
                                        const MergeOptions& options);

/// How many parts a session merged; nothing if it is that of a run.
[[nodiscard]] std::optional<std::size_t> merged_parts(const Attributes& session);

/// Whether a session is a copy that a merge took from a part.
[[nodiscard]] bool is_from_part(const Attributes& session);

}  // namespace wallheat
