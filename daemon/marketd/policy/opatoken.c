/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/policy/opatoken.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/secret.h"

int opatoken_read(const char *path, char room[OPATOKEN], struct fail *f)
{
	struct buf text;
	size_t len;
	int rc;

	if (!path)
		return 0;
	rc = secret_read(&text, path, OPATOKEN - 1, f);
	len = strcspn(buf_text(&text), "\r\n");
	for (size_t i = 0; i < len; i++)
		if (!isgraph((unsigned char)buf_text(&text)[i]))
			len = 0;
	if (!rc && !len)
		rc = fail_set(f, -EINVAL, "'%s' has no token in its first line", path);
	if (!rc) {
		memset(room, 0, OPATOKEN);
		memcpy(room, buf_text(&text), len);
	}
	secret_wipe(&text);
	return rc;
}
