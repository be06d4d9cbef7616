#include "isolation/seat_messages.hpp"

namespace wallheat {

Bytes encode(const FromSeat& message) {
  Encoder encoder;
  encoder(static_cast<std::uint8_t>(message.index()));
  std::visit([&](const auto& record) { encoder(record); }, message);
  return encoder.take();
}

FromSeat decode_from_seat(std::span<const std::byte> bytes) {
  if (bytes.empty()) throw DecodeError("no message");
  const auto rest = bytes.subspan(1);
  switch (std::to_integer<int>(bytes.front())) {
    case 0:
      return record_in<SeatReady>(rest);
    case 1:
      return record_in<SeatAnswer>(rest);
    case 2:
      return record_in<SourceAway>(rest);
    case 3:
      return record_in<SeatEnd>(rest);
    default:
      throw DecodeError("no such kind of message");
  }
}

}  // namespace wallheat
