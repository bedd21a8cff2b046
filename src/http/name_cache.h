// NameCache: the addresses of host names, remembered for a while.
//
// The name service is asked away from the cores (platform/resolver.h) and once for all who want the
// same name at the same time. Addresses that are older than the time they hold are used once more
// while they are asked for anew, if they are not older than twice that, or if the name service
// cannot tell now. That a host does not exist is remembered, too, for a shorter time.
//
// Bounded: kNames names (the one unused for longest makes room), kAddresses of each, max_waiting
// requests that wait for one name. One executor; belongs to a client. A name is compared as it is
// given.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/client_settings.h"
#include "platform/executor.h"
#include "platform/net.h"
#include "platform/task.h"
#include "runtime/background.h"
#include "runtime/deadline.h"
#include "runtime/oneshot.h"

namespace ron::http {

// The addresses of one name, at least one, and which of them failed lately. Shared by the requests
// that try them.
class Addresses {
 public:
  static constexpr std::size_t kMost = 16;  // further ones are not used
  // One that failed is tried after the others for this long.
  static constexpr base::Duration kAvoided = std::chrono::seconds(10);

  // What `before` knows of an address is kept.
  explicit Addresses(std::vector<platform::Endpoint> endpoints, const Addresses* before = nullptr);

  // Positions in the order in which the next request tries them: each request begins with another
  // one, and those that failed lately come last.
  class Order {
   public:
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] std::size_t operator[](std::size_t at) const noexcept { return positions_[at]; }

   private:
    friend class Addresses;
    std::array<std::uint8_t, kMost> positions_{};
    std::size_t size_ = 0;
  };
  [[nodiscard]] Order next_order(platform::TimePoint now) noexcept;

  [[nodiscard]] const platform::Endpoint& endpoint(std::size_t position) const noexcept {
    return all_[position].endpoint;
  }
  void failed(std::size_t position, platform::TimePoint now) noexcept {
    all_[position].avoid_until = now + kAvoided;
  }
  void answered(std::size_t position) noexcept { all_[position].avoid_until = {}; }

 private:
  struct Address {
    platform::Endpoint endpoint;
    platform::TimePoint avoid_until{};
  };
  std::vector<Address> all_;
  std::size_t turn_ = 0;
};

class NameCache {
 public:
  static constexpr std::size_t kNames = 256;

  using Answer = base::Result<std::shared_ptr<Addresses>>;

  // `settings` outlives it.
  explicit NameCache(const ClientSettings& settings) noexcept : settings_(settings) {}
  NameCache(const NameCache&) = delete;
  NameCache& operator=(const NameCache&) = delete;

  // What is known now; nothing when resolve() has to wait for it.
  std::shared_ptr<Addresses> find(std::string_view name, std::uint16_t port);

  // UpstreamFail if there is no such host or nobody can tell, NotAllowed if none of its addresses
  // may be used, Busy, Timeout, Canceled after close(). Cancel-safe: the question goes on for the
  // next who asks.
  platform::Task<Answer> resolve(std::string name, std::uint16_t port, runtime::Deadline deadline);

  // Sends away those who wait.
  void close() noexcept;

 private:
  struct Key {
    std::string name;
    std::uint16_t port;
  };
  struct KeyView {
    std::string_view name;
    std::uint16_t port;
  };
  struct KeyLess {
    using is_transparent = void;
    template <class A, class B>
    bool operator()(const A& a, const B& b) const noexcept {
      const int order = std::string_view(a.name).compare(std::string_view(b.name));
      return order != 0 ? order < 0 : a.port < b.port;
    }
  };
  struct Entry {
    Key key;
    std::shared_ptr<Addresses> addresses;  // none: `failure` says why
    base::Error failure;
    platform::TimePoint holds_until{};
    platform::TimePoint used_at{};
    std::vector<runtime::OneshotSender<Answer>> waiting;
    std::optional<runtime::Background<bool>> asking;  // the latest question

    [[nodiscard]] bool is_asking() const noexcept { return asking && !asking->done(); }
  };

  [[nodiscard]] Entry* entry_of(std::string_view name, std::uint16_t port);
  void ask(Entry& entry);
  platform::Task<bool> look_up(Entry* entry);
  void note(Entry& entry, base::Result<std::vector<platform::Endpoint>> found);
  [[nodiscard]] static Answer answer_of(const Entry& entry);

  const ClientSettings& settings_;
  bool closed_ = false;
  std::map<Key, Entry, KeyLess> entries_;
};

}  // namespace ron::http
