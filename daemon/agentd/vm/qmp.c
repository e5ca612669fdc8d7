/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/vm/qmp.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "agentd/vm/socket.h"
#include "base/clock.h"

enum { ASK_AGAIN_MS = 20, ASK_MAX = 64 * 1024 };

struct qmp {
	struct vmwire wire;
};

void qmp_close(struct qmp *q)
{
	if (!q)
		return;
	vmwire_close(&q->wire);
	free(q);
}

/* Its next message that is no event. */
static int qmp_next_said(struct qmp *q, int64_t end, json_t **said, struct fail *f)
{
	for (;;) {
		int64_t left = end - clock_ms();
		const char *line;
		json_t *value;
		int rc = vmwire_line(&q->wire, left > 0 ? left : 0, &line, f);

		if (rc)
			return rc;
		value = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
		if (!json_is_object(value)) {
			json_decref(value);
			return fail_set(f, -EPROTO, "QEMU's monitor broke its protocol");
		}
		if (!json_object_get(value, "event")) {
			*said = value;
			return 0;
		}
		json_decref(value);
	}
}

/* fd: -1, or a descriptor to send along. */
static int qmp_ask(struct qmp *q, const char *command, json_t *arguments, int fd, int64_t deadline_ms, json_t **answer,
	struct fail *f)
{
	int64_t end = clock_ms() + deadline_ms;
	json_t *request = json_pack("{s:s}", "execute", command), *said, *value;
	struct buf line;
	const char *reason;
	char *text;
	int rc;

	if (arguments)
		json_object_set_new(request, "arguments", arguments);
	text = request ? json_dumps(request, JSON_COMPACT) : NULL;
	json_decref(request);
	buf_init(&line, ASK_MAX);
	rc = text ? buf_addf(&line, "%s\n", text) : -ENOMEM;
	free(text);
	if (rc)
		fail_set(f, rc, "out of memory");
	else if (fd >= 0)
		rc = vmwire_send_with(&q->wire, line.data, line.len, fd, deadline_ms, f);
	else
		rc = vmwire_send(&q->wire, line.data, line.len, deadline_ms, f);
	buf_release(&line);
	if (!rc)
		rc = qmp_next_said(q, end, &said, f);
	if (rc)
		return rc;
	value = json_object_get(said, "return");
	reason = json_string_value(json_object_get(json_object_get(said, "error"), "desc"));
	if (value && answer)
		*answer = json_incref(value);
	if (!value)
		rc = fail_set(f, reason ? -EREMOTEIO : -EPROTO, "QEMU refuses '%s': %.200s", command,
			reason ? reason : "without a reason");
	json_decref(said);
	return rc;
}

int qmp_do(struct qmp *q, const char *command, json_t *arguments, int64_t deadline_ms, json_t **answer, struct fail *f)
{
	return qmp_ask(q, command, arguments, -1, deadline_ms, answer, f);
}

int qmp_give(struct qmp *q, int fd, const char *name, int64_t deadline_ms, struct fail *f)
{
	return qmp_ask(q, "getfd", json_pack("{s:s}", "fdname", name), fd, deadline_ms, NULL, f);
}

int qmp_until(struct qmp *q, const char *query, const char *key, const char *const *words, int64_t deadline_ms,
	int *which, struct fail *f)
{
	int64_t end = clock_ms() + deadline_ms;

	for (;;) {
		int64_t left = end - clock_ms();
		json_t *answer;
		const char *now;
		int rc = qmp_do(q, query, NULL, left > 0 ? left : 0, &answer, f);

		if (rc)
			return rc;
		now = json_string_value(json_object_get(answer, key));
		for (int i = 0; now && words[i]; i++)
			if (strcmp(now, words[i]) == 0) {
				*which = i;
				json_decref(answer);
				return 0;
			}
		json_decref(answer);
		if (clock_ms() >= end)
			return fail_set(f, -ETIMEDOUT, "QEMU did not answer '%s' in time", query);
		poll(NULL, 0, ASK_AGAIN_MS);
	}
}

/* The greeting, then the handshake. */
static int qmp_sign_in(struct qmp *q, int64_t deadline_ms, struct fail *f)
{
	int64_t end = clock_ms() + deadline_ms;
	json_t *said;
	int rc = qmp_next_said(q, end, &said, f);

	if (rc)
		return rc;
	if (!json_object_get(said, "QMP"))
		rc = fail_set(f, -EPROTO, "QEMU's monitor broke its protocol");
	json_decref(said);
	return rc ? rc : qmp_do(q, "qmp_capabilities", NULL, deadline_ms, NULL, f);
}

static int qmp_begin(struct qmp **out, struct qmp *q, int64_t deadline_ms, struct fail *f)
{
	int rc = qmp_sign_in(q, deadline_ms, f);

	if (rc)
		qmp_close(q);
	else
		*out = q;
	return rc;
}

int qmp_over(struct qmp **out, int fd, int64_t deadline_ms, struct fail *f)
{
	struct qmp *q = calloc(1, sizeof *q);
	struct vmwire wire;

	vmwire_from(&wire, fd);
	if (!q) {
		vmwire_close(&wire);
		return fail_set(f, -ENOMEM, "out of memory");
	}
	q->wire = wire;
	return qmp_begin(out, q, deadline_ms, f);
}

int qmp_open(struct qmp **out, const char *folder, const char *name, pid_t pid, int64_t deadline_ms, struct fail *f)
{
	struct qmp *q = calloc(1, sizeof *q);
	int rc;

	if (!q)
		return fail_set(f, -ENOMEM, "out of memory");
	rc = vmwire_open(&q->wire, folder, name, pid, deadline_ms, f);
	if (rc) {
		free(q);
		return rc;
	}
	return qmp_begin(out, q, deadline_ms, f);
}
