#include "chain/log_check.h"

#include <algorithm>
#include <utility>

#include "chain/proof.h"

namespace ron::chain {

std::optional<std::uint64_t> CommittedProposals::add(const Entry& entry) {
  if (by_id_.size() >= tidy_at_) {
    std::erase_if(by_id_, [&](const auto& item) { return item.second.expires_ms <= entry.at_ms; });
    tidy_at_ = std::max(kFewest, 2 * by_id_.size());
  }
  const auto [found, is_new] = by_id_.try_emplace(std::string(entry.proposal.text()),
                                                  Place{entry.version, entry.expires_ms});
  return is_new ? std::nullopt : std::optional(found->second.version);
}

std::string version_name(std::uint64_t version) { return "version " + std::to_string(version); }

void LogCheck::report(std::string where, std::string what) {
  ++problems_;
  on_problem_({std::move(where), std::move(what)});
}

void LogCheck::add(NamedCheckpoint checkpoint) { checkpoints_.push_back(std::move(checkpoint)); }

void LogCheck::add_restart(State state) {
  know_log(state.log());
  restarts_.push_back(std::move(state));
}

void LogCheck::know_log(const base::ObjectId& log) {
  if (log_ && *log_ == log) return;
  if (log_) {
    report("the log", "its id is " + log.text() + " here and " + log_->text() + " there");
    return;
  }
  log_ = log;
}

void LogCheck::take(std::uint64_t version, base::ByteView bytes) {
  if (!std::exchange(begun_, true)) {
    std::ranges::sort(checkpoints_, {},
                      [](const NamedCheckpoint& named) { return named.checkpoint.version; });
    if (version == 0) state_.emplace();
    if (version == 0) tree_.emplace();
    check_first(version);
  }
  ++entries_;
  const base::ObjectId hash = hash_of(bytes);
  const bool follows = version == 0 || (head_ && head_->version + 1 == version);
  if (!follows && head_) state_.reset();
  if (state_ && !replay(version, bytes)) {
    state_.reset();
  } else if (!state_) {
    follow(version, bytes, hash);
  }
  head_ = Head{version, hash};
  if (!state_) {
    const auto restart = std::ranges::find(restarts_, *head_, &State::head);
    if (restart != restarts_.end()) state_ = *restart;
  }
  if (state_) at_ms_ = state_->at_ms();
  if (state_) know_log(state_->log());
  // A tree that lacks a leaf says nothing any more.
  if (tree_ && tree_->size() != version) tree_.reset();
  if (tree_) tree_->append(leaf_hash(bytes));
  for (; next_checkpoint_ < checkpoints_.size(); ++next_checkpoint_) {
    NamedCheckpoint& named = checkpoints_[next_checkpoint_];
    if (named.checkpoint.version > version) break;
    if (named.checkpoint.version == version) compare(named, hash);
  }
}

// Whatever is gone was announced before.
void LogCheck::check_first(std::uint64_t version) {
  std::uint64_t pruned_below = 0;
  for (const NamedCheckpoint& named : checkpoints_) {
    pruned_below = std::max(pruned_below, named.checkpoint.pruned_below);
  }
  if (version <= pruned_below) return;
  report("the log", "it begins with version " + std::to_string(version) +
                        ", and checkpoints say that only versions below " +
                        std::to_string(pruned_below) + " may be gone: versions were lost");
}

// As the next version of the state. False: it may not be.
bool LogCheck::replay(std::uint64_t version, base::ByteView bytes) {
  const auto taken = take_next(*state_, bytes, Signatures::Verify);
  if (!taken) {
    report(version_name(version), taken.error().message);
    return false;
  }
  ++replayed_;
  ++with_quorum_;
  check_proposal(*taken);
  return true;
}

void LogCheck::check_proposal(const Entry& entry) {
  if (const auto before = committed_.add(entry)) {
    report(version_name(entry.version),
           "its proposal was committed before, as version " + std::to_string(*before));
  }
}

// As far as that goes without the state before it.
void LogCheck::follow(std::uint64_t version, base::ByteView bytes, const base::ObjectId& hash) {
  const auto entry = decode_entry(bytes);
  if (!entry) return report(version_name(version), entry.error().message);
  if (entry->version != version) {
    return report(version_name(version),
                  "it says that it is version " + std::to_string(entry->version));
  }
  if (head_ && head_->version + 1 == version) {
    if (entry->prev != head_->hash) {
      report(version_name(version), "prev is not the hash of version " +
                                        std::to_string(head_->version) +
                                        " as it is here: one of the two was changed");
    }
    if (entry->at_ms < at_ms_) report(version_name(version), "it is older than the one before");
  }
  at_ms_ = entry->at_ms;
  if (version == 0) know_log(hash);
  const auto payload = decode_payload(base::as_bytes(entry->payload));
  if (!payload) return report(version_name(version), payload.error().message);
  check_approvals(*entry, hash);
  check_proposal(*entry);
}

void LogCheck::check_approvals(const Entry& entry, const base::ObjectId& hash) {
  if (!governance_ || entry.version > governance_->head.version) return;
  const auto quorum = check_quorum(*governance_, entry, hash, Signatures::Trust);
  if (quorum) {
    ++with_quorum_;
  } else {
    report(version_name(entry.version), quorum.error().message);
  }
}

void LogCheck::compare(NamedCheckpoint& named, const base::ObjectId& hash) {
  const Checkpoint& checkpoint = named.checkpoint;
  if (checkpoint.hash != hash) {
    report(named.where, "it signs another " + version_name(checkpoint.version) +
                            " than the log has: " + checkpoint.hash.text() + ", not " +
                            hash.text());
  }
  if (tree_ && tree_->root() == checkpoint.root) named.root_confirmed = true;
  if (tree_ && !named.root_confirmed) {
    report(named.where,
           "its root is not that of the entries up to " + version_name(checkpoint.version));
  }
  if (!state_) return;
  named.state_confirmed = take_snapshot(*state_).hash() == checkpoint.state;
  if (!named.state_confirmed) {
    report(named.where,
           "its state is not what the log says at " + version_name(checkpoint.version));
  }
}

void LogCheck::finish() {
  for (const NamedCheckpoint& named : checkpoints_) {
    const Checkpoint& checkpoint = named.checkpoint;
    if (log_ && log_origin(*log_) != checkpoint.origin) {
      report(named.where, "it is of another log: " + checkpoint.origin + ", and this one is " +
                              log_origin(*log_));
      continue;
    }
    if (head_ && checkpoint.version <= head_->version) continue;
    report(named.where,
           "it signs version " + std::to_string(checkpoint.version) +
               (head_ ? ", and the log ends with version " + std::to_string(head_->version)
                      : ", and the log has none") +
               ": versions were lost, or the log was rolled back");
  }
}

}  // namespace ron::chain
