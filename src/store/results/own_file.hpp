#pragma once

#include <filesystem>

#include "store/results/environment.hpp"

namespace wallheat::store {

/// What wallheat writes into HDF5 files; the root's attribute "wallheat" says which.
enum class OwnKind { results, plans };

/// Throws RunError if there is a file that is not empty and that wallheat did not write as this
/// kind. Its first bytes decide, so that a damaged or half-written one is known, too; of results
/// also the log beside it.
void require_own(const StoreEnvironment& env, const std::filesystem::path& file, OwnKind kind);

}  // namespace wallheat::store
