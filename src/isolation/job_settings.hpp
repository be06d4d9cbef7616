#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "core/bytes.hpp"
#include "solve/solver_options.hpp"

namespace wallheat {

/// What a solver process has to know: the command line fills the first part, a worker the second,
/// and a solver process gets it all.
struct JobSettings {
  std::filesystem::path data;  ///< for open_plan_source
  SolverOptions solver;
  bool save_fields = false;
  std::string host;  ///< this and the device go into each row
  std::string device;
  double plan_timeout_s = 0;  ///< the longest without progress; 0: for ever
  std::uint32_t lanes = 1;  ///< plans that it solves at a time; 0: as many as keep the device busy
  std::vector<int> cpus{};  ///< all threads are bound to these; empty: as the process is started
};

[[nodiscard]] Bytes encode(const JobSettings& settings);
/// Throws DecodeError if the bytes are no settings.
[[nodiscard]] JobSettings decode_settings(std::span<const std::byte> bytes);

}  // namespace wallheat
