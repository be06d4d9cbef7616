#include <gmock/gmock.h>

#include <random>

#include "queue/messages.hpp"

namespace wallheat {
namespace {

PlanResult full_result() {
  PlanResult result;
  result.index = 7;
  result.id = "10000";
  result.status = PlanStatus::converged;
  result.statistics = {14.5, 6.25, 30.5, 55.5};
  result.iterations = 3602;
  result.last_delta = 9.9e-5;
  result.interior_cells = 55302;
  result.rows = 512;
  result.cols = 511;
  result.seconds = 0.07;
  result.attempts = 2;
  result.failures = 1;
  result.may_pass = true;
  result.rank = 3;
  result.host = "node7";
  result.device = "cpu avx512";
  result.solver = "jacobi 1";
  result.input_hash = 0x123456789abcdef0;
  result.input_stamps = {FileStamp{2097280, 5}, FileStamp{262272, 6}};
  result.error = "none, really";
  result.fell_back = 1;
  result.error_bound = 1e-9;
  result.error_estimate = 0.25;
  result.cpu_s = 1.5;
  result.cells_in_doubt = 12;
  result.field = {std::byte{1}, std::byte{0}, std::byte{255}};
  return result;
}

GpuSample full_sample() {
  GpuSample sample;
  sample.utilisation_pct = 97;
  sample.memory_utilisation_pct = 40;
  sample.encoder_pct = 3;
  sample.decoder_pct = 5;
  sample.memory_used_bytes = 3e9;
  sample.memory_total_bytes = 141e9;
  sample.power_w = 512.5;
  sample.temperature_c = 61;
  sample.memory_temperature_c = 74;
  sample.sm_clock_mhz = 1980;
  sample.memory_clock_mhz = 2619;
  sample.energy_j = 7e4;
  sample.uncorrected_ecc_errors = 1;
  sample.slowdown = 0x24;
  return sample;
}

std::vector<FromWorker> from_worker() {
  return {Hello{{"node7",
                 {{0, 0, 0}, {1, 0, 0}},
                 {{0, "A GPU", "GPU-1", 1ULL << 37, 1}},
                 "why",
                 "boot 1",
                 64,
                 {{17, 2.5}}}},
          Ready{"node7", "cpu avx512", 3, {0, 1, 2}},
          Report{{4, 5}, {full_result(), PlanResult{}}},
          Heartbeat{{{4, 256, 0.5, 1.25}}},
          Heartbeat{{{4, 256, 0.5, 1.25}}, full_sample()},
          Returned{{1, 2, 3}},
          Farewell{"interrupted", true},
          Goodbye{},
          Leaving{true}};
}

std::vector<ToWorker> to_worker() {
  return {Placed{{{0, 1, 2}, 1, true, 2, "a quota"}},
          Assign{{{3, "10000"}, {4, "x y"}}},
          Retract{12},
          CoordinatorHeartbeat{},
          Stop{},
          Finish{},
          Leave{true}};
}

/// The bytes of one message of each kind.
std::vector<Bytes> all_bytes() {
  std::vector<Bytes> all;
  for (const FromWorker& message : from_worker()) all.push_back(encode(message));
  for (const ToWorker& message : to_worker()) all.push_back(encode(message));
  return all;
}

TEST(Messages, arrive_unchanged) {
  for (const FromWorker& message : from_worker()) {
    const FromWorker copy = decode_from_worker(encode(message));
    EXPECT_EQ(copy.index(), message.index());
    EXPECT_EQ(encode(copy), encode(message));
  }
  for (const ToWorker& message : to_worker()) {
    const ToWorker copy = decode_to_worker(encode(message));
    EXPECT_EQ(copy.index(), message.index());
    EXPECT_EQ(encode(copy), encode(message));
  }
}

TEST(Messages, are_refused_in_the_wrong_direction) {
  for (const FromWorker& message : from_worker())
    EXPECT_THROW((void)decode_to_worker(encode(message)), DecodeError);
  for (const ToWorker& message : to_worker())
    EXPECT_THROW((void)decode_from_worker(encode(message)), DecodeError);
}

TEST(Messages, carry_every_column_of_a_result) {
  const PlanResult expected = full_result();
  const auto message = decode_from_worker(encode(Report{{}, {expected}}));
  const PlanResult result = std::get<Report>(message).results.at(0);
  EXPECT_EQ(result.index, expected.index);
  EXPECT_EQ(result.id, expected.id);
  EXPECT_EQ(result.status, expected.status);
  EXPECT_EQ(result.statistics.mean_temp, expected.statistics.mean_temp);
  EXPECT_EQ(result.statistics.std_temp, expected.statistics.std_temp);
  EXPECT_EQ(result.statistics.pct_above_18, expected.statistics.pct_above_18);
  EXPECT_EQ(result.statistics.pct_below_15, expected.statistics.pct_below_15);
  EXPECT_EQ(result.iterations, expected.iterations);
  EXPECT_EQ(result.last_delta, expected.last_delta);
  EXPECT_EQ(result.interior_cells, expected.interior_cells);
  EXPECT_EQ(result.rows, expected.rows);
  EXPECT_EQ(result.cols, expected.cols);
  EXPECT_EQ(result.seconds, expected.seconds);
  EXPECT_EQ(result.attempts, expected.attempts);
  EXPECT_EQ(result.rank, expected.rank);
  EXPECT_EQ(result.host, expected.host);
  EXPECT_EQ(result.device, expected.device);
  EXPECT_EQ(result.solver, expected.solver);
  EXPECT_EQ(result.input_hash, expected.input_hash);
  EXPECT_EQ(result.input_stamps, expected.input_stamps);
  EXPECT_EQ(result.error, expected.error);
  EXPECT_EQ(result.field, expected.field);
}

TEST(Messages, carry_every_reading_of_a_gpu) {
  const auto heartbeat =
      std::get<Heartbeat>(decode_from_worker(encode(Heartbeat{{}, full_sample()})));
  ASSERT_TRUE(heartbeat.gpu);
  EXPECT_EQ(heartbeat.gpu->utilisation_pct, 97);
  EXPECT_EQ(heartbeat.gpu->memory_utilisation_pct, 40);
  EXPECT_EQ(heartbeat.gpu->encoder_pct, 3);
  EXPECT_EQ(heartbeat.gpu->decoder_pct, 5);
  EXPECT_EQ(heartbeat.gpu->memory_used_bytes, 3e9);
  EXPECT_EQ(heartbeat.gpu->memory_total_bytes, 141e9);
  EXPECT_EQ(heartbeat.gpu->power_w, 512.5);
  EXPECT_EQ(heartbeat.gpu->temperature_c, 61);
  EXPECT_EQ(heartbeat.gpu->memory_temperature_c, 74);
  EXPECT_EQ(heartbeat.gpu->sm_clock_mhz, 1980);
  EXPECT_EQ(heartbeat.gpu->memory_clock_mhz, 2619);
  EXPECT_EQ(heartbeat.gpu->energy_j, 7e4);
  EXPECT_EQ(heartbeat.gpu->uncorrected_ecc_errors, 1);
  EXPECT_EQ(heartbeat.gpu->slowdown, 0x24U);
  EXPECT_FALSE(std::get<Heartbeat>(decode_from_worker(encode(Heartbeat{}))).gpu);
}

TEST(Messages, are_refused_if_cut_anywhere) {
  for (const Bytes& bytes : all_bytes()) {
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      const auto cut = std::span(bytes).first(size);
      EXPECT_THROW((void)decode_from_worker(cut), DecodeError) << size;
      EXPECT_THROW((void)decode_to_worker(cut), DecodeError) << size;
    }
  }
}

TEST(Messages, are_refused_with_trailing_bytes_or_of_an_unknown_kind) {
  Bytes bytes = encode(Finish{});
  bytes.push_back(std::byte{0});
  EXPECT_THROW((void)decode_to_worker(bytes), DecodeError);
  EXPECT_THROW((void)decode_to_worker(Bytes{std::byte{200}}), DecodeError);
  EXPECT_THROW((void)decode_from_worker(Bytes{std::byte{100}}), DecodeError);
}

TEST(Messages, survive_flipped_bits) {
  // Whatever a message turns into, reading it either works or throws; the sanitizers see the rest.
  std::mt19937 random(1);
  std::size_t refused = 0;
  for (const Bytes& original : all_bytes()) {
    for (int trial = 0; trial < 2000; ++trial) {
      Bytes bytes = original;
      bytes[random() % bytes.size()] ^= static_cast<std::byte>(1U << random() % 8);
      try {
        (void)decode_from_worker(bytes);
      } catch (const DecodeError&) {
        ++refused;
      }
      try {
        (void)decode_to_worker(bytes);
      } catch (const DecodeError&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 0U);
}

}  // namespace
}  // namespace wallheat
