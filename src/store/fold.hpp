#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "store/view.hpp"

namespace wallheat::store {

/// A fold was asked to stop. Nothing is lost: the journals are still there.
struct FoldStopped {};

/// True once a process is asked to stop.
using Interrupted = std::function<bool()>;

/// The rows of a file in the order of another list of plans.
struct NewOrder {
  static constexpr std::uint32_t none = UINT32_MAX;
  TextList ids;
  std::vector<std::uint32_t> old_index;  ///< of plan i; none: it is new
};

/// Makes one HDF5 file of a result file and its journals, in place of the file, and removes the
/// journals. Rows whose field or rooms are damaged become pending, which the return value tells.
/// A kill at any moment loses nothing, and neither does a writer that does not see this one: its
/// journal is taken from it first. Needs room for the file once more. Throws FoldStopped.
Damage fold(const std::filesystem::path& path, const std::optional<NewOrder>& order,
            const Interrupted& interrupted);

/// Renames the journals of a file, so that nobody acknowledges a result in them any more.
void take_journals(const std::filesystem::path& path);
/// Removes the journals of the sessions before `end` that are left. What a kill leaves of them does
/// not count any more, whichever they are.
void remove_journals(const std::filesystem::path& path, std::size_t end);

/// What the file that is written over a file names as `replaced`: that file and those of its
/// journals, as far as they can be read.
[[nodiscard]] std::vector<FileId> files_replaced_at(const std::filesystem::path& path);

}  // namespace wallheat::store
