#include <utility>

#include "queue/link.hpp"

namespace wallheat {

class LocalNetwork::LocalLink final : public Link {
 public:
  LocalLink(LocalNetwork& network, int rank) : network_(network), rank_(rank) {}

  [[nodiscard]] int size() const override { return static_cast<int>(network_.mailboxes_.size()); }

  void send(int peer, Bytes message) override {
    Mailbox& mailbox = *network_.mailboxes_.at(static_cast<std::size_t>(peer));
    {
      const std::scoped_lock lock(mailbox.mutex);
      mailbox.messages.push_back({rank_, std::move(message)});
    }
    mailbox.arrived.notify_one();
  }

  std::optional<Envelope> receive(std::chrono::microseconds timeout) override {
    Mailbox& mailbox = *network_.mailboxes_[static_cast<std::size_t>(rank_)];
    std::unique_lock lock(mailbox.mutex);
    if (!mailbox.arrived.wait_for(lock, timeout, [&] { return !mailbox.messages.empty(); })) {
      return std::nullopt;
    }
    Envelope envelope = std::move(mailbox.messages.front());
    mailbox.messages.pop_front();
    return envelope;
  }

  void flush(std::chrono::milliseconds) override {}

 private:
  LocalNetwork& network_;
  int rank_;
};

LocalNetwork::LocalNetwork(int size) {
  for (int rank = 0; rank < size; ++rank) mailboxes_.push_back(std::make_unique<Mailbox>());
}

std::unique_ptr<Link> LocalNetwork::link(int rank) {
  return std::make_unique<LocalLink>(*this, rank);
}

}  // namespace wallheat
