#include "http/name_cache.h"

#include <algorithm>
#include <utility>

namespace ron::http {

using base::Code;
using base::fail;
using platform::Endpoint;
using platform::TimePoint;

namespace {

// An address needs no name service, which may not even like it.
std::optional<Endpoint> literal(const std::string& name, std::uint16_t port) {
  const bool bare_v6 = name.find(':') != std::string::npos && !name.starts_with('[');
  const std::string host = bare_v6 ? "[" + name + "]" : name;
  const auto parsed = Endpoint::parse(host + ":" + std::to_string(port));
  if (!parsed || parsed->is_unix()) return std::nullopt;
  return *parsed;
}

}  // namespace

Addresses::Addresses(std::vector<Endpoint> endpoints, const Addresses* before)
    : turn_(before != nullptr ? before->turn_ : 0) {
  endpoints.resize(std::min(endpoints.size(), kMost));
  for (Endpoint& endpoint : endpoints) {
    TimePoint avoid_until{};
    for (std::size_t i = 0; before != nullptr && i < before->all_.size(); ++i) {
      if (before->all_[i].endpoint == endpoint) avoid_until = before->all_[i].avoid_until;
    }
    all_.push_back({std::move(endpoint), avoid_until});
  }
}

Addresses::Order Addresses::next_order(TimePoint now) noexcept {
  Order order;
  const std::size_t first = turn_++ % all_.size();
  for (const bool avoided : {false, true}) {
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const std::size_t position = (first + i) % all_.size();
      if ((all_[position].avoid_until > now) != avoided) continue;
      order.positions_[order.size_++] = static_cast<std::uint8_t>(position);
    }
  }
  return order;
}

std::shared_ptr<Addresses> NameCache::find(std::string_view name, std::uint16_t port) {
  const auto found = entries_.find(KeyView{name, port});
  if (found == entries_.end() || !found->second.addresses) return nullptr;
  Entry& entry = found->second;
  const TimePoint now = platform::Executor::current()->now();
  entry.used_at = now;
  if (now < entry.holds_until) return entry.addresses;
  if (now >= entry.holds_until + settings_.name_ttl) return nullptr;
  const std::shared_ptr<Addresses> known = entry.addresses;
  ask(entry);
  return known;
}

NameCache::Answer NameCache::answer_of(const Entry& entry) {
  if (entry.addresses) return entry.addresses;
  return fail(entry.failure);
}

NameCache::Entry* NameCache::entry_of(std::string_view name, std::uint16_t port) {
  const auto found = entries_.find(KeyView{name, port});
  if (found != entries_.end()) return &found->second;
  if (entries_.size() >= kNames) {
    auto oldest = entries_.end();
    for (auto each = entries_.begin(); each != entries_.end(); ++each) {
      if (each->second.is_asking()) continue;
      if (oldest == entries_.end() || each->second.used_at < oldest->second.used_at) oldest = each;
    }
    if (oldest == entries_.end()) return nullptr;
    entries_.erase(oldest);
  }
  const Key key{std::string(name), port};
  Entry& entry = entries_[key];
  entry.key = key;
  return &entry;
}

platform::Task<NameCache::Answer> NameCache::resolve(std::string name, std::uint16_t port,
                                                     runtime::Deadline deadline) {
  if (closed_) co_return fail(Code::Canceled, "the client is shutting down");
  if (settings_.resolver == nullptr) {
    co_return fail(Code::Malformed, "this client does not look up host names");
  }
  Entry* const entry = entry_of(name, port);
  if (entry == nullptr) co_return fail(Code::Busy, "too many host names are being looked up");
  entry->used_at = platform::Executor::current()->now();
  if (entry->used_at < entry->holds_until) co_return answer_of(*entry);
  std::erase_if(entry->waiting, [](const auto& reply) { return reply.abandoned(); });
  if (entry->waiting.size() >= settings_.max_waiting) {
    co_return fail(Code::Busy, "too many requests wait for the addresses of '" + name + "'");
  }
  auto channel = runtime::oneshot<Answer>();
  entry->waiting.push_back(std::move(channel.first));
  ask(*entry);
  auto answer = co_await channel.second.recv(deadline);
  if (answer) co_return std::move(*answer);
  if (answer.error() == runtime::Waited::Closed) {
    co_return fail(Code::Canceled, "the client is shutting down");
  }
  co_return fail(Code::Timeout, "looking up host '" + name + "' took too long");
}

void NameCache::close() noexcept {
  closed_ = true;
  for (auto& [key, entry] : entries_) entry.waiting.clear();
}

void NameCache::ask(Entry& entry) {
  if (closed_ || entry.is_asking()) return;
  if (auto itself = literal(entry.key.name, entry.key.port)) {
    note(entry, std::vector{std::move(*itself)});
    if (entry.addresses) entry.holds_until = platform::kNever;
    return;
  }
  entry.asking.emplace(look_up(&entry));
}

// An entry stays where it is while it is being asked about.
platform::Task<bool> NameCache::look_up(Entry* entry) {
  auto found = co_await settings_.resolver->resolve(entry->key.name, entry->key.port);
  note(*entry, std::move(found));
  co_return true;
}

void NameCache::note(Entry& entry, base::Result<std::vector<Endpoint>> found) {
  const TimePoint now = platform::Executor::current()->now();
  if (found && settings_.allow_address) {
    std::erase_if(*found, [&](const Endpoint& each) { return !settings_.allow_address(each); });
  }
  if (found && !found->empty()) {
    entry.addresses = std::make_shared<Addresses>(std::move(*found), entry.addresses.get());
    entry.holds_until = now + settings_.name_ttl;
  } else if (found) {
    entry.addresses.reset();
    entry.failure = {Code::NotAllowed, "no address of '" + entry.key.name + "' may be used"};
    entry.holds_until = now + settings_.name_ttl;
  } else {
    // A host that is not found must not be taken for an object that is not.
    if (found.error().code == Code::NotFound) entry.addresses.reset();
    entry.failure = {Code::UpstreamFail, std::move(found.error().message)};
    entry.holds_until = now + settings_.name_failure_ttl;
  }
  for (auto& reply : std::exchange(entry.waiting, {})) {
    static_cast<void>(std::move(reply).send(answer_of(entry)));
  }
}

}  // namespace ron::http
