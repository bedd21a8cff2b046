#include "services/registry/views.h"

#include <mutex>
#include <utility>

#include "base/json.h"
#include "services/registry/wires.h"

namespace ron::registry {
namespace {

HeadPtr render(const chain::Head& head) {
  HeadView view{head, {}, {}, {}};
  const std::string hash = head.hash.text();
  view.etag = "\"" + hash + "\"";
  view.header_lines =
      "Content-Type: application/json\r\nCache-Control: no-cache\r\nETag: " + view.etag + "\r\n";
  base::JsonWriter json(view.json);
  json.begin_object().key("version").value(head.version).key("hash").value(hash).end_object();
  view.json += '\n';
  return std::make_shared<const HeadView>(std::move(view));
}

}  // namespace

Views::Views() : lock_(kStateLock) {}

void Views::start(chain::State state, Pending pending) {
  HeadPtr head = render(state.head());
  const std::lock_guard lock(lock_);
  state_ = std::move(state);
  pending_ = std::move(pending);
  head_ = std::move(head);
}

void Views::publish(const std::vector<Version>& versions) {
  if (versions.empty()) return;
  HeadPtr head = render({versions.back().entry.version, versions.back().hash});
  const std::lock_guard lock(lock_);
  for (const Version& version : versions) {
    state_.apply(version.entry, version.payload, base::as_bytes(version.bytes), version.hash);
    const auto found = pending_.find(version.entry.proposal.text());
    if (found != pending_.end()) pending_.erase(found);
  }
  head_.swap(head);
}

void Views::publish(const std::vector<std::pair<std::string, std::optional<Proposal>>>& pending) {
  if (pending.empty()) return;
  const std::lock_guard lock(lock_);
  for (const auto& [id, proposal] : pending) {
    if (proposal) {
      pending_.insert_or_assign(id, *proposal);
    } else if (const auto found = pending_.find(id); found != pending_.end()) {
      pending_.erase(found);
    }
  }
}

HeadPtr Views::head() const {
  const std::lock_guard lock(lock_);
  return head_;
}

std::optional<Proposal> Views::proposal(std::string_view id) const {
  const std::lock_guard lock(lock_);
  const auto found = pending_.find(id);
  return found == pending_.end() ? std::nullopt : std::optional(found->second);
}

Pending Views::pending() const {
  const std::lock_guard lock(lock_);
  return pending_;
}

std::size_t Views::pending_count() const {
  const std::lock_guard lock(lock_);
  return pending_.size();
}

chain::DescriptorPtr Views::descriptor(std::string_view key) const {
  const std::lock_guard lock(lock_);
  const auto found = state_.descriptors().find(key);
  return found == state_.descriptors().end() ? nullptr : found->second;
}

chain::State Views::state() const {
  const std::lock_guard lock(lock_);
  return state_;
}

chain::Governance Views::governance() const {
  const std::lock_guard lock(lock_);
  return state_.governance();
}

}  // namespace ron::registry
