#include "run/run_options.hpp"

#include "core/version.hpp"

namespace wallheat {
std::vector<Fact> RunOptions::terms() const {
  std::vector<Fact> terms{{"version of wallheat", std::string(version())}};
  for (const auto& [name, value] : job.solver.settings()) terms.push_back({name, value});
  terms.push_back({"--save-fields", job.save_fields ? "on" : "off"});
  return terms;
}

}  // namespace wallheat
