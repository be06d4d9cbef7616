#include "store/error_context.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <string_view>

#include "io/files.hpp"
#include "store/result_path.hpp"

namespace wallheat::store {
namespace fs = std::filesystem;
namespace {

/// The first bytes of a result file say "wallheat" and "results": the attribute lies in the root's
/// header, its name and a NUL, then its type, then its text.
bool mentions_results(std::string_view bytes) {
  using namespace std::string_view_literals;
  constexpr auto name = "wallheat\0"sv;
  constexpr std::size_t reach = 128;
  const auto at = bytes.find(name);
  return at != std::string_view::npos &&
         bytes.substr(at + name.size(), reach).find("results") != std::string_view::npos;
}

}  // namespace

std::string hint_for(int error, const ErrorHints& hints, const std::string& fallback) {
  constexpr std::array about_room{ENOSPC, EDQUOT, EFBIG};
  constexpr std::array about_rights{EACCES, EPERM, EROFS};
  const auto is_one = [&](const auto& errors) {
    return std::find(errors.begin(), errors.end(), error) != errors.end();
  };
  if (is_one(about_room)) return hints.if_full;
  if (is_one(about_rights)) return "see that you may write there, or name another place";
  return fallback;
}

fs::path path_to_write(const fs::path& file) {
  auto path = result_path(file);
  const auto folder = stat_if_exists(path.parent_path());
  if (!folder || !S_ISDIR(folder->st_mode))
    throw RunError(path.string() + " cannot be written: there is no directory " +
                   path.parent_path().string() + "; make it first");
  const auto found = stat_if_exists(path);
  require_not_directory(path);
  if (found && !S_ISREG(found->st_mode))
    throw RunError(path.string() + " is not a regular file; name another");
  return path;
}

void require_wallheat_file(const fs::path& path) {
  constexpr std::uint64_t enough = 64 << 10;
  if (!file_exists(path)) return;
  const File in(path, O_RDONLY);
  std::string bytes(std::min(in.size(), enough), '\0');
  if (!in.read_at(0, std::as_writable_bytes(std::span(bytes))))
    throw_system_error(path, "be read", EIO);
  // A journal tells what a damaged file was.
  if (bytes.empty() || mentions_results(bytes) || !journal_numbers(path).empty()) return;
  throw RunError(path.string() +
                 " is not a result file that wallheat wrote, so --overwrite does not replace it; "
                 "name another, or remove it first");
}

void require_no_hard_links(const fs::path& path) {
  const auto found = stat_if_exists(path);
  if (!found || found->st_nlink <= 1) return;
  throw RunError(path.string() + " has " + std::to_string(found->st_nlink) +
                 " names (hard links), and its journals lie beside one of them only; give it one "
                 "of its own: cp -p " +
                 path.string() + " " + path.string() + ".copy && mv " + path.string() + ".copy " +
                 path.string());
}

Attributes truncate_at_nul(Attributes values) {
  for (auto& [name, value] : values) value.resize(std::min(value.size(), value.find('\0')));
  return values;
}

}  // namespace wallheat::store

namespace wallheat {

void require_own_results(const std::filesystem::path& file) {
  store::with_error_context(file, {}, [&] { store::require_wallheat_file(result_path(file)); });
}

}  // namespace wallheat
