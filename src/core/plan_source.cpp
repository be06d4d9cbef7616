#include "core/plan_source.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>

#include "core/file_descriptor.hpp"

namespace wallheat {
namespace {

/// True if the beginning of what is open can be read; errno tells why not.
bool is_readable(int file) {
  struct stat info {};
  if (::fstat(file, &info) != 0) return false;
  if (!S_ISDIR(info.st_mode)) {
    char byte = 0;
    return ::pread(file, &byte, 1, 0) >= 0;
  }
  const int copy = ::dup(file);
  DIR* const listing = copy < 0 ? nullptr : ::fdopendir(copy);
  if (listing == nullptr) {
    if (copy >= 0) ::close(copy);
    return false;
  }
  errno = 0;
  const bool is_there = ::readdir(listing) != nullptr || errno == 0;
  const int error = errno;
  ::closedir(listing);
  errno = error;
  // To list a directory takes another right than to open its files.
  return is_there && ::faccessat(file, ".", X_OK, AT_EACCESS) == 0;
}

}  // namespace

void expect_available(const std::filesystem::path& source) {
  const FileDescriptor file(::open(source.c_str(), O_RDONLY | O_CLOEXEC));
  const bool readable = file.get() >= 0 && is_readable(file.get());
  const int error = errno;
  if (readable) return;
  throw SourceUnavailable("the input " + source.string() +
                          " cannot be read any more: " + std::strerror(error));
}

std::optional<std::uint64_t> PlanSource::stated_hash(const std::string&) const {
  return std::nullopt;
}

std::int64_t PlanSource::interior_cells(const std::string& id) const {
  return count_interior(interior(id, std::numeric_limits<std::size_t>::max()));
}

/// FNV-1a (http://www.isthe.com/chongo/tech/comp/fnv/).
std::uint64_t stamp_of(std::span<const std::uint64_t> numbers) {
  std::uint64_t stamp = 0xcbf29ce484222325;
  for (const std::byte byte : std::as_bytes(numbers))
    stamp = (stamp ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3;
  return stamp;
}

void PlanSource::load_in_pieces(const std::string& id, const PlanPieces& to) const {
  const FloorPlan plan = load(id);
  to.shape({plan.domain.rows, plan.domain.cols});
  to.domain(plan.domain.cells);
  to.interior(plan.interior.cells);
  if (plan.has_source()) to.source(plan.source.cells);
}

}  // namespace wallheat
