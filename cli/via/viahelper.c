/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/via/viahelper.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/str.h"
#include "cli/frame/print.h"
#include "cli/frame/settings.h"
#include "cli/frame/signals.h"
#include "cli/remote/connect.h"
#include "cli/via/viaagent.h"
#include "cli/via/viaframe.h"
#include "pssh/pssh.h"

enum { READ_SIZE = 65536, OUT_FULL = 1 << 18, ORPHAN_GRACE_MS = 5000 };
static const size_t out_max = (size_t)1 << 30;

struct viahelper {
	struct nanopod *np;
	struct connect *connect;
	struct pssh_task *task;
	struct buf in, out, command, input;
	bool has_input, chunks;
	char *pty;  /* "TERM COLUMNS ROWS" */
	bool ended; /* nobody listens any more */
	bool mute;
	struct viaagent agent;
};

static void viahelper_need(int rc)
{
	if (rc)
		command_nomem();
}

/* ---- The job --------------------------------------------------------------------------- */

static int viahelper_lend_agent(struct viahelper *h)
{
	struct fail f = { 0 };
	int rc = viaagent_listen(&h->agent);

	if (rc)
		return print_fail(h->np, STATUS_FAILURE, NULL, "cannot make a socket for the agent: %s", strerror(-rc));
	viahelper_need(settings_set(h->np->settings, SETTING_ID_AGENT, LAYER_FLAG, h->agent.path, "--via", &f));
	return STATUS_OK;
}

/* What the other side may set here. The keys of hosts are its business: none are known but those that it sends. */
static int viahelper_set(struct viahelper *h, const char *key, const char *value)
{
	static const char *const allowed[] = { "fanout", "timeout", "connect-timeout", "retry", "host-key" };
	struct fail f = { 0 };
	int id = settings_find(key);

	if (strcmp(key, "output") == 0) {
		h->chunks = strcmp(value, "chunks") == 0;
		return STATUS_OK;
	}
	if (strcmp(key, "pty") == 0) {
		free(h->pty);
		h->pty = strdup(value);
		viahelper_need(!h->pty);
		return STATUS_OK;
	}
	if (strcmp(key, "forward-agent") == 0)
		return viahelper_lend_agent(h);
	for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
		if (strcmp(allowed[i], key) == 0 && id >= 0) {
			if (settings_set(h->np->settings, (enum setting)id, LAYER_FLAG, value, "--via", &f) == 0)
				return STATUS_OK;
			return print_fail(h->np, STATUS_USAGE, NULL, "%s", f.text);
		}
	return print_fail(h->np, STATUS_USAGE, NULL, "the setting '%s' is unknown here", key);
}

static int viahelper_begin(struct viahelper *h)
{
	int64_t limit = settings_ms(h->np->settings, SETTING_ID_TIMEOUT);
	char term[64];
	unsigned columns, rows;
	struct fail f = { 0 };
	int rc, status;

	viahelper_need(settings_set(h->np->settings, SETTING_ID_KNOWN_HOSTS, LAYER_FLAG, "none", "--via", &f));
	status = connect_open(h->np, &h->connect);
	if (status)
		return status;
	rc = pssh_exec(h->connect->fleet, buf_text(&h->command), &h->task);
	if (!rc)
		rc = pssh_task_set_output(h->task, h->chunks ? PSSH_OUTPUT_CHUNKS : PSSH_OUTPUT_LINES, (size_t)1 << 20,
			PSSH_OVERFLOW_DROP);
	if (!rc && limit)
		rc = pssh_task_set_deadline(h->task, (unsigned)limit);
	if (!rc && h->pty && sscanf(h->pty, "%63s %u %u", term, &columns, &rows) == 3)
		rc = pssh_task_set_pty(h->task, term, columns, rows);
	if (!rc && h->has_input)
		rc = pssh_task_open_input(h->task);
	if (!rc)
		rc = pssh_task_start(h->task);
	return rc ? print_fail(h->np, STATUS_FAILURE, NULL, "%s", pssh_error(h->connect->fleet)) : STATUS_OK;
}

static void viahelper_error(struct viahelper *h, uint32_t id, int code, bool cancelled, const struct pssh_host *host,
	const char *text)
{
	char number[16];
	const char *words[] = {
		number,
		cancelled ? "1" : "0",
		host ? pssh_host_address(host) : "",
		host ? pssh_host_fingerprint(host) : "",
		text,
	};

	snprintf(number, sizeof number, "%d", code);
	viahelper_need(viaframe_add_words(&h->out, VIA_ERROR, id, words, 5));
}

