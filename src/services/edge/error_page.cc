#include "services/edge/error_page.h"

#include <algorithm>
#include <string_view>

#include "http/accept.h"
#include "http/field_list.h"
#include "services/kit/handlers.h"

namespace ron::edge {
namespace {

constexpr std::string_view kJsonLine = "Content-Type: application/json\r\n";
constexpr std::string_view kPageLines =
    "Content-Type: text/html;charset=utf-8\r\n"
    "Content-Security-Policy: default-src 'none'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Referrer-Policy: no-referrer\r\n";

std::string_view title_of(int status) noexcept {
  switch (status) {
    case 404:
      return "Not found";
    case 429:
      return "Too many requests";
    case 503:
      return "Not available at the moment";
    case 504:
      return "This took too long";
    default:
      return status >= 500 ? "Something went wrong here" : "This does not work";
  }
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      case '\'':
        safe += "&#39;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

bool prefers_html(const http::RequestHead& head) noexcept {
  int html = 0;
  int json = 0;
  head.for_each(http::KnownField::Accept, [&](std::string_view list) {
    http::ListReader reader(list);
    while (const auto element = reader.next()) {
      const std::size_t semicolon = std::min(element->find(';'), element->size());
      const std::string_view type = http::trim_ows(element->substr(0, semicolon));
      const int weight = http::weight_in(element->substr(std::min(semicolon + 1, element->size())));
      if (type == "text/html") html = weight;
      if (type == "application/json") json = weight;
    }
  });
  return html > 0 && html >= json;
}

std::string error_page(int status, std::string_view message, std::string_view corr_id) {
  const std::string title = std::to_string(status) + " " + std::string(title_of(status));
  return "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width\">\n"
         "<meta name=\"color-scheme\" content=\"light dark\">\n<title>" +
         title + "</title>\n</head>\n<body>\n<h1>" + title + "</h1>\n<p>" + escape_html(message) +
         "</p>\n<p><small>" + escape_html(corr_id) + "</small></p>\n</body>\n</html>\n";
}

http::Response refuse_visibly(const http::Request& request, const base::Error& error) {
  http::Response response = kit::refuse(request, error);
  if (prefers_html(*request.head)) {
    const std::size_t type = response.lines.find(kJsonLine);
    if (type != std::string::npos) response.lines.erase(type, kJsonLine.size());
    response.lines += kPageLines;
    response.body = error_page(response.status, error.message, request.corr_id.text());
  }
  response.add("Vary", "Accept");
  return response;
}

}  // namespace ron::edge
