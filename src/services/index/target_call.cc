#include "services/index/target_call.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

namespace ron::index {
namespace {

using base::Code;
using base::fail;
using base::Result;
using http::KnownField;

constexpr std::uint64_t kMaxReceiptBytes = 64 * base::kKiB;

bool is_media_type(std::string_view field, std::string_view media_type) {
  const std::string_view bare = field.substr(0, field.find_first_of("; "));
  return std::ranges::equal(bare, media_type, [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a + ('a' - 'A')) : a) == b;
  });
}

}  // namespace

platform::Task<Result<http::ClientResponse>> call(http::Client* client,
                                                  const http::UpstreamAddress* to, TargetCall what,
                                                  runtime::Deadline deadline) {
  std::array<http::Field, 2> fields;
  std::size_t count = 0;
  if (!what.accept.empty()) fields[count++] = {"Accept", what.accept};
  if (!what.content_type.empty()) fields[count++] = {"Content-Type", what.content_type};
  const std::array body = {base::as_bytes(what.body)};
  http::ClientRequest request{.method = what.method,
                              .target = what.path,
                              .host = to->authority(),
                              .fields = std::span(fields).first(count)};
  if (!what.body.empty()) request.body = body;
  to->aim(request);
  Result<http::ClientResponse> response = co_await client->send(request, deadline);
  co_return response;
}

Result<void> check_answer(const http::ClientResponse& response, std::string_view media_type) {
  if (response.status() != 200) {
    return fail(Code::UpstreamFail, "it answers " + std::to_string(response.status()));
  }
  const std::string_view type = response.head().get(KnownField::ContentType).value_or("");
  if (!is_media_type(type, media_type)) {
    return fail(Code::UpstreamFail, "its answer is not " + std::string(media_type));
  }
  if (response.head().get(KnownField::ContentEncoding)) {
    return fail(Code::UpstreamFail, "its answer is encoded, which nobody asked for");
  }
  return {};
}

platform::Task<Result<void>> check_taken(http::ClientResponse response) {
  const int status = response.status();
  const auto rest = co_await response.read_all(kMaxReceiptBytes);
  if (status >= 300) {
    const Code code = status >= 400 && status < 500 ? Code::NotAllowed : Code::UpstreamFail;
    co_return fail(code, "it answers " + std::to_string(status));
  }
  if (!rest) co_return fail(rest.error());
  co_return Result<void>();
}

}  // namespace ron::index
