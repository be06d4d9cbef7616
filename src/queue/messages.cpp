#include "queue/messages.hpp"

#include <cmath>
#include <type_traits>
#include <utility>

#include "core/codec.hpp"
#include "core/result_columns.hpp"
#include "core/room_columns.hpp"

namespace wallheat {

// The types of other folders; each is described once, as the list of its fields: see
// core/codec.hpp.
template <class Visit, Is<RoomResult> R>
void fields_of(Visit& visit, R& room) {
  for_each_room_column([&](const char*, auto member, const char*) { visit(room.*member); });
}
template <class Visit, Is<PlanResult> R>
void fields_of(Visit& visit, R& result) {
  for_each_column([&](const auto& column) { visit(column.of(result)); });
  visit(result.field, result.rooms);
}
template <class Visit, Is<GpuSample> R>
void fields_of(Visit& visit, R& sample) {
  visit(sample.utilisation_pct, sample.memory_utilisation_pct, sample.encoder_pct,
        sample.decoder_pct, sample.memory_used_bytes, sample.memory_total_bytes, sample.power_w,
        sample.temperature_c, sample.memory_temperature_c, sample.sm_clock_mhz,
        sample.memory_clock_mhz, sample.energy_j);
}
template <class Visit, class R>
requires std::is_empty_v<R>
void fields_of(Visit&, R&) {}

}  // namespace wallheat

namespace wallheat {
namespace {

/// The first byte of a message is its kind; the kinds of the two directions begin at different
/// numbers, so that a message that went astray is known.
template <class Message>
constexpr std::uint8_t first_kind = std::is_same_v<Message, FromWorker> ? 0 : 128;

template <class Message>
Bytes encode_message(const Message& message) {
  Encoder encoder;
  encoder(static_cast<std::uint8_t>(first_kind<Message> + message.index()));
  std::visit([&](const auto& record) { encoder(record); }, message);
  return encoder.take();
}

template <class Message, std::size_t index = 0>
Message decode_kind(std::size_t kind, Decoder& decoder) {
  if constexpr (index < std::variant_size_v<Message>) {
    if (kind != first_kind<Message> + index) return decode_kind<Message, index + 1>(kind, decoder);
    std::variant_alternative_t<index, Message> record;
    decoder(record);
    return record;
  } else {
    throw DecodeError("no such kind of message");
  }
}

template <class Message>
Message decode_message(std::span<const std::byte> bytes) {
  Decoder decoder(bytes);
  std::uint8_t kind = 0;
  decoder(kind);
  auto message = decode_kind<Message>(kind, decoder);
  decoder.expect_end();
  return message;
}

}  // namespace

Bytes encode(const FromWorker& message) { return encode_message(message); }
Bytes encode(const ToWorker& message) { return encode_message(message); }
FromWorker decode_from_worker(std::span<const std::byte> bytes) {
  return decode_message<FromWorker>(bytes);
}
ToWorker decode_to_worker(std::span<const std::byte> bytes) {
  return decode_message<ToWorker>(bytes);
}

Bytes encode_result(const PlanResult& result) { return bytes_of(result); }

PlanResult decode_result(std::span<const std::byte> record) {
  return record_in<PlanResult>(record);
}

std::uint64_t digest_of(const PlanResult& result, std::uint64_t field_hash) {
  Encoder answer;
  for_each_column([&](const auto& column) {
    if (column.use != ColumnUse::answer) return;
    const auto& value = column.of(result);
    if constexpr (std::is_floating_point_v<std::remove_cvref_t<decltype(value)>>) {
      if (std::isnan(value)) return answer(false);  // whatever its bits
    }
    answer(true, value);
  });
  answer(field_hash);
  // FNV-1a: http://www.isthe.com/chongo/tech/comp/fnv/
  std::uint64_t digest = 0xcbf29ce484222325;
  for (const std::byte byte : answer.take())
    digest = (digest ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3;
  return digest;
}

}  // namespace wallheat
