#include "cli/object_pages.h"

#include <nlohmann/json.hpp>

namespace ron::cli {
namespace {

using base::Code;
using base::fail;

constexpr std::string_view kPageObjects = "1000";

std::string address_of(const nlohmann::json& object) {
  const auto found = object.is_object() ? object.find("address") : object.end();
  if (!object.is_object() || found == object.end() || !found->is_string()) return "";
  return found->get<std::string>();
}

}  // namespace

base::Result<std::vector<base::ObjectId>> parse_object_page(std::string_view text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  const bool good = json.is_object() && json.contains("objects") && json["objects"].is_array();
  if (!good) return fail(Code::UpstreamFail, "the server's answer is not a list of objects");
  std::vector<base::ObjectId> ids;
  for (const auto& object : json["objects"]) {
    const auto id = base::ObjectId::parse(address_of(object));
    if (!id) return fail(Code::UpstreamFail, "the server's list holds something without address");
    ids.push_back(*id);
  }
  return ids;
}

base::Result<ObjectHolders> parse_object_holders(std::string_view text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  const bool good = json.is_object() && json.contains("holders") && json["holders"].is_array();
  if (!good) return fail(Code::UpstreamFail, "the server's answer is not an object's details");
  ObjectHolders holders;
  for (const auto& tenant : json["holders"]) {
    if (!tenant.is_string()) return fail(Code::UpstreamFail, "a holder has no name");
    holders.tenants.push_back(tenant.get<std::string>());
  }
  const auto more = json.find("more_holders");
  holders.more = more != json.end() && more->is_boolean() && more->get<bool>();
  return holders;
}

platform::Task<base::Result<std::vector<base::ObjectId>>> ObjectPages::next() {
  std::string target = "/admin/objects?limit=" + std::string(kPageObjects);
  if (!after_.empty()) target += "&after=" + after_;
  const auto text = co_await session_.admin().get_json(target);
  if (!text) co_return fail(text.error());
  auto ids = parse_object_page(*text);
  if (ids && !ids->empty()) {
    const std::string last = ids->back().text();
    if (last == after_) co_return fail(Code::UpstreamFail, "the server repeats a page");
    after_ = last;
  }
  co_return ids;
}

}  // namespace ron::cli
