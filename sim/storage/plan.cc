#include "sim/storage/plan.h"

#include <algorithm>
#include <utility>

#include <zlib.h>

#include "b3/hash.h"
#include "base/bytes.h"
#include "base/limits.h"

namespace ron::sim {
namespace {

using namespace std::chrono_literals;
using platform::sim::PerMillion;

constexpr Ports kPorts{8081, 9081};

// How large things are in this world; picks the caps and the payloads that meet them.
struct Scale {
  ServerScale server;
  std::uint64_t cache_bytes = 0;
  bool in_parts = false;  // an object that takes more than one part of an upload
};

Scale draw_scale(Dice& dice) {
  switch (dice.below(10)) {
    case 0:  // memory fills up
      return {.server = {.body_cap = 256 * base::kKiB}, .cache_bytes = base::kMiB};
    case 1:
    case 2:
    case 3:
      return {.server = {.body_cap = dice.between(32, 96) * base::kKiB},
              .cache_bytes = 64 * base::kMiB};
    default:
      return {.server = {.body_cap = dice.between(1, 16) * base::kKiB},
              .cache_bytes = 16 * base::kMiB};
  }
}

// On disk memory is a cache: none, so that everything is streamed from the disk, little, or enough.
Scale draw_scale_on_disk(Dice& dice) {
  Scale scale = draw_scale(dice);
  if (dice.chance(10)) {
    scale.in_parts = true;
    scale.server = {
        .body_cap = base::limits::kPartBytes, .least_deadline_ms = 1000, .most_deadline_ms = 5000};
  }
  const std::uint64_t kib = dice.pick({0U, 64U, 256U, 16U * 1024});
  scale.cache_bytes = kib * base::kKiB;
  return scale;
}

// `patient`: nothing takes so long that a client who is alone is not served.
void add_hot_flags(Dice& dice, const Scale& scale, bool patient, Flags& flags) {
  ServerScale server = scale.server;
  if (patient) server.least_deadline_ms = std::max<std::uint64_t>(server.least_deadline_ms, 300);
  add_server_flags(dice, "storage", server, flags);
  flags.push_back("storage.cache_bytes=" + std::to_string(scale.cache_bytes));
  const std::string delay = patient ? dice.pick({"0s", "0s", "1ms", "20ms"})
                                    : dice.pick({"0s", "0s", "1ms", "20ms", "300ms", "2s"});
  flags.push_back("storage.debug.work_delay=" + delay);
}

void add_fixed_flags(Dice& dice, bool on_disk, Flags& flags) {
  const auto add = [&flags](std::string_view key, const std::string& value) {
    flags.push_back("storage." + std::string(key) + "=" + value);
  };
  flags.emplace_back("safety.danger_ok=true");
  add("put_workers", std::to_string(dice.between(1, 4)));
  add("channels.work", std::to_string(dice.pick({1U, 2U, 4U, 16U})));
  add("channels.events", std::to_string(dice.pick({1U, 4U, 64U})));
  add("amnesia", on_disk ? "false" : "true");
  if (!on_disk) return;
  add("get_workers", std::to_string(dice.between(1, 4)));
  add("channels.commit", std::to_string(dice.pick({1U, 4U, 1024U})));
  add("chunk_size", std::to_string(dice.pick({64U, 256U}) * base::kKiB));
  add("commit_window", dice.pick({"0s", "1ms", "10ms"}));
  add("fingerprint_bytes", dice.pick({"0", "64KiB"}));
  add("scrub.every", dice.pick({"1m", "7d"}));
  add("min_free_bytes", "0");
}

LifeMaker life_maker(const Scale& scale, bool on_disk, bool patient) {
  return {
      .section = "storage",
      .ports = kPorts,
      .add_fixed = [on_disk](Dice& dice, Flags& flags) { add_fixed_flags(dice, on_disk, flags); },
      .add_hot = [scale, patient](Dice& dice,
                                  Flags& flags) { add_hot_flags(dice, scale, patient, flags); }};
}

// A disk that is slow now and then, and a pool that is full.
void draw_disk_faults(Dice& dice, StoragePlan& plan) {
  platform::sim::FaultPlan& faults = plan.world.faults;
  if (dice.chance(40)) {
    faults.slow_sync = static_cast<PerMillion>(dice.below(20'000));
    faults.slow_sync_lasts = dice.between(10ms, Duration(2s));
    plan.start_slack = 30s;
  }
  if (dice.chance(40)) faults.reject_blocking = static_cast<PerMillion>(dice.below(50'000));
}

// Half of the lives of a machine with a disk end in the dark. The last one is always audited: what
// was acknowledged in any of them is read back there.
void draw_lives_on_disk(Dice& dice, const Scale& scale, StoragePlan& plan) {
  const std::size_t lives = dice.between(1, 4);
  for (std::size_t i = 1; i <= lives; ++i) {
    const bool last = i == lives;
    LifePlan life = life_maker(scale, true, last).draw(dice, last);
    if (last) life.stop_after.reset();
    if (!last && dice.chance(60)) {
      // Some while it still starts.
      life.cut_after = dice.chance(20) ? dice.between(0ms, Duration(30ms)) : *life.stop_after;
      life.stop_after.reset();
      life.abort_after.reset();
      // And some while it stops.
      const Duration stops_for = dice.between(0ms, Duration(100ms));
      if (dice.chance(20)) life.stop_after = std::max(*life.cut_after - stops_for, Duration(0ms));
    }
    const std::size_t failures = dice.chance(25) ? dice.between(1, 2) : 0;
    for (std::size_t failure = 0; failure < failures; ++failure) {
      life.task_failures.push_back(dice.between(1ms, Duration(3s)));
    }
    plan.lives.push_back(std::move(life));
  }
}

void draw_lives(Dice& dice, const Scale& scale, StoragePlan& plan) {
  const std::size_t lives = dice.pick({1U, 1U, 1U, 2U, 3U});
  const LifeMaker maker = life_maker(scale, false, false);
  for (std::size_t i = 1; i <= lives; ++i) plan.lives.push_back(maker.draw(dice, i == lives));
}

void draw_payloads(Dice& dice, const Scale& scale, StoragePlan& plan) {
  std::vector<Payload>& payloads = plan.payloads;
  const std::uint64_t cap = scale.in_parts ? 64 * base::kKiB : scale.server.body_cap;
  const std::size_t count = dice.between(3, scale.cache_bytes == base::kMiB ? 10 : 8);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t size = dice.between(1, cap);
    if (i == 0) size = dice.below(3);
    if (i == 1) size = cap;
    if (i == 2 && dice.chance(50)) size = cap + dice.between(1, 2000);
    if (i == 2 && scale.in_parts) size = base::limits::kPartBytes + dice.between(1, 80'000);
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
  for (const Payload& payload : payloads) {
    plan.largest_body = std::max<std::uint64_t>(plan.largest_body, payload.bytes.size());
  }
}

// A megabyte takes many segments: fewer clients, and lines that carry it.
void make_room_for_parts(StoragePlan& plan) {
  plan.world.network.window_bytes = 256 * base::kKiB;
  if (plan.clients.size() > 3) plan.clients.resize(3);
  for (ClientPlan& client : plan.clients) {
    client.link.bytes_per_second = 0;
    client.sessions = std::min<std::size_t>(client.sessions, 2);
    client.rounds = std::min<std::size_t>(client.rounds, 10);
  }
  std::erase_if(plan.mishaps,
                [&](const Mishap& mishap) { return mishap.client >= plan.clients.size(); });
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

StoragePlan make_plan(std::uint64_t seed) {
  Dice dice(seed * 0x9E3779B97F4A7C15ULL + 1);
  StoragePlan plan;
  plan.seed = seed;
  plan.on_disk = dice.chance(75);
  const Scale scale = plan.on_disk ? draw_scale_on_disk(dice) : draw_scale(dice);
  draw_world(dice, plan);
  draw_clients(dice, 6, plan);
  if (scale.in_parts) make_room_for_parts(plan);
  if (plan.on_disk) {
    draw_disk_faults(dice, plan);
    draw_lives_on_disk(dice, scale, plan);
  } else {
    draw_lives(dice, scale, plan);
  }
  draw_payloads(dice, scale, plan);
  return plan;
}

}  // namespace ron::sim
