#include "services/registry/routes.h"

#include <optional>
#include <string>
#include <utility>

#include "http/conditional.h"
#include "services/kit/documents.h"
#include "services/kit/handlers.h"
#include "services/registry/stream.h"

namespace ron::registry {
namespace {

using auth::Access;
using base::Code;
using http::Method;
using http::Request;
using http::Response;
using kit::Lasting;
using kit::parse_number;
using kit::refuse;
using kit::tagged_document;
using kit::wants_cbor;
using platform::Task;

// From memory, without a copy.
Task<Response> get_head(Core* core, Request* request) {
  const HeadPtr head = core->views().head();
  if (wants_cbor(*request)) {
    co_return tagged_document(*request, head->head.hash.text(), Lasting::Revalidate,
                              chain::to_value(head->head));
  }
  const std::string_view etag = head->etag;
  const http::EntityTag tag{etag.substr(1, etag.size() - 2), false};
  const bool is_known = http::evaluate(*request->head, tag) == http::Verdict::NotModified;
  Response response(is_known ? 304 : 200);
  response.prepared_lines = head->header_lines;
  if (!is_known) response.body = http::SharedBody{.bytes = base::as_bytes(head->json)};
  response.owner = head;
  co_return response;
}

Task<Response> get_stream(Core* core, Request* request) {
  std::optional<std::uint64_t> after;
  if (const auto last = request->head->find("Last-Event-ID")) {
    after = parse_number(*last);
    if (!after) {
      co_return refuse(*request, {Code::Malformed, "Last-Event-ID must be a version"});
    }
    const std::uint64_t head = core->views().head()->head.version;
    if (*after > head) {
      co_return refuse(
          *request, base::Error(Code::ChainMismatch, "Last-Event-ID is a version that is not there")
                        .with("version", std::to_string(head)));
    }
  }
  auto place = core->streams().enter(http::share_of(*request));
  if (!place) co_return refuse(*request, place.error());
  co_return Response::events(std::make_unique<Stream>(*core, std::move(*place), after));
}

}  // namespace

void add_routes(http::Router& router, Core& core) {
  kit::Routes(router, core)
      .add(Method::Get, "/registry/head", Access::read(), get_head)
      .add(Method::Get, "/registry/stream", Access::read(), get_stream);
  add_proposal_routes(router, core);
  add_log_routes(router, core);
  add_tlog_routes(router, core);
}

}  // namespace ron::registry
