// For the tests of discovery: servers that answer as they are told, byte by byte, in a simulated
// world, and records that count.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "auth/ed25519.h"
#include "base/encoding.h"
#include "catalog/provider_record.h"
#include "http/test_support.h"
#include "platform/sim/world.h"
#include "platform/test_support.h"
#include "runtime/deadline.h"
#include "runtime/topology.h"
#include "services/index/record_list.h"
#include "services/index/wires.h"

namespace ron::index::test {

using namespace std::chrono_literals;
namespace sim = platform::sim;
using platform::Task;
using platform::test::Root;

inline constexpr std::array kTestChannels = {kOutcomes, kAnnouncements};
inline constexpr std::array kTestTasks = {kBreakerJanitorTask, kRepublisherTask};
inline constexpr std::array kTestLocks = {kTrustLock, kSeqsLock};
inline constexpr runtime::Wires kTestWires{"svc-index", kTestTasks, kTestChannels, kTestLocks};

inline base::ObjectId address(std::uint8_t number) {
  std::array<std::byte, base::ObjectId::kBytes> digest{};
  digest[0] = static_cast<std::byte>(number);
  return base::ObjectId(digest);
}

inline auth::SigningKey node_key(std::uint8_t number) {
  std::array<std::byte, auth::SigningKey::kSeedBytes> seed{};
  seed[0] = static_cast<std::byte>(number);
  return auth::SigningKey::from_seed(seed).value();
}

inline catalog::ProviderRecord record_of(const auth::SigningKey& key, const base::ObjectId& addr,
                                         std::uint64_t expires_ms, std::uint64_t seq = 1) {
  catalog::ProviderRecord record;
  record.addr = addr;
  record.url = "http://10.0.0.1:8080";
  record.region = "eu-west";
  record.seq = seq;
  record.expires_ms = expires_ms;
  return sign(std::move(record), key).value();
}

// A value as a proxy of the DHT writes it.
inline std::string dht_line(std::string_view bytes) {
  return R"({"data":")" + base::to_base64(base::as_bytes(bytes)) +
         "\",\"id\":\"15350633454544400586\",\"type\":0}\n";
}
inline std::string dht_line(const catalog::ProviderRecord& record) {
  return dht_line(catalog::encode(record));
}

inline std::string chunk(std::string_view text) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string size;
  for (std::size_t left = text.size(); left > 0; left /= 16) {
    size.insert(size.begin(), kDigits[left % 16]);
  }
  return (size.empty() ? "0" : size) + "\r\n" + std::string(text) + "\r\n";
}

// What a server sends, piece by piece. Without an end the connection stays open, and silent.
struct Play {
  struct Piece {
    base::Duration after{};
    std::string text{};
  };
  std::vector<Piece> pieces{};
  bool closes = false;
  bool goes_on = false;  // the last piece again and again, for ever
};

inline std::string dht_head() {
  return "HTTP/1.1 200 OK\r\nServer: RESTinio\r\nContent-Type: application/json\r\n"
         "Transfer-Encoding: chunked\r\n\r\n";
}
// A whole answer after so long a time.
inline Play dht_says(const std::vector<catalog::ProviderRecord>& records,
                     base::Duration after = {}) {
  std::string text = dht_head();
  for (const catalog::ProviderRecord& record : records) text += chunk(dht_line(record));
  return {.pieces = {{after, text + chunk("")}}};
}
inline Play silent() { return {}; }
inline Play says(int status, std::string_view type, std::string_view body,
                 std::string_view more = "") {
  return {.pieces = {{{},
                      "HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Type: " +
                          std::string(type) + "\r\n" + std::string(more) + "Content-Length: " +
                          std::to_string(body.size()) + "\r\n\r\n" + std::string(body)}}};
}

// A server in a node of its own. Counts whoever leaves before it was done.
class ScriptedServer {
 public:
  explicit ScriptedServer(sim::World& world) : node_(world.add_node()) { live(); }

  [[nodiscard]] std::string url() const { return "http://" + node_.endpoint(80).text(); }
  void live() { serving_ = std::make_unique<Root>(node_.core(), serve(this)); }
  // Connections are refused, and those there are end.
  void die() {
    serving_.reset();
    connections_.clear();
  }

  Play play;                          // to every request
  std::vector<std::string> requests;  // head and body
  std::size_t left_early = 0;  // connections closed by the client while it was to be answered

 private:
  static Task<void> serve(ScriptedServer* self) {
    const auto listener = self->node_.net().listen(self->node_.endpoint(80));
    for (;;) {
      auto stream = co_await platform::test::accept(listener->get());
      self->connections_.push_back(
          std::make_unique<Root>(self->node_.core(), talk(self, std::move(stream))));
    }
  }
  static bool is_whole(const std::string& text) {
    const std::size_t end = text.find("\r\n\r\n");
    if (end == std::string::npos) return false;
    constexpr std::string_view kLength = "Content-Length: ";
    const std::size_t at = text.find(kLength);
    const std::size_t body = at == std::string::npos ? 0 : std::stoul(text.substr(at + 16));
    return text.size() >= end + 4 + body;
  }
  static Task<void> talk(ScriptedServer* self, std::unique_ptr<platform::Stream> stream) {
    for (;;) {
      std::string text;
      while (!is_whole(text)) {
        const auto read = co_await platform::test::read_up_to(stream.get(), 1);
        if (read.text.empty()) co_return;
        text += read.text;
      }
      self->requests.push_back(text);
      const Play play = self->play;
      const bool sent = co_await perform(stream.get(), play);
      if (!sent) ++self->left_early;
      if (!sent) co_return;
      if (play.closes) co_return;
      if (!play.pieces.empty() && play.pieces.back().text.ends_with("0\r\n\r\n")) continue;
      if (!play.pieces.empty() && play.pieces.front().text.contains("Content-Length")) continue;
      co_await platform::test::read_up_to(stream.get(), 1);  // whoever waits for more leaves
      ++self->left_early;
      co_return;
    }
  }
  static Task<bool> perform(platform::Stream* stream, Play play) {
    for (std::size_t i = 0; i < play.pieces.size();) {
      const Play::Piece& piece = play.pieces[i];
      if (piece.after > base::Duration::zero()) co_await runtime::sleep_for(piece.after);
      const int error = co_await platform::test::write_all(stream, piece.text);
      if (error != 0) co_return false;
      if (i + 1 < play.pieces.size() || !play.goes_on) ++i;
    }
    co_return true;
  }

  sim::Node& node_;
  std::vector<std::unique_ptr<Root>> connections_;
  std::unique_ptr<Root> serving_;
};

}  // namespace ron::index::test
