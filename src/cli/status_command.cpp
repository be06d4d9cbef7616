#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <thread>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/result_file.hpp"
#include "io/process_setup.hpp"
#include "store/result_path.hpp"
#include "view/file_status.hpp"
#include "view/json.hpp"
#include "view/parts_status.hpp"
#include "view/terminal.hpp"
#include "wallheat/error.hpp"

namespace fs = std::filesystem;

namespace wallheat {
namespace {

bool is_written(const FileStatus& look) { return look.state == RunState::being_written; }
bool is_written(const PartsStatus& look) { return look.count(RunState::being_written) > 0; }

/// What `status` says of a file or of parts beside the usual text.
struct StatusForm {
  bool json = false;
  bool word = false;
  std::optional<std::chrono::duration<double>> interval;  ///< between two looks; nothing: one
};

/// Calls `look` once, or again and again while somebody writes, and prints what it returns. Returns
/// the exit status of the last look.
template <class Look>
int show(const Look& look, const StatusForm& form) {
  const bool in_place = terminal_columns(STDOUT_FILENO).has_value();
  for (;;) {
    const auto status = look();
    if (form.word) {
      fmt::print("{}\n", status.word());
    } else if (form.json) {
      fmt::print("{}", json_text(to_json(status)));
    } else if (!form.interval) {
      print_text(status);
    } else if (in_place) {
      fmt::print("\x1b[H\x1b[2J");  // to the upper left corner, and all empty
      print_text(status);
    } else {
      print_line(status);
    }
    if (!form.interval) return status.exit_status();
    flush_stdout();
    if (!is_written(status)) return status.exit_status();
    std::this_thread::sleep_for(*form.interval);
  }
}

/// How the last session ended.
int show_session(const fs::path& file) {
  const FileStatus status = status_of(file);
  fmt::print("{}\n", status.session_text());
  return status.session_exit_status();
}

/// One look, with a sentence for each plan that was not simply solved.
int show_reasons(const fs::path& file, bool json) {
  const FileStatus status = status_of(file);
  const auto reasons = reasons_of(status);
  if (json) {
    Json object = to_json(status);
    object["why"] = Json::array();
    for (const auto& [id, reason] : reasons)
      object["why"].push_back({{"id", id.empty() ? Json() : Json(id)}, {"reason", reason}});
    fmt::print("{}", json_text(object));
    return status.exit_status();
  }
  print_text(status);
  fmt::print("\nwhy\n");
  if (reasons.empty()) fmt::print("  every plan was solved at its first start\n");
  for (const auto& [id, reason] : reasons)
    print_line(fmt::format("  {}{}{}", id, id.empty() ? "" : " ", reason), 4);
  return status.exit_status();
}

}  // namespace

int status_command(Options& options) {
  std::vector<std::string> names;
  StatusForm form;
  bool session = false;
  bool watch = false;
  bool why = false;
  double interval_s = 0;
  options.describe(
      "FILE ... [options]",
      "Looks at a result file from outside, whether its run lives, has ended or was killed, "
      "without changing anything. Of an array it looks at all parts, where FILE, into which they "
      "belong, is not there yet, or at those that are named.\nExit status: 0 finished, 3 finished "
      "but some plans failed, 75 work left (also while it is being written), 1 the file cannot be "
      "read, 2 wrong usage.",
      {"wallheat status results.h5", "wallheat status results.h5 --json"});
  options.add("file", value(names, "FILE"), "the result file, or parts (also as arguments)");
  options.add("json", flag(form.json), "print one JSON object");
  options.add("word", flag(form.word),
              "print one word: running, done, failed (some plans), left (work is) or killed");
  options.add("session", flag(session),
              "end as the last session of FILE ended: with 1 if it solved nothing, as a job that "
              "starts it again would do so for ever");
  options.add("why", flag(why),
              "tell of each plan that was not simply solved why it waits, failed or ran again");
  options.add("watch,w", flag(watch),
              "look again and again until nobody writes the file: in place on a terminal, a line "
              "each time elsewhere");
  options.add("interval", value(interval_s, "SECONDS", 2), "between two looks of --watch");
  options.positional("file", -1);
  options.require({"file"});
  options.parse();

  if (why && (watch || names.size() > 1)) throw UsageError("--why looks once, at one file");
  if (form.json + form.word + session + watch > 1)
    throw UsageError("give one of --watch, --json, --word and --session");
  if (session && (why || names.size() > 1)) throw UsageError("--session looks at one file");
  if (!(interval_s >= 0.01 && interval_s <= 86400))
    throw UsageError("--interval must be from 0.01 to 86400 seconds");
  if (watch) form.interval.emplace(interval_s);
  const std::vector<fs::path> files(names.begin(), names.end());
  for (const fs::path& file : files) require_result_file(file);
  if (files.size() > 1) return show([&] { return status_of_parts(files); }, form);
  const fs::path& file = files.front();
  if (session) return show_session(file);
  if (why) return show_reasons(file, form.json);
  if (!has_results(file) && !is_being_written(file)) {
    if (const std::size_t shards = shards_beside(file); shards > 0)
      return show([&] { return status_of_shards(file, shards); }, form);
  }
  return show([&] { return status_of(file); }, form);
}

}  // namespace wallheat
