#include "report/finished_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/number_of.hpp"
#include "report/attributes.hpp"
#include "report/summary.hpp"
#include "store/results/merge.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

std::optional<std::size_t> workers_of(const Attributes& session) {
  const auto count = number_of<std::size_t>(text_in(session, "plans_at_once"));
  return count && *count > 0 ? count : std::nullopt;
}

std::optional<std::size_t> workers_of(const ResultReader& reader) {
  std::set<std::size_t> workers;
  for (const Attributes& session : reader.sessions())
    if (const auto count = workers_of(session)) workers.insert(*count);
  return workers.size() == 1 ? std::optional(*workers.begin()) : std::nullopt;
}

ScalingPoint finished_run(const std::string& file, const ResultReader& reader) {
  const auto pending = static_cast<std::size_t>(
      std::count_if(reader.rows().begin(), reader.rows().end(),
                    [](const PlanResult& row) { return row.status == PlanStatus::pending; }));
  if (pending > 0)
    throw RunError(fmt::format("{}: {} of {} plans are not solved yet; finish it with --resume",
                               file, pending, reader.rows().size()));
  std::set<std::size_t> workers;
  for (const Attributes& session : reader.sessions()) {
    if (merged_parts(session) || is_from_part(session))
      throw RunError(file +
                     " was merged from parts, which may have run at the same time or not; name "
                     "files of single runs");
    const auto count = workers_of(session);
    if (!count && text_in(session, "solved") == "0") continue;
    if (!session.contains("seconds") || !count)
      throw RunError(file +
                     ": one of its sessions was killed and left no time; name files of runs that "
                     "ended by themselves");
    workers.insert(*count);
  }
  const double seconds = wall_time(reader.sessions()).seconds;
  if (workers.empty() || !(seconds > 0)) throw RunError(file + " does not say how long it took");
  if (workers.size() > 1)
    throw RunError(fmt::format("{}: its sessions had {} and {} workers, so its time is of neither",
                               file, *workers.begin(), *workers.rbegin()));
  return {*workers.begin(), seconds};
}

void require_same_plans(const std::string& first_file, const ResultReader& first,
                        const std::string& file, const ResultReader& reader) {
  const auto refuse = [&](const std::string& why) {
    throw RunError(
        fmt::format("{} and {} {}, so their times cannot be compared", first_file, file, why));
  };
  if (first.settings() != reader.settings())
    refuse("were solved with other settings ('wallheat compare' names them)");
  const bool same = std::equal(first.rows().begin(), first.rows().end(), reader.rows().begin(),
                               reader.rows().end(), [](const PlanResult& a, const PlanResult& b) {
                                 return a.id == b.id && a.input_hash == b.input_hash;
                               });
  if (!same) refuse("hold other plans");
}

}  // namespace wallheat
