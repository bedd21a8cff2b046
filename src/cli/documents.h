// Requests whose answers are documents.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/value.h"
#include "cli/session.h"
#include "platform/task.h"

namespace ron::cli {

// The document at `target`; UpstreamFail when it is none. Cancel-safe, as everything here.
platform::Task<base::Result<base::Value>> get_document(Session* session, std::string target);
// The answers to a document; it may be sent more than once.
platform::Task<base::Result<base::Value>> post_document(Session* session, std::string target,
                                                        base::Value document);
platform::Task<base::Result<base::Value>> put_document(Session* session, std::string target,
                                                       base::Value document);
platform::Task<base::Result<base::Value>> delete_document(Session* session, std::string target);

// The text under a key as it may be shown on a terminal; empty when there is none.
std::string printable_at(const base::Value& document, std::string_view key);

}  // namespace ron::cli
