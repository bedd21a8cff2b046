#include "cli/registry_read.h"

#include <algorithm>
#include <utility>

#include "base/rfc3339.h"
#include "base/ulid.h"
#include "chain/descriptor.h"
#include "chain/proof.h"
#include "chain/snapshot.h"
#include "cli/registry_client.h"
#include "cli/registry_text.h"
#include "platform/posix/files.h"
#include "platform/posix/local_files.h"

namespace ron::cli {
namespace {

using base::Code;
using base::fail;
using base::Result;
using base::Value;
using platform::Task;

constexpr std::uint64_t kPageVersions = 500;
constexpr std::uint64_t kPageProposals = 500;

bool is_number(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// The document as it is, or what `as_text` makes of it.
Task<int> print_document(Session* session, std::string target, bool json,
                         std::string (*as_text)(const Value&)) {
  const auto document = co_await get_document(session, std::move(target));
  if (!document) {
    session->complain("", document.error());
  } else {
    session->print(json ? base::print_json(*document) + "\n" : as_text(*document));
  }
  co_return session->exit_code();
}

std::string head_text(const Value& head) {
  return "version " + text_of(head, "version") + "  " + text_of(head, "hash") + "\n";
}

std::string descriptor_text(const Value& descriptor) {
  std::string text;
  if (descriptor.map() == nullptr) return text;
  for (const auto& [key, value] : *descriptor.map()) {
    text += key + "  " + text_of(descriptor, key) + "\n";
  }
  return text;
}

// Page after page: a line each as they come, or all of them as one document.
Task<int> list_proposals(Session* session, bool json) {
  Value::Array all;
  std::string after;
  std::uint64_t listed = 0;
  for (bool has_more = true; has_more;) {
    std::string target = "/registry/proposals?limit=" + std::to_string(kPageProposals);
    if (!after.empty()) target += "&after=" + after;
    const auto page = co_await get_document(session, std::move(target));
    const Value* const list = page ? page->find("proposals") : nullptr;
    if (!page || list == nullptr || list->array() == nullptr) {
      session->complain(
          "", page ? base::Error(Code::UpstreamFail, "the server's answer is no list of proposals")
                   : page.error());
      co_return session->exit_code();
    }
    std::string text;
    for (const Value& proposal : *list->array()) {
      if (json) all.push_back(proposal);
      text += proposal_line(proposal);
      ++listed;
    }
    if (!json && !session->print(text)) co_return session->exit_code();
    const std::string next = text_of(*page, "next");
    // A server that names the same place again would be asked for ever.
    has_more = !next.empty() && next > after && base::Ulid::parse(next);
    after = next;
  }
  if (json) session->print(base::print_json(Value::Map{{"proposals", std::move(all)}}) + "\n");
  if (!json && listed == 0) {
    session->print("nothing is proposed; ron registry propose --help says how\n");
  }
  co_return session->exit_code();
}

// Of everybody who ever was a signer, as far as the newest checkpoint knows. Without one, ids do.
Task<SignerNames> get_names(Session* session) {
  SignerNames names;
  const auto latest = co_await get_document(session, "/registry/checkpoints?limit=1");
  const Value* const list = latest ? latest->find("checkpoints") : nullptr;
  if (list == nullptr || list->array() == nullptr || list->array()->empty()) co_return names;
  const std::string version = text_of(list->array()->back(), "version");
  const auto text =
      co_await session->objects().get_bytes("/registry/proof/" + version, chain::kMaxProofBytes);
  const auto proof = text ? chain::parse_proof(*text) : fail(text.error());
  const auto summary =
      proof ? chain::decode_summary(base::as_bytes(proof->summary)) : fail(proof.error());
  if (!summary) co_return names;
  for (const std::string& entry : summary->governance_entries) {
    learn_names(base::as_bytes(entry), names);
  }
  co_return names;
}

// One version for people, or one line of JSON for programs.
std::string print_entry(const LogEntry& one, const SignerNames& names, bool json) {
  const base::ByteView bytes = base::as_bytes(one.bytes);
  const auto entry = chain::decode_entry(bytes);
  const base::ObjectId hash = chain::hash_of(bytes);
  if (!entry) return "version " + std::to_string(one.version) + "  " + entry.error().message + "\n";
  if (!json) return entry_text(*entry, hash, names) + "\n";
  Value::Map map = *chain::describe(*entry).map();
  map.emplace("hash", hash.text());
  Value::Map approvers;
  for (const chain::Approval& approval : entry->approvals) {
    const auto name = names.find(approval.signer);
    approvers.emplace(approval.signer, name == names.end() ? Value() : Value(name->second));
  }
  map.emplace("approvers", std::move(approvers));
  return base::print_json(std::move(map)) + "\n";
}

// Where the latest `limit` versions begin; nothing: with the first that was not pruned.
Task<Result<std::optional<std::uint64_t>>> find_begin(Session* session, LogRange range) {
  if (range.from) co_return range.from;
  const auto head = co_await get_head(session);
  if (!head) co_return fail(head.error());
  const std::uint64_t from = head->version + 1 - std::min(head->version + 1, range.limit);
  const auto there = co_await get_log_page(session, from, 1);
  if (there) co_return from;
  if (there.error().code == Code::Pruned) co_return std::optional<std::uint64_t>();
  co_return fail(there.error());
}

Task<int> print_log(Session* session, LogRange range, bool json) {
  const auto begin = co_await find_begin(session, range);
  if (!begin) {
    session->complain("", begin.error());
    co_return session->exit_code();
  }
  SignerNames names = co_await get_names(session);
  std::optional<std::uint64_t> from = *begin;
  for (std::uint64_t left = range.limit; left > 0;) {
    const auto page = co_await get_log_page(session, from, std::min(left, kPageVersions));
    if (!page) {
      session->complain("", page.error());
      break;
    }
    std::string text;
    for (const LogEntry& entry : page->entries) {
      text += print_entry(entry, names, json);
      learn_names(base::as_bytes(entry.bytes), names);
    }
    if (!session->print(text) || !page->next || page->entries.empty()) break;
    from = page->next;
    left -= std::min<std::uint64_t>(left, page->entries.size());
  }
  co_return session->exit_code();
}

Task<int> show_version(Session* session, std::uint64_t version, bool json) {
  const auto page = co_await get_log_page(session, version, 1);
  if (!page || page->entries.empty()) {
    session->complain("", page ? base::Error(Code::NotFound,
                                             "there is no version " + std::to_string(version) +
                                                 "; HEAD is " + std::to_string(page->head.version))
                               : page.error());
    co_return session->exit_code();
  }
  const SignerNames names = co_await get_names(session);
  session->print(print_entry(page->entries.front(), names, json));
  co_return session->exit_code();
}

// A file that others may read as the umask allows, whole or not at all. What is no file stays what
// it is.
Result<void> write_public_file(const std::string& given, const std::string& text, unsigned mode) {
  const auto target = platform::posix::output_target(given);
  if (!target) return fail(target.error());
  if (target->is_stream) {
    return fail(Code::PreconditionFailed, "'" + given + "' is not a file; -o - prints the proof");
  }
  const std::string& path = target->path;
  const std::string draft = path + ".part";
  auto done = platform::posix::write_private_file(draft, text);
  if (done) done = platform::posix::publish_file(draft, path, mode);
  if (!done) platform::posix::remove_file(draft);
  return done;
}

Task<int> save_proof(Session* session, std::uint64_t version, const std::string* out,
                     const std::string* vkey, unsigned mode) {
  const std::string about = "version " + std::to_string(version);
  const auto text = co_await session->objects().get_bytes(
      "/registry/proof/" + std::to_string(version), chain::kMaxProofBytes);
  if (!text) {
    session->complain(about, text.error());
    co_return session->exit_code();
  }
  const auto proof = chain::parse_proof(*text);
  const auto proven = proof ? chain::verify_proof(*proof, *vkey) : fail(proof.error());
  if (!proven) {
    session->complain(about, proven.error());
    co_return session->exit_code();
  }
  if (out->empty() || *out == "-") {
    session->print(*text);
    co_return session->exit_code();
  }
  const auto written = co_await session->off_loop(
      [path = *out, text = *text, mode] { return write_public_file(path, text, mode); });
  if (!written) session->complain("", written.error());
  if (written)
    session->print("proof of " + about + " in " + *out +
                   "; check it anywhere: ron registry verify --proof " + *out + " --vkey " +
                   proof->vkey + "\n");
  co_return session->exit_code();
}

}  // namespace

int registry_head(const ClientOptions& options, bool json) {
  return run_session("registry head", options, [json](Session& session) {
    return print_document(&session, "/registry/head", json, head_text);
  });
}

int registry_show(const ClientOptions& options, const std::string& what, bool json) {
  if (is_number(what) && what.size() < 20) {
    const std::uint64_t version = std::stoull(what);
    return run_session("registry show", options, [version, json](Session& session) {
      return show_version(&session, version, json);
    });
  }
  if (const auto id = base::Ulid::parse(what)) {
    const std::string target = "/registry/proposals/" + std::string(id->text());
    return run_session("registry show", options, [&target, json](Session& session) {
      return print_document(&session, target, json, proposal_text);
    });
  }
  const auto key = chain::parse_descriptor_key(what);
  if (!key) {
    return bad_usage("registry show: say a version, a proposal's id or type/id: " +
                     key.error().message);
  }
  return run_session("registry show", options, [&key, json](Session& session) {
    return print_document(&session, "/registry/descriptors/" + *key, json, descriptor_text);
  });
}

int registry_log(const ClientOptions& options, LogRange range, bool json) {
  return run_session("registry log", options,
                     [range, json](Session& session) { return print_log(&session, range, json); });
}

int registry_state(const ClientOptions& options, std::optional<std::uint64_t> version, bool json) {
  std::string target = "/registry/state";
  if (version) target += "?version=" + std::to_string(*version);
  return run_session("registry state", options, [&target, json](Session& session) {
    return print_document(&session, target, json, state_text);
  });
}

int registry_proposals(const ClientOptions& options, bool json) {
  return run_session("registry proposals", options,
                     [json](Session& session) { return list_proposals(&session, json); });
}

int registry_proof(const ClientOptions& options, std::uint64_t version, const std::string& out,
                   const std::string& vkey) {
  const unsigned mode = platform::posix::public_file_mode();
  return run_session("registry proof", options, [&out, &vkey, version, mode](Session& session) {
    return save_proof(&session, version, &out, &vkey, mode);
  });
}

}  // namespace ron::cli
