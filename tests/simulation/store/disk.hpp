#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "io/system.hpp"
#include "simulation/outcome.hpp"
#include "simulation/random.hpp"

// A disk in memory. All changes to it are one ordered list, so the disk as a crash leaves it at any
// moment can be made from the list, again and again.
namespace wallheat::simulation {

/// The one directory of a disk.
inline constexpr const char* directory = "/simulated";

/// A change to a disk, or a promise that changes are durable.
struct Event {
  enum class Kind {
    create,  ///< name
    write,
    truncate,        ///< to `offset` bytes
    sync,            ///< all before it to this file is durable
    sync_failed,     ///< of that, a random part is durable, and the rest never will be
    rename,          ///< name, to
    unlink,          ///< name
    sync_directory,  ///< all creations, renames and unlinks before it are durable
    drop_cache,      ///< readers see what is on the disk's surface, `bytes`
  };
  Kind kind;
  std::uint64_t file = 0;  ///< as an inode
  std::uint64_t offset = 0;
  std::string bytes{}, name{}, to{};
  std::uint64_t seed = 0;  ///< of what a failed sync leaves
};

/// What a crash leaves of what was not synced. Each of them is possible on some file system.
struct PowerLoss {
  std::uint64_t seed = 0;
  std::size_t sector = 4096;  ///< bytes that are written whole or not at all
};

class Disk {
 public:
  explicit Disk(Reached& reached) : reached_(&reached) {}

  /// The disk that the next process finds if the one that writes it ends, or is killed, after
  /// `count` events. The kernel keeps all that was written; it still may not be durable. With
  /// `torn`, a write is cut off in its midst.
  [[nodiscard]] Disk killed_after(std::size_t count, std::uint64_t torn) const;
  /// The disk after the power failed then. All that it holds is durable.
  [[nodiscard]] Disk power_lost_after(std::size_t count, const PowerLoss& loss) const;

  [[nodiscard]] const std::vector<Event>& events() const { return events_; }
  /// The events, a line each.
  [[nodiscard]] std::string told() const;
  /// Of all events and of what was there before them.
  [[nodiscard]] std::uint64_t hash() const;
  /// Nothing if there is no such file; as any process sees it.
  [[nodiscard]] const std::string* find(const std::string& name) const;
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] std::map<std::string, std::string> contents() const;

 private:
  friend class Process;

  struct File {
    std::string bytes;
  };
  struct State {
    std::map<std::string, std::uint64_t> names;
    std::map<std::uint64_t, File> files;
  };

  void add(Event event);
  static void apply(State& state, const Event& event);
  /// What of file's bytes is on the disk's surface after all events, if all that was not lost for
  /// good gets there.
  [[nodiscard]] std::string surface_of(std::uint64_t file) const;

  Reached* reached_;
  State base_;  ///< durable, before all events
  std::vector<Event> events_;
  State now_;
  std::uint64_t next_file_ = 1;
  std::uint64_t next_process_ = 1;
  std::set<std::uint64_t> alive_;                                 ///< processes, by their numbers
  std::map<std::uint64_t, std::pair<std::uint64_t, int>> locks_;  ///< of files: process, descriptor
};

/// What goes wrong in a process, once.
struct Fault {
  enum class Kind { none, no_space, bad_sector, short_write, failed_sync };
  Kind kind = Kind::none;
  std::size_t at = 0;  ///< the number of the call that it hits: of changes, or of syncs
};

/// A process that works on a disk, and the machine that it sees. When it ends, its locks are gone.
class Process final : public System {
 public:
  Process(Disk& disk, Reached& reached, std::uint64_t seed, Fault fault = {});
  ~Process() override;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// From now on calls succeed without effect.
  void end();
  [[nodiscard]] bool fault_happened() const { return fault_happened_; }
  /// No other process of this program has it.
  [[nodiscard]] std::uint64_t unique_number() const { return unique_number_; }
  /// Lets time pass.
  void wait(std::chrono::milliseconds time) { clock_ += time; }

  int open(const char* path, int flags, mode_t mode) override;
  int close(int fd) override;
  ssize_t write(int fd, const void* bytes, std::size_t count) override;
  ssize_t pread(int fd, void* bytes, std::size_t count, off_t offset) override;
  int ftruncate(int fd, off_t size) override;
  int fsync(int fd) override;
  int fdatasync(int fd) override { return fsync(fd); }
  int drop_cache(int fd) override;
  int stat(const char* path, struct stat* info) override;
  int lstat(const char* path, struct stat* info) override { return stat(path, info); }
  int fstat(int fd, struct stat* info) override;
  int fchown(int fd, uid_t owner, gid_t group) override;
  int fchmod(int fd, mode_t mode) override;
  int rename(const char* from, const char* to) override;
  int unlink(const char* path) override;
  int lock(int fd, int command, struct flock* request) override;
  std::filesystem::path weakly_canonical(const std::filesystem::path& path) override {
    return path.lexically_normal();
  }
  std::filesystem::path read_symlink(const std::filesystem::path& path) override;

  std::string host() override { return "simulated"; }
  pid_t pid() override { return static_cast<pid_t>(1000 + number_ % 10000); }
  std::string pid_namespace() override { return "pid:[1]"; }
  std::string job() override { return {}; }
  Life life_of(pid_t pid) override;
  std::time_t now() override;
  std::chrono::steady_clock::time_point uptime() override;
  void sleep(std::chrono::milliseconds time) override { wait(time); }
  std::uint32_t random() override { return static_cast<std::uint32_t>(random_.next()); }

  /// For the HDF5 driver: the descriptor is one of this process outside the simulation, too, of a
  /// file of the same size, as fstat(2) is asked for it.
  int open_for_driver(const char* path, int flags);
  ssize_t pwrite(int fd, const void* bytes, std::size_t count, std::uint64_t offset);
  [[nodiscard]] std::uint64_t file_of(int fd) const;

 private:
  struct Descriptor {
    std::uint64_t file = 0;  ///< 0: the directory
    bool real = false;
    std::string name;
  };

  /// False, with errno set, if this change does not happen.
  bool may_change(bool is_sync = false);
  int fail(int error) const;
  void resize_real(std::uint64_t file);
  int add_descriptor(int fd, Descriptor descriptor);

  Disk* disk_;
  Reached& reached_;
  std::uint64_t number_, unique_number_;
  Random random_;
  Fault fault_;
  bool fault_happened_ = false;
  bool full_ = false;  ///< no space since a fault
  bool cut_ = false;   ///< the write at hand is cut short
  bool dead_ = false;
  std::size_t changes_ = 0;
  std::chrono::milliseconds clock_{0};
  std::map<int, Descriptor> open_;
  int next_fd_ = 1 << 20;
};

}  // namespace wallheat::simulation
