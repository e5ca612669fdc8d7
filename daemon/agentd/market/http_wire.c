/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/market/http_wire.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/utf8.h"
#include "market/client.h"

enum { RETRY_MAX = 86400 };
static const int64_t took_max = INT64_C(86400) * 1000000;

/* Did an HTTP status of this kind bring such a result? */
static bool http_wire_result(int rc, int status)
{
	bool success = status >= 200 && status < 300;

	if (status != 0 && (status < 100 || status > 999))
		return false;
	if (rc == 0)
		return success;
	if (rc > REASON_BASE && rc < REASON_END)
		return status != 0 && !success;
	return rc > CLIENT_BASE && rc < CLIENT_END;
}

int http_wire_read(const char *data, size_t len, struct http_reply *out)
{
	struct http_reply r = { .rc = 0 };
	struct http_answer a;

	if (len < sizeof a)
		return 0;
	memcpy(&a, data, sizeof a);
	if (!http_wire_result(a.rc, a.status) || a.retry_after < -1 || a.retry_after > RETRY_MAX || a.took_us < 0 ||
		a.took_us > took_max || a.len > HTTP_BODY_MAX || len > sizeof a + a.len ||
		!memchr(a.text, '\0', sizeof a.text) || (a.rc && !*a.text))
		return -EPROTO;
	if (len < sizeof a + a.len)
		return 0;
	r.rc = a.rc;
	r.status = a.status;
	r.retry_after = a.retry_after;
	r.took_us = a.took_us;
	if (r.rc) {
		fail_set(&r.fail, r.rc, "%s", a.text);
		utf8_clean(r.fail.text); /* it goes to logs and terminals */
	}
	buf_init(&r.body, HTTP_BODY_MAX + 1);
	if (buf_add(&r.body, data + sizeof a, a.len) != 0)
		return -ENOMEM;
	*out = r;
	return 1;
}
