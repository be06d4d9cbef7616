#include "forecast/wait_window.hpp"

#include <algorithm>
#include <bit>

namespace wallheat {

WaitWindow::WaitWindow(std::vector<std::int64_t> values) : values_(std::move(values)) {
  std::sort(values_.begin(), values_.end());
  values_.erase(std::unique(values_.begin(), values_.end()), values_.end());
  counts_.resize(values_.size() + 1, 0);
}

void WaitWindow::change(std::size_t place, std::int32_t by) {
  for (std::size_t node = place + 1; node < counts_.size(); node += node & (~node + 1))
    counts_[node] += by;
}

void WaitWindow::add(std::int64_t wait_s) {
  const auto found = std::lower_bound(values_.begin(), values_.end(), wait_s);
  const auto place = static_cast<std::size_t>(found - values_.begin());
  change(place, 1);
  places_.push_back(static_cast<std::uint32_t>(place));
}

void WaitWindow::keep_latest(std::size_t count) {
  while (places_.size() > count) {
    change(places_.front(), -1);
    places_.pop_front();
  }
}

std::int64_t WaitWindow::ranked(std::size_t rank) const {
  std::size_t place = 0;
  auto left = static_cast<std::int64_t>(rank);
  for (std::size_t step = std::bit_floor(counts_.size() - 1); step > 0; step /= 2) {
    if (place + step < counts_.size() && counts_[place + step] < left) {
      place += step;
      left -= counts_[place];
    }
  }
  return values_[place];
}

}  // namespace wallheat
