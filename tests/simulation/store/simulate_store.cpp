// Lives through crashes of the result store on a disk in memory; see story.hpp.

#include <sys/time.h>

#include "simulation/store/story.hpp"

// HDF5 stamps objects with the time; a run must not depend on it. The program's own function comes
// before the C library's.
extern "C" int gettimeofday(timeval* time, void*) noexcept {
  *time = {1893456000, 0};
  return 0;
}

int main(int argc, char** argv) {
  using namespace wallheat::simulation;
  Program<Options> program;
  program.name = "simulate_store";
  program.about = "Lives of the result store on a disk in memory, each from a seed";
  program.unit = "crashes survived";
  program.enough_seeds = 1000;
  program.required = {
      "a write was cut off by a kill",
      "a creation was lost",
      "a rename was lost",
      "a removal was lost",
      "a write to the log was torn",
      "a write to the log was lost",
      "a write to the HDF5 file was torn",
      "a write to the HDF5 file was lost",
      "a write to a new log was lost",
      "a write to a new HDF5 file was lost",
      "a lost end of the log reads as zeros",
      "the end of the log was lost",
      "the end of the HDF5 file was lost",
      "a write was short",
      "a sync failed and lost what it was to sync",
      "a fault stopped nothing",
      "no space while beginning",
      "no space while storing",
      "no space while closing",
      "no space while resuming",
      "no space while repairing",
      "no space while merging",
      "a bad sector while beginning",
      "a bad sector while storing",
      "a bad sector while closing",
      "a bad sector while resuming",
      "a bad sector while repairing",
      "a bad sector while merging",
      "a failed sync while beginning",
      "a failed sync while storing",
      "a failed sync while closing",
      "a failed sync while resuming",
      "a failed sync while repairing",
      "a failed sync while merging",
      "a dropped cache showed what a failed sync had lost",
      "a file was rebuilt from its log",
      "a file was taken up in place",
      "the end of a log was a cut record",
      "the end of a log lacked its commit",
      "a torn row was rebuilt",
      "the log of an earlier file was passed over",
      "a repair changed the file",
      "a repair left the file as it was",
      "a crash during a recovery was survived",
      "a second writer was refused",
  };
  program.options = all_options();
  program.expand = expand;
  program.systematic = systematic;
  program.tell = live;
  return run(program, argc, argv);
}