/* words: spec, address, port, user, lines, pins … */
static int viahelper_set_host(struct viahelper *h, struct pssh_host *host, const char *const *words, size_t count)
{
	long port = 0;
	int rc = str_to_long(words[2], 1, 65535, &port) ? PSSH_EINVAL : 0;

	rc = rc ? rc : pssh_host_set_address(host, words[1]);
	rc = rc ? rc : pssh_host_set_port(host, (unsigned)port);
	rc = rc ? rc : pssh_host_set_user(host, words[3]);
	if (!rc && *words[4])
		rc = pssh_add_known_hosts_text(h->connect->fleet, words[4]);
	for (size_t i = 5; !rc && i < count; i++)
		rc = pssh_host_pin(host, words[i]);
	return rc;
}

static int viahelper_add(struct viahelper *h, const struct via_frame *f)
{
	const char *words[VIA_WORDS];
	int count = viaframe_words(f, words, 5, VIA_WORDS), status, rc;
	struct pssh_host *host = NULL;

	if (count < 0)
		return count;
	if (!h->task && (status = viahelper_begin(h)) != STATUS_OK)
		return -EINVAL;
	rc = pssh_host(h->connect->fleet, words[0], &host);
	rc = rc ? rc : viahelper_set_host(h, host, words, (size_t)count);
	rc = rc ? rc : pssh_task_add(h->task, host);
	if (rc) {
		viahelper_error(h, f->id, rc, false, NULL, pssh_error(h->connect->fleet));
		return 0;
	}
	pssh_host_set_data(host, (void *)((uintptr_t)f->id + 1));
	if (h->has_input) {
		if (h->input.len)
			rc = pssh_task_write(h->task, host, h->input.data, h->input.len);
		viahelper_need(rc ? rc : pssh_task_end_input(h->task, host));
	}
	return 0;
}

static int viahelper_cancel(struct viahelper *h, const struct via_frame *f)
{
	const char *words[2];
	long grace;

	if (viaframe_words(f, words, 2, 2) < 0 || str_to_long(words[1], 0, 3600000, &grace) != 0)
		return -EPROTO;
	if (h->task)
		pssh_task_cancel(h->task, words[0], (unsigned)grace);
	return 0;
}

static int viahelper_frame(struct viahelper *h, const struct via_frame *f)
{
	const char *words[2];
	int rc;

	switch (f->type) {
	case VIA_SETTING:
		rc = viaframe_words(f, words, 2, 2);
		return rc < 0 ? rc : viahelper_set(h, words[0], words[1]) ? -EINVAL : 0;
	case VIA_COMMAND:
		rc = viaframe_words(f, words, 1, 1);
		return rc < 0 ? rc : buf_adds(&h->command, words[0]);
	case VIA_INPUT:
		h->has_input = true;
		return buf_add(&h->input, f->data, f->len);
	case VIA_HOST:
		return viahelper_add(h, f);
	case VIA_CANCEL:
		return viahelper_cancel(h, f);
	case VIA_AGENT_DATA:
	case VIA_AGENT_CLOSE:
		return viaagent_answer(&h->agent, f);
	default:
		return -EPROTO;
	}
}

/* ---- The loop -------------------------------------------------------------------------- */

/* Whoever started us is gone: end what runs on the hosts, then ourselves. */
static void viahelper_orphaned(struct viahelper *h)
{
	if (h->ended)
		return;
	h->ended = true;
	if (h->task)
		pssh_task_cancel(h->task, "TERM", ORPHAN_GRACE_MS);
}

static int viahelper_read(struct viahelper *h)
{
	struct via_frame f;
	size_t at = 0, used;
	ssize_t n;
	int rc;

	viahelper_need(buf_reserve(&h->in, READ_SIZE));
	n = read(STDIN_FILENO, h->in.data + h->in.len, READ_SIZE);
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	if (n <= 0) {
		viahelper_orphaned(h);
		return 0;
	}
	h->in.len += (size_t)n;
	while ((rc = viaframe_next(h->in.data + at, h->in.len - at, &used, &f)) == 1) {
		rc = viahelper_frame(h, &f);
		if (rc)
			break;
		at += used;
	}
	buf_drop(&h->in, at);
	return rc < 0 ? rc : 0;
}

static void viahelper_write(struct viahelper *h)
{
	if (!h->mute && h->out.len && file_write(STDOUT_FILENO, h->out.data, h->out.len) != 0) {
		h->mute = true;
		viahelper_orphaned(h);
	}
	buf_clear(&h->out);
}

