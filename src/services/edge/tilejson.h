// TileJSON 3.0 of a pack: what a map client has to know to ask for its tiles. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "http/request.h"
#include "pack/pack.h"

namespace ron::edge {

// What can be said before anyone asks: `"tilejson":"3.0.0","name":…` without braces and without
// `tiles`. `name` is used where the pack's metadata has none. What its metadata say wrongly is left
// out: they are a stranger's.
std::string tilejson_members(std::string_view name, const pack::Info& info);

// The document.
std::string tilejson(std::string_view members, std::string_view tiles_url);

// Where browsers reach this server, `https://maps.example.org`, from what a request says of itself;
// empty when it says nothing that can be believed.
//
// The host is that of Host, and the scheme is that of the connection. A proxy's word
// (X-Forwarded-Proto, X-Forwarded-Host) counts if it is on this machine or in a private network;
// and nothing is repeated that is not host[:port] or one of the two schemes.
std::string origin_of(const http::Request& request);

}  // namespace ron::edge
