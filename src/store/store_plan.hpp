#pragma once

#include <filesystem>
#include <string>

#include "store/result_file.hpp"
#include "store/result_store.hpp"

// What a result file is made for, and whether a run asks for the same.
namespace wallheat::store {

/// The id of a plan as rows have it: one that is too long for them is cut, and told apart by a
/// checksum.
[[nodiscard]] std::string stored_id(std::string_view id);
/// Those of a list, in which each id is once. Throws RunError if one is empty or has a NUL.
[[nodiscard]] TextList stored_ids(const std::filesystem::path& file, const TextList& ids);

/// Names each difference between two campaigns, "tolerance: A has 1, B 2; ..." if `a` and `b` are
/// "A has" and "B"; empty if there is none.
[[nodiscard]] std::string differences(const Campaign& campaign, const std::string& a,
                                      const Attributes& settings, bool save_fields,
                                      const std::string& b);
/// Throws RunError that names each difference between what a file was made for and `plan`.
void require_agreement(const std::filesystem::path& file, const Campaign& campaign,
                       const StorePlan& plan);

}  // namespace wallheat::store
