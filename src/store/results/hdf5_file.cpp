#include "store/results/hdf5_file.hpp"

#include <fcntl.h>

#include <array>
#include <cstring>

#include "io/posix_file.hpp"

namespace wallheat::store {
namespace {

Handle access_list(const StoreEnvironment& env, Access access) {
  Handle list(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "prepare the opening");
  // Version 1.10's objects carry checksums and can be followed by readers; newer ones could not be
  // opened by older tools.
  checked(H5Pset_libver_bounds(list.get(), H5F_LIBVER_V110, H5F_LIBVER_V110), "choose the format");
  checked(H5Pset_fclose_degree(list.get(), H5F_CLOSE_STRONG), "choose how to close");
  checked(H5Pset_file_locking(list.get(), false, true), "turn HDF5's locks off");
  // What waits in HDF5's buffer of rows is written when a dataset is closed, where nobody hears of
  // an error. Without the buffer it is written, and fails, at once.
  checked(H5Pset_sieve_buf_size(list.get(), 0), "write at once");
  // A process has one way to open a file with a driver, and the host of this library may have it
  // open in another way. This driver is HDF5's own for POSIX files, which logs nothing as it is
  // set.
  if (access == Access::read || access == Access::read_live)
    checked(H5Pset_fapl_log(list.get(), nullptr, 0, 0), "choose the driver");
  if (env.set_driver) env.set_driver(list.get());
  if (access == Access::read_live) {
    // HDF5 takes damaged metadata for half-written ones and reads them a hundred times, each time
    // after a sleep twice as long, thus for ever. So many sleeps are some hundredths of a second.
    checked(H5Pset_metadata_read_attempts(list.get(), 24), "choose how often to read");
  }
  if (access == Access::take_up) {
    // The library's own h5clear uses these two. Without the second a file that is longer than its
    // superblock says, as after any kill, is cut or refused.
    const hbool_t yes = true;
    checked(H5Pset(list.get(), "clear_status_flags", &yes), "clear the mark of the dead writer");
    checked(H5Pset(list.get(), "skip_eof_check", &yes), "accept the length of the file");
  }
  return list;
}

unsigned flags_of(Access access) {
  switch (access) {
    case Access::read:
      return H5F_ACC_RDONLY;
    case Access::read_live:
      return H5F_ACC_RDONLY | H5F_ACC_SWMR_READ;
    case Access::write_live:
      return H5F_ACC_RDWR | H5F_ACC_SWMR_WRITE;
    case Access::write:
    case Access::take_up:
      return H5F_ACC_RDWR;
  }
  return H5F_ACC_RDONLY;
}

}  // namespace

Hdf5State peek(const StoreEnvironment& env, const std::filesystem::path& file) {
  if (!exists(env.system, file)) return Hdf5State::missing;
  // The superblock of versions 2 and 3: signature, version, size of offsets, of lengths, flags.
  constexpr std::array<unsigned char, 8> signature{0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
  std::array<unsigned char, 12> start{};
  const PosixFile in(env.system, file, O_RDONLY);
  if (!in.read_at(0, std::as_writable_bytes(std::span(start))) ||
      std::memcmp(start.data(), signature.data(), signature.size()) != 0) {
    return Hdf5State::foreign;
  }
  const bool flagged = start[8] >= 3 && start[11] != 0;
  return flagged ? Hdf5State::left_open : Hdf5State::closed;
}

Handle open_file(const StoreEnvironment& env, const std::filesystem::path& file, Access access) {
  prepare_hdf5();
  const auto list = access_list(env, access);
  Handle opened(H5Fopen(file.c_str(), flags_of(access), list.get()), H5Fclose, "open the file");
  if (access == Access::take_up) {
    // Whatever lies behind the end that the superblock knows may be a field: keep it.
    checked(H5Fincrement_filesize(opened.get(), 0), "keep the end of the file");
  }
  return opened;
}

Handle create_file(const StoreEnvironment& env, const std::filesystem::path& file, Space space) {
  prepare_hdf5();
  const Handle creation(H5Pcreate(H5P_FILE_CREATE), H5Pclose, "prepare a new file");
  if (space == Space::paged) {
    checked(H5Pset_file_space_strategy(creation.get(), H5F_FSPACE_STRATEGY_PAGE, false, 1),
            "choose paged space");
    checked(H5Pset_file_space_page_size(creation.get(), 4096), "choose the page size");
  }
  const auto list = access_list(env, Access::write);
  return {H5Fcreate(file.c_str(), H5F_ACC_EXCL, creation.get(), list.get()), H5Fclose,
          "create the file"};
}

}  // namespace wallheat::store
