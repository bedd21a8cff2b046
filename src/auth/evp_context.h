// A context of libcrypto's EVP functions that frees itself. For this folder's own use.
#pragma once

#include <memory>

#include <openssl/evp.h>

namespace ron::auth {

struct FreeEvpContext {
  void operator()(EVP_MD_CTX* context) const noexcept { EVP_MD_CTX_free(context); }
};
using EvpContextPtr = std::unique_ptr<EVP_MD_CTX, FreeEvpContext>;

}  // namespace ron::auth
