#pragma once

#include <filesystem>
#include <functional>
#include <optional>

#include "store/view.hpp"

namespace wallheat::store {

/// True once a process is asked to stop.
using Interrupted = std::function<bool()>;

/// Makes one HDF5 file of a result file and its journals, in place of the file, and removes the
/// journals; its rows are those of `ids` in their order, or those of the file if there are none.
/// Rows whose field or rooms are damaged become pending, which the return value tells; nothing if
/// it was interrupted. A kill at any moment loses nothing, and neither does a writer that does not
/// see this one: its journal is taken from it first. Needs room for the file once more.
std::optional<Damage> fold(const std::filesystem::path& path, const TextList* ids = nullptr,
                           const Interrupted& interrupted = {});

/// Renames the journals of a file, so that nobody acknowledges a result in them any more. Not
/// durable: until the new file has its name, they count by either name.
void take_journals(const std::filesystem::path& path);
/// Removes the journals of the sessions before `end` that are left, durably.
void remove_journals(const std::filesystem::path& path, std::size_t end);

}  // namespace wallheat::store
