#pragma once

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include "simulation/store/disk.hpp"

// What happens to a result file in a simulated life: sessions, crashes, faults and recoveries, and
// what must hold after each.
namespace wallheat::simulation {

/// What a seed expands to.
struct Options {
  std::uint64_t story = 0;     ///< see story_names
  std::uint64_t plans = 1;     ///< of the campaign
  std::uint64_t batches = 3;   ///< that the session stores
  std::uint64_t fields = 0;    ///< 1: they are saved
  std::uint64_t shapes = 1;    ///< different shapes of fields
  std::uint64_t close = 1;     ///< 1: the session ends well
  std::uint64_t fault = 0;     ///< 0 none, 1 no space, 2 bad sector, 3 short write, 4 failed sync
  std::uint64_t fault_at = 0;  ///< the change to the disk, or the sync, that it hits
  std::uint64_t fault_in = 0;  ///< 0: the story, n: the n-th recovery
  std::uint64_t crashes = 1;   ///< one in the story, the others in the recoveries
  std::uint64_t power = 0;     ///< bit n: crash n loses power, else the process is killed
  std::uint64_t sector = 4096;
  std::uint64_t repair = 0;  ///< bit n: recovery n begins with a repair
  std::uint64_t images = 1;  ///< different lives after the same story
  std::uint64_t tell = 0;    ///< 1: print the events between crashes
};

inline constexpr std::array story_names{"create",    "resume", "other ids",
                                        "overwrite", "merge",  "pack"};

/// All options by their names, with their smallest values.
struct NamedOption {
  const char* name;
  std::uint64_t Options::*value;
  std::uint64_t least;
};
inline constexpr std::array option_names{
    NamedOption{"story", &Options::story, 0},       NamedOption{"crashes", &Options::crashes, 0},
    NamedOption{"fault", &Options::fault, 0},       NamedOption{"batches", &Options::batches, 0},
    NamedOption{"plans", &Options::plans, 1},       NamedOption{"fields", &Options::fields, 0},
    NamedOption{"shapes", &Options::shapes, 1},     NamedOption{"close", &Options::close, 0},
    NamedOption{"fault_at", &Options::fault_at, 0}, NamedOption{"fault_in", &Options::fault_in, 0},
    NamedOption{"power", &Options::power, 0},       NamedOption{"sector", &Options::sector, 512},
    NamedOption{"repair", &Options::repair, 0},     NamedOption{"images", &Options::images, 1},
    NamedOption{"tell", &Options::tell, 0}};

[[nodiscard]] Options expand(std::uint64_t seed);
[[nodiscard]] std::string to_text(const Options& options);

/// Something that must hold does not.
struct Violation : std::runtime_error {
  Violation(std::string invariant_, const std::string& details)
      : std::runtime_error(details), invariant(std::move(invariant_)) {}
  std::string invariant;
};

struct Outcome {
  std::uint64_t images = 0;  ///< crashed disks that were recovered
  std::uint64_t events = 0;
  std::uint64_t hash = 0;  ///< of all events
};

/// Lives through a story. Throws Violation.
[[nodiscard]] Outcome live(std::uint64_t seed, const Options& options, Sometimes& sometimes);

/// The same for every event of the story in place of random ones: a crash there, with and without
/// loss of power. With `twice`, also for a second crash at every event of the recovery from some of
/// them.
[[nodiscard]] Outcome crash_everywhere(std::uint64_t seed, const Options& options,
                                       std::uint64_t twice, Sometimes& sometimes);

}  // namespace wallheat::simulation
