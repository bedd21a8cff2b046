#include "cli/registry_verify.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/rfc3339.h"
#include "base/value.h"
#include "chain/log_verifier.h"
#include "chain/note.h"
#include "chain/proof.h"
#include "cli/registry_client.h"
#include "cli/registry_text.h"
#include "cli/registry_verify_url.h"
#include "cli/session.h"
#include "cli/signer_key.h"
#include "platform/posix/files.h"

namespace ron::cli {
namespace {

using base::Code;
using base::fail;
using base::Result;
using base::Value;
using chain::LogVerdict;
using platform::Task;
namespace files = platform::posix;

Result<std::vector<chain::KeptNote>> read_kept(const std::vector<std::string>& names) {
  std::vector<chain::KeptNote> kept;
  for (const std::string& name : names) {
    auto note = files::read_small_file(name, chain::kMaxNoteBytes);
    if (!note) return fail(std::move(note.error()));
    kept.push_back({name, std::move(*note)});
  }
  return kept;
}

// `versions 0 to 12, 13 with a quorum, …`
std::string verdict_text(const LogVerdict& verdict, const std::string& vkey) {
  std::string text;
  if (verdict.log) text += "log " + verdict.log->text() + "\n";
  if (verdict.head) {
    text += "versions " + std::to_string(verdict.first) + " to " +
            std::to_string(verdict.head->version) + ", HEAD " + verdict.head->hash.text() + "\n";
  }
  text += "checked " + std::to_string(verdict.entries) + " entries, " +
          std::to_string(verdict.with_quorum) + " with their quorum and signatures, " +
          std::to_string(verdict.replayed) + " replayed; " + std::to_string(verdict.checkpoints) +
          " checkpoints\n";
  if (!vkey.empty()) text += "checkpoints are signed by " + vkey + "\n";
  if (verdict.pending != 0) text += std::to_string(verdict.pending) + " pending proposals\n";
  if (verdict.first != 0) {
    text += "versions below " + std::to_string(verdict.first) +
            " were pruned; the tree and the checkpoints cover them\n";
  }
  if (verdict.torn_bytes != 0) {
    text += std::to_string(verdict.torn_bytes) +
            " bytes at the end were torn by a crash and never acknowledged\n";
  }
  if (verdict.problems == 0) return text + "all of it agrees\n";
  return text + std::to_string(verdict.problems) +
         (verdict.problems == 1 ? " problem\n" : " problems\n");
}

std::string verdict_json(const LogVerdict& verdict, const std::string& vkey) {
  Value::Map map{{"ok", verdict.problems == 0},  {"first", verdict.first},
                 {"entries", verdict.entries},   {"with_quorum", verdict.with_quorum},
                 {"replayed", verdict.replayed}, {"checkpoints", verdict.checkpoints},
                 {"pending", verdict.pending},   {"torn_bytes", verdict.torn_bytes},
                 {"problems", verdict.problems}, {"vkey", vkey}};
  map.emplace("log", verdict.log ? Value(verdict.log->text()) : Value());
  map.emplace("head", verdict.head ? chain::to_value(*verdict.head) : Value());
  return base::print_json(std::move(map)) + "\n";
}

// The key, and whose word it is.
struct VerifyKey {
  std::optional<auth::PublicKey> key;
  std::string origin;  // that it signs for, if that was said
  std::string vkey;    // as it was given
};

Result<VerifyKey> parse_vkey(const std::string& text) {
  if (text.empty()) return VerifyKey{};
  const auto verifier = chain::NoteVerifier::parse(text);
  if (!verifier) return fail(Code::Malformed, "--vkey: " + verifier.error().message);
  return VerifyKey{verifier->public_key(), verifier->name(), text};
}

void tell(Session* session, const LogVerdict& verdict, const VerifyKey& key, bool json) {
  session->print(json ? verdict_json(verdict, key.vkey) : verdict_text(verdict, key.vkey));
}

// The log that a data directory means.
std::string log_directory(const std::string& data) {
  const bool is_log = files::path_kind(data + "/log") == files::PathKind::Directory;
  return is_log ? data : data + "/registry";
}

// The key a registry on this machine signs with, if it may be read: it stands beside the services'
// directories.
void find_local_key(Session* session, const std::string& data, VerifyKey& key) {
  const std::string log = log_directory(data);
  const std::size_t slash = log.rfind('/');
  const std::string beside = slash == std::string::npos ? "." : log.substr(0, slash);
  const std::string file = beside + "/keys/registry.pem";
  const auto secret = read_signing_key(file);
  if (!secret) {
    session->note("", "no --vkey, and " + secret.error().message);
    return;
  }
  key.key = secret->public_key();
  session->note("", "checkpoints are verified with the key in '" + file +
                        "', which is as good as this machine; --vkey names one that was kept "
                        "elsewhere");
}

Task<int> verify_data(Session* session, const std::string* data, const VerifyPlan* plan,
                      VerifyKey* key, const std::vector<chain::KeptNote>* kept) {
  const chain::VerifyOptions options{
      .disk = &session->host().disk,
      .directory = log_directory(*data),
      .key = key->key,
      .kept = *kept,
      .on_problem =
          [session](const chain::Problem& problem) {
            session->complain(problem.where, problem.what);
          },
      .on_entry = [session](std::uint64_t) { session->progress().add_item(); }};
  auto verdict = co_await chain::verify_log(&options);
  if (!verdict) {
    const bool in_use = verdict.error().code == Code::PreconditionFailed;
    session->complain(*data, in_use ? "a running server uses it: ask that (ron registry verify), "
                                      "or stop it first"
                                    : describe(verdict.error()));
    co_return session->exit_code();
  }
  if (verdict->log && !key->origin.empty() && key->origin != chain::log_origin(*verdict->log)) {
    ++verdict->problems;
    session->complain("--vkey", "it is the key of " + key->origin + ", and this log is " +
                                    chain::log_origin(*verdict->log));
  }
  if (verdict->log && key->key && key->vkey.empty()) {
    const auto own = chain::NoteVerifier::make(chain::log_origin(*verdict->log), *key->key);
    if (own) key->vkey = own->text();
  }
  tell(session, *verdict, *key, plan->json);
  co_return session->exit_code();
}

Task<int> verify_server(Session* session, const VerifyPlan* plan, VerifyKey key,
                        const std::vector<chain::KeptNote>* kept) {
  auto verdict = co_await verify_over_http(session, &key.vkey, kept);
  if (!verdict) {
    session->complain("", verdict.error());
    co_return session->exit_code();
  }
  tell(session, *verdict, key, plan->json);
  co_return session->exit_code();
}

std::string proven_text(const chain::Proven& proven) {
  SignerNames names;
  for (const chain::Signer& signer : proven.signers) names[signer.id] = signer.name;
  return entry_text(proven.entry, proven.head.hash, names) + "log " + proven.log.text() +
         "\nproven by the signed checkpoint of version " +
         std::to_string(proven.checkpoint.version) + "\n";
}

}  // namespace

int registry_verify_server(const ClientOptions& options, const VerifyPlan& plan) {
  const auto key = parse_vkey(plan.vkey);
  if (!key) return bad_usage("registry verify: " + key.error().message);
  const auto kept = read_kept(plan.kept);
  if (!kept) return failed(kept.error().message);
  return run_session("registry verify", options, [&](Session& session) {
    return verify_server(&session, &plan, *key, &*kept);
  });
}

int registry_verify_data(const ClientOptions& options, const std::string& data,
                         const VerifyPlan& plan) {
  auto key = parse_vkey(plan.vkey);
  if (!key) return bad_usage("registry verify: " + key.error().message);
  const auto kept = read_kept(plan.kept);
  if (!kept) return failed(kept.error().message);
  return run_session("registry verify", options, [&](Session& session) {
    if (!key->key) find_local_key(&session, data, *key);
    return verify_data(&session, &data, &plan, &*key, &*kept);
  });
}

int registry_verify_proof(const std::string& file, const VerifyPlan& plan) {
  const auto key = parse_vkey(plan.vkey);
  if (!key) return bad_usage("registry verify: " + key.error().message);
  const auto text = read_input(file, chain::kMaxProofBytes);
  if (!text) return failed(text.error().message);
  const auto proof = chain::parse_proof(*text);
  if (!proof) return failed(file + ": " + proof.error().message);
  const auto proven = chain::verify_proof(*proof, plan.vkey);
  if (!proven) return failed(file + ": " + proven.error().message);
  const std::string whose =
      plan.vkey.empty() ? "with the key the proof itself names, which proves nothing about whose "
                          "log it is; compare it: --vkey " +
                              proof->vkey + "\n"
                        : "with the key of --vkey\n";
  if (!plan.json) return print_result(proven_text(*proven) + whose);
  return print_result(base::print_json(Value::Map{{"ok", true},
                                                  {"log", proven->log.text()},
                                                  {"head", chain::to_value(proven->head)},
                                                  {"entry", chain::describe(proven->entry)},
                                                  {"checkpoint", proven->checkpoint.version},
                                                  {"vkey", proof->vkey},
                                                  {"vkey_given", !plan.vkey.empty()}}) +
                      "\n");
}

}  // namespace ron::cli
