#include "services/registry/test_history.h"

#include <algorithm>
#include <utility>

#include "b3/hash.h"
#include "base/encoding.h"
#include "base/rfc3339.h"

namespace ron::registry {
namespace {

using base::Code;
using base::Value;

constexpr std::int64_t kBegan = 1'800'000'000'000;
constexpr std::int64_t kTtlMs = 60'000;
constexpr std::size_t kMaxPending = 6;
constexpr std::uint64_t kSteps = 40;
constexpr std::size_t kGenesisSigners = 4;

std::string name_of(const base::Error& why) { return std::string(why.name()); }

Value signer_value(const auth::PublicKey& key, std::optional<std::int64_t> not_after_s) {
  return chain::to_value(chain::make_signer("s", key, not_after_s));
}

Value::Map signers_value(std::string_view kind, std::uint64_t threshold, Value::Array signers) {
  return {{"kind", kind}, {"threshold", threshold}, {"signers", std::move(signers)}};
}

}  // namespace

const std::array<HistoryPlantName, 11> kHistoryPlants = {{
    {"skip-quorum", HistoryPlant::SkipQuorum, "a commit does not ask how many have approved"},
    {"count-twice", HistoryPlant::CountTwice, "an approval counts twice"},
    {"count-anybody", HistoryPlant::CountAnybody, "approvals of revoked and expired keys count"},
    {"wide-threshold", HistoryPlant::WideThreshold, "a threshold may be the number of signers"},
    {"skip-signature", HistoryPlant::SkipSignature, "nobody looks at signatures"},
    {"forget-commits", HistoryPlant::ForgetCommits, "a start does not remember commits"},
    {"keep-committed", HistoryPlant::KeepCommitted, "after a start it is pending once more"},
    {"lose-journal", HistoryPlant::LoseJournal, "a start does not read the journal"},
    {"lose-withdrawal", HistoryPlant::LoseWithdrawal, "a start forgets what was withdrawn"},
    {"answer-early", HistoryPlant::AnswerEarly, "answers come before the sync"},
    {"keep-superseded", HistoryPlant::KeepSuperseded, "a supersede undoes nothing"},
}};

void HistoryCounts::add(const HistoryCounts& other) {
  proposals += other.proposals;
  approvals += other.approvals;
  commits += other.commits;
  repeated += other.repeated;
  withdrawn += other.withdrawn;
  rotations += other.rotations;
  revocations += other.revocations;
  supersedes += other.supersedes;
  syncs += other.syncs;
  refused_batches += other.refused_batches;
  crashes += other.crashes;
  lost_versions += other.lost_versions;
  found_versions += other.found_versions;
  clock_back += other.clock_back;
  for (const auto& [name, count] : other.refusals) refusals[name] += count;
}

Keyring::Keyring() {
  for (std::size_t i = 0; i < kKeys; ++i) {
    std::array<std::byte, auth::SigningKey::kSeedBytes> seed{};
    seed.fill(static_cast<std::byte>(i + 1));
    keys_.push_back(*auth::SigningKey::from_seed(seed));
    ids_.push_back(chain::signer_id(keys_.back().public_key()));
  }
}

std::optional<std::size_t> Keyring::find(std::string_view id) const {
  const auto found = std::ranges::find(ids_, id);
  if (found == ids_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - ids_.begin());
}

auth::Signature Keyring::sign(std::size_t key, const std::string& text) {
  if (signed_.size() >= kMost) signed_.clear();
  const auto [place, is_new] = signed_.try_emplace({key, text});
  if (is_new) place->second = *keys_[key].sign(base::as_bytes(text));
  return place->second;
}

History::History(std::uint64_t seed, Keyring& keys, HistoryPlant plant, Print print)
    : keys_(keys),
      plant_(plant),
      print_(std::move(print)),
      random_(seed),
      now_ms_(kBegan),
      latest_ms_(kBegan),
      judge_(keys.cache()) {}

void History::violate(const std::string& what) {
  if (violation_.empty()) violation_ = what;
  note("VIOLATION: " + what);
}

void History::note(const std::string& what) {
  for (const char c : what) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  if (print_) print_(what);
}

ProposalRules History::rules() noexcept { return {kTtlMs, kMaxPending}; }

// The same genesis for every seed: what was signed for one of them is signed for many.
void History::begin() {
  Value::Array signers;
  for (std::size_t i = 0; i < kGenesisSigners; ++i) {
    signers.push_back(signer_value(keys_.public_key(i), std::nullopt));
  }
  const Value change(signers_value("genesis", 2, std::move(signers)));
  chain::Entry entry;
  entry.proposal = base::Ulid(kBegan, 0, 0);
  entry.payload = base::encode_cbor(Value(Value::Map{{"change", change}}));
  entry.at_ms = kBegan;
  log_.push_back(chain::encode(entry));
  if (const std::string wrong = judge_.take(log_.back()); !wrong.empty()) violate(wrong);
  recover();
}

std::string History::run() {
  begin();
  for (std::uint64_t i = 0; i < kSteps && violation_.empty(); ++i) step();
  if (violation_.empty()) sync();
  if (violation_.empty()) crash();
  return violation_;
}

void History::step() {
  move_clock();
  const std::uint64_t dice = below(100);
  if (dice < 18) {
    propose();
  } else if (dice < 52) {
    approve_any();
  } else if (dice < 66) {
    commit_any();
  } else if (dice < 86) {
    push_through();
  } else if (dice < 90) {
    expire();
  } else if (dice < 95) {
    withdraw_any();
  }
  if (violation_.empty() && chance(45)) end_batch();
}

void History::move_clock() {
  const std::uint64_t dice = below(100);
  if (dice < 55) return;
  if (dice < 90) now_ms_ += static_cast<std::int64_t>(below(8)) * 1000;
  if (dice >= 90 && dice < 95) now_ms_ += kTtlMs / 2;
  if (dice >= 95) {
    now_ms_ -= static_cast<std::int64_t>(below(40)) * 1000;
    ++counts_.clock_back;
  }
  latest_ms_ = std::max(latest_ms_, now_ms_);
}

// ---- what is sent

Value History::any_descriptor() {
  return Value(Value::Map{{"type", "region"},
                          {"id", "r" + std::to_string(below(4))},
                          {"title", "title " + std::to_string(below(4))}});
}

Value History::any_update() {
  Value::Array set;
  Value::Array remove;
  set.push_back(any_descriptor());
  if (chance(30)) {
    const std::string id = "r" + std::to_string(below(4));
    if (*set.front().find("id")->text() != id) remove.emplace_back("region/" + id);
  }
  Value::Map change{{"kind", "update"}, {"set", std::move(set)}};
  if (!remove.empty()) change.emplace("remove", std::move(remove));
  return Value(std::move(change));
}

// Also one whose threshold is too large, and one with a key that was revoked.
Value History::any_rotation() {
  const LogJudge::Rules& rules = judge_.at(judge_.size() - 1).rules;
  Value::Array signers;
  const std::uint64_t count = 2 + below(4);
  std::size_t key = below(Keyring::kKeys);
  for (std::size_t tries = 0; tries < Keyring::kKeys && signers.size() < count; ++tries) {
    key = (key + 1) % Keyring::kKeys;
    if (rules.revoked.contains(keys_.id(key)) && !chance(25)) continue;
    std::optional<std::int64_t> until;
    if (chance(25)) until = now_ms_ / 1000 + static_cast<std::int64_t>(below(60)) - 5;
    signers.push_back(signer_value(keys_.public_key(key), until));
  }
  const std::uint64_t most = std::max<std::size_t>(signers.size(), 1);
  const std::uint64_t threshold = chance(90) && most > 1 ? 1 + below(most - 1) : most + below(2);
  return Value(signers_value("signers", threshold, std::move(signers)));
}

Value History::any_revocation() {
  const LogJudge::Rules& rules = judge_.at(judge_.size() - 1).rules;
  std::string id = keys_.id(below(Keyring::kKeys));
  if (chance(85) && !rules.signers.empty()) {
    id = std::next(rules.signers.begin(), static_cast<std::ptrdiff_t>(below(rules.signers.size())))
             ->first;
  }
  return Value(
      Value::Map{{"kind", "revoke"}, {"signers", Value::Array{Value(id)}}, {"reason", "lost"}});
}

Value History::any_change(bool may_supersede) {
  const std::uint64_t dice = below(100);
  if (dice < 40) return any_update();
  if (dice < 60) return any_rotation();
  if (dice < 74) return any_revocation();
  if (dice < 76 && may_supersede) {
    return Value(signers_value("genesis", 1,
                               {signer_value(keys_.public_key(0), std::nullopt),
                                signer_value(keys_.public_key(1), std::nullopt)}));
  }
  if (!may_supersede) return any_update();
  const std::uint64_t head = judge_.size() - 1;
  return Value(Value::Map{{"kind", "supersede"},
                          {"version", chance(85) ? head : head + below(2) + 1},
                          {"reason", "wrong"},
                          {"change", any_change(false)}});
}

Value History::any_payload() {
  Value::Map payload{{"change", any_change(true)}};
  if (chance(30)) {
    const std::uint64_t head = judge_.size() - 1;
    const std::uint64_t version = chance(75) ? head : below(judge_.size());
    const base::ObjectId hash =
        chance(90) ? judge_.at(version).hash : b3::hash(base::as_bytes("another log"));
    payload.emplace("if_head", chain::to_value(chain::Head{version, hash}));
  }
  return Value(std::move(payload));
}

// The id is the same for the n-th proposal of every history, so that signatures are, too.
base::Result<Proposal> History::try_propose(const Value& value) {
  auto parsed = chain::parse_payload(value);
  if (!parsed && plant_ == HistoryPlant::WideThreshold) {
    const Value* const change = value.find("change");
    chain::SignerSet set{*change->find("threshold")->unsigned_number(), {}};
    for (const Value& one : *change->find("signers")->array()) {
      auth::PublicKey key;
      std::ranges::copy(*base::from_base64(*one.find("public_key")->text()), key.bytes.begin());
      set.signers.push_back(chain::make_signer("s", key));
    }
    std::ranges::sort(set.signers, {}, &chain::Signer::id);
    parsed = chain::Payload{chain::Change{chain::Rotate{std::move(set)}}, {}, {}};
  }
  if (!parsed) return base::fail(std::move(parsed.error()));
  ProposeJob job;
  job.payload = base::encode_cbor(value);
  job.parsed = std::move(*parsed);
  job.origin.tenant = kProposer;
  const base::Ulid id(static_cast<std::uint64_t>(kBegan), ++next_id_, 0);
  return planner_.propose(job, id, now_ms_, plan_);
}

void History::propose() {
  const Value value = any_payload();
  const bool is_full = planner_.pending().size() >= kMaxPending;
  const bool fits = judge_.fits(value, judge_.size());
  auto made = try_propose(value);
  if (!made) {
    count_refusal("propose", made.error());
    expect(is_full || !fits, "a good proposal is refused: " + made.error().message);
    return;
  }
  const Proposed& what = *made->what;
  const std::string id(what.id.text());
  note("propose " + id + " " + print_json(value));
  // A change of signers has room of its own; here all of them are one tenant's.
  const bool is_urgent = *value.find("change")->find("kind")->text() != "update";
  const std::size_t most =
      kMaxPending + (is_urgent ? ProposalRules::kReservedPerTenant : std::size_t{0});
  expect(planner_.pending().size() <= most, "more proposals are pending than may be");
  expect(fits, "a proposal that may not follow HEAD is taken");
  expect(what.expires_ms % 1000 == 0 && what.expires_ms <= now_ms_ + kTtlMs, "expires too late");
  ++counts_.proposals;
  known_[id] = {.payload = what.payload,
                .value = value,
                .payload_b3 = b3::hash(base::as_bytes(what.payload)),
                .expires_ms = what.expires_ms,
                .planned = {},
                .told = {},
                .told_version = {}};
  tell_.emplace_back([this, id] { known_.at(id).is_told = true; });
}

std::optional<std::string> History::any_proposal() {
  if (known_.empty()) return std::nullopt;
  const Pending& pending = planner_.pending();
  if (!pending.empty() && chance(85)) {
    return std::next(pending.begin(), static_cast<std::ptrdiff_t>(below(pending.size())))->first;
  }
  return std::next(known_.begin(), static_cast<std::ptrdiff_t>(below(known_.size())))->first;
}

bool History::is_pending(const std::string& id) const { return planner_.pending().contains(id); }

void History::approve_any() {
  const auto id = any_proposal();
  if (!id) return;
  const LogJudge::Rules& rules = judge_.at(judge_.size() - 1).rules;
  std::size_t key = below(Keyring::kKeys);
  if (chance(75)) {
    key = *keys_.find(
        std::next(rules.signers.begin(), static_cast<std::ptrdiff_t>(below(rules.signers.size())))
            ->first);
  }
  const std::uint64_t dice = below(100);
  const Flaw flaw = dice < 70   ? Flaw::None
                    : dice < 78 ? Flaw::Flipped
                    : dice < 84 ? Flaw::ForeignLog
                    : dice < 90 ? Flaw::Replayed
                    : dice < 95 ? Flaw::OtherExpiry
                                : Flaw::OtherSigner;
  approve(*id, key, flaw);
}

// What Core::approve does before it hands over: whose signature, and of what.
base::Result<Approved> History::try_approve(const std::string& id,
                                            const chain::Approval& approval) {
  const auto proposal = views_.proposal(id);
  if (!proposal) return base::fail(planner_.explain(id, now_ms_));
  const Proposed& what = *proposal->what;
  const chain::State& state = views_.durable_state();
  if (auto good = state.check(what.parsed); !good) return base::fail(std::move(good.error()));
  auto refusal = state.refusal_of(what.parsed.change, approval.signer, now_ms_);
  if (refusal) return base::fail(std::move(*refusal));
  const auto signer = state.signer_of(what.parsed.change, approval.signer);
  const std::string text = chain::approval_text(state.log(), id, what.payload_b3, what.expires_ms);
  if (plant_ != HistoryPlant::SkipSignature &&
      !keys_.cache().verify(signer->key, text, approval.signature)) {
    return base::fail(Code::InvalidSig, "the signature is not this signer's");
  }
  ApproveJob job;
  job.id = id;
  job.approval = approval;
  job.verified = proposal->what;
  return planner_.approve(job, now_ms_, plan_);
}

void History::approve(const std::string& id, std::size_t key, Flaw flaw) {
  // A client learns of a proposal when it is durable.
  if (is_pending(id) && !views_.proposal(id)) return;
  base::ObjectId log = judge_.log();
  if (flaw == Flaw::ForeignLog) log = b3::hash(base::as_bytes("another log"));
  const std::string other = flaw == Flaw::Replayed ? known_.begin()->first : id;
  const Known& signed_one = known_.at(other);
  const std::int64_t expires = signed_one.expires_ms + (flaw == Flaw::OtherExpiry ? 1000 : 0);
  const std::size_t by = flaw == Flaw::OtherSigner ? (key + 1) % Keyring::kKeys : key;
  const std::string text = text_to_approve(log, other, signed_one.payload_b3, expires);
  chain::Approval approval{keys_.id(key), keys_.sign(by, text)};
  if (flaw == Flaw::Flipped) {
    approval.signature[below(approval.signature.size())] ^= static_cast<std::byte>(1U << below(8));
  }
  const bool is_genuine = flaw == Flaw::None || (flaw == Flaw::Replayed && other == id);
  const auto answer = try_approve(id, approval);
  note("approve " + id + " by " + approval.signer +
       (answer ? ": done" : ": " + name_of(answer.error())));
  check_approved(id, key, is_genuine, answer);
  if (!answer) return;
  ++counts_.approvals;
  known_.at(id).planned.emplace(approval.signer, approval.signature);
  tell_.emplace_back([this, id, signer = approval.signer] { known_.at(id).told.insert(signer); });
}

// What must come of it: with one thing wrong the code says which.
void History::check_approved(const std::string& id, std::size_t key, bool is_genuine,
                             const base::Result<Approved>& answer) {
  using Doubt = LogJudge::Doubt;
  const Known& known = known_.at(id);
  const std::string& signer = keys_.id(key);
  const std::uint64_t size = judge_.size();
  const bool was_committed = judge_.version_of(id).has_value();
  const bool is_there = is_pending(id) && known.expires_ms > now_ms_;
  const bool fits = judge_.fits(known.value, size) && judge_.fits(known.value, log_.size());
  const Doubt doubt = judge_.doubt(known.value, size, signer, now_ms_);
  const Doubt earlier = judge_.doubt(known.value, log_.size(), signer, now_ms_);
  const bool is_twice = known.planned.contains(signer);
  const bool is_good = !was_committed && is_there && fits && doubt == Doubt::None &&
                       earlier == Doubt::None && is_genuine && !is_twice;
  if (answer) {
    expect(!was_committed && is_there, "an approval of what is not pending is taken");
    expect(is_genuine, "an approval with a wrong signature is taken");
    expect(!is_twice, "a second approval by the same signer is taken");
    expect(doubt == Doubt::None, "an approval by somebody who may not is taken");
    return;
  }
  count_refusal("approve", answer.error());
  expect(!is_good, "a good approval is refused: " + answer.error().message);
  if (was_committed || !is_there || !fits || doubt != earlier) return;
  const Code code = answer.error().code;
  if (doubt == Doubt::Unknown) expect(code == Code::NotAllowed, "unknown signer: another code");
  if (doubt == Doubt::Revoked) expect(code == Code::RevokedKey, "revoked signer: another code");
  if (doubt == Doubt::KeyExpired) expect(code == Code::RevokedKey, "expired key: another code");
  if (doubt != Doubt::None) return;
  if (!is_genuine) {
    expect(code == Code::InvalidSig, "wrong signature: another code");
  } else {
    expect(code == Code::DuplicateApproval, "duplicate: another code");
  }
}

void History::commit_any() {
  if (const auto id = any_proposal()) commit(*id);
}

// Approvals until it is enough, so that histories get somewhere.
void History::push_through() {
  if (planner_.pending().empty()) propose();
  const auto id = any_proposal();
  if (!id || !is_pending(*id)) return;
  if (!views_.proposal(*id)) end_batch();
  const Known& known = known_.at(*id);
  const std::size_t first = below(Keyring::kKeys);
  for (std::size_t i = 0; i < Keyring::kKeys && violation_.empty() && is_pending(*id); ++i) {
    const std::size_t key = (first + i) % Keyring::kKeys;
    if (!judge_.fits(known.value, judge_.size()) || known.planned.contains(keys_.id(key)) ||
        judge_.doubt(known.value, judge_.size(), keys_.id(key), now_ms_) != LogJudge::Doubt::None) {
      continue;
    }
    if (judge_.is_quorum(known.value, judge_.size(), known.planned, now_ms_)) break;
    approve(*id, key, Flaw::None);
    if (chance(10)) end_batch();
  }
  if (violation_.empty() && chance(85)) commit(*id);
}

base::Result<CommittedAs> History::try_commit(const std::string& id) {
  if (plant_ == HistoryPlant::KeepSuperseded && is_pending(id)) return commit_on_top(id);
  CommitJob job;
  job.id = id;
  auto answer = planner_.commit(job, now_ms_, plan_);
  if (answer || answer.error().code != Code::QuorumFailed) return answer;
  const Proposal& proposal = planner_.pending().at(id);
  std::vector<chain::Approval> counted = proposal.approvals;
  const std::uint64_t need = planner_.state().governance().set.threshold;
  if (plant_ == HistoryPlant::CountTwice) {
    std::erase_if(counted, [&](const chain::Approval& one) {
      return planner_.state()
          .refusal_of(proposal.what->parsed.change, one.signer, now_ms_)
          .has_value();
    });
    std::vector<chain::Approval> twice;
    for (const chain::Approval& one : counted) twice.insert(twice.end(), 2, one);
    counted = std::move(twice);
  }
  if (plant_ != HistoryPlant::SkipQuorum && counted.size() < need) return answer;
  if (plant_ != HistoryPlant::SkipQuorum && plant_ != HistoryPlant::CountTwice &&
      plant_ != HistoryPlant::CountAnybody) {
    return answer;
  }
  force_commit(id, std::move(counted));
  return CommittedAs{planner_.state().head(), true};
}

// For plants: what a planner that lacks a rule would do.
void History::force_commit(const std::string& id, std::vector<chain::Approval> approvals) {
  const Proposal proposal = planner_.pending().at(id);
  chain::State state = planner_.state();
  Version version;
  version.entry = {.version = state.head().version + 1,
                   .prev = state.head().hash,
                   .proposal = proposal.what->id,
                   .payload = proposal.what->payload,
                   .approvals = std::move(approvals),
                   .at_ms = std::max(now_ms_, state.at_ms()),
                   .expires_ms = proposal.what->expires_ms};
  version.payload = proposal.what->parsed;
  version.bytes = chain::encode(version.entry);
  version.hash = chain::hash_of(base::as_bytes(version.bytes));
  state.apply(version.entry, version.payload, base::as_bytes(version.bytes), version.hash);
  Pending pending = planner_.pending();
  pending.erase(id);
  planner_.reset(state, pending);
  planner_.add_recent(id, state.head());
  plan_.versions.push_back(std::move(version));
}

// For a plant: what supersedes is applied to HEAD as it is.
base::Result<CommittedAs> History::commit_on_top(const std::string& id) {
  chain::State state = planner_.state();
  CommitJob job;
  job.id = id;
  auto answer = planner_.commit(job, now_ms_, plan_);
  if (!answer) return answer;
  const Version& made = plan_.versions.back();
  const auto* const supersede = made.payload.change.as<chain::Supersede>();
  if (supersede == nullptr) return answer;
  state.apply(made.entry, chain::Payload{*supersede->change, {}, {}}, base::as_bytes(made.bytes),
              made.hash);
  const Pending pending = planner_.pending();
  planner_.reset(std::move(state), pending);
  return answer;
}

void History::commit(const std::string& id) {
  const Known& known = known_.at(id);
  const auto before = judge_.version_of(id);
  const std::uint64_t size = judge_.size();
  const std::int64_t at_ms = std::max(now_ms_, judge_.at(size - 1).at_ms);
  const bool was_pending = is_pending(id);
  const bool in_time = known.expires_ms > now_ms_ && known.expires_ms > at_ms;
  const auto answer = try_commit(id);
  note("commit " + id +
       (answer ? ": version " + std::to_string(answer->head.version)
               : ": " + name_of(answer.error())));
  if (before) {
    expect(answer && !answer->is_new && answer->head.version == *before &&
               answer->head.hash == judge_.at(*before).hash,
           "a commit that is asked for again is answered otherwise");
    if (answer) ++counts_.repeated;
    return;
  }
  LogJudge::Approvals counting;
  if (was_pending && judge_.fits(known.value, size)) {
    for (const auto& [signer, signature] : known.planned) {
      if (judge_.doubt(known.value, size, signer, at_ms) == LogJudge::Doubt::None) {
        counting.emplace(signer, signature);
      }
    }
    const bool is_enough = judge_.is_quorum(known.value, size, counting, at_ms);
    expect(answer || !in_time || !is_enough, "a commit that is due is refused");
    expect(answer || !in_time || is_enough || answer.error().code == Code::QuorumFailed,
           "too few approvals: another code");
  }
  if (!answer) {
    count_refusal("commit", answer.error());
    return;
  }
  expect(was_pending && in_time, "what is not pending is committed");
  expect(answer->is_new && answer->head.version == size, "a new version is not the next");
  judge_planned();
  count_committed(known.value);
  tell_.emplace_back(
      [this, id, version = answer->head.version] { known_.at(id).told_version = version; });
}

void History::count_committed(const Value& payload) {
  ++counts_.commits;
  const std::string& kind = *payload.find("change")->find("kind")->text();
  if (kind == "signers") ++counts_.rotations;
  if (kind == "revoke") ++counts_.revocations;
  if (kind == "supersede") ++counts_.supersedes;
}

void History::count_refusal(std::string_view action, const base::Error& why) {
  ++counts_.refusals[std::string(action) + " " + name_of(why)];
}

// Each version as soon as it is there, and the state it leaves.
void History::judge_planned() {
  for (; judged_ < plan_.versions.size(); ++judged_) {
    const std::string wrong = judge_.take(plan_.versions[judged_].bytes);
    if (!wrong.empty()) return violate(wrong);
  }
  check_state(planner_.state(), judge_.size());
}

void History::expire() {
  std::vector<std::string> due;
  for (const auto& [id, proposal] : planner_.pending()) {
    if (proposal.what->expires_ms <= now_ms_) due.push_back(id);
  }
  planner_.expire(now_ms_, plan_);
  for (const std::string& id : due) expect(!is_pending(id), "what has expired stays pending");
}

}  // namespace ron::registry
