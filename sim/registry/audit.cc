#include "sim/registry/audit.h"

#include <algorithm>
#include <utility>

#include "chain/snapshot.h"
#include "runtime/deadline.h"
#include "services/registry/test_log_judge.h"
#include "sim/harness/server_node.h"

namespace ron::sim {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t kSmallBody = 900;

}  // namespace

RegistryAuditor::RegistryAuditor(Talk* talk, const RegistryRequestMaker* maker, Ledger* ledger,
                                 registry::Core* core, std::uint64_t keep)
    : talk_(*talk),
      scene_(talk->scene()),
      maker_(*maker),
      ledger_(*ledger),
      core_(*core),
      keep_(keep),
      dice_(scene_.plan.seed ^ 0xA0D17ULL) {}

void RegistryAuditor::expect(bool holds, const std::string& what) {
  if (!holds) scene_.journal.violation("audit", what);
}

// Below the rate limit and the limit of bodies, however low they are; and with a capability.
Task<std::string> RegistryAuditor::ask(Ask what, std::shared_ptr<Flow> flow, std::size_t signer) {
  const http::ServerSettings& server = scene_.timeline.now_living().eras.back().settings->server;
  co_await runtime::sleep_for(1100ms / static_cast<Duration::rep>(server.max_rps));
  RequestPtr request;
  do {
    request = maker_.make(dice_, what, flow, signer, ledger_);
  } while (request->right != Right::Enough || request->body.size() > kSmallBody);
  co_return co_await talk_.ask(std::move(request));
}

// What was acknowledged is there as it was, or may have been committed.
Task<void> RegistryAuditor::check_flows() {
  for (const auto& flow : ledger_.flows()) {
    if (scene_.journal.failed()) co_return;
    const auto pending = core_.views().proposal(flow->id);
    if (!pending) {
      expect(flow->commit_tried || flow->withdraw_tried,
             "the acknowledged proposal " + flow->id + " is lost");
      continue;
    }
    expect(!flow->version, "proposal " + flow->id + " is committed and pending");
    expect(!flow->withdrawn, "proposal " + flow->id + " is withdrawn and pending");
    expect(pending->approvals.size() >= flow->approved.size(),
           "an acknowledged approval of " + flow->id + " is lost");
  }
  // A withdrawal that was told is answered the same again, also by another life.
  for (const auto& flow : ledger_.flows()) {
    if (!flow->withdrawn || scene_.journal.failed() || !dice_.chance(30)) continue;
    const std::string outcome = co_await ask(Ask::Withdraw, flow, 0);
    expect(outcome == "204", "asked for again, withdraw " + flow->id + " -> " + outcome);
  }
  // Each commit that was told can be asked for again, as long as its version is kept.
  for (const auto& flow : ledger_.flows()) {
    if (!flow->version || *flow->version < core_.first_version() || scene_.journal.failed() ||
        !dice_.chance(30))
      continue;
    const std::string outcome = co_await ask(Ask::Commit, flow, 0);
    expect(outcome == "200", "asked for again, commit " + flow->id + " -> " + outcome);
  }
}

Task<base::Result<chain::State>> RegistryAuditor::begin_of_log(std::uint64_t first) {
  if (first == 0) co_return chain::State();
  for (const registry::CheckpointPtr& one : core_.checkpoints().list()) {
    const std::uint64_t version = one->checkpoint.version;
    if (version + 1 < first) continue;
    const auto snapshot = co_await core_.checkpoints().read_snapshot(version);
    if (!snapshot) continue;
    co_return chain::restore(*snapshot, chain::Signatures::Verify);
  }
  co_return base::fail(base::Code::NotFound, "no checkpoint covers what was pruned");
}

Task<void> RegistryAuditor::check_log() {
  const std::uint64_t first = core_.first_version();
  const std::uint64_t newest = core_.views().head()->head.version;
  expect(first == 0 || (keep_ != 0 && first + keep_ <= newest + 1),
         "more was pruned than may be: the log of HEAD " + std::to_string(newest) +
             " begins with " + std::to_string(first));
  auto state = co_await begin_of_log(first);
  if (!state) co_return expect(false, "a pruned log: " + state.error().message);
  registry::SignatureCache cache;
  registry::LogJudge second_opinion(cache);
  std::uint64_t next = first;
  const std::uint64_t head = core_.views().head()->head.version;
  while (next <= head && !scene_.journal.failed()) {
    const auto stored = co_await core_.versions(next, 100);
    // The checkpoint of the last version may let some go meanwhile.
    const bool begins_later = core_.first_version() > first;
    if (!stored && stored.error().code == base::Code::Pruned && begins_later) {
      co_return co_await check_log();
    }
    if (!stored) co_return expect(false, "the log cannot be read: " + stored.error().message);
    for (const registry::StoredVersion& one : *stored) {
      const auto told = ledger_.hashes().find(one.head.version);
      expect(told == ledger_.hashes().end() || told->second == one.head.hash.text(),
             "version " + std::to_string(one.head.version) + " is not what was told");
      if (first == 0) {
        const std::string wrong = second_opinion.take(one.bytes);
        expect(wrong.empty(), wrong);
      }
      if (!state->is_empty() && one.head.version <= state->head().version) continue;
      const auto taken =
          chain::take_next(*state, base::as_bytes(one.bytes), chain::Signatures::Verify);
      if (!taken) co_return expect(false, "the log does not verify: " + taken.error().message);
      ++checked_;
    }
    next += stored->size();
  }
  const chain::State served = *core_.views().state();
  expect(served.head() == state->head() && served.governance() == state->governance() &&
             std::ranges::equal(
                 served.descriptors(), state->descriptors(), {},
                 [](const auto& item) { return *item.second; },
                 [](const auto& item) { return *item.second; }),
         "the state that is served is not the log's");
  expect(ledger_.newest() <= head, "a version that was told is lost");
}

Task<void> RegistryAuditor::commit_one() {
  const auto flow = std::make_shared<Flow>();
  std::string outcome = co_await ask(Ask::Propose, flow, 0);
  expect(outcome == "202", "in a quiet world, propose -> " + outcome);
  const chain::SignerSet deciders = core_.views().governance().set;
  for (std::size_t i = 0; i < deciders.threshold; ++i) {
    if (scene_.journal.failed()) co_return;
    const auto signer = maker_.signer_named(deciders.signers[i].id);
    expect(signer.has_value(), "nobody has the key of signer " + deciders.signers[i].id);
    outcome = co_await ask(Ask::Approve, flow, signer.value_or(0));
    expect(outcome == "200", "in a quiet world, approve -> " + outcome);
  }
  if (scene_.journal.failed()) co_return;
  outcome = co_await ask(Ask::Commit, flow, 0);
  expect(outcome == "201", "in a quiet world, commit -> " + outcome);
  outcome = co_await ask(Ask::Commit, flow, 0);
  expect(outcome == "200", "in a quiet world, commit again -> " + outcome);
}

Task<void> RegistryAuditor::run() {
  co_await check_flows();
  if (!scene_.journal.failed()) co_await commit_one();
  if (!scene_.journal.failed()) co_await check_log();
}

}  // namespace ron::sim
