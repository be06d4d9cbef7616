#include "queue/messages.hpp"

#include <cmath>
#include <type_traits>
#include <utility>

#include "core/codec.hpp"
#include "core/fnv1a.hpp"
#include "core/result_columns.hpp"

namespace wallheat {

Bytes encode(const FromWorker& message) { return to_bytes(message); }
Bytes encode(const ToWorker& message) { return to_bytes(message); }
FromWorker decode_from_worker(std::span<const std::byte> bytes) {
  return from_bytes<FromWorker>(bytes);
}
ToWorker decode_to_worker(std::span<const std::byte> bytes) { return from_bytes<ToWorker>(bytes); }

Bytes encode_result(const PlanResult& result) {
  Encoder encoder;
  for_each_member<PlanResult>([&](const auto& column) { encoder(column.of(result)); });
  encoder(result.field, result.rooms);
  return encoder.take();
}

PlanResult decode_result(std::span<const std::byte> encoded_result) {
  PlanResult result;
  Decoder decoder(encoded_result);
  for_each_member<PlanResult>([&](const auto& column) { decoder(column.of(result)); });
  decoder(result.field, result.rooms);
  decoder.expect_end();
  return result;
}

std::uint64_t hash_result(const PlanResult& result, std::uint64_t field_hash) {
  Encoder columns;
  for_each_member<PlanResult>([&](const auto& column) {
    if (column.use != ColumnUse::deterministic) return;
    const auto& value = column.of(result);
    if constexpr (std::is_floating_point_v<std::remove_cvref_t<decltype(value)>>) {
      if (std::isnan(value)) return columns(false);  // so that all NaNs hash alike
    }
    columns(true, value);
  });
  columns(field_hash);
  return fnv1a(columns.take());
}

}  // namespace wallheat
