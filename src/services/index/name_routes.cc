// Names: set, read, listed, removed.
#include <algorithm>
#include <string>
#include <utility>

#include "services/index/lists.h"
#include "services/index/name_request.h"
#include "services/index/routes.h"
#include "services/kit/documents.h"
#include "services/kit/handlers.h"

namespace ron::index {
namespace {

using auth::Access;
using auth::Scope;
using base::Code;
using base::Value;
using http::Method;
using http::Request;
using http::Response;
using kit::query_number;
using kit::refuse;
using platform::Task;

Origin origin_of(const Request& request) {
  return {.corr_id = request.corr_id,
          .token = request.token,
          .tenant = request.tenant,
          .is_admin = request.grant_full};
}

std::string location_of(std::string_view name) { return "/names/" + catalog::encode_in_path(name); }

Task<Response> set_name(Core* core, Request* request) {
  const auto permit = core->admit(RouteClass::Names, *request);
  if (!permit) co_return refuse(*request, permit.error());
  const auto name = catalog::parse_name(request->params[0]);
  if (!name) co_return refuse(*request, name.error());
  const auto value = co_await kit::read_document(request);
  if (!value) co_return refuse(*request, value.error());
  auto parsed = parse_set_request(*value);
  if (!parsed) co_return refuse(*request, parsed.error());
  parsed->wanted.name = name->text();
  parsed->wanted.tenant = request->tenant;
  const auto set = co_await core->set_name(std::move(parsed->wanted), parsed->expected,
                                           origin_of(*request), request->deadline);
  if (!set) co_return refuse(*request, set.error());
  Response response = kit::document(*request, set->is_new ? 201 : 200, to_value(set->version));
  if (set->is_new) response.add("Location", location_of(name->text()));
  co_return response;
}

Task<Response> remove_name(Core* core, Request* request) {
  const auto permit = core->admit(RouteClass::Names, *request);
  if (!permit) co_return refuse(*request, permit.error());
  const auto name = catalog::parse_name(request->params[0]);
  if (!name) co_return refuse(*request, name.error());
  const auto expected = query_number(*request, "expected_version");
  if (!expected) co_return refuse(*request, expected.error());
  NameVersion wanted;
  wanted.name = name->text();
  wanted.tenant = request->tenant;
  const auto set =
      co_await core->set_name(std::move(wanted), *expected, origin_of(*request), request->deadline);
  if (!set) co_return refuse(*request, set.error());
  co_return kit::document(*request, 200, to_value(set->version));
}

Task<Response> get_history(Core* core, Request* request, catalog::Name name) {
  const auto before = query_number(*request, "before");
  if (!before) co_return refuse(*request, before.error());
  const auto limit = query_number(*request, "limit");
  if (!limit) co_return refuse(*request, limit.error());
  const std::uint64_t count =
      std::clamp<std::uint64_t>(limit->value_or(kVersionList.usual), 1, kVersionList.most);
  const auto history =
      co_await name_history(&core->map(), name, before->value_or(UINT64_MAX), count);
  if (!history) co_return refuse(*request, history.error());
  if (history->versions.empty() && !*before) {
    co_return refuse(*request, {Code::NotFound, "there is no such name"});
  }
  Value::Array versions;
  for (const NameVersion& version : history->versions) versions.push_back(to_value(version));
  const Value next = history->has_more ? Value(history->versions.back().version) : Value();
  co_return kit::document(
      *request, 200,
      Value::Map{{"name", name.text()}, {"versions", std::move(versions)}, {"next", next}});
}

// The tag of a version that never changes is its own; the current one is asked for again.
Task<Response> get_name(Core* core, Request* request) {
  const auto permit = core->admit(RouteClass::Names, *request);
  if (!permit) co_return refuse(*request, permit.error());
  auto ref = catalog::parse_name_ref(request->params[0]);
  if (!ref) co_return refuse(*request, ref.error());
  const auto wants_history = query_number(*request, "history");
  if (!wants_history) co_return refuse(*request, wants_history.error());
  if (wants_history->value_or(0) != 0) {
    co_return co_await get_history(core, request, ref->name);
  }
  const bool is_fixed = ref->version.has_value();
  const auto version = co_await find_name(&core->map(), std::move(*ref));
  if (!version) co_return refuse(*request, version.error());
  if (!*version) co_return refuse(*request, {Code::NotFound, "there is no such name"});
  if (!(*version)->target && !is_fixed) {
    co_return refuse(*request, base::Error(Code::NotFound, "the name was removed")
                                   .with("version", std::to_string((*version)->version)));
  }
  const std::string tag = std::to_string((*version)->version) + "-" +
                          ((*version)->target ? (*version)->target->text() : "removed");
  co_return kit::tagged_document(*request, tag,
                                 is_fixed ? kit::Lasting::Immutable : kit::Lasting::Revalidate,
                                 to_value(**version));
}

Task<Response> list(Core* core, Request* request) {
  const auto permit = core->admit(RouteClass::Names, *request);
  if (!permit) co_return refuse(*request, permit.error());
  ListQuery query;
  for (const auto& [name, into] :
       {std::pair("prefix", &query.prefix), std::pair("delimiter", &query.delimiter),
        std::pair("after", &query.after)}) {
    auto text = kit::query_text(*request, name, catalog::kMaxNameBytes);
    if (!text) co_return refuse(*request, text.error());
    *into = std::move(*text).value_or("");
  }
  if (!query.delimiter.empty() && query.delimiter != "/") {
    co_return refuse(*request, {Code::Malformed, "the delimiter can only be /"});
  }
  const auto limit = query_number(*request, "limit");
  if (!limit) co_return refuse(*request, limit.error());
  query.limit = std::clamp<std::uint64_t>(limit->value_or(kNameList.usual), 1, kNameList.most);
  const auto page = co_await list_names(&core->map(), std::move(query));
  if (!page) co_return refuse(*request, page.error());
  Value::Array names;
  for (const NameVersion& version : page->names) names.push_back(to_value(version));
  Value::Array prefixes;
  for (const std::string& prefix : page->prefixes) prefixes.emplace_back(prefix);
  co_return kit::document(*request, 200,
                          Value::Map{{"names", std::move(names)},
                                     {"prefixes", std::move(prefixes)},
                                     {"next", page->next ? Value(*page->next) : Value()}});
}

}  // namespace

void add_name_routes(http::Router& router, Core& core) {
  const Access write = Access::needs(Scope::kIndexWrite).or_fully(Scope::kIndexAdmin);
  kit::Routes(router, core)
      .list(kNameList, Access::read(), list)
      .add(Method::Put, "/names/{name...}", write, set_name)
      .list(kVersionList, Access::read(), get_name)
      .add(Method::Delete, "/names/{name...}", write, remove_name);
}

}  // namespace ron::index
