#include "cli/documents.h"

#include <utility>

#include "config/value.h"

namespace ron::cli {
namespace {

using base::Code;
using base::fail;
using base::Result;
using base::Value;
using platform::Task;

constexpr std::size_t kDocumentItems = 20'000'000;  // a state may hold many descriptors
constexpr std::uint64_t kDocumentBytes = 256 * base::kMiB;

Result<Value> parse_answer(const Result<std::string>& text) {
  if (!text) return fail(text.error());
  auto value = base::parse_json(*text, {.depth = 32, .items = kDocumentItems});
  if (value) return value;
  return fail(Code::UpstreamFail, "the server's answer is no document: " + value.error().message);
}

}  // namespace

Task<Result<Value>> get_document(Session* session, std::string target) {
  const auto text = co_await session->objects().get_bytes(std::move(target), kDocumentBytes);
  co_return parse_answer(text);
}

Task<Result<Value>> post_document(Session* session, std::string target, Value document) {
  const auto text =
      co_await session->objects().post_json(std::move(target), base::print_json(document));
  co_return parse_answer(text);
}

Task<Result<Value>> put_document(Session* session, std::string target, Value document) {
  const auto text =
      co_await session->objects().put_json(std::move(target), base::print_json(document));
  co_return parse_answer(text);
}

Task<Result<Value>> delete_document(Session* session, std::string target) {
  const auto text = co_await session->objects().delete_json(std::move(target));
  co_return parse_answer(text);
}

std::string printable_at(const base::Value& document, std::string_view key) {
  constexpr std::size_t kShownBytes = 1024;
  const base::Value* const found = document.find(key);
  if (found == nullptr || found->text() == nullptr) return {};
  return config::printable(*found->text(), kShownBytes);
}

}  // namespace ron::cli
