// SignerKeys: the signers' public keys made ready to verify, which costs a tenth of a verification.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <string>

#include "auth/ed25519.h"
#include "base/result.h"
#include "chain/signers.h"
#include "runtime/lock.h"
#include "services/registry/wires.h"

namespace ron::registry {

// Any core. A signer's id is made of its key, so what is kept under it never changes.
class SignerKeys {
 public:
  // All signers at one time, and those who left lately.
  static constexpr std::size_t kMost = 4 * chain::kMaxSigners;

  SignerKeys() : lock_(kSignerKeysLock) {}

  base::Result<auth::VerifyingKey> get(const chain::Signer& signer) {
    {
      const std::lock_guard lock(lock_);
      const auto found = keys_.find(signer.id);
      if (found != keys_.end()) return found->second;
    }
    auto key = auth::VerifyingKey::make(signer.key);
    if (!key) return key;
    const std::lock_guard lock(lock_);
    if (keys_.size() >= kMost) keys_.clear();
    keys_.emplace(signer.id, *key);
    return key;
  }

 private:
  runtime::Lock lock_;
  std::map<std::string, auth::VerifyingKey, std::less<>> keys_;
};

}  // namespace ron::registry
