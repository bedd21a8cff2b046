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

Views::Views() : lock_(kStateLock), state_(std::make_shared<const chain::State>()) {}

void Views::start(chain::State state, Pending pending) {
  HeadPtr head = render(state.head());
  auto shared = std::make_shared<const chain::State>(std::move(state));
  std::map<std::string, ProposalPtr, std::less<>> proposals;
  for (auto& [id, proposal] : pending) {
    proposals.emplace(id, std::make_shared<const Proposal>(std::move(proposal)));
  }
  const std::lock_guard lock(lock_);
  state_.swap(shared);
  pending_.swap(proposals);
  head_.swap(head);
}

void Views::publish(const std::vector<Version>& versions) {
  if (versions.empty()) return;
  HeadPtr head = render({versions.back().entry.version, versions.back().hash});
  // Only this task changes the state: it is read without the lock.
  auto next = std::make_shared<chain::State>(*state_);
  for (const Version& version : versions) {
    next->apply(version.entry, version.payload, base::as_bytes(version.bytes), version.hash);
  }
  StatePtr state = std::move(next);
  const std::lock_guard lock(lock_);
  for (const Version& version : versions) {
    const auto found = pending_.find(version.entry.proposal.text());
    if (found != pending_.end()) pending_.erase(found);
  }
  state_.swap(state);
  head_.swap(head);
}

void Views::publish(const std::vector<std::pair<std::string, std::optional<Proposal>>>& pending) {
  if (pending.empty()) return;
  std::vector<ProposalPtr> made;
  made.reserve(pending.size());
  for (const auto& [id, proposal] : pending) {
    made.push_back(proposal ? std::make_shared<const Proposal>(*proposal) : nullptr);
  }
  const std::lock_guard lock(lock_);
  for (std::size_t i = 0; i < pending.size(); ++i) {
    const std::string& id = pending[i].first;
    if (made[i]) {
      pending_.insert_or_assign(id, std::move(made[i]));
    } else if (const auto found = pending_.find(id); found != pending_.end()) {
      pending_.erase(found);
    }
  }
}

HeadPtr Views::head() const {
  const std::lock_guard lock(lock_);
  return head_;
}

StatePtr Views::state() const {
  const std::lock_guard lock(lock_);
  return state_;
}

chain::DescriptorPtr Views::descriptor(std::string_view key) const {
  const StatePtr now = state();
  const auto found = now->descriptors().find(key);
  return found == now->descriptors().end() ? nullptr : found->second;
}

ProposalPtr Views::proposal(std::string_view id) const {
  const std::lock_guard lock(lock_);
  const auto found = pending_.find(id);
  return found == pending_.end() ? nullptr : found->second;
}

std::vector<ProposalPtr> Views::pending_after(std::string_view after, std::size_t most,
                                              std::int64_t now_ms) const {
  std::vector<ProposalPtr> page;
  page.reserve(most);
  const std::lock_guard lock(lock_);
  for (auto it = pending_.upper_bound(after); it != pending_.end() && page.size() < most; ++it) {
    if (it->second->what->expires_ms > now_ms) page.push_back(it->second);
  }
  return page;
}

std::size_t Views::pending_count() const {
  const std::lock_guard lock(lock_);
  return pending_.size();
}

Pending Views::durable_pending() const {
  Pending pending;
  for (const auto& [id, proposal] : pending_) pending.emplace(id, *proposal);
  return pending;
}

}  // namespace ron::registry
