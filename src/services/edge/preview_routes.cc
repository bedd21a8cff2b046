#include <string_view>

#include "services/edge/preview.h"
#include "services/edge/routes.h"
#include "services/kit/handlers.h"

namespace ron::edge {
namespace {

using http::Method;
using http::Request;
using http::Response;
using platform::Task;

Task<Response> get_page(Core* core, Request* request) {
  const std::string_view name = request->params[0];
  const WebFiles& files = WebFiles::built_in();
  const base::Result<MountPtr> mount = core->packs().here().mount_of(name);
  if (!mount) co_return preview_refusal(*request, files, name, mount.error());
  const pack::Info& info = (*mount)->info();
  co_return preview_page(
      *request, files,
      {.name = name, .format = pack::name(info.format), .tiles = pack::extension(info.type)});
}

Task<Response> get_root(Core*, Request* request) {
  co_return kit::refuse(*request, {base::Code::NotFound, "ask for /edge/preview/PACK"});
}

Task<Response> get_file(Core*, Request* request) {
  co_return preview_file(*request, WebFiles::built_in(), request->params[0]);
}

}  // namespace

void add_preview_routes(http::Router& router, Core& core) {
  using auth::Access;
  kit::Routes(router, core)
      .add(Method::Get, "/edge/preview", Access::read(), get_root)
      .add(Method::Get, "/edge/preview/{pack}", Access::read(), get_page)
      .add(Method::Get, "/edge/preview/-/{file}", Access::read(), get_file);
}

}  // namespace ron::edge
