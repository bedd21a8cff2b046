#include "sim/index/judge.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "services/index/config.h"
#include "sim/index/records.h"

namespace ron::sim {

using base::Code;

std::optional<std::uint64_t> number_in(std::string_view json, std::string_view key) {
  const std::string begin = "\"" + std::string(key) + "\":";
  const std::size_t at = json.find(begin);
  if (at == std::string_view::npos) return std::nullopt;
  json.remove_prefix(at + begin.size());
  if (json.starts_with('"')) json.remove_prefix(1);
  std::uint64_t number = 0;
  const auto [end, status] = std::from_chars(json.data(), json.data() + json.size(), number);
  return status == std::errc() ? std::optional(number) : std::nullopt;
}

namespace {

// The change has not happened and will not. After any other refusal it may have, or may still: the
// log may have it when the disk fails next, and a deadline passes wherever it is.
bool is_final(Code code) {
  switch (code) {
    case Code::VersionSkew:
    case Code::NotFound:
    case Code::Busy:
    case Code::RateLimited:
    case Code::Malformed:
    case Code::Unauthorized:
    case Code::BodyCap:
      return true;
    default:
      return false;
  }
}

}  // namespace

// A resolve ends at dht.deadline_ms; whatever others are up to, not sooner than it takes to tell.
bool IndexJudge::took_too_long() const {
  const TimePoint since = std::min(x_.begun, begun_.shared_since);
  return x_.life->any(since, x_.ended, [this, since](const Era& era) {
    const auto& dht = era.config->get(index::index_section())->dht;
    const Duration search = std::chrono::milliseconds(dht.deadline_ms);
    constexpr Duration kToTell = std::chrono::milliseconds(25);
    return x_.ended - since + kToTell >= std::min(search, era.settings->server.request_deadline);
  });
}

// What was announced here, and acknowledged, is found here.
bool IndexJudge::may_not_be_found() const {
  using enum IndexAsk;
  switch (request_->ask) {
    case Missing:
      return true;
    case Version:
      return request_->version > begun_.floor;
    case Name:
    case ResolveName:
    case ResolveNameFresh:
    case Remove:
      return begun_.floor == 0 || ledgers_.names[request_->about].removal_was_asked();
    case History:
      return begun_.floor == 0;
    case ResolveAddress:
    case ResolveAddressFresh:
    case Providers:
      return begun_.announced.empty();
    default:
      return false;
  }
}

bool IndexJudge::has_own_reason(Code code) const {
  if (request_ == nullptr) return false;
  using enum IndexAsk;
  const IndexAsk ask = request_->ask;
  const bool asks_others = request_->resolves() && begun_.announced.empty();
  switch (code) {
    case Code::StorageBusy:
      return request_->heavy && (conditions_.disk_fails || conditions_.disk_is_slow);
    case Code::NotFound:
      return may_not_be_found();
    case Code::VersionSkew:
      return ask == Cas || ask == Remove || ask == Announce;
    case Code::InvalidSig:
      return ask == AnnounceForged;
    case Code::Malformed:
      return ask == SetWrong;
    case Code::Timeout:
      // Its own deadline, or that of connecting to somebody when nobody else is left to ask.
      return request_->resolves() && (took_too_long() || (asks_others && conditions_.others_fail));
    case Code::BreakerOpen:
    case Code::UpstreamFail:
      return asks_others && conditions_.others_fail;
    default:
      return false;
  }
}

// A refusal says something, too: that there is another version, or that there is none.
Wrong IndexJudge::judge_own_refusal(Code code) {
  if (request_ == nullptr || !request_->is_about_name()) {
    const bool is_old = code == Code::VersionSkew && request_ != nullptr;
    if (!is_old) return std::nullopt;
    const std::uint64_t last = ledgers_.providers[request_->about].last(request_->node);
    return Records::kFirstSeq + last > request_->seq ? Wrong()
                                                     : Wrong("refused as old, and is the newest");
  }
  const auto version = number_in(answer_.body, "version");
  if (code == Code::VersionSkew) {
    if (!version) return "skew without the version";
    if (*version < begun_.floor) return "skew by a version that is older than what was told";
    if (version == request_->expected) return "skew, and it is at the version that was expected";
  }
  if (request_->changes_name() && is_final(code)) return names().refused(request_->target);
  const bool is_removed = code == Code::NotFound && version && request_->ask == IndexAsk::Name;
  if (is_removed) return names().told(*version, "", begun_.floor);
  return std::nullopt;
}

Wrong IndexJudge::judge_name(std::string_view json, std::string_view key_of_target,
                             std::uint64_t floor) {
  const auto version = number_in(json, "version");
  if (!version) return "no version: " + std::string(json.substr(0, 200));
  return names().told(*version, std::string(json_text(json, key_of_target)), floor);
}

Wrong IndexJudge::judge_write() {
  if (!is_allowed()) return "changed without a capability";
  if (answer_.status != 200 && answer_.status != 201) return "unexpected status of a change";
  const auto version = number_in(answer_.body, "version");
  if (!version) return "a change without its version";
  const std::string target(json_text(answer_.body, "target"));
  if (target != request_->target) return "changed into something else";
  const std::uint64_t expected = request_->expected.value_or(0);
  if (expected != 0 && *version != expected + 1) {
    return "changed version " + std::to_string(*version - 1) + ", and " + std::to_string(expected) +
           " was expected";
  }
  return names().written(*version, target, begun_.floor);
}

// Newest first, without gaps.
Wrong IndexJudge::judge_history() {
  std::string_view rest = answer_.body;
  std::uint64_t before = 0;
  for (std::size_t at = rest.find("\"version\":"); at != std::string_view::npos;
       at = rest.find("\"version\":")) {
    // The keys of a version are in order: its own number is the last, and its target before it.
    const std::size_t begin = rest.rfind('{', at);
    const std::string_view one = rest.substr(begin, rest.find('}', at) - begin);
    const std::uint64_t version = *number_in(one, "version");
    if (before == 0 && version < begun_.floor) return "a history without its end";
    if (before != 0 && version + 1 != before) {
      return "a history from " + std::to_string(before) + " to " + std::to_string(version);
    }
    if (const Wrong wrong = names().told(version, std::string(json_text(one, "target")), 0)) {
      return wrong;
    }
    before = version;
    rest.remove_prefix(at + 1);
  }
  return before == 1 ? Wrong() : Wrong("a history that does not begin with 1");
}

Wrong IndexJudge::judge_list() {
  return answer_.body.starts_with("{\"names\":[") ? Wrong() : Wrong("no list of names");
}

// Only what may be returned, of each node nothing older than what was acknowledged, and all that
// was.
Wrong IndexJudge::judge_providers() {
  std::set<std::size_t> nodes;
  std::string_view rest = answer_.body;
  for (std::size_t at = rest.find("\"url\":\""); at != std::string_view::npos;
       at = rest.find("\"url\":\"")) {
    rest.remove_prefix(at);
    const std::string_view url = json_text(rest, "url");
    rest.remove_prefix(1);
    const auto meaning = meaning_of(url);
    if (!meaning || !meaning->may_be_returned || meaning->address != request_->about) {
      return "returned " + std::string(url);
    }
    const auto known = begun_.announced.find(meaning->node);
    if (known != begun_.announced.end() && meaning->seq < known->second) {
      return "returned " + std::string(url) + " after " + std::to_string(known->second) +
             " was acknowledged";
    }
    if (!nodes.insert(meaning->node).second) return "a node twice: " + std::string(url);
  }
  for (const auto& [node, seq] : begun_.announced) {
    if (!nodes.contains(node)) return "without what node " + std::to_string(node) + " announced";
  }
  return nodes.empty() ? Wrong("found, and nobody has it") : Wrong();
}

Wrong IndexJudge::judge_success() {
  if (request_ == nullptr) return std::nullopt;
  using enum IndexAsk;
  switch (request_->ask) {
    case Set:
    case Cas:
    case Remove:
      return judge_write();
    case Name:
      return judge_name(answer_.body, "target", begun_.floor);
    case Version:
      return judge_name(answer_.body, "target", 0);
    case ResolveName:
    case ResolveNameFresh:
      return judge_name(answer_.body, "address", begun_.floor);
    case History:
      return judge_history();
    case List:
      return judge_list();
    case ResolveAddress:
    case ResolveAddressFresh:
    case Providers:
      return judge_providers();
    case Announce:
      ledgers_.providers[request_->about].acknowledged(request_->node, request_->seq);
      return std::nullopt;
    case AnnounceForged:
    case AnnounceForeign:
    case SetWrong:
    case Missing:
    case Garbage:
      return "success of what must be refused";
    default:
      return answer_.status == 200 ? Wrong() : Wrong("unexpected status");
  }
}

}  // namespace ron::sim
