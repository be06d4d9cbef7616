#include "report/finished_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <sstream>

#include "report/summary.hpp"
#include "store/results/merge.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// A number that ends at that place of a line.
std::size_t number_before(const std::string& line, std::size_t end) {
  end = std::min(end, line.size());
  const std::size_t blank = line.find_last_of(' ', end == 0 ? 0 : end - 1);
  const std::size_t start = blank == std::string::npos ? 0 : blank + 1;
  std::size_t number = 0;
  (void)std::from_chars(line.data() + start, line.data() + end, number);
  return number;
}

}  // namespace

std::optional<std::size_t> workers_of(const Attributes& session) {
  // The table that the run shows: "threads" is aligned to the right, "device" to the left.
  const auto table = session.find("workers");
  if (table == session.end()) return std::nullopt;
  std::istringstream lines(table->second);
  std::string head;
  std::getline(lines, head);
  const std::string_view threads = "threads";
  const std::size_t device = head.find("device");
  const std::size_t threads_at = head.find(threads);
  if (device == std::string::npos || threads_at == std::string::npos) return std::nullopt;
  std::size_t workers = 0;
  for (std::string line; std::getline(lines, line);) {
    const bool on_cpu = line.compare(std::min(device, line.size()), 3, "cpu") == 0;
    workers += on_cpu ? number_before(line, threads_at + threads.size()) : 1;
  }
  if (workers == 0) return std::nullopt;
  return workers;
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
    const auto solved = session.find("solved");
    if (!count && solved != session.end() && solved->second == "0") continue;
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
