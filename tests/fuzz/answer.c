/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes from the agent's network side: refused, not whole yet, or a reply that keeps all of its promises. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agentd/market/http_wire.h"
#include "base/utf8.h"
#include "market/client.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct http_reply r;
	int rc = http_wire_read((const char *)data, size, &r);

	if (rc != 0 && rc != 1 && rc != -EPROTO && rc != -ENOMEM)
		abort();
	if (rc != 1)
		return 0;
	if ((r.rc == 0) != (r.status >= 200 && r.status < 300) && r.rc >= REASON_BASE)
		abort();
	if (r.rc && strcmp(client_code(r.rc), client_code(CLIENT_BASE)) == 0 && r.rc != REASON_INTERNAL)
		abort();
	if (r.retry_after < -1 || r.took_us < 0 || r.fail.code != r.rc || (r.rc != 0) != (*r.fail.text != '\0'))
		abort();
	if (strlen(r.fail.text) >= sizeof r.fail.text)
		abort();
	for (const char *p = r.fail.text; *p; p += utf8_len(p, strlen(p)))
		if (!utf8_printable(p, strlen(p)))
			abort();
	if (r.body.len != size - sizeof(struct http_answer))
		abort();
	buf_release(&r.body);
	return 0;
}
