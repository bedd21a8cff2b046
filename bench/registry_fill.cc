// bench_registry_fill: makes the log of a registry longer, through the formats and rules of
// src/chain, while no server uses it. Usage:
//
//   bench_registry_fill LOG_DIRECTORY COUNT SIGNER.pem SIGNER.pem…
//
// A million versions through a server take as long as verifying two million signatures; here they
// are only made. What a start reads besides, the tree and a checkpoint, the next server makes.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "auth/ed25519.h"
#include "base/ulid.h"
#include "chain/entry.h"
#include "chain/frame_log.h"
#include "chain/state.h"
#include "platform/posix/host.h"
#include "platform/test_support.h"

namespace ron::bench {
namespace {

using platform::Task;

constexpr std::size_t kBatch = 4096;
constexpr std::size_t kNames = 1000;  // descriptors that the versions are about
constexpr std::int64_t kDayMs = 86'400'000;
constexpr runtime::LockDecl kLock{"log", 1, "what readers of the log share"};

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "bench_registry_fill: %s\n", why.c_str());
  std::exit(2);
}

template <class T>
T wanted(base::Result<T> result) {
  if (!result) give_up(result.error().message);
  return std::move(*result);
}

auth::SigningKey key_in(const char* path) {
  std::ifstream in(path);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  return wanted(auth::SigningKey::from_pem(text));
}

class Maker {
 public:
  Maker(const char* const* paths, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) keys_.push_back(key_in(paths[i]));
  }

  base::Result<void> take(base::ByteView bytes) {
    const auto taken = chain::take_next(state_, bytes, chain::Signatures::Trust);
    if (!taken) return base::fail(taken.error());
    return {};
  }

  // The next version.
  std::string make(std::int64_t now_ms) {
    const std::uint64_t version = state_.head().version + 1;
    base::Value::Map node{
        {"type", "node"},
        {"id", "node-" + std::to_string(version % kNames)},
        {"url", "http://198.18.0.1:" + std::to_string(10'000 + version % 50'000)}};
    base::Value::Map change{{"kind", "update"},
                            {"set", base::Value::Array{std::move(node)}},
                            {"remove", base::Value::Array{}}};
    chain::Entry entry;
    entry.version = version;
    entry.prev = state_.head().hash;
    entry.proposal = base::Ulid(static_cast<std::uint64_t>(now_ms), 1, version);
    entry.payload = base::encode_cbor(base::Value::Map{{"change", std::move(change)}});
    entry.at_ms = std::max(now_ms, state_.at_ms());
    entry.expires_ms = (now_ms + kDayMs) / 1000 * 1000;
    const std::string text =
        chain::approval_text(state_.log(), entry.proposal.text(),
                             chain::hash_of(base::as_bytes(entry.payload)), entry.expires_ms);
    for (const auth::SigningKey& key : keys_) {
      entry.approvals.push_back(
          {chain::signer_id(key.public_key()), wanted(key.sign(base::as_bytes(text)))});
    }
    std::ranges::sort(entry.approvals, {}, &chain::Approval::signer);
    std::string bytes = chain::encode(entry);
    if (const auto taken = take(base::as_bytes(bytes)); !taken) give_up(taken.error().message);
    return bytes;
  }

 private:
  std::vector<auth::SigningKey> keys_;
  chain::State state_;
};

Task<void> fill(chain::FrameLog* log, Maker* maker, std::uint64_t count, platform::Clock* clock) {
  const auto opened = co_await log->open(
      0, [maker](const chain::FrameView& frame) { return maker->take(frame.bytes); });
  if (!opened) give_up(opened.error().message);
  for (std::uint64_t made = 0; made < count;) {
    std::vector<std::string> batch;
    for (; batch.size() < kBatch && made < count; ++made) {
      batch.push_back(maker->make(clock->unix_ms()));
    }
    const auto appended = co_await log->append(std::move(batch));
    if (!appended) give_up(appended.error().message);
  }
  const auto closed = co_await log->close();
  if (!closed) give_up(closed.error().message);
}

int run(int count, char** arguments) {
  if (count < 5) give_up("LOG_DIRECTORY COUNT SIGNER.pem SIGNER.pem");
  platform::posix::PosixHost host;
  chain::FrameLog log({.disk = &host.host().disk,
                       .random = &host.host().random,
                       .lock = &kLock,
                       .directory = arguments[1],
                       .segment_bytes = 16 * base::kMiB,
                       .on_trouble = {}});
  Maker maker(arguments + 3, static_cast<std::size_t>(count - 3));
  struct Begin : platform::Job {
    Begin() : Job([](Job&) noexcept {}) {}
  } begin;
  const platform::test::Root root(
      *host.host().cores[0],
      fill(&log, &maker, std::strtoull(arguments[2], nullptr, 10), &host.host().clock),
      [&host] { host.stop(); });
  host.run(begin);
  return 0;
}

}  // namespace
}  // namespace ron::bench

int main(int count, char** arguments) { return ron::bench::run(count, arguments); }
