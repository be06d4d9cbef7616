#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <optional>

#include "core/input_file.hpp"
#include "isolation/message_channel.hpp"
#include "isolation/worker_loop.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

// The kernel may be slow to end a process, so nobody waits longer for one.
constexpr std::chrono::seconds longest_end{1};

[[noreturn]] void refuse(const char* what) {
  throw RunError(fmt::format("no {} for a solver process: {}", what, std::strerror(errno)));
}

bool has_input(int file) {
  pollfd look{file, POLLIN, 0};
  return ::poll(&look, 1, 0) > 0;
}

/// Memory that a worker shares with the processes of one seat.
struct SharedPage {
  SharedPage() {
    if (file.get() < 0 || ::ftruncate(file.get(), sizeof(SeatPage)) != 0) refuse("memory");
    void* memory =
        ::mmap(nullptr, sizeof(SeatPage), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    if (memory == MAP_FAILED) refuse("memory");
    lanes = new (memory) SeatPage;
  }
  ~SharedPage() { ::munmap(lanes, sizeof(SeatPage)); }
  SharedPage(const SharedPage&) = delete;
  SharedPage& operator=(const SharedPage&) = delete;

  FileDescriptor file{::memfd_create("wallheat", MFD_CLOEXEC)};
  SeatPage* lanes = nullptr;
};

}  // namespace

struct Seats::Seat {
  JobSettings settings;
  std::int32_t thread = 0;
  SharedPage page{};
  std::unique_ptr<ChildProcess> process{};
  std::optional<MessageChannel> channel{};  ///< none: nothing is heard of the process
  std::string problem{};                    ///< why it was not started
};

Seats::Seats(SolverProgram program) : program_(std::move(program)) {}

Seats::~Seats() {
  for (std::size_t seat = 0; seat < seats_.size(); ++seat) kill(seat);  // before any is waited for
}

void Seats::add(const JobSettings& settings) {
  // NOLINTNEXTLINE(modernize-make-unique): an aggregate
  seats_.emplace_back(new Seat{settings, static_cast<std::int32_t>(seats_.size())});
}

void Seats::start(std::size_t number) {
  Seat& seat = *seats_[number];
  std::erase_if(killed_, [](const auto& process) { return process->wait({}); });
  // The process before may still hold a GPU, or much memory.
  if (seat.process && !seat.process->wait(longest_end)) killed_.push_back(std::move(seat.process));
  new (seat.page.lanes) SeatPage;
  try {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) refuse("socket");
    seat.channel.emplace(FileDescriptor(ends[0]));
    const FileDescriptor theirs(ends[1]);
    std::vector<std::string> words{"wallheat"};
    words.insert(words.end(), program_.arguments.begin(), program_.arguments.end());
    seat.process = std::make_unique<ChildProcess>(ProgramStart{.program = program_.file,
                                                               .words = words,
                                                               .in = theirs.get(),
                                                               .files = {seat.page.file.get()},
                                                               .hears_no_stop = true});
    // If nobody listens, poll() finds that out.
    (void)seat.channel->send(
        bytes_of(SeatStart{seat.page.file.get(), seat.thread, encode(seat.settings)}), false);
  } catch (const RunError& error) {
    seat.problem = error.what();
  }
}

void Seats::give(std::size_t seat, const Task& task) {
  auto& channel = seats_[seat]->channel;
  if (channel) (void)channel->send(bytes_of(task), false);  // one that does not listen has ended
}

void Seats::kill(std::size_t number) {
  Seat& seat = *seats_[number];
  seat.channel.reset();
  if (seat.process) seat.process->kill();
}

std::vector<SeatEvent> Seats::poll(std::chrono::milliseconds at_most) {
  std::vector<SeatEvent> events;
  std::vector<pollfd> files;
  for (std::size_t number = 0; number < seats_.size(); ++number) {
    Seat& seat = *seats_[number];
    if (!seat.problem.empty()) {
      events.push_back({number, SeatEnd{SeatEnd::Why::gives_up, std::exchange(seat.problem, "")}});
      kill(number);
    }
    files.push_back({seat.channel ? seat.channel->fd() : -1, POLLIN, 0});
  }
  const auto wait = events.empty() ? at_most : std::chrono::milliseconds{0};
  if (::poll(files.data(), files.size(), static_cast<int>(wait.count())) <= 0) return events;
  for (std::size_t number = 0; number < seats_.size(); ++number)
    if (files[number].revents != 0) listen(number, events);
  return events;
}

void Seats::listen(std::size_t number, std::vector<SeatEvent>& events) {
  Seat& seat = *seats_[number];
  const auto hear = [&](FromSeat what) {
    events.push_back({number, std::move(what)});
    if (std::holds_alternative<SeatEnd>(events.back().what)) kill(number);
  };
  const auto died = [&](const std::string& how) { hear(SeatEnd{SeatEnd::Why::died, how}); };
  try {
    while (seat.channel && has_input(seat.channel->fd())) {
      if (!seat.channel->read())
        return died(seat.process->wait(longest_end) ? seat.process->ending()
                                                    : "hung up without ending");
      while (const auto bytes = seat.channel ? seat.channel->next() : std::nullopt)
        hear(record_in<FromSeat>(*bytes));
    }
  } catch (const DecodeError& error) {
    died(fmt::format("sent an invalid answer ({})", error.what()));
  }
}

void Seats::progress(std::size_t number,
                     const std::function<void(const PlanProgress&)>& tell) const {
  const SeatPage& page = *seats_[number]->page.lanes;
  const std::size_t lanes = seats_[number]->settings.lanes;
  for (std::size_t lane = 0; lane < (lanes == 0 ? page.size() : lanes); ++lane) {
    const std::uint32_t plan = page[lane].plan.load(std::memory_order_acquire);
    if (plan == LaneProgress::no_plan) continue;
    tell({plan, page[lane].iterations.load(std::memory_order_relaxed),
          page[lane].delta.load(std::memory_order_relaxed)});
  }
}

}  // namespace wallheat
