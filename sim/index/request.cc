#include "sim/index/request.h"

#include <array>
#include <utility>

#include "b3/hash.h"
#include "base/bytes.h"
#include "sim/harness/tokens.h"

namespace ron::sim {
namespace {

constexpr std::array<std::string_view, 20> kNames = {"set",
                                                     "cas",
                                                     "remove",
                                                     "name",
                                                     "version",
                                                     "history",
                                                     "list",
                                                     "resolve",
                                                     "resolve-fresh",
                                                     "resolve-addr",
                                                     "resolve-addr-fresh",
                                                     "providers",
                                                     "announce",
                                                     "announce-forged",
                                                     "announce-foreign",
                                                     "set-wrong",
                                                     "health",
                                                     "ready",
                                                     "missing",
                                                     "garbage"};

bool is_put(IndexAsk ask) {
  return ask == IndexAsk::Set || ask == IndexAsk::Cas || ask == IndexAsk::SetWrong ||
         (ask >= IndexAsk::Announce && ask <= IndexAsk::AnnounceForeign);
}

bool is_announce(IndexAsk ask) {
  return ask >= IndexAsk::Announce && ask <= IndexAsk::AnnounceForeign;
}

// One that nobody else asks for.
std::string draw_target(Dice& dice) {
  const std::array<std::uint64_t, 2> words = {dice.next(), dice.next()};
  return b3::hash(std::as_bytes(std::span(words))).text();
}

}  // namespace

std::string_view name(IndexAsk ask) noexcept { return kNames[static_cast<std::size_t>(ask)]; }

std::string IndexRequestMaker::target_of(Dice& dice, IndexRequest& request) const {
  const std::string named = name_text(request.about);
  switch (request.ask) {
    case IndexAsk::Set:
    case IndexAsk::Cas:
    case IndexAsk::Name:
      return "/names/" + named;
    case IndexAsk::Remove:
      return "/names/" + named + "?expected_version=" + std::to_string(*request.expected);
    case IndexAsk::Version:
      request.version = 1 + dice.below(ledgers_.names[request.about].newest() + 1);
      return "/names/" + named + "@" + std::to_string(request.version);
    case IndexAsk::History:
      return "/names/" + named + "?history=1&limit=1000";
    case IndexAsk::List:
      return "/names?prefix=docs/";
    case IndexAsk::ResolveName:
      return "/resolve/" + named;
    case IndexAsk::ResolveNameFresh:
      return "/resolve/" + named + "?fresh=1";
    case IndexAsk::ResolveAddress:
      return "/resolve/" + plan_.addresses[request.about].text();
    case IndexAsk::ResolveAddressFresh:
      return "/resolve/" + plan_.addresses[request.about].text() + "?fresh=1";
    case IndexAsk::Providers:
    case IndexAsk::Announce:
    case IndexAsk::AnnounceForged:
    case IndexAsk::AnnounceForeign:
      return "/providers/" + plan_.addresses[request.about].text();
    case IndexAsk::SetWrong:
      return dice.chance(50) ? "/names/docs/.." : "/names/Docs";
    case IndexAsk::Health:
      return "/healthz";
    case IndexAsk::Ready:
      return "/readyz";
    default:
      return "/nothing/here";
  }
}

void IndexRequestMaker::add_body(Dice& dice, IndexRequest& request) const {
  std::string type = "application/json";
  if (is_announce(request.ask)) {
    type = "application/cbor";
    request.node = dice.below(IndexPlan::kNodes);
    request.seq = Records::kFirstSeq + ledgers_.providers[request.about].next_seq(request.node);
    const catalog::ProviderRecord record =
        request.ask == IndexAsk::Announce ? records_->good(request.node, request.about, request.seq)
        : request.ask == IndexAsk::AnnounceForged
            ? records_->forged(request.node, request.about, request.seq)
            : records_->foreign(request.about, request.seq);
    request.body = catalog::encode(record);
  } else {
    request.body = R"({"target":")" + request.target + "\"";
    if (request.expected) {
      request.body += ",\"expected_version\":" + std::to_string(*request.expected);
    }
    request.body += "}";
  }
  request.has_body = true;
  request.encoded_bytes = request.decoded_bytes = request.body.size();
  request.head += "Content-Type: " + type +
                  "\r\nContent-Length: " + std::to_string(request.body.size()) + "\r\n";
}

RequestPtr IndexRequestMaker::make(Dice& dice, IndexAsk ask, std::size_t about) const {
  auto request = std::make_unique<IndexRequest>();
  request->ask = ask;
  request->about = about;
  request->corr_id = draw_corr_id(dice);
  request->what = std::string(name(ask)) + " " + std::to_string(about);
  request->garbage = ask == IndexAsk::Garbage;
  request->asks_ready = ask == IndexAsk::Ready;
  request->heavy = ask < IndexAsk::Health;
  request->public_read = request->heavy && !request->changes_name() && !is_put(ask);
  if (request->public_read) request->answer_bytes = plan_.largest_body;
  if (request->garbage) {
    request->head = "GET  /names HTTP/1.1\r\n\r\n";
    return request;
  }
  const std::uint64_t newest = request->is_about_name() ? ledgers_.names[about].newest() : 0;
  if (ask == IndexAsk::Set || ask == IndexAsk::Cas || ask == IndexAsk::SetWrong) {
    request->target = draw_target(dice);
  }
  // What the client believes is right as far as anybody was told, or a little old.
  if (ask == IndexAsk::Cas || ask == IndexAsk::Remove) {
    request->expected = newest > 0 && dice.chance(20) ? newest - 1 : newest;
  }
  const std::string_view method = ask == IndexAsk::Remove ? "DELETE" : is_put(ask) ? "PUT" : "GET";
  request->head = std::string(method) + " " + target_of(dice, *request) +
                  " HTTP/1.1\r\nHost: index\r\nX-Corr-ID: " + request->corr_id + "\r\n";
  const bool has_token = ask != IndexAsk::AnnounceForeign && dice.chance(95);
  if (has_token) request->head += "Authorization: Bearer " + token_ + "\r\n";
  // A known node needs no token to say what it has.
  const bool needs_none =
      !request->heavy || ask == IndexAsk::Announce || ask == IndexAsk::AnnounceForged;
  request->right = has_token || needs_none ? Right::Enough : Right::Nobody;
  if (is_put(ask)) add_body(dice, *request);
  request->head += "\r\n";
  return request;
}

RequestPtr IndexRequestMaker::any(Dice& dice) const {
  using enum IndexAsk;
  if (dice.chance(8)) {
    return make(
        dice,
        dice.pick({Health, Ready, Missing, Garbage, SetWrong, AnnounceForged, AnnounceForeign}),
        dice.below(IndexPlan::kNames));
  }
  const IndexAsk ask =
      dice.pick({Set, Cas, Cas, Cas, Remove, Name, Name, Version, History, List, ResolveName,
                 ResolveName, ResolveNameFresh, ResolveAddress, ResolveAddress, ResolveAddress,
                 ResolveAddressFresh, Providers, Announce});
  const bool is_address = ask >= ResolveAddress && ask <= AnnounceForeign;
  return make(dice, ask, dice.below(is_address ? IndexPlan::kAddresses : IndexPlan::kNames));
}

}  // namespace ron::sim
