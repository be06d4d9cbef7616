#include "store/results/boundary.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "store/results/result_path.hpp"
#include "store/results/write_ahead_log.hpp"

namespace wallheat::store {
namespace fs = std::filesystem;
namespace {

constexpr std::array about_room{ENOSPC, EDQUOT, EFBIG};
constexpr std::array about_rights{EACCES, EPERM, EROFS};
constexpr const char* rights_advice = "; see that you may write there, or name another place";

template <class Errors>
bool speaks_of(const std::string& text, const Errors& errors) {
  return std::any_of(errors.begin(), errors.end(), [&](int error) {
    return text.find(std::strerror(error)) != std::string::npos;
  });
}

template <class Errors>
bool is_one_of(int error, const Errors& errors) {
  return std::find(errors.begin(), errors.end(), error) != errors.end();
}

}  // namespace

std::string advice_about(int error, const Advice& advice) {
  if (is_one_of(error, about_room)) return "; " + advice.for_room;
  return is_one_of(error, about_rights) ? rights_advice : "";
}

std::string advice_about(const std::string& text, const Advice& advice) {
  if (speaks_of(text, about_room)) return "; " + advice.for_room;
  return speaks_of(text, about_rights) ? rights_advice : "; " + advice.otherwise;
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

}  // namespace wallheat::store
