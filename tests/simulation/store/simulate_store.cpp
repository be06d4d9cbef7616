// Lives through crashes of the result store on a disk in memory; see story.hpp.

#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "simulation/store/story.hpp"

// HDF5 stamps objects with the time; a run must not depend on it. The program's own function comes
// before the C library's.
extern "C" int gettimeofday(timeval* time, void*) noexcept {
  *time = {1893456000, 0};
  return 0;
}

namespace wallheat::simulation {
namespace {

namespace po = boost::program_options;

/// States that a long run must have reached; one that it does not reach is a test too tame.
constexpr std::array required{
    "a write was cut off by a kill",
    "a creation was lost",
    "a rename was lost",
    "a removal was lost",
    "a write to the log was torn",
    "a write to the log was lost",
    "a write to the HDF5 file was torn",
    "a write to the HDF5 file was lost",
    "a write to a new log was lost",
    "a write to a new HDF5 file was lost",
    "a lost end of the log reads as zeros",
    "the end of the log was lost",
    "the end of the HDF5 file was lost",
    "a write was short",
    "a sync failed and lost what it was to sync",
    "a fault stopped nothing",
    "no space while beginning",
    "no space while storing",
    "no space while closing",
    "no space while resuming",
    "no space while repairing",
    "no space while merging",
    "no space while packing",
    "a bad sector while beginning",
    "a bad sector while storing",
    "a bad sector while closing",
    "a bad sector while resuming",
    "a bad sector while repairing",
    "a bad sector while merging",
    "a bad sector while packing",
    "a failed sync while beginning",
    "a failed sync while storing",
    "a failed sync while closing",
    "a failed sync while resuming",
    "a failed sync while repairing",
    "a failed sync while merging",
    "a failed sync while packing",
    "a dropped cache showed what a failed sync had lost",
    "a file was rebuilt from its log",
    "a file was taken up in place",
    "the end of a log was a cut record",
    "the end of a log lacked its commit",
    "a torn row was rebuilt",
    "the log of an earlier file was passed over",
    "a repair changed the file",
    "a repair left the file as it was",
    "a crash during a recovery was survived",
    "a second writer was refused",
};
constexpr std::uint64_t long_run = 1000;  // seeds

constexpr unsigned hanging_after_s = 60;

struct Failure {
  std::uint64_t seed = 0;
  std::string invariant, details;
};

struct Block {
  std::optional<Failure> failure;
  Outcome outcome;
  Sometimes sometimes;
};

/// What a child is at; its parent reads it when the child has died.
std::uint64_t* shared_number() {
  static auto* number = static_cast<std::uint64_t*>(::mmap(
      nullptr, sizeof(std::uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  return number;
}

std::string read_all(int fd) {
  std::string text;
  std::array<char, 4096> part{};
  for (;;) {
    const auto got = ::read(fd, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
}

using Step = std::function<Outcome(std::uint64_t seed, Sometimes& sometimes)>;

/// In the child: takes the seeds [first, end) and writes down what came of it.
std::string take_block(std::uint64_t first, std::uint64_t end, const Step& step) {
  Outcome sum;
  Sometimes sometimes;
  std::ostringstream out;
  for (auto seed = first; seed < end; ++seed) {
    *shared_number() = seed;
    ::alarm(hanging_after_s);
    try {
      const auto outcome = step(seed, sometimes);
      if (seed % 64 == 0) {
        Sometimes ignored;
        if (step(seed, ignored).hash != outcome.hash)
          throw Violation("a seed gives the same events twice", "they differ");
      }
      sum.images += outcome.images;
      sum.events += outcome.events;
      sum.hash = mixed(sum.hash, outcome.hash);
    } catch (const Violation& violation) {
      out << "failure " << seed << '\n' << violation.invariant << '\n' << violation.what() << '\n';
      break;
    }
  }
  out << "outcome " << sum.images << ' ' << sum.events << ' ' << sum.hash << '\n';
  for (const auto& [name, count] : sometimes) out << count << ' ' << name << '\n';
  return out.str();
}

/// A process of its own for some seeds: HDF5 keeps the memory of files that were given up, and may
/// crash.
Block run_block(std::uint64_t first, std::uint64_t end, const Step& step) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) throw std::runtime_error("there is no pipe");
  std::cout.flush();
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("there is no further process");
  if (child == 0) {
    ::close(ends[0]);
    std::string text;
    int status = 0;
    try {
      text = take_block(first, end, step);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "seed %llu: %s\n", static_cast<unsigned long long>(*shared_number()),
                   error.what());
      status = 3;
    }
    for (std::size_t at = 0; at < text.size();) {
      const auto written = ::write(ends[1], text.data() + at, text.size() - at);
      if (written <= 0) break;
      at += static_cast<std::size_t>(written);
    }
    ::_exit(status);
  }
  ::close(ends[1]);
  std::istringstream in(read_all(ends[0]));
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  Block block;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    block.failure = {*shared_number(), signal == SIGALRM ? "a hang" : "a crash of the program",
                     "signal " + std::to_string(signal)};
    return block;
  }
  std::string word;
  std::string line;
  in >> word;
  if (word == "failure") {
    auto& failure = block.failure.emplace();
    in >> failure.seed;
    std::getline(in, line);
    std::getline(in, failure.invariant);
    while (std::getline(in, line) && !line.starts_with("outcome ")) {
      failure.details += (failure.details.empty() ? "" : " ") + line;
    }
    in = std::istringstream(line.substr(line.find(" ")));
    in >> block.outcome.images >> block.outcome.events >> block.outcome.hash;
    return block;
  }
  in >> block.outcome.images >> block.outcome.events >> block.outcome.hash;
  std::uint64_t count = 0;
  while (in >> count && std::getline(in >> std::ws, line)) block.sometimes[line] = count;
  return block;
}

Step with(const std::function<Options(std::uint64_t)>& options) {
  return [=](std::uint64_t seed, Sometimes& sometimes) {
    return live(seed, options(seed), sometimes);
  };
}

/// Makes one option after the other smaller as long as something fails.
std::pair<Options, Failure> shrink(std::uint64_t seed, Options options, Failure failure) {
  bool smaller = true;
  for (int tries = 0; smaller && tries < 500;) {
    smaller = false;
    for (const auto& option : option_names) {
      const auto present = options.*option.value;
      for (const auto value : {option.least, present / 2, present - 1}) {
        if (value < option.least || value >= present) continue;
        auto candidate = options;
        candidate.*option.value = value;
        ++tries;
        const auto block = run_block(seed, seed + 1, with([&](auto) { return candidate; }));
        if (!block.failure) continue;
        options = candidate;
        failure = *block.failure;
        smaller = true;
        break;
      }
    }
  }
  return {options, failure};
}

std::string set_arguments(const Options& options) {
  std::string text;
  std::istringstream in(to_text(options));
  for (std::string word; in >> word;) text += " --set " + word;
  return text;
}

void print(const char* what, const Sometimes& sometimes) {
  std::cout << what << '\n';
  for (const auto& [name, count] : sometimes) std::cout << "  " << name << ": " << count << '\n';
}

class Simulation {
 public:
  explicit Simulation(const po::variables_map& given) : given_(given) {}

  int run() {
    if (given_.count("seed") > 0) return replay(given_["seed"].as<std::uint64_t>());
    const auto first = given_["first-seed"].as<std::uint64_t>();
    const auto images = given_["images"].as<std::uint64_t>();
    auto seeds = given_["seeds"].as<std::uint64_t>();
    if (images > 0) seeds = ~std::uint64_t{0} - first;
    const bool everywhere = given_.count("every-event") > 0;
    const Step step = everywhere ? Step([this](std::uint64_t seed, Sometimes& sometimes) {
      return crash_everywhere(seed, options_of(seed), given_["twice"].as<std::uint64_t>(),
                              sometimes);
    })
                                 : with([this](std::uint64_t seed) { return options_of(seed); });
    const std::uint64_t block_size = everywhere ? 1 : 100;
    const auto began = std::chrono::steady_clock::now();
    std::uint64_t done = 0;
    while (done < seeds && (images == 0 || outcome_.images < images)) {
      const auto count = std::min(block_size, seeds - done);
      const auto block = run_block(first + done, first + done + count, step);
      if (block.failure) return report(*block.failure, everywhere);
      done += count;
      outcome_.images += block.outcome.images;
      outcome_.events += block.outcome.events;
      outcome_.hash = mixed(outcome_.hash, block.outcome.hash);
      for (const auto& [name, times] : block.sometimes) sometimes_[name] += times;
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    print("how often it came to this:", sometimes_);
    std::cout << done << " seeds, " << outcome_.events << " changes to disks, " << outcome_.images
              << " crashes survived, " << static_cast<double>(outcome_.images) / took.count()
              << " a second; hash " << std::hex << outcome_.hash << std::dec << '\n';
    return everywhere || done < long_run || given_.count("set") > 0 ? 0 : require_reached();
  }

 private:
  Options options_of(std::uint64_t seed) const {
    auto options = expand(seed);
    if (given_.count("every-event") > 0) {
      options.story = seed % story_names.size();
      options.fields = seed / story_names.size() % 2;
      options.batches = 3;
      options.plans = 5;
      options.close = 1;
      options.fault = 0;
    }
    if (given_.count("set") == 0) return options;
    for (const auto& text : given_["set"].as<std::vector<std::string>>()) {
      const auto equals = text.find('=');
      const auto option =
          std::find_if(option_names.begin(), option_names.end(),
                       [&](const NamedOption& one) { return text.substr(0, equals) == one.name; });
      if (equals == std::string::npos || option == option_names.end())
        throw po::error("--set takes NAME=NUMBER, with a name of: " + to_text({}));
      options.*option->value = std::stoull(text.substr(equals + 1));
    }
    return options;
  }

  int replay(std::uint64_t seed) {
    const auto block =
        run_block(seed, seed + 1, with([this](std::uint64_t one) { return options_of(one); }));
    if (block.failure) return report(*block.failure, false);
    std::cout << "seed " << seed << " passes: " << to_text(options_of(seed)) << '\n';
    print("how often it came to this:", block.sometimes);
    return 0;
  }

  int report(const Failure& failure, bool everywhere) const {
    std::cout << "seed " << failure.seed << ": " << failure.invariant << ": " << failure.details
              << '\n';
    const auto options = options_of(failure.seed);
    std::cout << "  options: " << to_text(options) << '\n';
    if (!everywhere && given_.count("no-shrinking") == 0) {
      const auto [smallest, last] = shrink(failure.seed, options, failure);
      std::cout << "  smallest that fails: " << last.invariant << ": " << last.details << '\n'
                << "  again: simulate_store --seed " << failure.seed << set_arguments(smallest)
                << '\n';
    }
    return 1;
  }

  int require_reached() const {
    int status = 0;
    for (const char* name : required) {
      if (sometimes_.contains(name)) continue;
      std::cout << "never reached: " << name << '\n';
      status = 1;
    }
    return status;
  }

  const po::variables_map& given_;
  Outcome outcome_;
  Sometimes sometimes_;
};

int run(int argc, char** argv) {
  po::options_description options(
      "Lives of the result store on a disk in memory, each from a seed");
  // clang-format off
  options.add_options()
    ("help,h", "print this")
    ("seeds", po::value<std::uint64_t>()->default_value(1000), "how many seeds")
    ("first-seed", po::value<std::uint64_t>()->default_value(0), "the first of them")
    ("images", po::value<std::uint64_t>()->default_value(0), "go on until so many crashes are survived; 0: by --seeds")
    ("seed", po::value<std::uint64_t>(), "this one only, and tell what came of it")
    ("set", po::value<std::vector<std::string>>(), "NAME=NUMBER: an option that the seed does not decide; may be given several times")
    ("every-event", "crash at each event of a story in place of random ones; six seeds have all stories without fields, twelve with")
    ("twice", po::value<std::uint64_t>()->default_value(0), "with --every-event: after one in so many of the crashes a second one at each event of the recovery; 0: none")
    ("no-shrinking", "do not look for the smallest options that still fail");
  // clang-format on
  po::variables_map given;
  try {
    po::store(po::parse_command_line(argc, argv, options), given);
    po::notify(given);
    if (given.count("help") > 0) {
      std::cout << options << "\nExit status: 0 all held, 1 something did not, 2 wrong usage\n";
      return 0;
    }
    return Simulation(given).run();
  } catch (const po::error& error) {
    std::cerr << "simulate_store: " << error.what() << '\n';
    return 2;
  }
}

}  // namespace
}  // namespace wallheat::simulation

int main(int argc, char** argv) { return wallheat::simulation::run(argc, argv); }
