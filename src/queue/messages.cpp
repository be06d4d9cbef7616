#include "queue/messages.hpp"

#include <cmath>
#include <type_traits>
#include <utility>

#include "core/codec.hpp"
#include "core/result_columns.hpp"

namespace wallheat {

// Field lists of types of other folders, for the codec; see core/codec.hpp.
template <class Visit, SameIgnoringConst<RoomResult> R>
void fields_of(Visit& visit, R& room) {
  for_each_room_column([&](const char*, auto member, const char*) { visit(room.*member); });
}
template <class Visit, SameIgnoringConst<PlanResult> R>
void fields_of(Visit& visit, R& result) {
  for_each_column([&](const auto& column) { visit(column.accessor(result)); });
  visit(result.field, result.rooms);
}
template <class Visit, SameIgnoringConst<GpuSample> R>
void fields_of(Visit& visit, R& sample) {
  for (const GpuSampleField& field : gpu_sample_fields) visit(sample.*field.value);
}

Bytes encode(const FromWorker& message) { return to_bytes(message); }
Bytes encode(const ToWorker& message) { return to_bytes(message); }
FromWorker decode_from_worker(std::span<const std::byte> bytes) {
  return from_bytes<FromWorker>(bytes);
}
ToWorker decode_to_worker(std::span<const std::byte> bytes) { return from_bytes<ToWorker>(bytes); }

Bytes encode_result(const PlanResult& result) { return to_bytes(result); }

PlanResult decode_result(std::span<const std::byte> record) {
  return from_bytes<PlanResult>(record);
}

std::uint64_t hash_result(const PlanResult& result, std::uint64_t field_hash) {
  Encoder columns;
  for_each_column([&](const auto& column) {
    if (column.use != ColumnUse::deterministic) return;
    const auto& value = column.accessor(result);
    if constexpr (std::is_floating_point_v<std::remove_cvref_t<decltype(value)>>) {
      if (std::isnan(value)) return columns(false);  // so that all NaNs hash alike
    }
    columns(true, value);
  });
  columns(field_hash);
  // FNV-1a: http://www.isthe.com/chongo/tech/comp/fnv/
  std::uint64_t result_hash = 0xcbf29ce484222325;
  for (const std::byte byte : columns.take())
    result_hash = (result_hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3;
  return result_hash;
}

}  // namespace wallheat
