#include "store/results/boundary.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <string_view>

#include "store/results/result_path.hpp"
#include "store/results/write_ahead_log.hpp"

namespace wallheat::store {
namespace fs = std::filesystem;
namespace {

/// What to do about the first of the errors for which `is_it` says true.
template <class IsIt>
std::string advice_about_errors(IsIt is_it, const Advice& advice, const std::string& otherwise) {
  constexpr std::array about_room{ENOSPC, EDQUOT, EFBIG};
  constexpr std::array about_rights{EACCES, EPERM, EROFS};
  if (std::any_of(about_room.begin(), about_room.end(), is_it)) return "; " + advice.for_room;
  if (std::any_of(about_rights.begin(), about_rights.end(), is_it))
    return "; see that you may write there, or name another place";
  return otherwise;
}

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

std::string advice_about(int error, const Advice& advice) {
  return advice_about_errors([&](int one) { return one == error; }, advice, "");
}

std::string advice_about(const std::string& text, const Advice& advice) {
  const auto is_named = [&](int error) {
    return text.find(std::strerror(error)) != std::string::npos;
  };
  return advice_about_errors(is_named, advice, "; " + advice.otherwise);
}

fs::path real_path(const StoreEnvironment& env, const fs::path& file) {
  auto path = result_path(file, env.system);
  if (!is_directory(env.system, path.parent_path())) {
    throw RunError(path.string() + " cannot be written: there is no directory " +
                   path.parent_path().string() + "; make it first");
  }
  if (exists(env.system, path) && !is_regular_file(env.system, path)) {
    throw RunError(path.string() + " is not a regular file; name another");
  }
  return path;
}

void require_one_name(const StoreEnvironment& env, const fs::path& file) {
  struct stat info {};
  if (env.system.stat(file.c_str(), &info) != 0 || info.st_nlink <= 1) return;
  const auto names = info.st_nlink;
  const auto path = file.string();
  throw RunError(path + " has " + std::to_string(names) +
                 " names (hard links), and who writes it by another name cannot be seen by this "
                 "one; give it one of its own: cp -p " +
                 path + " " + path + ".copy && mv " + path + ".copy " + path);
}

Attributes storable(Attributes values) {
  for (auto& [name, value] : values) value.resize(std::min(value.size(), value.find('\0')));
  return values;
}

bool remove_leftovers(const StoreEnvironment& env, const fs::path& file) {
  bool any = false;
  for (const auto& target : {file, log_path(file)}) {
    any = remove_file(env.system, temporary_path(target)) || any;
  }
  return any;
}

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

}  // namespace wallheat::store

namespace wallheat {

void require_own_results(const std::filesystem::path& file) {
  try {
    store::require_own({}, result_path(file), store::OwnKind::results);
  } catch (const std::filesystem::filesystem_error& error) {
    throw RunError(file.string() + " cannot be used: " + error.code().message());
  }
}

}  // namespace wallheat
