#include "cli/registry_text.h"

#include <utility>

#include "base/rfc3339.h"
#include "chain/change.h"
#include "config/value.h"

namespace ron::cli {
namespace {

using base::Value;

constexpr std::size_t kShownChars = 4000;  // of one value

// Whatever a server sends stays on its line and does nothing to a terminal.
std::string shown(const Value& value) {
  return config::printable(base::print_json(value), kShownChars);
}

std::string signer_line(const chain::Signer& signer) {
  std::string line = "  signer " + signer.id + "  " + config::printable(signer.name);
  if (signer.not_after_s) line += "  until " + base::print_rfc3339(*signer.not_after_s);
  return line + "\n";
}

std::string set_text(const chain::SignerSet& set) {
  std::string text = "  threshold " + std::to_string(set.threshold) + "\n";
  for (const chain::Signer& signer : set.signers) text += signer_line(signer);
  return text;
}

std::string update_text(const chain::Update& update) {
  std::string text;
  for (const chain::DescriptorPtr& descriptor : update.set) {
    text += "  set " + descriptor->key() + "  " + shown(descriptor->value) + "\n";
  }
  for (const std::string& key : update.remove) text += "  remove " + key + "\n";
  return text;
}

std::string revoke_text(const chain::Revoke& revoke) {
  std::string text;
  for (const std::string& id : revoke.signers) text += "  revoke signer " + id + "\n";
  return text + "  because: " + config::printable(revoke.reason) + "\n";
}

std::string text_of_change(const chain::Change& change) {
  std::string text = std::string(change.kind()) + "\n";
  if (const auto* genesis = change.as<chain::Genesis>()) return text + set_text(genesis->set);
  if (const auto* rotate = change.as<chain::Rotate>()) return text + set_text(rotate->set);
  if (const auto* update = change.as<chain::Update>()) return text + update_text(*update);
  if (const auto* revoke = change.as<chain::Revoke>()) return text + revoke_text(*revoke);
  const auto* const supersede = change.as<chain::Supersede>();
  return text + "  undoes version " + std::to_string(supersede->version) +
         ", because: " + config::printable(supersede->reason) +
         "\n  and instead: " + text_of_change(*supersede->change);
}

std::uint64_t number_of(const Value& map, std::string_view key) {
  const Value* const value = map.find(key);
  return value == nullptr ? 0 : value->unsigned_number().value_or(0);
}

bool flag_of(const Value& map, std::string_view key) {
  const Value* const value = map.find(key);
  return value != nullptr && value->boolean().value_or(false);
}

const Value::Array& list_of(const Value& map, std::string_view key) {
  static const Value::Array kNone;
  const Value* const value = map.find(key);
  return value == nullptr || value->array() == nullptr ? kNone : *value->array();
}

std::string ready_text(const Value& proposal) {
  if (!flag_of(proposal, "fits_head")) return "does not fit HEAD any more";
  return flag_of(proposal, "ready") ? "ready" : "waits for approvals";
}

std::string count_text(std::uint64_t have, std::uint64_t need) {
  return std::to_string(have) + (have <= need ? " of " : " where it takes ") + std::to_string(need);
}

std::string approvals_of(const Value& proposal) {
  const bool is_for_both = number_of(proposal, "need_new") != 0;
  return tally_text(proposal) + (is_for_both ? "" : " approvals");
}

}  // namespace

std::string text_of(const Value& map, std::string_view key) {
  const Value* const value = map.find(key);
  if (value == nullptr || value->is_null()) return "";
  if (value->text() != nullptr) return config::printable(*value->text(), kShownChars);
  return shown(*value);
}

void learn_names(const chain::Change& change, SignerNames& names) {
  const chain::SignerSet* set = nullptr;
  if (const auto* genesis = change.as<chain::Genesis>()) set = &genesis->set;
  if (const auto* rotate = change.as<chain::Rotate>()) set = &rotate->set;
  if (const auto* supersede = change.as<chain::Supersede>()) {
    learn_names(*supersede->change, names);
  }
  if (set == nullptr) return;
  for (const chain::Signer& signer : set->signers) names[signer.id] = signer.name;
}

void learn_names(base::ByteView entry, SignerNames& names) {
  const auto decoded = chain::decode_entry(entry);
  if (!decoded) return;
  const auto payload = chain::decode_payload(base::as_bytes(decoded->payload));
  if (payload) learn_names(payload->change, names);
}

std::string change_text(const chain::Payload& payload) {
  std::string text = text_of_change(payload.change);
  if (!payload.reason.empty()) text += "  reason: " + config::printable(payload.reason) + "\n";
  if (payload.if_head) {
    text += "  only after version " + std::to_string(payload.if_head->version) + " " +
            payload.if_head->hash.text() + "\n";
  }
  return text;
}

std::string difference_text(const Value& difference) {
  if (difference.array() == nullptr || difference.array()->empty()) return "  nothing\n";
  std::string text;
  for (const Value& one : *difference.array()) {
    const std::string before = text_of(one, "before");
    const std::string after = text_of(one, "after");
    const std::string what = text_of(one, "what");
    if (one.find("before_bytes") != nullptr) {
      text += "  ~ " + what +
              "  too large to show: " + std::to_string(number_of(one, "before_bytes")) +
              " bytes become " + std::to_string(number_of(one, "after_bytes")) + "\n";
      continue;
    }
    if (!before.empty()) text += "  - " + what + "  " + before + "\n";
    if (!after.empty()) text += "  + " + what + "  " + after + "\n";
  }
  return text;
}

std::string proposal_line(const Value& proposal) {
  return text_of(proposal, "proposal") + "  " + text_of(proposal, "kind") + "  " +
         approvals_of(proposal) + "  " + ready_text(proposal) + "  expires " +
         text_of(proposal, "expires_at") + "\n";
}

std::string proposal_text(const Value& proposal) {
  const Value* const difference = proposal.find("difference");
  std::string text = "proposal " + text_of(proposal, "proposal") + "  " +
                     text_of(proposal, "kind") + "\npayload " + text_of(proposal, "payload_b3") +
                     "\n";
  text += "changes, compared with HEAD:\n" + difference_text(difference ? *difference : Value());
  for (const Value& approval : list_of(proposal, "approvals")) {
    text += "approved by " + text_of(approval, "signer") + "  " + text_of(approval, "name") + "\n";
  }
  return text + approvals_of(proposal) + ", " + ready_text(proposal) + ", expires " +
         text_of(proposal, "expires_at") + "\n";
}

std::string tally_text(const Value& document) {
  const std::uint64_t need = number_of(document, "threshold");
  const std::uint64_t need_new = number_of(document, "need_new");
  if (need_new == 0) {
    const std::size_t listed = list_of(document, "approvals").size();
    return count_text(listed != 0 ? listed : number_of(document, "approvals"), need);
  }
  return count_text(number_of(document, "have"), need) + " from the old signers, " +
         count_text(number_of(document, "have_new"), need_new) + " from the new ones";
}

std::string wanted_text(const Value& proposal) {
  const std::string need = std::to_string(number_of(proposal, "threshold"));
  const std::uint64_t need_new = number_of(proposal, "need_new");
  if (need_new == 0) return need + " signers";
  return need + " of the old signers and " + std::to_string(need_new) + " of the new ones,";
}

std::string entry_text(const chain::Entry& entry, const base::ObjectId& hash,
                       const SignerNames& names) {
  std::string text = "version " + std::to_string(entry.version) + "  " + hash.text() + "\n";
  text += "committed " + base::print_rfc3339(entry.at_ms / 1000) + "  proposal " +
          std::string(entry.proposal.text()) + "\n";
  for (const chain::Approval& approval : entry.approvals) {
    const auto name = names.find(approval.signer);
    text += "approved by " + approval.signer +
            (name == names.end() ? "" : "  " + config::printable(name->second)) + "\n";
  }
  const auto payload = chain::decode_payload(base::as_bytes(entry.payload));
  return text + (payload ? change_text(*payload) : payload.error().message + "\n");
}

std::string state_text(const Value& state) {
  const Value* const head = state.find("head");
  std::string text = "log " + text_of(state, "log") + "\n";
  if (head != nullptr) {
    text += "version " + text_of(*head, "version") + "  " + text_of(*head, "hash") + "\n";
  }
  text += "threshold " + text_of(state, "threshold") + "\n";
  for (const Value& signer : list_of(state, "signers")) {
    text += "signer " + text_of(signer, "id") + "  " + text_of(signer, "name");
    const std::string until = text_of(signer, "not_after");
    text += (until.empty() ? "" : "  until " + until) + "\n";
  }
  for (const Value& id : list_of(state, "revoked")) {
    text += "revoked " + (id.text() != nullptr ? config::printable(*id.text()) : "") + "\n";
  }
  for (const Value& descriptor : list_of(state, "descriptors")) {
    text += text_of(descriptor, "type") + "/" + text_of(descriptor, "id") + "  " +
            shown(descriptor) + "\n";
  }
  return text;
}

}  // namespace ron::cli
