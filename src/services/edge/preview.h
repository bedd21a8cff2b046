// The map preview: a page that shows a pack, and the files it uses. Pure functions from requests to
// answers.
//
// All of it is served under a policy that lets the browser talk to this server only and run nothing
// that does not come from it as a file.
#pragma once

#include <string_view>

#include "base/error.h"
#include "http/request.h"
#include "http/response.h"
#include "services/edge/web_files.h"

namespace ron::edge {

// What the page has to know. Names may be anything that was asked for.
struct PreviewedPack {
  std::string_view name;
  std::string_view format{};  // pmtiles, mbtiles
  std::string_view tiles{};   // mvt, png, …
};

// The page. NotFound in a build without the preview.
http::Response preview_page(const http::Request& request, const WebFiles& files,
                            const PreviewedPack& pack);
// There is nothing to show: browsers get the page, which says so and knows what else there is,
// others the envelope; both with the status of `why`.
http::Response preview_refusal(const http::Request& request, const WebFiles& files,
                               std::string_view name, const base::Error& why);
// A file that the page uses, in the coding that the client likes best.
http::Response preview_file(const http::Request& request, const WebFiles& files,
                            std::string_view name);

}  // namespace ron::edge
