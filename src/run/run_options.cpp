#include "run/run_options.hpp"

#include <fmt/format.h>

#include "core/version.hpp"

namespace wallheat {
std::vector<Fact> RunOptions::terms() const {
  std::vector<Fact> terms{{"version of wallheat", std::string(version())}};
  for (const auto& [name, value] : solver.settings()) terms.push_back({name, value});
  terms.push_back({"--save-fields", save_fields ? "on" : "off"});
  return terms;
}

std::string RunOptions::text() const {
  const auto device_name = [this] {
    switch (device) {
      case DeviceChoice::cpu:
        return "cpu";
      case DeviceChoice::gpu:
        return "gpu";
      case DeviceChoice::automatic:
        break;
    }
    return "auto";
  };
  std::string lines = fmt::format("data = {}\nout = {}\n", data.string(), out.string());
  if (!ids_file.empty()) lines += fmt::format("ids = {}\n", ids_file.string());
  for (const std::string& id : ids) lines += fmt::format("id = {}\n", id);
  lines += fmt::format("first = {}\ntolerance = {}\nmax-iterations = {}\n", first,
                       solver.limits.tolerance, solver.limits.max_iterations);
  lines +=
      fmt::format("solver-backend = {}\nisa = {}\ndevice = {}\nthreads = {}\nsave-fields = {}\n",
                  solver.reference ? "reference" : "vector", to_string(solver.isa), device_name(),
                  threads, save_fields);
  lines += fmt::format(
      "shard = {}\nmax-attempts = {}\nretry-failed = {}\nplan-timeout = {}\nworker-timeout = {}\n",
      shard.text(), max_attempts, retry_failed, plan_timeout_s, worker_timeout_s);
  return lines + fmt::format("resume = {}\noverwrite = {}\n", resume, overwrite);
}

}  // namespace wallheat
