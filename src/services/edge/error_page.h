// Errors of sites as a person sees them in a browser.
//
// Whoever prefers HTML gets a small page with the same status; everybody else gets the envelope.
// The page loads nothing and runs nothing.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "http/request.h"
#include "http/response.h"

namespace ron::edge {

// Whether the client names text/html in Accept, and wants it no less than JSON. A client that only
// takes anything (`*/*`, as curl does) is a program.
[[nodiscard]] bool prefers_html(const http::RequestHead& head) noexcept;

// As text of a page and as the value of an attribute.
std::string escape_html(std::string_view text);

// With all that is not ours escaped.
std::string error_page(int status, std::string_view message, std::string_view corr_id);

// As kit::refuse(), in the form that the client prefers.
http::Response refuse_visibly(const http::Request& request, const base::Error& error);

}  // namespace ron::edge
