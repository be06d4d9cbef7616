#include "view/parts_status.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string_view>

#include "core/exit_status.hpp"
#include "core/number_of.hpp"
#include "store/result_path.hpp"
#include "view/advice.hpp"
#include "view/json.hpp"
#include "view/terminal.hpp"
#include "view/time_text.hpp"
#include "wallheat/error.hpp"

namespace fs = std::filesystem;

namespace wallheat {
namespace {

constexpr std::size_t longest_part_list = 40;
constexpr RunState all_states[] = {RunState::closed, RunState::being_written, RunState::killed,
                                   RunState::unknown};

/// Plans of a shard in a campaign of so many.
std::size_t plans_of(const Shard& shard, std::size_t campaign) {
  return (campaign + shard.count - shard.number) / shard.count;
}

std::size_t plans_in(const FileStatus& part) {
  return part.solved + part.failed.size() + part.pending;
}

/// Somebody has to do something about it, or to look at it.
bool needs_attention(const FileStatus& part) {
  if (part.state == RunState::being_written) return !part.failed.empty();
  return part.exit_status() != exit_done;
}

std::string why_attention(const FileStatus& part) {
  std::vector<std::string> reasons;
  if (part.state == RunState::killed || part.state == RunState::unknown)
    reasons.push_back(fmt::format(
        "{}: process {} on host {}{}",
        part.state == RunState::killed ? "its writer was killed" : "its writer does not answer",
        part.writer.pid, part.writer.host,
        part.writer.job.empty() ? "" : ", job " + part.writer.job));
  if (part.state == RunState::closed && part.pending > 0) reasons.emplace_back("stopped early");
  if (!part.failed.empty()) reasons.push_back(part.failed.front().error);
  return fmt::format("{}", fmt::join(reasons, "; "));
}

/// The shard that a name beside `whole` tells of: that of a part, or of what lies beside one that
/// is being started, or of which only the log is left.
std::optional<Shard> shard_in(const std::string& name, const fs::path& whole) {
  const std::string beginning = whole.stem().string() + ".part-";
  const std::size_t mark = name.find("-of-", beginning.size());
  if (!name.starts_with(beginning) || mark == std::string::npos) return std::nullopt;
  const std::string_view text = name;
  const std::string_view after = text.substr(mark + 4);
  const auto number =
      number_of<std::uint32_t>(text.substr(beginning.size(), mark - beginning.size()));
  const auto count =
      number_of<std::uint32_t>(after.substr(0, after.find_first_not_of("0123456789")));
  if (!number || !count || *number < 1 || *number > *count) return std::nullopt;
  const Shard shard{*number, *count};
  const std::string part = shard_path(whole, shard).filename().string();
  const bool is_of_it =
      name.starts_with(part) && (name.size() == part.size() || name[part.size()] == '.');
  return is_of_it ? std::optional(shard) : std::nullopt;
}

void add_to(PartsStatus& look, FileStatus part) {
  look.solved += part.solved;
  look.failed += part.failed.size();
  look.parts.push_back(std::move(part));
}

std::string states_text(const PartsStatus& look) {
  std::vector<std::string> texts;
  for (const RunState state : all_states)
    if (const std::size_t parts = look.count(state); parts > 0)
      texts.push_back(fmt::format("{} {}", parts, to_string(state)));
  if (look.not_begun() > 0) texts.push_back(fmt::format("{} not begun", look.not_begun()));
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

std::size_t PartsStatus::count(RunState state) const {
  return static_cast<std::size_t>(std::count_if(
      parts.begin(), parts.end(), [&](const FileStatus& part) { return part.state == state; }));
}

double PartsStatus::plans_per_s() const {
  double sum = 0;
  for (const FileStatus& part : parts)
    if (part.state == RunState::being_written) sum += part.plans_per_s().value_or(0);
  return sum;
}

std::optional<double> PartsStatus::seconds_left() const {
  std::optional<double> longest;
  for (const FileStatus& part : parts)
    if (const auto left = part.seconds_left()) longest = std::max(longest.value_or(0), *left);
  return longest;
}

std::string PartsStatus::advice() const {
  if (exit_status() == exit_work_left) {
    const bool stopped = std::any_of(parts.begin(), parts.end(), [](const FileStatus& part) {
      return part.state != RunState::being_written && part.exit_status() == exit_work_left;
    });
    if (count(RunState::being_written) > 0)
      return stopped ? "wait; when no job is left, submit the array again: it goes on" : "wait";
    return "if no job is left, submit the array again: it goes on";
  }
  if (failed > 0)
    return fmt::format("mend the input of the failed plans, then submit the array again with{}",
                       and_retry_failed);
  return whole.empty() ? "nothing to do" : "'wallheat merge' makes one file of the parts";
}

int PartsStatus::exit_status() const {
  if (count(RunState::closed) < shards || pending() > 0) return exit_work_left;
  return failed > 0 ? exit_some_plans_failed : exit_done;
}

std::string_view PartsStatus::word() const {
  if (count(RunState::being_written) > 0) return "running";
  if (count(RunState::killed) + count(RunState::unknown) > 0) return "killed";
  return word_of(exit_status());
}

std::size_t shards_beside(const fs::path& whole) {
  const fs::path path = result_path(whole);
  std::set<std::size_t> counts;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(path.parent_path(), missing))
    if (const auto shard = shard_in(entry.path().filename().string(), path))
      counts.insert(shard->count);
  if (counts.size() > 1)
    throw RunError(fmt::format(
        "{} is not there, but parts of arrays of {} jobs are; name the parts that are meant",
        whole.string(), fmt::join(counts, " and of ")));
  return counts.empty() ? 0 : *counts.begin();
}

PartsStatus status_of_shards(const fs::path& whole, std::size_t shards) {
  PartsStatus look;
  look.whole = whole;
  look.shards = shards;
  for (std::size_t number = 1; number <= shards; ++number) {
    const Shard shard{number, shards};
    const fs::path file = shard_path(whole, shard);
    if (!has_results(file) && !is_being_written(file)) continue;
    FileStatus part = status_of(file);
    part.shard = shard;  // one that is being started does not say it yet
    look.total = std::max(look.total, part.campaign);
    add_to(look, std::move(part));
  }
  return look;
}

PartsStatus status_of_parts(const std::vector<fs::path>& files) {
  PartsStatus look;
  look.shards = files.size();
  std::size_t campaign = 0;
  for (const fs::path& file : files) {
    add_to(look, status_of(file));
    campaign = std::max(campaign, look.parts.back().campaign);
  }
  for (const FileStatus& part : look.parts)
    look.total += part.campaign > 0 ? plans_in(part) : plans_of(part.shard, campaign);
  return look;
}

Json to_json(const PartsStatus& look) {
  const auto left = look.seconds_left();
  Json json{{"file", look.whole.empty() ? Json(nullptr) : Json(look.whole.string())},
            {"shards", look.shards},
            {"not_begun", look.not_begun()}};
  for (const RunState state : all_states) {
    std::string name(to_string(state));
    std::replace(name.begin(), name.end(), ' ', '_');
    json[name] = look.count(state);
  }
  json.update({{"advice", look.advice()},
               {"total", look.total},
               {"solved", look.solved},
               {"failed", look.failed},
               {"pending", look.pending()},
               {"plans_per_s", look.plans_per_s()},
               {"seconds_left", left ? Json(*left) : Json(nullptr)},
               {"parts", Json::array()}});
  for (const FileStatus& part : look.parts) json["parts"].push_back(to_json(part));
  return json;
}

void print_text(const PartsStatus& look) {
  constexpr std::size_t column = 11;
  print_line(fmt::format("{}{} parts, {}", look.whole.empty() ? "" : look.whole.string() + ": ",
                         look.shards, states_text(look)),
             2);
  print_fact("plans", fmt::format("{}", look.total), column);
  fmt::print("  solved   {}\n  failed   {}\n  pending  {}\n", look.solved, look.failed,
             look.pending());
  if (const double rate = look.plans_per_s(); rate > 0) print_fact("rate", rate_text(rate), column);
  if (const auto left = look.seconds_left())
    print_fact("left", duration_text(*left) + " of the parts that are being written", column);
  print_fact("advice", look.advice(), column);
  std::vector<std::vector<std::string>> rows{
      {"part", "state", "solved", "failed", "pending", "why"}};
  std::size_t in_need = 0;
  for (const FileStatus& part : look.parts) {
    if (!needs_attention(part)) continue;
    if (++in_need > longest_part_list) continue;
    rows.push_back({part.file.filename().string(), std::string(to_string(part.state)),
                    fmt::format("{}", part.solved), fmt::format("{}", part.failed.size()),
                    fmt::format("{}", part.pending), why_attention(part)});
  }
  if (in_need == 0) return;
  fmt::print("\nparts that need attention\n");
  print_table("llrrrl", rows, table_margin);
  if (in_need > longest_part_list)
    fmt::print("  and {} more; --json lists all\n", in_need - longest_part_list);
}

void print_line(const PartsStatus& look) {
  const double rate = look.plans_per_s();
  fmt::print("{} {}: {} solved, {} failed, {} pending{}\n", utc_now(), states_text(look),
             look.solved, look.failed, look.pending(), rate > 0 ? ", " + rate_text(rate) : "");
}

}  // namespace wallheat
