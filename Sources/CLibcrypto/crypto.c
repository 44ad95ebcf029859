// Functions of libcrypto that we call. A function that is not listed here does not link.
#include "CLibcrypto.h"
#include "delay_load.h"

#include <openssl/opensslv.h>

// The library's file is named by the version of the interface that the headers describe.
#if OPENSSL_VERSION_NUMBER >= 0x30000000L
static struct lh_library libcrypto = {.name = "libcrypto.so.3"};
#else
static struct lh_library libcrypto = {.name = "libcrypto.so.1.1"};
#endif

int lh_crypto_load(void)
{
    return lh_library_load(&libcrypto) ? 1 : 0;
}

LH_DELAYED(libcrypto, EVP_MD_CTX *, EVP_MD_CTX_new, (void), ())
LH_DELAYED(libcrypto, void, EVP_MD_CTX_free, (EVP_MD_CTX *ctx), (ctx))
LH_DELAYED(libcrypto, int, EVP_MD_CTX_copy_ex, (EVP_MD_CTX *out, const EVP_MD_CTX *in), (out, in))
LH_DELAYED(
    libcrypto, int, EVP_DigestInit_ex,
    (EVP_MD_CTX *ctx, const EVP_MD *type, ENGINE *impl),
    (ctx, type, impl))
LH_DELAYED(
    libcrypto, int, EVP_DigestUpdate,
    (EVP_MD_CTX *ctx, const void *d, size_t cnt),
    (ctx, d, cnt))
LH_DELAYED(
    libcrypto, int, EVP_DigestFinal_ex,
    (EVP_MD_CTX *ctx, unsigned char *md, unsigned int *s),
    (ctx, md, s))
LH_DELAYED(libcrypto, const EVP_MD *, EVP_md5, (void), ())
LH_DELAYED(libcrypto, const EVP_MD *, EVP_sha1, (void), ())
LH_DELAYED(libcrypto, const EVP_MD *, EVP_sha256, (void), ())
LH_DELAYED(libcrypto, const EVP_MD *, EVP_sha512, (void), ())
