// A library to preload (LD_PRELOAD). It records, in order, every change that a program makes to the files of a folder,
// and can inject one fault:
//
//   RECORD_FOLDER     the real path of the folder
//   RECORD_TO         the record; without it nothing is recorded
//   RECORD_FAULT      N:ERRNO, the N-th change, counted from 0, fails with this error. A full disk (ENOSPC) writes half of
//                     that change, and stays full. N:0: the process gets a SIGTERM before the N-th change
//   RECORD_DELAY_MS   delay before a floor plan is read, so that results arrive one by one
//
// A change is recorded as a Head, the name, the second name, and the data. Of failed changes only syncs are recorded. If
// the program changes files by other calls, crash_images.py detects that the record is incomplete.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { longest_path = 4096 };

typedef struct {
  uint64_t kind;  // c(reate), w(rite), t(runcate or extend), s(ync), f(ailed sync), r(ename), u(nlink)
  uint64_t name_length, to_length, offset, size;
} Head;

static pthread_once_t begun = PTHREAD_ONCE_INIT;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;  // the order of the record is the order of the changes
static const char* folder;
static int record_fd = -1;
static long changes, fault_at = -1;
static int fault_errno, is_full;
static useconds_t delay_us;

static void* next(const char* name) { return dlsym(RTLD_NEXT, name); }

static void begin(void) {
  const char* fault = getenv("RECORD_FAULT");
  const char* to = getenv("RECORD_TO");
  const char* delay_ms = getenv("RECORD_DELAY_MS");
  __typeof__(open)* real = next("open");
  folder = getenv("RECORD_FOLDER");
  if (delay_ms) delay_us = (useconds_t)atoi(delay_ms) * 1000;
  if (to) record_fd = real(to, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (!fault) return;
  fault_at = atol(fault);
  fault_errno = atoi(strchr(fault, ':') + 1);  // 0: stop
}

static int is_ours(const char* path) {
  pthread_once(&begun, begin);
  return folder && strncmp(path, folder, strlen(folder)) == 0;
}

// Returns the path of the descriptor; empty if it is not a file of the folder.
static const char* name_of(int fd, char path[longest_path]) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, path, longest_path - 1);
  path[length < 0 ? 0 : length] = 0;
  return is_ours(path) && !strstr(path, " (deleted)") ? path : "";
}

static void record_change(char kind, const char* name, const char* to, uint64_t offset, const void* data, uint64_t size) {
  const Head head = {(unsigned char)kind, strlen(name), strlen(to), offset, size};
  struct iovec parts[] = {{(void*)&head, sizeof head}, {(void*)name, head.name_length}, {(void*)to, head.to_length},
                          {(void*)data, size}};
  __typeof__(writev)* real = next("writev");
  const uint64_t all = sizeof head + head.name_length + head.to_length + size;
  if (record_fd >= 0 && real(record_fd, parts, 4) != (ssize_t)all) abort();
}

// Returns whether the next change must fail, with errno set. Only changes that need space fail on a full disk.
static int fails(int needs_space) {
  const long number = changes++;
  if (is_full) {
    errno = ENOSPC;
    return needs_space;
  }
  if (number < fault_at || fault_at < 0 || (fault_errno == ENOSPC && !needs_space)) return 0;
  fault_at = -1;
  is_full = fault_errno == ENOSPC;
  errno = fault_errno;
  if (fault_errno == 0) kill(getpid(), SIGTERM);
  return fault_errno != 0;
}

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  __typeof__(open)* real = next("open");
  if (!is_ours(path) || !(flags & (O_CREAT | O_TRUNC))) {
    if (delay_us && strstr(path, "_domain.npy")) usleep(delay_us);
    return real(path, flags, mode);
  }
  pthread_mutex_lock(&turn);
  struct stat info;
  const int is_new = stat(path, &info) != 0;
  int fd = -1;
  if (!is_new || !(flags & O_CREAT) || !fails(1)) fd = real(path, flags, mode);
  if (fd >= 0 && is_new) record_change('c', path, "", 0, "", 0);
  if (fd >= 0 && !is_new && flags & O_TRUNC) record_change('t', path, "", 0, "", 0);
  pthread_mutex_unlock(&turn);
  return fd;
}

// Writes at an offset, or, if it is negative, at the position of the descriptor.
static ssize_t put(int fd, const void* data, size_t size, off_t offset) {
  char path[longest_path];
  const char* name = name_of(fd, path);
  __typeof__(write)* real = next("write");
  __typeof__(pwrite)* real_at = next("pwrite");
  if (!*name) return offset < 0 ? real(fd, data, size) : real_at(fd, data, size, offset);
  pthread_mutex_lock(&turn);
  const int was_full = is_full;
  if (fails(1)) size = fault_errno == ENOSPC && !was_full ? size / 2 : 0;
  struct stat info;
  fstat(fd, &info);
  off_t at = offset;
  if (at < 0) at = fcntl(fd, F_GETFL) & O_APPEND ? info.st_size : lseek(fd, 0, SEEK_CUR);
  ssize_t done = -1;
  if (size > 0) done = offset < 0 ? real(fd, data, size) : real_at(fd, data, size, offset);
  if (done > 0) record_change('w', name, "", (uint64_t)at, data, (uint64_t)done);
  pthread_mutex_unlock(&turn);
  return done;
}
ssize_t write(int fd, const void* data, size_t size) { return put(fd, data, size, -1); }
ssize_t pwrite(int fd, const void* data, size_t size, off_t offset) { return put(fd, data, size, offset); }

int ftruncate(int fd, off_t size) {
  char path[longest_path];
  const char* name = name_of(fd, path);
  __typeof__(ftruncate)* real = next("ftruncate");
  if (!*name) return real(fd, size);
  pthread_mutex_lock(&turn);
  struct stat info;
  fstat(fd, &info);
  const int result = fails(size > info.st_size) ? -1 : real(fd, size);
  if (result == 0) record_change('t', name, "", (uint64_t)size, "", 0);
  pthread_mutex_unlock(&turn);
  return result;
}

static int sync_by(const char* call, int fd) {
  char path[longest_path];
  const char* name = name_of(fd, path);
  int (*real)(int) = next(call);
  if (!*name) return real(fd);
  pthread_mutex_lock(&turn);
  const int failed = fails(0);
  record_change(failed ? 'f' : 's', name, "", 0, "", 0);
  pthread_mutex_unlock(&turn);
  return failed ? -1 : 0;  // the record defines the durable state; the disk is not synced
}
int fsync(int fd) { return sync_by("fsync", fd); }
int fdatasync(int fd) { return sync_by("fdatasync", fd); }

int rename(const char* from, const char* to) {
  __typeof__(rename)* real = next("rename");
  if (!is_ours(from) && !is_ours(to)) return real(from, to);
  pthread_mutex_lock(&turn);
  const int result = fails(0) ? -1 : real(from, to);
  if (result == 0) record_change('r', from, to, 0, "", 0);
  pthread_mutex_unlock(&turn);
  return result;
}

static int remove_by(const char* call, const char* path) {
  int (*real)(const char*) = next(call);
  if (!is_ours(path)) return real(path);
  pthread_mutex_lock(&turn);
  struct stat info;
  const int result = stat(path, &info) == 0 && fails(0) ? -1 : real(path);
  if (result == 0) record_change('u', path, "", 0, "", 0);
  pthread_mutex_unlock(&turn);
  return result;
}
int unlink(const char* path) { return remove_by("unlink", path); }
int remove(const char* path) { return remove_by("remove", path); }