static void viahelper_tell(struct viahelper *h, const struct pssh_event *ev)
{
	uintptr_t mark = ev->host ? (uintptr_t)pssh_host_data(ev->host) : 0;
	const char *words[2] = { NULL, ev->cancelled ? "1" : "0" };
	uint32_t id = (uint32_t)(mark - 1);
	char number[16];
	int rc = 0;

	if (!mark || ev->task != h->task)
		return;
	switch (ev->type) {
	case PSSH_EV_STARTED:
		words[0] = pssh_host_key(ev->host);
		rc = viaframe_add_words(&h->out, VIA_BEGUN, id, words, 1);
		break;
	case PSSH_EV_STDOUT:
	case PSSH_EV_STDERR:
		rc = viaframe_add_data(&h->out, ev->type == PSSH_EV_STDOUT ? VIA_STDOUT : VIA_STDERR, id, ev->dropped,
			ev->data, ev->len);
		break;
	case PSSH_EV_EXIT:
		snprintf(number, sizeof number, "%d", ev->status);
		words[0] = number;
		rc = viaframe_add_words(&h->out, VIA_EXIT, id, words, 2);
		break;
	case PSSH_EV_SIGNAL:
		words[0] = ev->text;
		rc = viaframe_add_words(&h->out, VIA_SIGNAL, id, words, 2);
		break;
	case PSSH_EV_ERROR:
		viahelper_error(h, id, ev->status, ev->cancelled, ev->host, ev->text);
		break;
	default:
		break;
	}
	viahelper_need(rc);
}

/* 1: events came; 0: none now; or a code. */
static int viahelper_pull(struct viahelper *h)
{
	const struct pssh_event *ev;
	int rc = 0, any = 0;

	while (h->connect && h->out.len < OUT_FULL && (rc = pssh_next(h->connect->fleet, &ev)) == 1) {
		viahelper_tell(h, ev);
		any = 1;
	}
	viahelper_write(h);
	return rc < 0 ? rc : any;
}

static int viahelper_turn(struct viahelper *h)
{
	struct pollfd fds[3 + VIAAGENT_CONNS + 1] = {
		{ .fd = h->ended ? -1 : STDIN_FILENO, .events = POLLIN },
		{ .fd = h->connect ? pssh_fd(h->connect->fleet) : -1, .events = POLLIN },
		{ .fd = signals_fd(), .events = POLLIN },
	};
	size_t count = 3 + viaagent_poll(&h->agent, fds + 3);
	int any = viahelper_pull(h), rc;

	if (any < 0)
		return print_fail(h->np, STATUS_FAILURE, NULL, "%s", pssh_error(h->connect->fleet));
	if (poll(fds, count, any ? 0 : h->connect ? pssh_timeout(h->connect->fleet) : -1) < 0)
		return STATUS_OK;
	while (fds[2].revents && signals_next() != 0)
		viahelper_orphaned(h);
	viahelper_need(viaagent_step(&h->agent, &h->out));
	rc = fds[0].revents ? viahelper_read(h) : 0;
	return rc == 0 ? STATUS_OK
		: rc == -EINVAL
		? STATUS_USAGE
		: print_fail(h->np, STATUS_FAILURE, NULL, "cannot understand what came on standard input");
}

int viahelper_run(struct nanopod *np)
{
	struct viahelper h = { .np = np };
	int status = STATUS_OK;
	char line[64];

	viaagent_init(&h.agent);
	buf_init(&h.in, VIA_FRAME_MAX + READ_SIZE * 2);
	buf_init(&h.out, out_max);
	buf_init(&h.command, VIA_FRAME_MAX);
	buf_init(&h.input, 64 << 20);
	if (signals_begin() != 0)
		return print_fail(np, STATUS_FAILURE, NULL, "cannot catch signals: %s", strerror(errno));
	snprintf(line, sizeof line, "\n" VIA_GREETING "ready %d\n", VIA_PROTOCOL);
	if (file_write(STDOUT_FILENO, line, strlen(line)) != 0)
		h.ended = true;
	while (!status && !(h.ended && (!h.task || pssh_task_left(h.task) == 0)))
		status = viahelper_turn(&h);
	viahelper_pull(&h);
	pssh_task_free(h.task);
	if (h.connect)
		connect_close(np, h.connect);
	viaagent_release(&h.agent);
	free(h.pty);
	buf_release(&h.in);
	buf_release(&h.out);
	buf_release(&h.command);
	buf_release(&h.input);
	signals_end();
	return status;
}
