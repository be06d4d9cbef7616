#include "store/results/writer.hpp"

#include <fcntl.h>

#include "io/file_lock.hpp"
#include "io/file_names.hpp"
#include "store/results/result_path.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace fs = std::filesystem;

namespace {

Writer::Life life_of(System& system, const fs::path& lock, const LockHolder& holder) {
  const PosixFile opened(system, lock, O_RDONLY);
  struct flock request {};
  request.l_type = F_WRLCK;
  request.l_whence = SEEK_SET;
  const bool asked = system.lock(opened.fd(), F_OFD_GETLK, &request) == 0;
  if (asked && request.l_type != F_UNLCK) return Writer::Life::lives;
  if (is_elsewhere(system, holder)) return Writer::Life::unknown;
  return asked || is_dead(system, holder) ? Writer::Life::dead : Writer::Life::lives;
}

}  // namespace

Writer writer_of(const fs::path& file) {
  std::error_code unknown;
  System& system = real_system();
  const fs::path lock = lock_path(result_path(file));
  Writer writer;
  if (!fs::exists(lock, unknown)) return writer;
  LockHolder holder = read_holder(system, lock);
  try {
    writer.life = life_of(system, lock, holder);
  } catch (const RunError&) {
    // It may have been removed between two steps; else it is somebody's who keeps it to himself.
    writer.life = fs::exists(lock, unknown) ? Writer::Life::unknown : Writer::Life::none;
  }
  writer.host = holder["host"];
  writer.pid = holder["pid"];
  writer.job = holder["job"];
  writer.since = holder["since"];
  return writer;
}

}  // namespace wallheat
