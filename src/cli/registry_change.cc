#include "cli/registry_change.h"

#include <utility>

#include "b3/hash.h"
#include "base/encoding.h"
#include "base/rfc3339.h"
#include "chain/change.h"
#include "chain/entry.h"
#include "chain/signers.h"
#include "cli/registry_client.h"
#include "cli/registry_text.h"
#include "platform/posix/local_files.h"

namespace ron::cli {
namespace {

using base::Code;
using base::fail;
using base::Result;
using base::Value;
using platform::Task;

constexpr std::size_t kAnswerChars = 16;  // of a yes or no

// The details of a proposal that was just made, and what to do with it.
Task<int> tell_proposal(Session* session, Value made, const SameServer* same, bool json) {
  const std::string id = text_of(made, "proposal");
  const auto details = co_await get_document(session, "/registry/proposals/" + id);
  if (!details) {
    session->complain(id, details.error());
    co_return session->exit_code();
  }
  if (json) {
    session->print(base::print_json(*details) + "\n");
    co_return session->exit_code();
  }
  session->print(proposal_text(*details) + "next, " + wanted_text(*details) +
                 " each with their own key:\n  ron registry approve " + id + " --key FILE" + *same +
                 "\n");
  co_return session->exit_code();
}

Task<int> propose(Session* session, std::string target, Value document, const SameServer* same,
                  bool json) {
  auto made = co_await post_document(session, std::move(target), std::move(document));
  if (!made) {
    session->complain("", made.error());
    co_return session->exit_code();
  }
  co_return co_await tell_proposal(session, std::move(*made), same, json);
}

Task<int> supersede(Session* session, Value change, const std::string* reason,
                    const SameServer* same, bool json) {
  const auto head = co_await get_head(session);
  if (!head) {
    session->complain("", head.error());
    co_return session->exit_code();
  }
  Value document =
      Value::Map{{"version", head->version}, {"reason", *reason}, {"change", std::move(change)}};
  co_return co_await propose(session, "/registry/supersede", std::move(document), same, json);
}

// What is about to be signed: made here, from the payload.
struct ToSign {
  chain::Payload payload;
  std::string text;
};

// The log that the server's text names.
Result<base::ObjectId> log_of(const std::string& text) {
  constexpr std::string_view kLog = "\nlog ";
  const std::size_t at = text.find(kLog);
  const std::size_t end = at == std::string::npos ? at : text.find('\n', at + kLog.size());
  if (end == std::string::npos) {
    return fail(Code::UpstreamFail, "the server's text to sign names no log");
  }
  const auto log = base::ObjectId::parse(
      std::string_view(text).substr(at + kLog.size(), end - at - kLog.size()));
  if (!log) return fail(Code::UpstreamFail, "the server's text to sign names no log");
  return *log;
}

// IntegrityFail if the server wants something else signed than what it shows.
Result<ToSign> make_text(const Value& proposal, const std::string& id) {
  const Value* const value = proposal.find("payload");
  const Value* const sign = proposal.find("sign");
  const auto expires = base::parse_rfc3339(text_of(proposal, "expires_at"));
  if (value == nullptr || sign == nullptr || sign->text() == nullptr || !expires) {
    return fail(Code::UpstreamFail, "the server's answer is no proposal");
  }
  const std::string payload = base::encode_cbor(*value);
  auto parsed = chain::decode_payload(base::as_bytes(payload));
  if (!parsed) return fail(Code::UpstreamFail, "its payload is none: " + parsed.error().message);
  const auto log = log_of(*sign->text());
  if (!log) return fail(log.error());
  std::string text =
      chain::approval_text(*log, id, b3::hash(base::as_bytes(payload)), *expires * 1000);
  if (text != *sign->text()) {
    return fail(Code::IntegrityFail,
                "nothing was signed: the server wants another text signed than the one that "
                "follows from the proposal it shows");
  }
  return ToSign{std::move(*parsed), std::move(text)};
}

// One line of standard input; nothing more is read, since it may be somebody else's.
Result<bool> ask_person() {
  platform::posix::write_standard_error("Approve this? [y/N] ");
  std::string answer;
  while (answer.size() < kAnswerChars) {
    const auto next = platform::posix::read_stream(platform::posix::kStandardInput, base::Buffer(1),
                                                   "standard input");
    if (!next) return fail(next.error());
    if (next->size() == 0 || base::as_text(next->view()) == "\n") break;
    answer.append(base::as_text(next->view()));
  }
  return answer == "y" || answer == "Y" || answer == "yes";
}

Task<int> post_approval(Session* session, const ApprovePlan* plan, const std::string* text,
                        const SameServer* same) {
  const std::string signer = chain::signer_id(plan->key.public_key());
  const auto signature = plan->key.sign(base::as_bytes(*text));
  if (!signature) {
    session->complain(plan->id, signature.error());
    co_return session->exit_code();
  }
  const auto answer = co_await post_document(
      session, "/registry/approvals/" + plan->id,
      Value::Map{{"signer", signer}, {"signature", base::to_base64(*signature)}});
  if (!answer) {
    session->complain(plan->id, answer.error());
    co_return session->exit_code();
  }
  const Value* const ready = answer->find("ready");
  const bool is_ready = ready != nullptr && ready->boolean().value_or(false);
  session->print("approved by " + signer + ": " + tally_text(*answer) + "\n" +
                 (is_ready ? "next: ron registry commit " + plan->id + *same + "\n"
                           : "next: another signer: ron registry approve " + plan->id +
                                 " --key FILE" + *same + "\n"));
  co_return session->exit_code();
}

Task<int> approve(Session* session, const ApprovePlan* plan, const SameServer* same) {
  const auto proposal = co_await get_document(session, "/registry/proposals/" + plan->id);
  if (!proposal) {
    session->complain(plan->id, proposal.error());
    co_return session->exit_code();
  }
  const auto to_sign = make_text(*proposal, plan->id);
  if (!to_sign) {
    session->complain(plan->id, to_sign.error());
    co_return session->exit_code();
  }
  const Value* const difference = proposal->find("difference");
  session->print("proposal " + plan->id + ": " + change_text(to_sign->payload) +
                 "compared with HEAD, as the server says:\n" +
                 difference_text(difference != nullptr ? *difference : Value()) +
                 "the text to sign:\n" + to_sign->text);
  if (!plan->yes) {
    const auto agreed = co_await session->off_loop(ask_person);
    if (!agreed || !*agreed) {
      session->complain(plan->id, "not approved; answer y, or say --yes where nobody can answer");
      co_return session->exit_code();
    }
  }
  co_return co_await post_approval(session, plan, &to_sign->text, same);
}

Task<int> commit(Session* session, const std::string* id, bool json) {
  const auto answer =
      co_await post_document(session, "/registry/commit/" + *id, Value(Value::Map()));
  if (!answer) {
    session->complain(*id, answer.error());
  } else if (json) {
    session->print(base::print_json(*answer) + "\n");
  } else {
    session->print("version " + text_of(*answer, "version") + "  " + text_of(*answer, "hash") +
                   "\n");
  }
  co_return session->exit_code();
}

Task<int> withdraw(Session* session, const std::string* id, const std::string* done) {
  const auto text = co_await session->objects().delete_json("/registry/proposals/" + *id);
  if (!text) {
    session->complain(*id, text.error());
  } else {
    session->print("proposal " + *id + " " + *done + "\n");
  }
  co_return session->exit_code();
}

}  // namespace

int registry_propose(const ClientOptions& options, Value document, const SameServer& same,
                     bool json) {
  return run_session("registry propose", options, [&](Session& session) {
    return propose(&session, "/registry/proposals", std::move(document), &same, json);
  });
}

int registry_supersede(const ClientOptions& options, Value change, const std::string& reason,
                       const SameServer& same, bool json) {
  return run_session("registry supersede", options, [&](Session& session) {
    return supersede(&session, std::move(change), &reason, &same, json);
  });
}

int registry_approve(const ClientOptions& options, const ApprovePlan& plan,
                     const SameServer& same) {
  return run_session("registry approve", options,
                     [&](Session& session) { return approve(&session, &plan, &same); });
}

int registry_withdraw(const ClientOptions& options, const std::string& id,
                      const std::string& command) {
  const std::string done = command == "reject" ? "rejected" : "withdrawn";
  return run_session("registry " + command, options,
                     [&](Session& session) { return withdraw(&session, &id, &done); });
}

int registry_commit(const ClientOptions& options, const std::string& id, bool json) {
  return run_session("registry commit", options,
                     [&](Session& session) { return commit(&session, &id, json); });
}

}  // namespace ron::cli
