/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/via/viabinary.h"

#include <dlfcn.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "cli/via/viaframe.h"
#include "cli/via/viasend_script.h"
#include "pssh/pssh.h"

static const size_t binary_max = (size_t)256 << 20;

const char *viabinary_version(void)
{
	_Static_assert(VIA_PROTOCOL == 1, "the text below");
	return PACKAGE_VERSION " 1";
}

/* Where libpssh is a file of its own, it goes with the program; in a static build the path is the program's. */
static int viabinary_library(struct viabinary *b, struct fail *f)
{
	const char *(*symbol)(void) = pssh_version;
	struct buf library;
	void *address;
	Dl_info info;
	int rc = 0;

	memcpy(&address, &symbol, sizeof address);
	if (!dladdr(address, &info) || !info.dli_fname || !strstr(info.dli_fname, ".so"))
		return 0;
	buf_init(&library, binary_max);
	rc = buf_read_file(&library, info.dli_fname);
	rc = rc ? rc : buf_add(&b->bytes, library.data, library.len);
	if (rc)
		fail_set(f, rc, "cannot read '%s': %s", info.dli_fname, strerror(-rc));
	buf_release(&library);
	return rc;
}

int viabinary_load(struct viabinary *b, struct fail *f)
{
	unsigned char sum[EVP_MAX_MD_SIZE];
	unsigned len = 0;
	int rc;

	*b = (struct viabinary){ 0 };
	buf_init(&b->bytes, binary_max);
	rc = buf_read_file(&b->bytes, "/proc/self/exe");
	if (rc)
		return fail_set(f, rc, "cannot read this program: %s", strerror(-rc));
	b->program = b->bytes.len;
	rc = viabinary_library(b, f);
	if (!rc && !EVP_Digest(b->bytes.data, b->bytes.len, sum, &len, EVP_sha256(), NULL))
		rc = fail_set(f, -1, "cannot compute a checksum of this program");
	for (unsigned i = 0; !rc && i < len && i < 32; i++)
		snprintf(b->hex + 2 * (size_t)i, 3, "%02x", sum[i]);
	return rc;
}

void viabinary_release(struct viabinary *b)
{
	buf_release(&b->bytes);
}

int viabinary_command(const struct viabinary *b, struct buf *out)
{
	int rc = buf_adds(out, "exec /bin/sh -c ");

	rc = rc ? rc : str_quote_sh(out, viasend_script);
	rc = rc ? rc : buf_adds(out, " nanopod-via ");
	rc = rc ? rc : str_quote_sh(out, viabinary_version());
	return rc ? rc : buf_addf(out, " %s %zu %zu", b->hex, b->program, b->bytes.len - b->program);
}
