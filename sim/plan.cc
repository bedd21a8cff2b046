#include "sim/plan.h"

#include <algorithm>
#include <array>
#include <utility>

#include <zlib.h>

#include "b3/hash.h"
#include "base/bytes.h"

namespace ron::sim {
namespace {

using namespace std::chrono_literals;
using platform::sim::PerMillion;

// How large things are in this world; picks the caps and the payloads that meet them.
struct Scale {
  std::uint64_t body_cap = 0;
  std::uint64_t cache_bytes = 0;
};

Scale pick_scale(Dice& dice) {
  switch (dice.below(10)) {
    case 0:  // memory fills up
      return {.body_cap = 256 * base::kKiB, .cache_bytes = base::kMiB};
    case 1:
    case 2:
    case 3:
      return {.body_cap = dice.between(32, 96) * base::kKiB, .cache_bytes = 64 * base::kMiB};
    default:
      return {.body_cap = dice.between(1, 16) * base::kKiB, .cache_bytes = 16 * base::kMiB};
  }
}

std::string ms(Dice& dice, std::uint64_t low, std::uint64_t high) {
  return std::to_string(dice.between(low, high)) + "ms";
}

std::string address(std::uint16_t port) { return "10.0.0.1:" + std::to_string(port); }

// Keys a running service takes over.
void add_hot_flags(Dice& dice, const Scale& scale, Flags& flags) {
  const auto add = [&flags](std::string_view key, const std::string& value) {
    flags.push_back("storage." + std::string(key) + "=" + value);
  };
  add("limits.max_body_bytes", std::to_string(dice.chance(85) ? scale.body_cap : base::kKiB));
  add("limits.decode_abs_cap_bytes", std::to_string(dice.pick({1U, 16U, 512U}) * base::kKiB));
  add("limits.decode_ratio_max", std::to_string(dice.between(2, 10)));
  add("server.max_inflight", std::to_string(dice.pick({1U, 8U, 64U, 64U})));
  add("server.max_rps", std::to_string(dice.pick({20U, 200U, 100'000U, 100'000U})));
  add("server.request_deadline", ms(dice, 50, dice.chance(50) ? 200 : 2000));
  add("max_conns", std::to_string(dice.pick({3U, 8U, 32U, 32U})));
  add("max_conns_per_ip", std::to_string(dice.pick({1U, 3U, 32U, 32U})));
  add("read_timeout", ms(dice, 50, 500));
  add("write_timeout", ms(dice, 50, 500));
  add("idle_timeout", ms(dice, 100, 1500));
  add("drain_deadline", ms(dice, 10, dice.chance(50) ? 100 : 1500));
  add("cache_bytes", std::to_string(scale.cache_bytes));
  const std::string delay = dice.pick({"0s", "0s", "1ms", "20ms", "300ms", "2s"});
  add("debug.work_delay", delay);
  flags.push_back(std::string("auth.public_reads=") + (dice.chance(85) ? "true" : "false"));
}

Flags first_flags(Dice& dice, const Scale& scale) {
  Flags flags = {"safety.danger_ok=true", "storage.amnesia=true", "storage.bind=" + address(kPort),
                 "storage.admin=" + address(kAdminPort)};
  flags.push_back("storage.put_workers=" + std::to_string(dice.between(1, 4)));
  flags.push_back("storage.channels.work=" + std::to_string(dice.pick({1U, 2U, 4U, 16U})));
  flags.push_back("storage.channels.events=" + std::to_string(dice.pick({1U, 4U, 64U})));
  add_hot_flags(dice, scale, flags);
  return flags;
}

// The same service with other hot keys and perhaps other ports.
Flags next_flags(Dice& dice, const Scale& scale, const Flags& before, std::size_t number) {
  constexpr std::size_t kFixed = 7;  // first_flags up to the hot ones
  Flags flags(before.begin(), before.begin() + kFixed);
  if (dice.chance(40)) {
    flags[2] = "storage.bind=" + address(static_cast<std::uint16_t>(kPort + number));
  }
  if (dice.chance(15)) {
    flags[3] = "storage.admin=" + address(static_cast<std::uint16_t>(kAdminPort + number));
  }
  add_hot_flags(dice, scale, flags);
  return flags;
}

// Both listeners would move, and one of them cannot.
void block_reload(Dice& dice, ReloadPlan& reload) {
  constexpr std::uint16_t kOther = kPort + 100;
  constexpr std::uint16_t kOtherAdmin = kAdminPort + 100;
  reload.flags[2] = "storage.bind=" + address(kOther);
  reload.flags[3] = "storage.admin=" + address(kOtherAdmin);
  reload.occupied_port = dice.pick({kOther, kOtherAdmin});
}

LifePlan make_life(Dice& dice, const Scale& scale, bool last) {
  LifePlan life;
  life.flags = first_flags(dice, scale);
  const std::size_t reloads = dice.chance(40) ? dice.between(1, 2) : 0;
  for (std::size_t i = 1; i <= reloads; ++i) {
    const Duration after = dice.chance(15) ? Duration::zero() : dice.between(1ms, Duration(3s));
    life.reloads.push_back({after, next_flags(dice, scale, life.flags, i)});
    if (dice.chance(30)) block_reload(dice, life.reloads.back());
  }
  std::ranges::sort(life.reloads, {}, &ReloadPlan::after);
  if (!last || dice.chance(25)) {
    life.stop_after = dice.chance(10) ? Duration::zero() : dice.between(1ms, Duration(4s));
  }
  if (dice.chance(25)) life.abort_after = dice.between(0ms, Duration(200ms));
  life.down_for = dice.between(200ms, Duration(600ms));
  return life;
}

ClientPlan make_client(Dice& dice) {
  ClientPlan client;
  client.seed = dice.next();
  client.link.latency = dice.pick<Duration>({20us, 200us, 2ms, 20ms});
  client.link.jitter = dice.between(Duration::zero(), client.link.latency);
  if (dice.chance(20)) client.link.bytes_per_second = dice.pick({200U, 2000U}) * 1000ULL;
  client.sessions = dice.between(1, 4);
  client.rounds = dice.between(4, 30);
  return client;
}

PerMillion rate(Dice& dice, PerMillion most) {
  return dice.chance(40) ? 0 : static_cast<PerMillion>(dice.below(most));
}

void pick_faults(Dice& dice, platform::sim::FaultPlan& faults) {
  faults.split_segment = rate(dice, 600'000);
  faults.lose_segment = rate(dice, 20'000);
  faults.reset_segment = rate(dice, 4'000);
  faults.short_write = rate(dice, 500'000);
  faults.spurious_ready = rate(dice, 200'000);
  faults.refuse_connect = rate(dice, 50'000);
  faults.fail_accept = rate(dice, 50'000);
}

Mishap make_mishap(Dice& dice, std::size_t clients) {
  using Kind = Mishap::Kind;
  Mishap mishap;
  mishap.kind = dice.pick({Kind::Partition, Kind::Deafen, Kind::Reset, Kind::Vanish});
  mishap.at = dice.between(Duration::zero(), Duration(4s));
  mishap.client = dice.below(clients);
  mishap.lasts = dice.between(1ms, Duration(800ms));
  return mishap;
}

void pick_payloads(Dice& dice, const Scale& scale, std::vector<Payload>& payloads) {
  const std::size_t count = dice.between(3, scale.cache_bytes == base::kMiB ? 10 : 8);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t size = dice.between(1, scale.body_cap);
    if (i == 0) size = dice.below(3);
    if (i == 1) size = scale.body_cap;
    if (i == 2 && dice.chance(50)) size = scale.body_cap + dice.between(1, 2000);
    Payload payload = make_payload(make_bytes(dice, size, dice.chance(40)));
    if (std::ranges::find(payloads, payload.id, &Payload::id) == payloads.end())
      payloads.push_back(std::move(payload));
  }
  // One that only fits encoded, and expands a lot.
  if (dice.chance(40)) {
    const std::uint64_t size = dice.between(65, 160) * base::kKiB;
    payloads.push_back(make_payload(make_bytes(dice, size, true)));
  }
  payloads.push_back(make_payload("only the auditor stores this"));
}

std::string compress(const std::string& bytes) {
  constexpr int kGzipWindow = 15 + 16;
  z_stream stream{};
  deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, bytes.size()) + 32, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

}  // namespace

std::string make_bytes(Dice& dice, std::size_t size, bool compressible) {
  std::string bytes(size, '\0');
  std::size_t at = 0;
  while (at < size) {
    if (compressible) {
      const std::size_t run = std::min<std::size_t>(size - at, dice.between(1, 4000));
      std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), run,
                  static_cast<char>(dice.below(256)));
      at += run;
      continue;
    }
    const std::uint64_t word = dice.next();
    for (std::size_t i = 0; i < sizeof word && at < size; ++i) {
      bytes[at++] = static_cast<char>(word >> (8 * i));
    }
  }
  return bytes;
}

Payload make_payload(std::string bytes) {
  Payload payload;
  payload.id = b3::hash(base::as_bytes(bytes));
  payload.address = payload.id.text();
  payload.gzip = compress(bytes);
  payload.bytes = std::move(bytes);
  return payload;
}

Duration Plan::moment() const { return 20ms + world.job_cost * 5000; }

Duration Plan::network_slack(const ClientPlan& client, std::size_t bytes) const {
  Duration slack = 8 * (client.link.latency + client.link.jitter) + moment();
  if (client.link.bytes_per_second != 0) {
    // The other sessions take their share of the line.
    const std::uint64_t queued = client.sessions * (bytes + 2 * world.network.window_bytes);
    slack += Duration(
        static_cast<Duration::rep>(queued * 1'000'000'000ULL / client.link.bytes_per_second));
  }
  // A window has to come and go for every part of the bytes.
  const auto windows = static_cast<int>(bytes / world.network.window_bytes);
  slack += windows * 2 * (client.link.latency + client.link.jitter);
  if (world.faults.fail_accept != 0) slack += 500ms;
  if (world.faults.lose_segment != 0) slack += 6s + windows * 100ms;
  for (const Mishap& mishap : mishaps) slack += mishap.lasts + 2 * world.network.retransmit;
  return slack;
}

Plan make_plan(std::uint64_t seed) {
  Dice dice(seed * 0x9E3779B97F4A7C15ULL + 1);
  Plan plan;
  plan.seed = seed;
  const Scale scale = pick_scale(dice);
  plan.cores = dice.between(1, 3);
  plan.by_reference = dice.chance(50);
  plan.world.job_cost = dice.pick<Duration>({0us, 0us, 1us, 5us});
  plan.world.steps = 20'000'000;
  plan.world.steps_per_instant = 500'000;
  plan.world.network.window_bytes = dice.pick({2U, 16U, 256U}) * base::kKiB;
  plan.world.network.backlog = dice.pick({4U, 128U});
  const bool calm = dice.chance(20);
  if (!calm) pick_faults(dice, plan.world.faults);

  const std::size_t clients = dice.between(2, 6);
  for (std::size_t i = 0; i < clients; ++i) plan.clients.push_back(make_client(dice));
  const std::size_t mishaps = calm ? 0 : dice.below(5);
  for (std::size_t i = 0; i < mishaps; ++i) plan.mishaps.push_back(make_mishap(dice, clients));

  const std::size_t lives = dice.pick({1U, 1U, 1U, 2U, 3U});
  for (std::size_t i = 0; i < lives; ++i) {
    plan.lives.push_back(make_life(dice, scale, i + 1 == lives));
  }
  pick_payloads(dice, scale, plan.payloads);
  return plan;
}

}  // namespace ron::sim
