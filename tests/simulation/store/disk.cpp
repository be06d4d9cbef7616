#include "simulation/store/disk.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <system_error>

#include "io/checksum.hpp"

namespace wallheat::simulation {
namespace {

using Kind = Event::Kind;

void write_into(std::string& bytes, std::uint64_t offset, std::string_view what) {
  if (what.empty()) return;
  if (bytes.size() < offset + what.size()) bytes.resize(offset + what.size());
  bytes.replace(offset, what.size(), what);
}

void apply_to(std::string& bytes, const Event& event) {
  if (event.kind == Kind::write) write_into(bytes, event.offset, event.bytes);
  if (event.kind == Kind::truncate) bytes.resize(event.offset);
}

/// The sectors of a write that got to the disk. True if some did not.
bool write_torn(std::string& bytes, const Event& event, std::size_t sector, Random& random) {
  bool lost = false;
  for (std::size_t at = 0; at < event.bytes.size();) {
    const auto end = std::min<std::size_t>(
        event.bytes.size(), (event.offset + at) / sector * sector + sector - event.offset);
    if (random.one_in(4)) {
      lost = true;
    } else {
      write_into(bytes, event.offset + at, std::string_view(event.bytes).substr(at, end - at));
    }
    at = end;
  }
  return lost;
}

/// What is not durable of a file, in its order.
using Pending = std::vector<const Event*>;

void survive_failed_sync(std::string& bytes, const Pending& pending, std::uint64_t seed) {
  Random random(seed);
  for (const auto* event : pending) {
    if (random.one_in(2)) apply_to(bytes, *event);
  }
}

std::string kind_of(const std::string& name) {
  const bool temporary = name.ends_with(".new");
  const bool log = name.find(".wal") != std::string::npos;
  const bool lock = name.find(".lock") != std::string::npos;
  return (temporary ? "a new " : "the ") + std::string(log ? "log" : lock ? "lock" : "HDF5 file");
}

template <class Apply>
void survive(const Pending& pending, Random& random, Apply apply) {
  enum { none, all, beginning, some };
  const auto mode = random.below(4);
  const auto kept = random.below(pending.size() + 1);
  for (std::size_t i = 0; i < pending.size(); ++i) {
    if (mode == none || (mode == beginning && i >= kept)) break;
    if (mode == some && random.one_in(2)) continue;
    apply(*pending[i], mode != all);
  }
}

}  // namespace

void Disk::apply(State& state, const Event& event) {
  switch (event.kind) {
    case Kind::create:
      state.names[event.name] = event.file;
      state.files[event.file];
      break;
    case Kind::write:
    case Kind::truncate:
      apply_to(state.files[event.file].bytes, event);
      break;
    case Kind::drop_cache:
      state.files[event.file].bytes = event.bytes;
      break;
    case Kind::rename:
      // The entries of a directory name files, whatever became of the changes before.
      state.names[event.to] = event.file;
      [[fallthrough]];
    case Kind::unlink:
      if (const auto entry = state.names.find(event.name);
          entry != state.names.end() && entry->second == event.file) {
        state.names.erase(entry);
      }
      break;
    case Kind::sync:
    case Kind::sync_failed:
    case Kind::sync_directory:
      break;
  }
}

void Disk::add(Event event) {
  apply(now_, event);
  events_.push_back(std::move(event));
}

const std::string* Disk::find(const std::string& name) const {
  const auto found = now_.names.find(name);
  return found == now_.names.end() ? nullptr : &now_.files.at(found->second).bytes;
}

std::vector<std::string> Disk::names() const {
  std::vector<std::string> names;
  for (const auto& [name, file] : now_.names) names.push_back(name);
  return names;
}

std::map<std::string, std::string> Disk::contents() const {
  std::map<std::string, std::string> contents;
  for (const auto& [name, file] : now_.names) contents[name] = now_.files.at(file).bytes;
  return contents;
}

std::string Disk::told() const {
  constexpr std::array names{"create", "write",  "truncate",       "sync",      "failed sync",
                             "rename", "unlink", "sync directory", "drop cache"};
  std::map<std::uint64_t, std::string> called;
  for (const auto& [name, file] : base_.names) called[file] = name;
  std::string text;
  for (std::size_t i = 0; i < events_.size(); ++i) {
    const auto& event = events_[i];
    if (event.kind == Kind::create) called[event.file] = event.name;
    if (event.kind == Kind::rename) {
      for (auto& [file, name] : called) {
        if (name == event.name) name = event.to;
      }
    }
    text += std::to_string(i) + " " + names[static_cast<std::size_t>(event.kind)] + " " +
            (event.name.empty() ? called[event.file] : event.name + " " + event.to);
    if (event.kind == Kind::write)
      text += " " + std::to_string(event.offset) + " + " + std::to_string(event.bytes.size());
    text += "\n";
  }
  return text;
}

std::uint64_t Disk::hash() const {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  const auto add_number = [&](std::uint64_t number) {
    hash = (hash ^ number) * 0x100000001b3ULL;
    hash ^= hash >> 29;
  };
  const auto add_text = [&](const std::string& text) {
    add_number(text.size());
    add_number(crc32_of(std::as_bytes(std::span(text))));
  };
  for (const auto& [name, bytes] : contents()) {
    add_text(name);
    add_text(bytes);
  }
  for (const auto& event : events_) {
    add_number(static_cast<std::uint64_t>(event.kind));
    add_number(event.file);
    add_number(event.offset);
    add_text(event.bytes);
    add_text(event.name);
    add_text(event.to);
  }
  return hash;
}

std::string Disk::surface_of(std::uint64_t file) const {
  std::string bytes;
  if (const auto found = base_.files.find(file); found != base_.files.end())
    bytes = found->second.bytes;
  Pending pending;
  for (const auto& event : events_) {
    if (event.file != file) continue;
    if (event.kind == Kind::write || event.kind == Kind::truncate) pending.push_back(&event);
    if (event.kind == Kind::sync)
      for (const auto* one : pending) apply_to(bytes, *one);
    if (event.kind == Kind::sync_failed) survive_failed_sync(bytes, pending, event.seed);
    if (event.kind == Kind::sync || event.kind == Kind::sync_failed) pending.clear();
  }
  for (const auto* one : pending) apply_to(bytes, *one);
  return bytes;
}

Disk Disk::killed_after(std::size_t count, std::uint64_t torn) const {
  Disk disk(*reached_);
  disk.base_ = base_;
  disk.now_ = base_;
  disk.next_file_ = next_file_;
  disk.next_process_ = next_process_;
  disk.events_.reserve(count + 1);
  for (std::size_t i = 0; i < count; ++i) disk.add(events_[i]);
  if (torn == 0 || count == events_.size()) return disk;
  if (const auto& next = events_[count]; next.kind == Kind::write && next.bytes.size() > 1) {
    Event part = next;
    part.bytes.resize(1 + torn % (next.bytes.size() - 1));
    disk.add(std::move(part));
    ++(*reached_)["a write was cut off by a kill"];
  }
  return disk;
}

Disk Disk::power_lost_after(std::size_t count, const PowerLoss& loss) const {
  auto& reached = *reached_;
  State left = base_;
  std::map<std::uint64_t, Pending> pending;
  std::map<std::uint64_t, std::string> last_name;
  Pending in_directory;
  State seen = base_;
  for (const auto& [name, file] : base_.names) last_name[file] = name;
  for (std::size_t i = 0; i < count; ++i) {
    const auto& event = events_[i];
    apply(seen, event);
    switch (event.kind) {
      case Kind::create:
        left.files[event.file];
        last_name[event.file] = event.name;
        in_directory.push_back(&event);
        break;
      case Kind::rename:
        for (auto& [file, name] : last_name) {
          if (name == event.name) name = event.to;
        }
        in_directory.push_back(&event);
        break;
      case Kind::unlink:
        in_directory.push_back(&event);
        break;
      case Kind::write:
      case Kind::truncate:
        pending[event.file].push_back(&event);
        break;
      case Kind::sync:
        for (const auto* one : pending[event.file]) apply_to(left.files[event.file].bytes, *one);
        pending[event.file].clear();
        break;
      case Kind::sync_failed:
        survive_failed_sync(left.files[event.file].bytes, pending[event.file], event.seed);
        pending[event.file].clear();
        break;
      case Kind::sync_directory:
        for (const auto* one : in_directory) apply(left, *one);
        in_directory.clear();
        break;
      case Kind::drop_cache:
        break;
    }
  }
  Random random(loss.seed);
  survive(in_directory, random, [&](const Event& event, bool) { apply(left, event); });
  for (const auto* event : in_directory) {
    const auto entry = left.names.find(event->kind == Kind::rename ? event->to : event->name);
    const bool names_it = entry != left.names.end() && entry->second == event->file;
    const bool kept = names_it != (event->kind == Kind::unlink);
    if (!kept) {
      ++reached[event->kind == Kind::create   ? "a creation was lost"
                : event->kind == Kind::rename ? "a rename was lost"
                                              : "a removal was lost"];
    }
  }
  for (auto& [file, writes] : pending) {
    if (writes.empty()) continue;
    auto& bytes = left.files[file].bytes;
    const auto what = kind_of(last_name[file]);
    std::size_t survivors = 0;
    survive(writes, random, [&](const Event& event, bool may_tear) {
      ++survivors;
      if (may_tear && event.kind == Kind::write && random.one_in(2)) {
        if (write_torn(bytes, event, loss.sector, random))
          ++reached["a write to " + what + " was torn"];
      } else {
        apply_to(bytes, event);
      }
    });
    if (survivors < writes.size()) ++reached["a write to " + what + " was lost"];
    const auto size = seen.files[file].bytes.size();
    if (random.one_in(3) && bytes.size() < size) {
      bytes.resize(size);
      ++reached["a lost end of " + what + " reads as zeros"];
    }
    if (bytes.size() < size) ++reached["the end of " + what + " was lost"];
  }
  Disk disk(reached);
  for (const auto& [name, file] : left.names) {
    disk.base_.names[name] = file;
    disk.base_.files[file] = left.files[file];
  }
  disk.now_ = disk.base_;
  disk.next_file_ = next_file_;
  disk.next_process_ = next_process_;
  return disk;
}

namespace {

std::uint64_t next_unique_number() {
  static std::uint64_t last = 0;
  return ++last;
}

}  // namespace

Process::Process(Disk& disk, Reached& reached, std::uint64_t seed, Fault fault)
    : disk_(&disk),
      reached_(reached),
      number_(disk.next_process_++),
      unique_number_(next_unique_number()),
      random_(seed),
      fault_(fault) {
  disk.alive_.insert(number_);
}

Process::~Process() {
  if (!dead_) end();
}

void Process::end() {
  dead_ = true;
  disk_->alive_.erase(number_);
  std::erase_if(disk_->locks_, [&](const auto& lock) { return lock.second.first == number_; });
  for (const auto& [fd, descriptor] : open_) {
    if (descriptor.real) ::close(fd);
  }
  open_.clear();
}

int Process::fail(int error) const {
  errno = error;
  return -1;
}

bool Process::may_change(bool is_sync) {
  clock_ += std::chrono::milliseconds(1);
  if (fault_.kind == Fault::Kind::none || fault_happened_) return true;
  const bool counts = is_sync || fault_.kind != Fault::Kind::failed_sync;
  if (!counts || changes_++ != fault_.at) return true;
  fault_happened_ = true;
  switch (fault_.kind) {
    case Fault::Kind::no_space:
      full_ = cut_ = true;
      return true;
    case Fault::Kind::short_write:
      cut_ = true;
      return true;
    case Fault::Kind::bad_sector:
    case Fault::Kind::failed_sync:
      errno = EIO;
      return false;
    case Fault::Kind::none:
      break;
  }
  return true;
}

int Process::add_descriptor(int fd, Descriptor descriptor) {
  open_[fd] = std::move(descriptor);
  return fd;
}

int Process::open(const char* path, int flags, mode_t) {
  if (dead_) return fail(EIO);
  if ((flags & O_DIRECTORY) != 0) {
    if (std::string(path) != directory) return fail(ENOENT);
    return add_descriptor(next_fd_++, {});
  }
  auto found = disk_->now_.names.find(path);
  if (found == disk_->now_.names.end()) {
    if ((flags & O_CREAT) == 0) return fail(ENOENT);
    if (std::filesystem::path(path).parent_path() != directory) return fail(ENOENT);
    if (!may_change()) return -1;
    if (full_) return fail(ENOSPC);
    disk_->add({.kind = Kind::create, .file = disk_->next_file_++, .name = path});
    found = disk_->now_.names.find(path);
  } else if ((flags & O_EXCL) != 0 && (flags & O_CREAT) != 0) {
    return fail(EEXIST);
  } else if ((flags & O_TRUNC) != 0) {
    if (!may_change()) return -1;
    disk_->add({.kind = Kind::truncate, .file = found->second});
  }
  return add_descriptor(next_fd_++, {found->second, false, path});
}

int Process::open_for_driver(const char* path, int flags) {
  const int fd = open(path, flags, 0666);
  if (fd < 0) return fd;
  auto descriptor = open_.at(fd);
  open_.erase(fd);
  descriptor.real = true;
  const auto file = descriptor.file;
  const int real = ::memfd_create("simulated", MFD_CLOEXEC);
  if (real < 0) throw std::system_error(errno, std::generic_category(), "memfd_create");
  add_descriptor(real, std::move(descriptor));
  resize_real(file);
  return real;
}

void Process::resize_real(std::uint64_t file) {
  for (const auto& [fd, descriptor] : open_) {
    if (!descriptor.real || descriptor.file != file) continue;
    const auto size = static_cast<off_t>(disk_->now_.files.at(file).bytes.size());
    if (::ftruncate(fd, size) != 0)
      throw std::system_error(errno, std::generic_category(), "ftruncate");
  }
}

int Process::close(int fd) {
  const auto found = open_.find(fd);
  if (found == open_.end()) return dead_ ? 0 : fail(EBADF);
  const auto lock = disk_->locks_.find(found->second.file);
  if (lock != disk_->locks_.end() && lock->second == std::pair(number_, fd))
    disk_->locks_.erase(lock);
  if (found->second.real) ::close(fd);
  open_.erase(found);
  return 0;
}

std::uint64_t Process::file_of(int fd) const {
  const auto found = open_.find(fd);
  return found == open_.end() ? 0 : found->second.file;
}

ssize_t Process::write(int fd, const void* bytes, std::size_t count) {
  const auto file = file_of(fd);
  return pwrite(fd, bytes, count, file == 0 ? 0 : disk_->now_.files.at(file).bytes.size());
}

ssize_t Process::pwrite(int fd, const void* bytes, std::size_t count, std::uint64_t offset) {
  if (dead_) return static_cast<ssize_t>(count);
  const auto file = file_of(fd);
  if (file == 0) return fail(EBADF);
  const bool was_full = full_;
  cut_ = false;
  if (!may_change()) return -1;
  if (was_full || (full_ && count < 2)) return fail(ENOSPC);
  if (cut_ && count > 1) {
    count = 1 + random_.below(count - 1);
    ++reached_["a write was short"];
  }
  disk_->add({.kind = Kind::write,
              .file = file,
              .offset = offset,
              .bytes = std::string(static_cast<const char*>(bytes), count)});
  resize_real(file);
  return static_cast<ssize_t>(count);
}

ssize_t Process::pread(int fd, void* bytes, std::size_t count, off_t offset) {
  if (dead_) return 0;
  const auto file = file_of(fd);
  if (file == 0) return fail(EBADF);
  const auto& all = disk_->now_.files.at(file).bytes;
  const auto begin = static_cast<std::size_t>(offset);
  if (offset < 0 || begin >= all.size()) return 0;
  const auto length = std::min(count, all.size() - begin);
  std::memcpy(bytes, all.data() + begin, length);
  return static_cast<ssize_t>(length);
}

int Process::ftruncate(int fd, off_t size) {
  if (dead_) return 0;
  const auto file = file_of(fd);
  if (file == 0) return fail(EBADF);
  if (!may_change()) return -1;
  disk_->add({.kind = Kind::truncate, .file = file, .offset = static_cast<std::uint64_t>(size)});
  resize_real(file);
  return 0;
}

int Process::fsync(int fd) {
  if (dead_) return 0;
  const auto found = open_.find(fd);
  if (found == open_.end()) return fail(EBADF);
  const auto file = found->second.file;
  if (!may_change(true)) {
    if (file != 0) {
      disk_->add({.kind = Kind::sync_failed, .file = file, .seed = random_.next()});
      ++reached_["a sync failed and lost what it was to sync"];
    }
    errno = EIO;
    return -1;
  }
  disk_->add({.kind = file == 0 ? Kind::sync_directory : Kind::sync, .file = file});
  return 0;
}

int Process::drop_cache(int fd) {
  const auto file = file_of(fd);
  if (dead_ || file == 0) return 0;
  auto surface = disk_->surface_of(file);
  if (surface != disk_->now_.files.at(file).bytes) {
    ++reached_["a dropped cache showed what a failed sync had lost"];
    disk_->add({.kind = Kind::drop_cache, .file = file, .bytes = std::move(surface)});
    resize_real(file);
  }
  return 0;
}

int Process::stat(const char* path, struct stat* info) {
  *info = {};
  info->st_dev = 1;
  if (std::string(path) == directory) {
    info->st_mode = S_IFDIR | 0755;
    return 0;
  }
  const auto found = disk_->now_.names.find(path);
  if (found == disk_->now_.names.end()) return fail(ENOENT);
  info->st_mode = S_IFREG | 0644;
  info->st_nlink = 1;
  info->st_ino = found->second;
  info->st_size = static_cast<off_t>(disk_->now_.files.at(found->second).bytes.size());
  return 0;
}

int Process::fstat(int fd, struct stat* info) {
  *info = {};
  const auto file = file_of(fd);
  if (file == 0) return fail(EBADF);
  info->st_dev = 1;
  info->st_mode = S_IFREG | 0644;
  info->st_nlink = 1;
  info->st_ino = file;
  info->st_size = static_cast<off_t>(disk_->now_.files.at(file).bytes.size());
  return 0;
}

int Process::fchown(int, uid_t, gid_t) { return 0; }
int Process::fchmod(int, mode_t) { return 0; }

int Process::rename(const char* from, const char* to) {
  if (dead_) return 0;
  const auto found = disk_->now_.names.find(from);
  if (found == disk_->now_.names.end()) return fail(ENOENT);
  if (!may_change()) return -1;
  disk_->add({.kind = Kind::rename, .file = found->second, .name = from, .to = to});
  return 0;
}

int Process::unlink(const char* path) {
  if (dead_) return 0;
  const auto found = disk_->now_.names.find(path);
  if (found == disk_->now_.names.end()) return fail(ENOENT);
  if (!may_change()) return -1;
  disk_->add({.kind = Kind::unlink, .file = found->second, .name = path});
  return 0;
}

int Process::lock(int fd, int command, struct flock* request) {
  const auto file = file_of(fd);
  if (file == 0) return fail(EBADF);
  const auto held = disk_->locks_.find(file);
  const bool by_another = held != disk_->locks_.end() && held->second != std::pair(number_, fd);
  if (command == F_OFD_GETLK) {
    request->l_type = by_another ? F_WRLCK : F_UNLCK;
    return 0;
  }
  if (by_another) return fail(EAGAIN);
  disk_->locks_[file] = {number_, fd};
  return 0;
}

std::filesystem::path Process::read_symlink(const std::filesystem::path& path) {
  throw std::filesystem::filesystem_error("no link", path,
                                          std::make_error_code(std::errc::invalid_argument));
}

System::Life Process::life_of(pid_t pid) {
  const auto lives = std::any_of(disk_->alive_.begin(), disk_->alive_.end(), [&](auto number) {
    return static_cast<pid_t>(1000 + number % 10000) == pid;
  });
  return lives ? Life::runs : Life::gone;
}

std::time_t Process::now() {
  constexpr std::time_t year_2030 = 1893456000;
  return year_2030 + static_cast<std::time_t>(100 * number_) + clock_.count() / 1000;
}

std::chrono::steady_clock::time_point Process::uptime() {
  return std::chrono::steady_clock::time_point(std::chrono::hours(1) + clock_);
}

}  // namespace wallheat::simulation
