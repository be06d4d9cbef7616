#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "forecast/campaign_choices.hpp"
#include "report/report.hpp"

namespace wallheat {

/// The ways to run a campaign, and what they were foreseen from.
struct Advice {
  std::size_t plans = 0;           ///< left to solve
  double core_hours = 0;           ///< that they take on the cores that were measured; NaN: unknown
  std::string speed_source;        ///< where the speed of a core is from, for people
  std::int64_t now_s = 0;          ///< s since 1970
  std::vector<Choice> choices;     ///< the best first
  std::string reason;              ///< why it is
  std::vector<std::string> notes;  ///< what was not known, a sentence each
};

/// People see the first `first` choices, and times in the local time of this machine.
[[nodiscard]] Report report_of(const Advice& advice, std::size_t first);
/// A choice as options of wallheat submit, on one line.
[[nodiscard]] std::string submit_options(const Choice& choice);

}  // namespace wallheat
