// libcrypto, loaded when the first of these functions is called: see delay_load.h. It is the one that
// libcurl brings along, so that a transfer loads nothing more for its digest.
#ifndef LH_CLIBCRYPTO_H
#define LH_CLIBCRYPTO_H

#pragma redefine_extname EVP_DigestFinal_ex longhaul_EVP_DigestFinal_ex
#pragma redefine_extname EVP_DigestInit_ex longhaul_EVP_DigestInit_ex
#pragma redefine_extname EVP_DigestUpdate longhaul_EVP_DigestUpdate
#pragma redefine_extname EVP_md5 longhaul_EVP_md5
#pragma redefine_extname EVP_MD_CTX_copy_ex longhaul_EVP_MD_CTX_copy_ex
#pragma redefine_extname EVP_MD_CTX_free longhaul_EVP_MD_CTX_free
#pragma redefine_extname EVP_MD_CTX_new longhaul_EVP_MD_CTX_new
#pragma redefine_extname EVP_sha1 longhaul_EVP_sha1
#pragma redefine_extname EVP_sha256 longhaul_EVP_sha256
#pragma redefine_extname EVP_sha512 longhaul_EVP_sha512

#if !__has_include(<openssl/evp.h>)
#error "openssl/evp.h is missing: install libssl-dev (apt-get install libssl-dev)"
#endif
#include <openssl/evp.h>

// Loads libcrypto; 0 = it is not there.
int lh_crypto_load(void);

#endif
