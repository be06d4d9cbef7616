#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

#include "queue/link.hpp"

namespace wallheat {
namespace {

struct Mailbox {
  std::mutex mutex;
  std::condition_variable arrived;
  std::deque<Envelope> messages;
};
using Mailboxes = std::vector<Mailbox>;  // by rank

class LocalLink final : public Link {
 public:
  LocalLink(std::shared_ptr<Mailboxes> mailboxes, int rank)
      : mailboxes_(std::move(mailboxes)), rank_(rank) {}

  [[nodiscard]] int size() const override { return static_cast<int>(mailboxes_->size()); }

  void send(int peer, Bytes message) override {
    Mailbox& mailbox = mailboxes_->at(static_cast<std::size_t>(peer));
    {
      const std::scoped_lock lock(mailbox.mutex);
      mailbox.messages.push_back({rank_, std::move(message)});
    }
    mailbox.arrived.notify_one();
  }

  std::optional<Envelope> receive(std::chrono::microseconds timeout) override {
    Mailbox& mailbox = mailboxes_->at(static_cast<std::size_t>(rank_));
    std::unique_lock lock(mailbox.mutex);
    if (!mailbox.arrived.wait_for(lock, timeout, [&] { return !mailbox.messages.empty(); }))
      return std::nullopt;
    Envelope envelope = std::move(mailbox.messages.front());
    mailbox.messages.pop_front();
    return envelope;
  }

  void flush(std::chrono::milliseconds) override {}

 private:
  std::shared_ptr<Mailboxes> mailboxes_;
  int rank_;
};

}  // namespace

std::vector<std::unique_ptr<Link>> make_local_links(int size) {
  const auto mailboxes = std::make_shared<Mailboxes>(static_cast<std::size_t>(size));
  std::vector<std::unique_ptr<Link>> links;
  for (int rank = 0; rank < size; ++rank)
    links.push_back(std::make_unique<LocalLink>(mailboxes, rank));
  return links;
}

}  // namespace wallheat
