#include <filesystem>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "view/file_status.hpp"

namespace po = boost::program_options;
namespace fs = std::filesystem;

namespace wallheat {
int status_command(const Arguments& arguments) {
  fs::path file;
  bool json = false;
  Options options(
      "status FILE [--json]",
      "Looks at a result file from outside, whether its run lives, has ended or was killed, "
      "without changing anything.\nExit status: 0 finished, 3 finished but some plans failed, 75 "
      "work left (also while it is being written), 1 the file cannot be read, 2 wrong usage.");
  options.add()("file", po::value(&file)->value_name("FILE"),
                "the result file (also as an argument)");
  options.add()("json", po::bool_switch(&json), "print one JSON object");
  options.positional("file", 1);
  options.require({"file"});
  if (!options.parse(arguments)) return exit_done;

  const FileStatus status = status_of(file);
  if (json) {
    print_json(status);
  } else {
    print_text(status);
  }
  return status.exit_status();
}

}  // namespace wallheat
