// HTTP to core: the routes of svc-storage.
#pragma once

#include "base/error.h"
#include "http/request.h"
#include "http/response.h"
#include "http/router.h"
#include "services/kit/handlers.h"
#include "services/storage/object_store.h"

namespace ron::storage {

// What clients may ask. `store` outlives the router.
void add_routes(http::Router& router, ObjectStore& store);
// The part of it that is about uploads.
void add_upload_routes(http::Router& router, ObjectStore& store);

using kit::bind_api;
using kit::check_grant;
using kit::refuse;

// 204.
http::Response no_content();
// Who asks, and until when.
Origin origin_of(const http::Request& request);
Call call_of(const http::Request& request);
// UnsupportedMedia for a form, as `curl -F` sends it: its boundaries would be stored as well.
base::Result<void> check_media(const http::Request& request);

}  // namespace ron::storage
