#include "store/results/own_file.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <string>
#include <string_view>

#include "io/posix_file.hpp"
#include "store/results/result_path.hpp"
#include "store/results/write_ahead_log.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace fs = std::filesystem;

namespace store {
namespace {

std::string beginning_of(const StoreEnvironment& env, const fs::path& file, std::uint64_t most) {
  const PosixFile in(env.system, file, O_RDONLY);
  std::string bytes(std::min(in.size(), most), '\0');
  if (!in.read_at(0, std::as_writable_bytes(std::span(bytes))))
    throw_system_error(file, "be read", EIO);
  return bytes;
}

/// The attribute lies in the root's header at the beginning: its name and a NUL, then its type,
/// then its text.
bool says(std::string_view bytes, std::string_view kind) {
  using namespace std::string_view_literals;
  constexpr auto name = "wallheat\0"sv;
  constexpr std::size_t reach = 128;
  const auto at = bytes.find(name);
  return at != std::string_view::npos &&
         bytes.substr(at + name.size(), reach).find(kind) != std::string_view::npos;
}

}  // namespace

void require_own(const StoreEnvironment& env, const fs::path& file, OwnKind kind) {
  constexpr std::uint64_t enough = 64 << 10;
  const bool results = kind == OwnKind::results;
  if (!exists(env.system, file) || PosixFile(env.system, file, O_RDONLY).size() == 0) return;
  if (says(beginning_of(env, file, enough), results ? "results" : "plans")) return;
  if (results && !logged_file_id(env, file).empty()) return;
  throw RunError(
      file.string() + " is not " + (results ? "a result file" : "a pack of floor plans") +
      " that wallheat wrote, so --overwrite does not replace it; name another, or remove "
      "it first");
}

}  // namespace store

void require_own_results(const fs::path& file) {
  try {
    store::require_own({}, result_path(file), store::OwnKind::results);
  } catch (const fs::filesystem_error& error) {
    throw RunError(file.string() + " cannot be used: " + error.code().message());
  }
}

}  // namespace wallheat
