// What a client wants of an origin, read from a request. Pure.
#pragma once

#include <string>

#include "base/result.h"
#include "http/cache_control.h"
#include "http/request.h"
#include "services/edge/asset.h"
#include "services/edge/fetch.h"

namespace ron::edge {

struct AssetRequest {
  std::string url;  // in normal form, the query as sent: the key
  std::string host_port;
  std::string target;
  Preferences preferences{};
  http::RequestCacheControl control{};
};

// Of `/edge/assets/{host}/{path...}?query`. Malformed for what two readers could take differently.
base::Result<AssetRequest> read_asset_request(const http::Request& request);

// `https://host[:port]/path?query`, whose text is the key. Malformed.
base::Result<OriginUrl> parse_url(std::string_view url);

FetchRequest fetch_request(const AssetRequest& wanted, const http::Request& request);

}  // namespace ron::edge
