#include "cli/registry_client.h"

#include "base/encoding.h"
#include "platform/posix/files.h"
#include "platform/posix/local_files.h"

namespace ron::cli {

using base::Code;
using base::fail;
using base::Result;
using base::Value;
using platform::Task;

Task<Result<chain::Head>> get_head(Session* session) {
  const auto document = co_await get_document(session, "/registry/head");
  if (!document) co_return fail(document.error());
  auto head = chain::parse_head(*document);
  if (!head) co_return fail(Code::UpstreamFail, "the server has no HEAD: " + head.error().message);
  co_return head;
}

Task<Result<LogPage>> get_log_page(Session* session, std::optional<std::uint64_t> from,
                                   std::uint64_t limit) {
  std::string target = "/registry/log?limit=" + std::to_string(limit);
  if (from) target += "&from=" + std::to_string(*from);
  const auto document = co_await get_document(session, std::move(target));
  if (!document) co_return fail(document.error());
  const Value* const entries = document->find("entries");
  const Value* const at = document->find("head");
  const auto head = at != nullptr ? chain::parse_head(*at) : fail(Code::Malformed, "no head");
  if (entries == nullptr || entries->array() == nullptr || !head) {
    co_return fail(Code::UpstreamFail, "the server's answer is no page of a log");
  }
  LogPage page{{}, *head, {}};
  for (const Value& entry : *entries->array()) {
    const Value* const version = entry.find("version");
    auto bytes = bytes_at(entry, "entry");
    if (version == nullptr || !version->unsigned_number() || !bytes) {
      co_return fail(Code::UpstreamFail, "the server's answer is no page of a log");
    }
    page.entries.push_back({*version->unsigned_number(), std::move(*bytes)});
  }
  if (const Value* const next = document->find("next")) page.next = next->unsigned_number();
  co_return page;
}

Result<std::string> read_input(const std::string& name, std::size_t most) {
  if (name != "-") return platform::posix::read_small_file(name, most);
  auto read = platform::posix::read_stream(platform::posix::kStandardInput, base::Buffer(most + 1),
                                           "standard input");
  if (!read) return fail(std::move(read.error()));
  if (read->size() > most) {
    return fail(Code::Malformed,
                "standard input is longer than " + std::to_string(most) + " bytes");
  }
  return std::string(base::as_text(read->view()));
}

Result<std::string> bytes_at(const Value& document, std::string_view key) {
  const Value* const value = document.find(key);
  const auto bytes = value != nullptr && value->text() != nullptr
                         ? base::from_base64_exact(*value->text())
                         : std::nullopt;
  if (!bytes) return fail(Code::UpstreamFail, "the server's answer has no " + std::string(key));
  return std::string(base::as_text(*bytes));
}

}  // namespace ron::cli
