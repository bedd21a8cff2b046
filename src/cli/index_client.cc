#include "cli/index_client.h"

#include <utility>

#include "catalog/media_type.h"
#include "catalog/segments.h"
#include "cli/documents.h"
#include "config/value.h"

namespace ron::cli {
namespace {

using base::Code;
using base::fail;
using base::Result;
using base::Value;
using platform::Task;

constexpr std::string_view kPageLimit = "1000";

std::string target_of(std::string_view ref) { return "/names/" + catalog::encode_in_path(ref); }

std::unexpected<base::Error> strange(std::string_view what) {
  return fail(Code::UpstreamFail, "the server's answer is no " + std::string(what));
}

// Text of the server as it may be shown on a terminal.
std::string shown(const std::string& text) {
  return catalog::check_text(text, "") ? text : config::printable(text, catalog::kMaxNameBytes);
}
std::string text_at(const Value& document, std::string_view key) {
  const Value* const found = document.find(key);
  return found != nullptr && found->text() != nullptr ? shown(*found->text()) : "";
}

Result<std::vector<NameVersion>> read_versions(const Value& document, std::string_view key) {
  const Value* const list = document.find(key);
  if (list == nullptr || list->array() == nullptr) return strange("list of names");
  std::vector<NameVersion> versions;
  for (const Value& one : *list->array()) {
    auto version = parse_name_version(one);
    if (!version) return fail(std::move(version.error()));
    versions.push_back(std::move(*version));
  }
  return versions;
}

Task<Result<NameVersion>> send_name(Session* session, std::string target, Value document) {
  const auto answer = co_await put_document(session, std::move(target), std::move(document));
  if (!answer) co_return fail(answer.error());
  co_return parse_name_version(*answer);
}

}  // namespace

bool NameVersion::is_tree() const noexcept { return target && type == catalog::kManifestType; }

Result<NameVersion> parse_name_version(const Value& document) {
  NameVersion version;
  version.name = text_at(document, "name");
  version.type = text_at(document, "type");
  version.at = text_at(document, "at");
  const Value* const number = document.find("version");
  if (!catalog::parse_name(version.name) || number == nullptr || !number->unsigned_number()) {
    return strange("name");
  }
  version.version = *number->unsigned_number();
  const Value* const target = document.find("target");
  if (target != nullptr && target->text() != nullptr) {
    const auto address = base::ObjectId::parse(*target->text());
    if (!address) return strange("name");
    version.target = *address;
  }
  const Value* const meta = document.find("meta");
  if (meta == nullptr || meta->map() == nullptr) return version;
  for (const auto& [key, value] : *meta->map()) {
    version.meta.emplace(shown(key), text_at(*meta, key));
  }
  return version;
}

Task<Result<std::optional<NameVersion>>> find_name(Session* session, catalog::NameRef ref) {
  const auto document = co_await get_document(session, target_of(ref.text()));
  if (!document && is_no_route(document.error())) {
    base::Error error = document.error();
    error.message = "this server keeps no names; --url says which one does";
    co_return fail(std::move(error));
  }
  if (!document && document.error().code == Code::NotFound) co_return std::nullopt;
  if (!document) co_return fail(document.error());
  auto version = parse_name_version(*document);
  if (!version) co_return fail(std::move(version.error()));
  co_return std::move(*version);
}

Task<Result<NameVersion>> set_name(Session* session, SetName what) {
  Value::Map document{{"target", what.target.text()}};
  if (!what.type.empty()) document.emplace("type", what.type);
  if (what.expected_version) document.emplace("expected_version", *what.expected_version);
  if (!what.meta.empty()) {
    Value::Map meta;
    for (const auto& [key, value] : what.meta) meta.emplace(key, value);
    document.emplace("meta", std::move(meta));
  }
  auto set = co_await send_name(session, target_of(what.name.text()), std::move(document));
  const bool skewed = !set && set.error().code == Code::VersionSkew && what.expected_version;
  if (!skewed) co_return std::move(set);
  const auto now = co_await find_name(session, {what.name, std::nullopt});
  const bool is_ours = now && *now && (*now)->version == *what.expected_version + 1 &&
                       (*now)->target == what.target && (*now)->type == what.type;
  if (is_ours) co_return **now;
  co_return std::move(set);
}

Task<Result<NameVersion>> remove_name(Session* session, catalog::Name name,
                                      std::optional<std::uint64_t> expected_version) {
  std::string target = target_of(name.text());
  if (expected_version) target += "?expected_version=" + std::to_string(*expected_version);
  const auto answer = co_await delete_document(session, std::move(target));
  if (!answer) co_return fail(answer.error());
  co_return parse_name_version(*answer);
}

Task<Result<HistoryPage>> get_history(Session* session, catalog::Name name,
                                      std::optional<std::uint64_t> before) {
  std::string target = target_of(name.text()) + "?history=1&limit=" + std::string(kPageLimit);
  if (before) target += "&before=" + std::to_string(*before);
  const auto document = co_await get_document(session, std::move(target));
  if (!document) co_return fail(document.error());
  auto versions = read_versions(*document, "versions");
  if (!versions) co_return fail(std::move(versions.error()));
  HistoryPage page{std::move(*versions), {}};
  if (const Value* const next = document->find("next")) page.next = next->unsigned_number();
  co_return page;
}

Task<Result<NamePage>> list_names(Session* session, NameQuery query) {
  std::string target = "/names?limit=" + std::string(kPageLimit);
  target += "&prefix=" + catalog::encode_in_path(query.prefix);
  if (!query.delimiter.empty()) {
    target += "&delimiter=" + catalog::encode_in_path(query.delimiter);
  }
  if (!query.after.empty()) target += "&after=" + catalog::encode_in_path(query.after);
  const auto document = co_await get_document(session, std::move(target));
  if (!document) co_return fail(document.error());
  auto names = read_versions(*document, "names");
  if (!names) co_return fail(std::move(names.error()));
  NamePage page{std::move(*names), {}, {}};
  const Value* const prefixes = document->find("prefixes");
  if (prefixes != nullptr && prefixes->array() != nullptr) {
    for (const Value& prefix : *prefixes->array()) {
      if (prefix.text() == nullptr) co_return strange("list of names");
      page.prefixes.push_back(shown(*prefix.text()));
    }
  }
  const Value* const next = document->find("next");
  if (next != nullptr && next->text() != nullptr) page.next = *next->text();
  co_return page;
}

}  // namespace ron::cli
