#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "queue/link.hpp"

namespace wallheat {

/// Ranks that are threads of one process: the single-process run, and tests.
class LocalNetwork {
 public:
  explicit LocalNetwork(int size);
  /// The link of one rank; it must not outlive the network.
  [[nodiscard]] std::unique_ptr<Link> link(int rank);

 private:
  struct Mailbox {
    std::mutex mutex;
    std::condition_variable arrived;
    std::deque<Envelope> messages;
  };
  class LocalLink;

  std::vector<std::unique_ptr<Mailbox>> mailboxes_;
};

}  // namespace wallheat
