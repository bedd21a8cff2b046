#include "services/registry/store.h"

#include <algorithm>
#include <map>

#include "chain/genesis.h"
#include "chain/proof.h"
#include "services/kit/key_file.h"
#include "services/registry/genesis.h"
#include "services/registry/wires.h"
#include "volume/files.h"

namespace ron::registry {
namespace {

using base::Code;
using base::fail;
using base::Result;
using platform::Task;

constexpr std::uint64_t kJournalSegmentBytes = 4 * base::kMiB;
// Part of a start, which an operator waits for.
constexpr platform::BlockingKind kCheckPending{"check_pending_approvals", std::chrono::minutes(10)};
constexpr std::size_t kReadFrames = 1024;
constexpr std::size_t kReadBytes = 4 * base::kMiB;

chain::FrameLogOptions log_options(platform::Host& host, platform::Disk* disk,
                                   const StoreOptions& options, std::string_view name,
                                   std::uint64_t segment_bytes) {
  return {.disk = disk,
          .random = &host.random,
          .lock = &kSegmentsLock,
          .directory = options.directory + "/" + std::string(name),
          .segment_bytes = segment_bytes,
          .on_trouble = options.on_trouble};
}

using Keys = std::map<std::string, auth::PublicKey, std::less<>>;

void add_keys(const chain::Change& change, Keys& keys) {
  const chain::SignerSet* set = nullptr;
  if (const auto* genesis = change.as<chain::Genesis>()) set = &genesis->set;
  if (const auto* rotate = change.as<chain::Rotate>()) set = &rotate->set;
  if (const auto* supersede = change.as<chain::Supersede>()) add_keys(*supersede->change, keys);
  if (set == nullptr) return;
  for (const chain::Signer& signer : set->signers) keys.emplace(signer.id, signer.key);
}

// Everybody who ever was a signer: who left may be brought back by a supersede.
Keys keys_of(const chain::State& state) {
  Keys keys;
  for (const std::string& bytes : state.governance_entries()) {
    const auto entry = chain::decode_entry(base::as_bytes(bytes));
    if (!entry) continue;
    const auto payload = chain::decode_payload(base::as_bytes(entry->payload));
    if (payload) add_keys(payload->change, keys);
  }
  return keys;
}

// Approvals in the journal that do not verify do not count, whoever wrote them there.
Result<std::size_t> drop_forged(Pending& pending, const chain::State& state,
                                const base::StopToken& stop) {
  const Keys known = keys_of(state);
  std::size_t dropped = 0;
  for (auto& [id, proposal] : pending) {
    if (stop.requested()) return fail(stop.error());
    const Proposed& what = *proposal.what;
    Keys keys = known;
    add_keys(what.parsed.change, keys);
    const std::string text =
        chain::approval_text(state.log(), id, what.payload_b3, what.expires_ms);
    dropped += std::erase_if(proposal.approvals, [&](const chain::Approval& approval) {
      const auto found = keys.find(approval.signer);
      if (found == keys.end()) return true;
      const auto key = auth::VerifyingKey::make(found->second);
      return !key || !key->verify(base::as_bytes(text), approval.signature);
    });
  }
  return dropped;
}

}  // namespace

Store::Store(platform::Host host, platform::Disk* disk, StoreOptions options)
    : host_(host),
      disk_(disk),
      options_(std::move(options)),
      log_(log_options(host_, disk_, options_, "log", options_.segment_bytes)),
      journal_(log_options(host_, disk_, options_, "pending", kJournalSegmentBytes)),
      tree_(disk_, options_.directory + "/tree", kTreeLock),
      checkpoints_(disk_, options_.directory + "/checkpoints") {}

// Its own name, too, has to outlast a power cut: without it the whole log would be gone.
Task<Result<void>> Store::make_directories() {
  Result<void> made = co_await volume::make_directories(disk_, options_.directory, "checkpoints");
  if (!made) {
    co_return fail(made.error().code, options_.directory + ": " + made.error().message);
  }
  co_return made;
}

// A new key would not be believed by those who keep the log's checkpoints.
Task<Result<void>> Store::check_key_is_not_lost() {
  const std::string path = options_.keys + "/" + std::string(kCheckpointKeyName);
  const auto key = co_await disk_->open(path, {platform::OpenMode::ReadExisting, false});
  if (key || key.error().code != Code::NotFound) co_return Result<void>();
  const std::string checkpoints = options_.directory + "/checkpoints";
  const auto names = co_await disk_->list(checkpoints);
  if (!names) co_return fail(names.error());
  if (names->empty()) co_return Result<void>();
  co_return fail(Code::NotFound,
                 path + " is missing, with which the checkpoints in '" + checkpoints +
                     "' were signed: restore it; if nothing was pruned they can be removed "
                     "instead, and the log goes on under a new key");
}

// In amnesia mode it lives as long as the process.
Task<Result<void>> Store::load_key() {
  if (!options_.is_amnesiac) {
    const Result<void> is_there = co_await check_key_is_not_lost();
    if (!is_there) co_return is_there;
    auto key = co_await load_checkpoint_key(disk_, &host_.random, options_.keys);
    if (!key) co_return fail(std::move(key.error()));
    key_ = std::move(*key);
    co_return Result<void>();
  }
  auto key = kit::new_signing_key(host_.random);
  if (!key) co_return fail(std::move(key.error()));
  key_ = std::move(*key);
  co_return Result<void>();
}

Task<Result<Store::Opened>> Store::open() {
  Opened opened;
  Result<void> done = co_await make_directories();
  if (done) done = co_await load_key();
  if (done) done = co_await replay_log(&opened);
  if (done) done = co_await replay_journal(&opened);
  if (!done) co_return fail(std::move(done.error()));
  co_return opened;
}

Task<void> Store::close() {
  co_await log_.close();
  co_await journal_.close();
}

Task<Result<void>> Store::replay_log(Opened* opened) {
  auto base = co_await checkpoints_.open(key_->public_key());
  if (!base) co_return fail(std::move(base.error()));
  std::optional<std::uint64_t> version;
  std::uint64_t from = 0;
  if (*base) {
    opened->state = std::move((*base)->state);
    version = opened->state.head().version;
    from = *version + 1 - std::min(*version + 1, kRecentBefore);
  }
  const chain::FrameVisitor visit = [this, opened, version](const chain::FrameView& frame) {
    return take_entry(frame, opened, version);
  };
  Result<void> done = co_await log_.open(from, visit);
  if (!done) co_return done;
  const std::uint64_t next = opened->state.is_empty() ? 0 : opened->state.head().version + 1;
  if (log_.next() > next) {
    co_return fail(Code::IntegrityFail, "the log does not begin with version 0");
  }
  if (version && log_.next() <= *version) {
    co_return fail(Code::IntegrityFail, "the log ends before its signed checkpoint of version " +
                                            std::to_string(*version) +
                                            ": versions were lost or rolled back");
  }
  if (log_.first() > checkpoints_.pruned_below()) {
    co_return fail(Code::IntegrityFail,
                   "the log begins with version " + std::to_string(log_.first()) +
                       ", and no checkpoint says that versions before it may be gone: segments "
                       "were lost");
  }
  done = co_await open_tree(version ? *version + 1 : 0);
  if (!done) co_return done;
  if (opened->state.is_empty()) co_return co_await begin_log(opened);
  co_return name_signer(opened->state.log());
}

Result<void> Store::name_signer(const base::ObjectId& log) {
  auto signer = chain::NoteSigner::make(chain::log_origin(log), std::move(*key_));
  if (!signer) return fail(std::move(signer.error()));
  signer_ = std::move(*signer);
  return {};
}

// Entries up to the checkpoint `base` are only remembered; its own has to be what it says.
Result<void> Store::take_entry(const chain::FrameView& frame, Opened* opened,
                               std::optional<std::uint64_t> base) {
  const auto wrong = [&frame](const base::Error& why) {
    return fail(Code::IntegrityFail,
                "version " + std::to_string(frame.number) + " of the log: " + why.message);
  };
  if (base && frame.number <= *base) {
    auto entry = chain::decode_entry(frame.bytes);
    if (!entry) return wrong(entry.error());
    const chain::Head head{frame.number, chain::hash_of(frame.bytes)};
    if (frame.number == *base && head != opened->state.head()) {
      return wrong({Code::IntegrityFail, "it is not what the signed checkpoint says"});
    }
    opened->recent.emplace_back(entry->proposal.text(), head);
    return {};
  }
  auto entry = chain::take_next(opened->state, frame.bytes, chain::Signatures::Trust);
  if (!entry) return wrong(entry.error());
  leaves_.push_back(chain::leaf_hash(frame.bytes));
  opened->recent.emplace_back(entry->proposal.text(), opened->state.head());
  return {};
}

Task<Result<void>> Store::begin_log(Opened* opened) {
  std::optional<chain::SignerSet> signers = options_.signers;
  if (!signers) {
    Result<chain::SignerSet> made = chain::SignerSet{};
    if (options_.is_amnesiac) {
      made = make_lost_signers(host_.random);
    } else {
      made = co_await make_first_signers(disk_, &host_.random, options_.keys);
    }
    if (!made) co_return fail(std::move(made.error()));
    signers = std::move(*made);
  }
  const std::string bytes = chain::genesis_entry(*signers, host_.clock.unix_ms(), host_.random);
  auto taken = chain::take_next(opened->state, base::as_bytes(bytes), chain::Signatures::Trust);
  if (!taken) co_return fail(std::move(taken.error()));
  std::vector<std::string> frames;
  frames.push_back(bytes);
  auto written = co_await log_.append(std::move(frames));
  if (!written) co_return written;
  const chain::TreeHash leaf = chain::leaf_hash(base::as_bytes(bytes));
  tree_.append(std::span(&leaf, 1));
  opened->is_new = true;
  co_return name_signer(opened->state.log());
}

// A damaged tree can be made again as long as nothing was pruned.
Task<Result<void>> Store::open_tree(std::uint64_t size) {
  Result<void> done = co_await tree_.open(size);
  if (!done && log_.first() == 0) {
    if (options_.on_trouble) options_.on_trouble("the tree is made anew: " + done.error().message);
    done = co_await rebuild_tree(size);
  }
  if (!done) co_return done;
  tree_.append(leaves_);
  leaves_ = {};
  co_return done;
}

Task<Result<void>> Store::rebuild_tree(std::uint64_t size) {
  Result<void> emptied = co_await tree_.open(0);
  if (!emptied) co_return emptied;
  for (std::uint64_t next = 0; next < size;) {
    const auto frames =
        co_await log_.read(next, std::min<std::uint64_t>(kReadFrames, size - next), kReadBytes);
    if (!frames) co_return fail(frames.error());
    std::vector<chain::TreeHash> leaves;
    leaves.reserve(frames->size());
    for (const std::string& frame : *frames) {
      leaves.push_back(chain::leaf_hash(base::as_bytes(frame)));
    }
    tree_.append(leaves);
    next += frames->size();
  }
  co_return Result<void>();
}

Task<Result<void>> Store::replay_journal(Opened* opened) {
  JournalReplay said;
  const chain::FrameVisitor visit = [&said](const chain::FrameView& frame) {
    return chain::replay(frame.bytes, said);
  };
  auto done = co_await journal_.open(0, visit);
  if (!done && done.error().code == Code::IntegrityFail) {
    done.error().message +=
        "; or give up what is pending: remove '" + options_.directory + "/pending'";
  }
  if (!done) co_return done;
  opened->pending = std::move(said.pending);
  opened->withdrawn = std::move(said.withdrawn);
  for (const auto& [proposal, head] : opened->recent) {
    if (opened->pending.erase(proposal) != 0) opened->gone.push_back(proposal);
  }
  // By value: the work may outlast whoever waits for it.
  auto checked = co_await host_.blocking.run(
      kCheckPending, [pending = std::move(opened->pending),
                      state = opened->state](const base::StopToken& stop) mutable {
        Result<std::size_t> dropped = drop_forged(pending, state, stop);
        return std::pair(std::move(pending), std::move(dropped));
      });
  if (!checked) co_return fail(std::move(checked.error()));
  if (!checked->second) co_return fail(std::move(checked->second.error()));
  opened->pending = std::move(checked->first);
  if (*checked->second != 0 && options_.on_trouble) {
    options_.on_trouble(std::to_string(*checked->second) +
                        " approvals of pending proposals do not verify and were dropped");
  }
  co_return done;
}

}  // namespace ron::registry
