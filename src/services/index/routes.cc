#include "services/index/routes.h"

#include <array>
#include <string>
#include <utility>

#include "http/uri.h"
#include "services/index/lists.h"
#include "services/kit/documents.h"
#include "services/kit/handlers.h"

namespace ron::index {
namespace {

using auth::Access;
using base::Code;
using http::Method;
using http::Request;
using http::Response;
using kit::refuse;
using platform::Task;

// Addresses have one form in the cache, whatever case they came in.
Task<Response> get_resolved(Core* core, Request* request) {
  const auto permit = core->admit(RouteClass::Resolve, *request);
  if (!permit) co_return refuse(*request, permit.error());
  const auto fresh = kit::query_number(*request, "fresh");
  if (!fresh) co_return refuse(*request, fresh.error());
  const bool is_fresh = fresh->value_or(0) != 0;
  const std::string_view text = request->params[0];
  if (!is_fresh) {
    const AnswerPtr answer = core->cached(text);
    if (answer) co_return respond(*request, answer, true);
  }
  auto key = catalog::parse_key(text);
  if (!key) co_return refuse(*request, key.error());
  const std::string usual = catalog::print(*key);
  if (!is_fresh && usual != text) {
    const AnswerPtr answer = core->cached(usual);
    if (answer) co_return respond(*request, answer, true);
  }
  const auto answer = co_await core->resolve(std::move(*key), is_fresh, request->deadline);
  if (!answer) co_return refuse(*request, answer.error());
  co_return respond(*request, *answer, false);
}

}  // namespace

void add_routes(http::Router& router, Core& core) {
  kit::Routes(router, core).list(kResolvedList, Access::read(), get_resolved);
  add_name_routes(router, core);
  add_provider_routes(router, core);
}

}  // namespace ron::index
